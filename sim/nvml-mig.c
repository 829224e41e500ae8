/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "nvml.h"

/* Calls about MIG: mode, profiles, GPU instances, compute instances. */

static const MigSpec *mig_of(const NvmlCall *call) {
        return call->card->pf->spec->mig;
}

static nvmlReturn_t get_mode(NvmlCall *call) {
        nvml_put_number(call, call->card->pf->mig_mode);
        return nvml_put_number(call, call->card->pf->mig_pending);
}

static nvmlReturn_t set_mode(NvmlCall *call) {
        Nvidia *card = call->card;
        unsigned others = nvidia_usage(card) - 1; /* the one that asks is none of them */
        Kernel *kernel = call->session->kernel;
        bool before = card->pf->mig_mode;
        nvmlReturn_t activation, r;

        if (call->request->args[0] > 1)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = nvidia_mig_set_mode(card, call->request->args[0], others, &activation);
        if (r != NVML_SUCCESS)
                return r;

        nvml_put_number(call, activation);
        if (mig_of(call)->mode_resets && activation == NVML_SUCCESS && before != card->pf->mig_mode)
                kernel_sleep(kernel, kernel->pace.pf_probe);
        return NVML_SUCCESS;
}

/* By its place in the enumeration. SUCCESS, a hole, or past the end. */
static nvmlReturn_t profile_at(const NvmlCall *call, const MigProfile **ret) {
        const MigSpec *mig = mig_of(call);

        if (call->request->args[0] >= NVML_GPU_INSTANCE_PROFILE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;

        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const MigProfile *profile = mig->profiles->pdata[i];

                if (profile->index == call->request->args[0]) {
                        *ret = profile;
                        return NVML_SUCCESS;
                }
        }

        return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t profile_info(NvmlCall *call) {
        const MigProfile *p = NULL;
        nvmlReturn_t r = profile_at(call, &p);

        if (r != NVML_SUCCESS)
                return r;
        return nvml_put(call,
                        &(nvmlGpuInstanceProfileInfo_t){ p->id, 0, p->slices, p->max, p->multiprocessors,
                                                         p->copy_engines, p->decoders, p->encoders, p->jpegs,
                                                         p->ofas, p->memory_mib },
                        sizeof(nvmlGpuInstanceProfileInfo_t));
}

static bool gi_versions(unsigned word, unsigned *ret_size) {
        *ret_size = sizeof(nvmlGpuInstanceProfileInfo_v2_t);
        return word == NVML_VERSION_WORD(nvmlGpuInstanceProfileInfo_v2_t, 2) ||
               word == NVML_VERSION_WORD(nvmlGpuInstanceProfileInfo_v3_t, 3);
}

static nvmlReturn_t put_profile(NvmlCall *call, const MigProfile *p) {
        nvmlGpuInstanceProfileInfo_v2_t v2 = { nvml_version(call), p->id,       0,
                                               p->slices,          p->max,      p->multiprocessors,
                                               p->copy_engines,    p->decoders, p->encoders,
                                               p->jpegs,           p->ofas,     p->memory_mib };
        nvmlGpuInstanceProfileInfo_v3_t v3 = { nvml_version(call), p->id,           p->slices,    p->max,
                                               p->multiprocessors, p->copy_engines, p->decoders,  p->encoders,
                                               p->jpegs,           p->ofas,         p->memory_mib };

        g_snprintf(v2.name, sizeof v2.name, "MIG %s", p->name);
        g_snprintf(v3.name, sizeof v3.name, "MIG %s", p->name);
        v3.capabilities = p->gfx ? 2 : 0;
        return nvml_version(call) >> 24 == 2 ? nvml_put(call, &v2, sizeof v2)
                                             : nvml_put(call, &v3, sizeof v3);
}

static nvmlReturn_t profile_info_v(NvmlCall *call) {
        const MigProfile *profile = NULL;
        nvmlReturn_t r = profile_at(call, &profile);

        return r == NVML_SUCCESS ? put_profile(call, profile) : r;
}

static nvmlReturn_t profile_info_by_id(NvmlCall *call) {
        const MigProfile *profile = nvidia_mig_profile(mig_of(call), call->request->args[0]);

        return profile ? put_profile(call, profile) : NVML_ERROR_NOT_SUPPORTED;
}

static int by_start(const void *a, const void *b) {
        unsigned sa = *(const unsigned *) a, sb = *(const unsigned *) b;

        return sa < sb ? -1 : sa > sb;
}

static nvmlReturn_t possible_placements(NvmlCall *call) {
        const MigProfile *profile = nvidia_mig_profile(mig_of(call), call->request->args[0]);
        g_autoptr(GArray) starts = NULL;

        if (!profile)
                return NVML_ERROR_INVALID_ARGUMENT;

        starts = g_array_copy(profile->starts);
        g_array_sort(starts, by_start);
        for (unsigned i = 0; i < starts->len; i++)
                nvml_put(call, &(nvmlPlacement_t){ g_array_index(starts, unsigned, i), profile->size },
                         sizeof(nvmlPlacement_t));
        return NVML_SUCCESS;
}

static nvmlReturn_t remaining(NvmlCall *call) {
        const MigProfile *profile = nvidia_mig_profile(mig_of(call), call->request->args[0]);

        return profile ? nvml_put_number(call, nvidia_mig_capacity(call->card, profile))
                       : NVML_ERROR_INVALID_ARGUMENT;
}

/* It takes its place at once; making it takes a while. */
static nvmlReturn_t create_at(NvmlCall *call, const nvmlPlacement_t *placement) {
        const MigProfile *profile = nvidia_mig_profile(mig_of(call), call->request->args[0]);
        Kernel *kernel = call->session->kernel;
        GpuInstance *gi;
        nvmlReturn_t r;

        if (!profile)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = nvidia_mig_create(call->card, profile, placement, &gi);
        if (r != NVML_SUCCESS)
                return r;

        nvml_put_handle(call, nvml_gi_handle(call->card, gi));
        kernel_sleep(kernel, kernel->pace.vgpu);
        return NVML_SUCCESS;
}

static nvmlReturn_t create(NvmlCall *call) {
        return create_at(call, NULL);
}

static nvmlReturn_t create_placed(NvmlCall *call) {
        return create_at(call, &(nvmlPlacement_t){ call->request->args[1], call->request->args[2] });
}

static nvmlReturn_t destroy(NvmlCall *call) {
        return nvidia_mig_destroy(call->card, call->gi);
}

static nvmlReturn_t list_instances(NvmlCall *call) {
        const MigProfile *profile = nvidia_mig_profile(mig_of(call), call->request->args[0]);

        if (!profile)
                return NVML_ERROR_INVALID_ARGUMENT;

        for (unsigned i = 0; i < call->card->instances->len; i++) {
                const GpuInstance *gi = call->card->instances->pdata[i];

                if (gi->profile == profile)
                        nvml_put_handle(call, nvml_gi_handle(call->card, gi));
        }
        return NVML_SUCCESS;
}

static nvmlReturn_t instance_by_id(NvmlCall *call) {
        const GpuInstance *gi = nvidia_mig_find(call->card, call->request->args[0]);

        return gi ? nvml_put_handle(call, nvml_gi_handle(call->card, gi)) : NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t instance_info(NvmlCall *call) {
        const GpuInstance *gi = call->gi;
        nvmlGpuInstanceInfo_t info = { (nvmlDevice_t) (uintptr_t) nvml_device_handle(call->card),
                                       gi->id,
                                       gi->profile->id,
                                       { gi->start, gi->profile->size } };

        return nvml_put(call, &info, sizeof info);
}

/* The largest has the name of the whole; the others say how much of it they are. */
static void ci_name(const GpuInstance *gi, unsigned slices, char *name, size_t size) {
        if (slices == gi->profile->slices)
                g_snprintf(name, size, "MIG %s", gi->profile->name);
        else
                g_snprintf(name, size, "MIG %uc.%s", slices, gi->profile->name);
}

static nvmlReturn_t ci_profile(const NvmlCall *call, unsigned *ret_slices,
                               nvmlComputeInstanceProfileInfo_t *ret) {
        const MigProfile *p = call->gi->profile;
        unsigned id = call->request->args[0], slices;

        if (id >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT || call->request->args[1] > 0)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!nvidia_ci_profile(call->gi, id, &slices))
                return NVML_ERROR_NOT_SUPPORTED;

        *ret_slices = slices;
        *ret = (nvmlComputeInstanceProfileInfo_t){ id,
                                                   slices,
                                                   p->slices / slices,
                                                   p->multiprocessors / p->slices * slices,
                                                   p->copy_engines,
                                                   p->decoders,
                                                   p->encoders,
                                                   p->jpegs,
                                                   p->ofas };
        return NVML_SUCCESS;
}

static nvmlReturn_t ci_profile_info(NvmlCall *call) {
        nvmlComputeInstanceProfileInfo_t info;
        unsigned slices;
        nvmlReturn_t r = ci_profile(call, &slices, &info);

        return r == NVML_SUCCESS ? nvml_put(call, &info, sizeof info) : r;
}

static bool ci_versions(unsigned word, unsigned *ret_size) {
        *ret_size = word & 0xffffff;
        return word == NVML_VERSION_WORD(nvmlComputeInstanceProfileInfo_v2_t, 2) ||
               word == NVML_VERSION_WORD(nvmlComputeInstanceProfileInfo_v3_t, 3);
}

static nvmlReturn_t ci_profile_info_v(NvmlCall *call) {
        nvmlComputeInstanceProfileInfo_v3_t info = { { .version = nvml_version(call) } };
        unsigned slices;
        nvmlReturn_t r = ci_profile(call, &slices, &info.v2.v1);

        if (r != NVML_SUCCESS)
                return r;

        ci_name(call->gi, slices, info.v2.name, sizeof info.v2.name);
        return nvml_put(call, &info, nvml_version(call) & 0xffffff);
}

static nvmlReturn_t ci_remaining(NvmlCall *call) {
        unsigned slices;

        if (!nvidia_ci_profile(call->gi, call->request->args[0], &slices))
                return NVML_ERROR_INVALID_ARGUMENT;
        return nvml_put_number(call, nvidia_ci_capacity(call->gi, slices));
}

static nvmlReturn_t ci_placements(NvmlCall *call) {
        unsigned slices;

        if (!nvidia_ci_profile(call->gi, call->request->args[0], &slices))
                return NVML_ERROR_INVALID_ARGUMENT;

        for (unsigned start = 0; start + slices <= call->gi->profile->slices; start += slices)
                nvml_put(call, &(nvmlPlacement_t){ start, slices }, sizeof(nvmlPlacement_t));
        return NVML_SUCCESS;
}

static nvmlReturn_t ci_create_at(NvmlCall *call, const nvmlPlacement_t *placement) {
        ComputeInstance *ci;
        unsigned slices;
        nvmlReturn_t r;

        if (!nvidia_ci_profile(call->gi, call->request->args[0], &slices))
                return NVML_ERROR_INVALID_ARGUMENT;

        r = nvidia_ci_create(call->card, call->gi, slices, placement, &ci);
        return r == NVML_SUCCESS ? nvml_put_handle(call, nvml_ci_handle(call->card, ci)) : r;
}

static nvmlReturn_t ci_create(NvmlCall *call) {
        return ci_create_at(call, NULL);
}

static nvmlReturn_t ci_create_placed(NvmlCall *call) {
        return ci_create_at(call, &(nvmlPlacement_t){ call->request->args[1], call->request->args[2] });
}

static nvmlReturn_t ci_list(NvmlCall *call) {
        unsigned slices;

        if (!nvidia_ci_profile(call->gi, call->request->args[0], &slices))
                return NVML_ERROR_INVALID_ARGUMENT;

        for (unsigned i = 0; i < call->gi->computes->len; i++) {
                const ComputeInstance *ci = call->gi->computes->pdata[i];

                if (ci->slices == slices)
                        nvml_put_handle(call, nvml_ci_handle(call->card, ci));
        }
        return NVML_SUCCESS;
}

static nvmlReturn_t ci_by_id(NvmlCall *call) {
        for (unsigned i = 0; i < call->gi->computes->len; i++) {
                const ComputeInstance *ci = call->gi->computes->pdata[i];

                if (ci->id == call->request->args[0])
                        return nvml_put_handle(call, nvml_ci_handle(call->card, ci));
        }

        return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t ci_info(NvmlCall *call) {
        const ComputeInstance *ci = call->ci;
        nvmlComputeInstanceInfo_t info = {
                (nvmlDevice_t) (uintptr_t) nvml_device_handle(call->card),
                (nvmlGpuInstance_t) (uintptr_t) nvml_gi_handle(call->card, call->gi),
                ci->id,
                nvidia_ci_profile_id(ci->slices),
                { ci->start, ci->slices },
        };

        return nvml_put(call, &info, sizeof info);
}

static nvmlReturn_t ci_destroy(NvmlCall *call) {
        nvidia_ci_destroy(call->ci);
        return NVML_SUCCESS;
}

#define ROW(name) [NVML_CALL(name)]
#define GPU       NVML_ON_GPU, .mig = true
#define GI        NVML_ON_GI, .root = true, .mig = true, .mig_on = true

const NvmlHandler nvml_mig_handlers[NVML_CALL_COUNT] = {
        ROW(nvmlDeviceGetMigMode) = { get_mode, GPU },
        ROW(nvmlDeviceSetMigMode) = { set_mode, GPU, .root = true },
        ROW(nvmlDeviceGetGpuInstanceProfileInfo) = { profile_info, GPU },
        ROW(nvmlDeviceGetGpuInstanceProfileInfoV) = { profile_info_v, GPU, .mig_on = true,
                                                      .versions = gi_versions },
        ROW(nvmlDeviceGetGpuInstanceProfileInfoByIdV) = { profile_info_by_id, GPU, .mig_on = true,
                                                          .versions = gi_versions },
        ROW(nvmlDeviceGetGpuInstancePossiblePlacements_v2) = { possible_placements, GPU, .root = true },
        ROW(nvmlDeviceGetGpuInstanceRemainingCapacity) = { remaining, GPU, .root = true, .mig_on = true },
        ROW(nvmlDeviceCreateGpuInstance) = { create, GPU, .root = true, .mig_on = true },
        ROW(nvmlDeviceCreateGpuInstanceWithPlacement) = { create_placed, GPU, .root = true, .mig_on = true },
        ROW(nvmlDeviceGetGpuInstances) = { list_instances, GPU, .root = true, .mig_on = true },
        ROW(nvmlDeviceGetGpuInstanceById) = { instance_by_id, GPU, .root = true, .mig_on = true },
        ROW(nvmlGpuInstanceGetInfo) = { instance_info, GI },
        ROW(nvmlGpuInstanceDestroy) = { destroy, GI },
        ROW(nvmlGpuInstanceGetComputeInstanceProfileInfo) = { ci_profile_info, GI },
        ROW(nvmlGpuInstanceGetComputeInstanceProfileInfoV) = { ci_profile_info_v, GI,
                                                               .versions = ci_versions },
        ROW(nvmlGpuInstanceGetComputeInstanceRemainingCapacity) = { ci_remaining, GI },
        ROW(nvmlGpuInstanceGetComputeInstancePossiblePlacements) = { ci_placements, GI },
        ROW(nvmlGpuInstanceCreateComputeInstance) = { ci_create, GI },
        ROW(nvmlGpuInstanceCreateComputeInstanceWithPlacement) = { ci_create_placed, GI },
        ROW(nvmlGpuInstanceGetComputeInstances) = { ci_list, GI },
        ROW(nvmlGpuInstanceGetComputeInstanceById) = { ci_by_id, GI },
        ROW(nvmlComputeInstanceGetInfo_v2) = { ci_info, NVML_ON_CI, .root = true, .mig = true,
                                               .mig_on = true },
        ROW(nvmlComputeInstanceDestroy) = { ci_destroy, NVML_ON_CI, .root = true, .mig = true,
                                            .mig_on = true },
};
