/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "host.h"
#include "tree.h"

/* The simulated kernel: one lock, one clock, one log, and the roots of its tree.
 *
 * All simulated kernel code runs under one lock, as Linux once did; whatever waits gives it up meanwhile. So
 * a driver reads as straight-line code, there are no data races, and a write that sleeps for a minute delays
 * nobody else. What must stay locked over a sleep (a PF while its VFs are made) has a lock of its own:
 * device.h. */

typedef struct Uevents Uevents;
typedef struct Rules Rules;
typedef struct Trace Trace;

/* How long things take, in milliseconds. */
typedef struct Pace {
        unsigned vfs_on;   /* settling time of VF enable */
        unsigned vfs_off;  /* … and disable */
        unsigned vf_probe; /* one VF */
        unsigned pf_probe; /* the GPU's driver */
        unsigned types;    /* from a bound driver to published vGPU types */
        unsigned vgpu;     /* making one vGPU */
} Pace;

extern const Pace pace_fast, pace_real;

typedef struct Kernel {
        GMutex lock;
        GCond changed; /* broadcast whenever something that may be waited for has changed */

        Tree *tree;
        Node *sys;         /* /sys */
        Node *proc_driver; /* /proc/driver */

        Pace pace;
        bool booting; /* no time passes, nobody is told: the host is being built */
        bool iommu;
        NvmlState nvml;       /* what its libnvidia-ml.so.1 meets */
        char *driver_version; /* or NULL */
        bool vgpud_ran;       /* nvidia-vgpud, on hosts where it had not at boot */
        bool vfio_cdev;       /* 6.6 and later: /dev/vfio/devices/vfioN beside the groups */
        bool rebooting;       /* nothing sleeps any more: whoever is inside finishes and leaves */
        unsigned inside;      /* reads, writes and background work under way */
        uint64_t boot;        /* counts reboots: background work of an earlier one gives up */

        Uevents *uevents;
        Rules *rules;
        Trace *trace;
        char *dev_dir;                              /* where device nodes are made; NULL: nowhere */
        void (*flush_names)(struct Kernel *kernel); /* set by the file system: forget removed names */
        void *file_system;
        char *inforom; /* where what cards remember is kept; NULL: nowhere */
        void (*save_inforom)(struct Kernel *kernel, const GpuSpec *gpu);

        struct Bus *pci, *mdev;    /* mdev: NULL where nothing is mediated */
        struct DevNode *vfio_node; /* /dev/vfio/vfio */
        GHashTable *iommu_groups;  /* number → IommuGroup */
        GHashTable *vfio_groups;   /* number → VfioGroup */
        GPtrArray *holds;          /* of Hold: who has what open */
        GPtrArray *removed;        /* PciDevice specs taken out by `remove`, for `rescan` */
        GPtrArray *nvml_sessions;  /* of NvmlSession: who has NVML open */
        GString *nvml_met;         /* who had NVML open when the card had to be let go, a line each */
        uint32_t nvml_tokens;      /* counts what NVML hands out */
        Node *mdev_class;
        struct MdevParent *mtty;
        unsigned mtty_ports_free;
} Kernel;

Kernel *kernel_new(const Pace *pace);

void kernel_lock(Kernel *kernel);
void kernel_unlock(Kernel *kernel);

/* Both give the lock up meanwhile. */
void kernel_sleep(Kernel *kernel, unsigned ms);
void kernel_wait(Kernel *kernel);                         /* until something may have changed */
bool kernel_wait_until(Kernel *kernel, int64_t end_usec); /* false: time is over */
void kernel_wake(Kernel *kernel);

/* Tells the file system's cache about names that are gone; true if it gave the lock up for that. */
bool kernel_flush_names(Kernel *kernel);

/* Runs @work in a thread of its own, under the lock. It should look at kernel->boot after each sleep. */
void kernel_run(Kernel *kernel, void (*work)(Kernel *kernel, void *data), void *data);

/* A line as dmesg would have it. */
void kernel_log(Kernel *kernel, const char *format, ...) G_GNUC_PRINTF(2, 3);
