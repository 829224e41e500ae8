/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* One GPU's subtree, read into values. Blocks as long as the kernel likes: for a worker process only. */

typedef struct CarvedHost {
        const char *sysfs;        /* "/sys" */
        const char *vgpu_config;  /* CARVED_VGPU_CONFIG_PATH */
        const char *sriov_manage; /* the program that switches NVIDIA's VFs */
        uint8_t machine_id[16];   /* the name space of UUIDs where the kernel gives none */
} CarvedHost;

/* One attribute that can't be read is the error of the object that it belongs to; NULL and an error only when
 * the GPU itself is not there. */
CarvedGpu *carved_snapshot_read(const CarvedHost *host, const CarvedPciAddress *address, GError **error);

/* Only these VFs, by index, what is on them and what they offer; the rest is empty: see glance.h. */
CarvedGpu *carved_snapshot_read_vfs(const CarvedHost *host, const CarvedPciAddress *address,
                                    const uint32_t *vfs, unsigned n, GError **error);

/* As it travels from the worker to the daemon. */
GVariant *carved_snapshot_to_variant(const CarvedGpu *gpu);

/* NULL when @variant is not what the other wrote. */
CarvedGpu *carved_snapshot_from_variant(GVariant *variant);

/* As the hardware showed it: what is wanted is not in it, and must be said anew. */
CarvedGpu *carved_snapshot_copy(const CarvedGpu *gpu);
