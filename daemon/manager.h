/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "config.h"
#include "model.h"
#include "snapshot.h"

typedef struct Auth Auth;
typedef struct Bus Bus;
typedef struct Discovery Discovery;
typedef struct Jobs Jobs;
typedef struct Log Log;
typedef struct Reader Reader;
typedef struct Usage Usage;

typedef enum ManagerState {
        MANAGER_STARTING,
        MANAGER_RUNNING,
        MANAGER_STOPPING,
        _MANAGER_STATE_MAX
} ManagerState;

/* The one context of the daemon: what there is, who looks at it, and whom it is told to. */
typedef struct Manager {
        sd_event *event;
        Log *log;
        CarvedHost host;
        char *runtime_directory; /* where the locks are */
        ManagerState state;

        CarvedModel *model;
        GHashTable *readers; /* address as text → Reader */
        Discovery *discovery;
        Jobs *jobs;
        Usage *usage;
        Auth *auth;
        Config config;
        Bus *bus;
        char *status; /* as last told to systemd */
        sd_event_source *start_timer, *stop_timer;
} Manager;

const char *manager_state_to_string(ManagerState state);

/* 0 or -errno, with the reason in the log. */
int manager_new(sd_event *event, Log *log, Manager **ret);
Manager *manager_free(Manager *m);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manager, manager_free)

/* The only way into the model. Tells everyone. */
void manager_apply(Manager *m, CarvedUpdate *update);

/* A reader or the scan has had its first answer: perhaps the last one that the start waits for. */
void manager_check_started(Manager *m);

/* Ends when the work under way has, or has been undone; but not later than in ten seconds. */
void manager_stop(Manager *m);

Reader *manager_find_reader(Manager *m, const CarvedPciAddress *address);
