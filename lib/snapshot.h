/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"
#include "nvml.h"

/* One GPU's subtree, read into values. Blocks as long as the kernel likes: for a worker process only. */

typedef struct CarvedHost {
        const char *sysfs;        /* "/sys" */
        const char *vgpu_config;  /* CARVED_VGPU_CONFIG_PATH */
        const char *sriov_manage; /* the program that switches NVIDIA's VFs */
        const char *nvml;         /* CARVED_NVML_LIBRARY */
        const char *nvml_locks;   /* the directory of its locks, see nvml-lock.h; NULL: there are none */
        uint8_t machine_id[16];   /* the name space of UUIDs where the kernel gives none */
} CarvedHost;

/* What a look need not find out anew: what NVIDIA's library told the last time. */
typedef enum CarvedDepth {
        CARVED_DEPTH_DUE,   /* what may have changed */
        CARVED_DEPTH_WHOLE, /* all that can be found out now */
        CARVED_DEPTH_SURE,  /* all, also where that means to wait for others */
        _CARVED_DEPTH_MAX
} CarvedDepth;

typedef struct CarvedMemory {
        CarvedDepth depth;
        GVariant *nvml; /* NULL: nothing yet */
} CarvedMemory;

/* One attribute that can't be read is the error of the object that it belongs to; NULL and an error only when
 * the GPU itself is not there. @memory is of the last look at this card, and is for the next one then. */
CarvedGpu *carved_snapshot_read(const CarvedHost *host, const CarvedPciAddress *address, CarvedMemory *memory,
                                GError **error);

/* Only these VFs, by index, what is on them and what they offer; the rest is empty: see glance.h. */
CarvedGpu *carved_snapshot_read_vfs(const CarvedHost *host, const CarvedPciAddress *address,
                                    const uint32_t *vfs, unsigned n, GError **error);

/* As it travels from the worker to the daemon. */
GVariant *carved_snapshot_to_variant(const CarvedGpu *gpu);

/* NULL when @variant is not what the other wrote. */
CarvedGpu *carved_snapshot_from_variant(GVariant *variant);

/* As the hardware showed it: what is wanted is not in it, and must be said anew. */
CarvedGpu *carved_snapshot_copy(const CarvedGpu *gpu);
