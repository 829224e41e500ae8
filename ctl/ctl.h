/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

/* One call of carvectl: what was asked for, and what it takes to do it. */

#define CARVED_BUS_NAME "org.carved1"
#define CARVED_BUS_ROOT "/org/carved1"
#define MANAGER         "org.carved1.Manager"
#define GPU             "org.carved1.Gpu"
#define SRIOV           "org.carved1.Sriov"
#define VF              "org.carved1.VirtualFunction"
#define VGPU_HOST       "org.carved1.VgpuHost"
#define VGPU            "org.carved1.Vgpu"
#define JOB             "org.carved1.Job"
#define MIG             "org.carved1.Mig"
#define GPU_INSTANCE    "org.carved1.GpuInstance"
#define PROPERTIES      "org.freedesktop.DBus.Properties"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_slot, sd_bus_slot_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_event_source, sd_event_source_disable_unref)

typedef enum JsonMode {
        JSON_OFF,
        JSON_SHORT,
        JSON_PRETTY,
} JsonMode;

typedef struct Ctl {
        const char *verb;
        const char *host; /* NULL: this one */
        JsonMode json;
        bool no_legend, no_pager, full, quiet, no_ask_password;
        bool dry_run, transient, destroy_vgpus, all, xml, replace;
        bool number_given;
        uint32_t number;
        const char *on, *params;
        GPtrArray *uuids, *labels; /* as given; NULL at the end */
        uint64_t timeout_usec;

        sd_bus *bus;
        sd_event *event;
        struct Agent *agent;
        int interrupted; /* the signal; 0: none came */
} Ctl;
