/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "nvidia.h"

/* Who has what open. A hold stands for a VM's VFIO device fd (or, on a GPU, for a client of the driver): for
 * the simulated driver the device is in use. Its process has the node open, so that /proc/PID/fd shows it. */

typedef struct Hold {
        char *name;         /* UUID or address */
        char *vm;           /* the VM's UUID */
        int pid;            /* 0 until it runs */
        unsigned linger_ms; /* how long the plugin of a vGPU stays about when it has ended */
        Mdev *mdev;
        PciDevice *pci;
} Hold;

/* Counts the device as in use from now on. -ENOENT: no such; -ENODEV: a VF without type; -EBUSY: held, or
 * locked; -EINVAL: it can't be where it was told to be.
 * @ret_node is what its process shall open, or NULL. */
int hold_begin(Kernel *kernel, const char *name, Hold **ret, char **ret_node);

/* The process has gone. */
void hold_end(Kernel *kernel, Hold *hold);

/* Who runs this vGPU; NULL: nobody. */
Hold *hold_find_vgpu(Kernel *kernel, const Vgpu *vgpu);

Hold *hold_find(Kernel *kernel, const char *name);
Hold *hold_find_pid(Kernel *kernel, int pid);
