/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "nvidia.h"
#include "nvml-abi.h"

/* MIG in NVIDIA's driver: a card's mode, and the instances it is cut into. All under the kernel's lock. */

typedef struct ComputeInstance {
        uint32_t token; /* never the same twice */
        unsigned id;    /* from 0 in each GPU instance */
        unsigned start, slices;
        struct GpuInstance *gi;
} ComputeInstance;

typedef struct GpuInstance {
        uint32_t token;
        unsigned id; /* tells where it is; free again when it is destroyed */
        unsigned start;
        const MigProfile *profile;
        bool mixed_size;     /* vGPUs of several sizes in it */
        GPtrArray *computes; /* of ComputeInstance, by id */
} GpuInstance;

/* As after power on, a reload of the driver, or a reset. */
void nvidia_mig_cold(PciDevice *pf);
void nvidia_mig_reset(PciDevice *pf);

bool nvidia_mig_on(const Nvidia *nvidia);

/* Asks for a mode. @others: users of the card besides who asks. What became of it is in @ret_activation. */
nvmlReturn_t nvidia_mig_set_mode(Nvidia *nvidia, bool on, unsigned others, nvmlReturn_t *ret_activation);

const MigProfile *nvidia_mig_profile(const MigSpec *mig, unsigned id);

/* How many more of this kind fit. */
unsigned nvidia_mig_capacity(const Nvidia *nvidia, const MigProfile *profile);

/* @placement: NULL for where the driver likes it best. */
nvmlReturn_t nvidia_mig_create(Nvidia *nvidia, const MigProfile *profile, const nvmlPlacement_t *placement,
                               GpuInstance **ret);
nvmlReturn_t nvidia_mig_destroy(Nvidia *nvidia, GpuInstance *gi);
void nvidia_mig_wipe(Nvidia *nvidia);

GpuInstance *nvidia_mig_find(const Nvidia *nvidia, unsigned id);

/* The instance that a vGPU of this type would live in; NULL: there is no room in any. */
GpuInstance *nvidia_mig_room(const Nvidia *nvidia, const TypeSpec *type);

/* nvidia-placement.c: where vGPUs of mixed sizes may be. @gi: NULL for the whole card. Lists are of
 * unsigned. */
unsigned nvidia_placement_size(const TypeSpec *type);
GArray *nvidia_placements(const GpuSpec *spec, const TypeSpec *type);
GArray *nvidia_equal_placements(const GpuSpec *spec, const TypeSpec *type); /* while all are of one size */
GArray *nvidia_free_placements(const Nvidia *nvidia, const GpuInstance *gi, const TypeSpec *type);
bool nvidia_is_mixed(const Nvidia *nvidia, const GpuInstance *gi);
nvmlReturn_t nvidia_set_mixed(Nvidia *nvidia, GpuInstance *gi, bool on);

/* Compute instances. A profile's id is its place in the enumeration; @ret_slices: how large. */
bool nvidia_ci_profile(const GpuInstance *gi, unsigned id, unsigned *ret_slices);
unsigned nvidia_ci_capacity(const GpuInstance *gi, unsigned slices);
unsigned nvidia_ci_profile_id(unsigned slices);
nvmlReturn_t nvidia_ci_create(Nvidia *nvidia, GpuInstance *gi, unsigned slices,
                              const nvmlPlacement_t *placement, ComputeInstance **ret);
void nvidia_ci_destroy(ComputeInstance *ci);
