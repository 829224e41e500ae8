/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "nvidia-mig.h"

/* Compute instances: parts of a GPU instance's compute slices. */

/* In the order of NVML's enumeration, which is that of the profiles' ids too. */
static const unsigned sizes[NVML_COMPUTE_INSTANCE_PROFILE_COUNT] = { 1, 2, 3, 4, 7, 8, 6 };

unsigned nvidia_ci_profile_id(unsigned slices) {
        unsigned id = 0;

        while (sizes[id] != slices)
                id++;
        return id;
}

/* All that fit into it are offered; of four slices, not three. */
bool nvidia_ci_profile(const GpuInstance *gi, unsigned id, unsigned *ret_slices) {
        unsigned slices = id < G_N_ELEMENTS(sizes) ? sizes[id] : 0, whole = gi->profile->slices;

        if (slices == 0 || slices > whole || (slices == 3 && whole == 4) || (slices > 4 && slices != whole))
                return false;

        *ret_slices = slices;
        return true;
}

static bool fits(const GpuInstance *gi, unsigned start, unsigned slices) {
        if (start + slices > gi->profile->slices)
                return false;

        for (unsigned i = 0; i < gi->computes->len; i++) {
                const ComputeInstance *ci = gi->computes->pdata[i];

                if (start < ci->start + ci->slices && ci->start < start + slices)
                        return false;
        }

        return true;
}

unsigned nvidia_ci_capacity(const GpuInstance *gi, unsigned slices) {
        unsigned n = 0;

        for (unsigned start = 0; start + slices <= gi->profile->slices; start += slices)
                n += fits(gi, start, slices);
        return n;
}

static int by_id(const void *a, const void *b) {
        unsigned ia = (*(ComputeInstance *const *) a)->id, ib = (*(ComputeInstance *const *) b)->id;

        return ia < ib ? -1 : ia > ib;
}

static unsigned free_id(const GpuInstance *gi) {
        unsigned id = 0;

        while (id < gi->computes->len && ((ComputeInstance *) gi->computes->pdata[id])->id == id)
                id++;
        return id;
}

nvmlReturn_t nvidia_ci_create(Nvidia *nvidia, GpuInstance *gi, unsigned slices,
                              const nvmlPlacement_t *placement, ComputeInstance **ret) {
        unsigned start = placement ? placement->start : 0;
        ComputeInstance *ci;

        if (placement &&
            (placement->size != slices || start % slices != 0 || start + slices > gi->profile->slices))
                return NVML_ERROR_INVALID_ARGUMENT;

        while (!placement && start + slices <= gi->profile->slices && !fits(gi, start, slices))
                start += slices;
        if (!fits(gi, start, slices))
                return NVML_ERROR_INSUFFICIENT_RESOURCES;

        ci = g_new0(ComputeInstance, 1);
        ci->token = ++nvidia->pf->device.kernel->nvml_tokens;
        ci->id = free_id(gi);
        ci->start = start;
        ci->slices = slices;
        ci->gi = gi;
        g_ptr_array_add(gi->computes, ci);
        g_ptr_array_sort(gi->computes, by_id);
        *ret = ci;
        return NVML_SUCCESS;
}

void nvidia_ci_destroy(ComputeInstance *ci) {
        g_ptr_array_remove(ci->gi->computes, ci);
}
