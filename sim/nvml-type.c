/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "nvml.h"

/* Calls about vGPU types: what they are, whether they can be had or not. */

/* A type by its number, of whatever card. */
static const TypeSpec *type_of(const NvmlCall *call, unsigned id) {
        for (unsigned i = 0; i < call->session->cards->len; i++) {
                const GpuSpec *spec = ((Nvidia *) call->session->cards->pdata[i])->pf->spec;
                const TypeSpec *type = nvidia_type(spec, id);

                if (type)
                        return type;
        }

        return NULL;
}

static const TypeSpec *this_type(const NvmlCall *call) {
        return type_of(call, call->request->args[0]);
}

static nvmlReturn_t get_name(NvmlCall *call) {
        const TypeSpec *type = this_type(call);

        return type ? nvml_put_text(call, type->name) : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t get_class(NvmlCall *call) {
        const TypeSpec *type = this_type(call);

        return type ? nvml_put_text(call, type->class ?: "Quadro") : NVML_ERROR_INVALID_ARGUMENT;
}

/* In bytes, and less than its name says. */
static nvmlReturn_t get_framebuffer(NvmlCall *call) {
        const TypeSpec *type = this_type(call);
        unsigned long long bytes;

        if (!type)
                return NVML_ERROR_INVALID_ARGUMENT;

        bytes = type_spec_framebuffer(type);
        return nvml_put(call, &bytes, sizeof bytes);
}

/* Fewer while sizes are mixed. */
static nvmlReturn_t get_max(NvmlCall *call) {
        const GpuSpec *spec = call->card->pf->spec;
        const TypeSpec *type = nvidia_type(spec, call->request->args[0]);
        g_autoptr(GArray) places = NULL;

        if (!type)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!call->card->mixed_size || type->mig_backed)
                return nvml_put_number(call, type->max);

        places = nvidia_placements(spec, type);
        return nvml_put_number(call, MIN(places->len, VGPUS_PER_GPU_MAX));
}

static bool max_versions(unsigned word, unsigned *ret_size) {
        *ret_size = sizeof(nvmlVgpuTypeMaxInstance_t);
        return word == NVML_VERSION_WORD(nvmlVgpuTypeMaxInstance_t, 1);
}

static nvmlReturn_t get_max_per_gi(NvmlCall *call) {
        const TypeSpec *type = this_type(call);

        if (!type)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!type->mig_backed)
                return NVML_ERROR_NOT_SUPPORTED;
        return nvml_put(call, &(nvmlVgpuTypeMaxInstance_t){ nvml_version(call), type->id, type->max_per_gi },
                        sizeof(nvmlVgpuTypeMaxInstance_t));
}

static nvmlReturn_t get_gi_profile(NvmlCall *call) {
        const TypeSpec *type = this_type(call);

        if (!type)
                return NVML_ERROR_INVALID_ARGUMENT;
        return nvml_put_number(call, type->mig_backed ? type->gi_profile : NVML_NONE);
}

static nvmlReturn_t get_heads(NvmlCall *call) {
        const TypeSpec *type = this_type(call);

        return type ? nvml_put_number(call, type->heads) : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t get_resolution(NvmlCall *call) {
        const TypeSpec *type = this_type(call);

        if (!type || call->request->args[1] >= type->heads)
                return NVML_ERROR_INVALID_ARGUMENT;

        nvml_put_number(call, type->width);
        return nvml_put_number(call, type->height);
}

static nvmlReturn_t get_frame_rate(NvmlCall *call) {
        const TypeSpec *type = this_type(call);

        return type ? nvml_put_number(call, type->frame_rate_limit) : NVML_ERROR_INVALID_ARGUMENT;
}

/* All of them, creatable now or not. None before nvidia-vgpud has told the driver. */
static bool has_types(const Nvidia *card) {
        return !card->pf->spec->no_vgpud || card->pf->device.kernel->vgpud_ran;
}

static nvmlReturn_t supported(NvmlCall *call) {
        const GpuSpec *spec = call->card->pf->spec;

        for (unsigned i = 0; has_types(call->card) && i < spec->types->len; i++)
                nvml_put_number(call, ((TypeSpec *) spec->types->pdata[i])->id);
        return nvml_check_size(call);
}

static nvmlReturn_t creatable(NvmlCall *call) {
        PciDevice *pf = call->card->pf;
        bool any = has_types(call->card) && (pf->num_vfs == 0 || call->card->vgpus->len < pf->num_vfs);

        for (unsigned i = 0; any && i < pf->spec->types->len; i++) {
                const TypeSpec *type = pf->spec->types->pdata[i];

                if (nvidia_may_create(call->card, pf, type) == RM_OK)
                        nvml_put_number(call, type->id);
        }
        return nvml_check_size(call);
}

static bool list_versions(unsigned word, unsigned *ret_size) {
        *ret_size = 0; /* the library knows where in it the answer goes */
        return word == NVML_VERSION_WORD(nvmlVgpuPlacementList_t, 1) ||
               word == NVML_VERSION_WORD(nvmlVgpuPlacementList_v2_t, 2);
}

/* Its size, then where. Arguments: the type, how many the caller has room for, for equal sizes. */
static nvmlReturn_t put_places(NvmlCall *call, const TypeSpec *type, GArray *places) {
        uint32_t size = nvidia_placement_size(type);
        nvmlReturn_t r;

        for (unsigned i = 0; i < places->len; i++)
                nvml_put_number(call, g_array_index(places, unsigned, i));
        r = nvml_check_size(call);
        nvml_put_number(call, size);
        return r;
}

static nvmlReturn_t places_supported(NvmlCall *call) {
        const GpuSpec *spec = call->card->pf->spec;
        const TypeSpec *type = nvidia_type(spec, call->request->args[0]);
        bool equal = call->request->args[2] == 1;
        g_autoptr(GArray) places = NULL;

        if (!type || call->request->args[2] > 1)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (equal ? !spec->equal_placements : !spec->mixed_size)
                return NVML_ERROR_NOT_SUPPORTED;

        places = equal ? nvidia_equal_placements(spec, type) : nvidia_placements(spec, type);
        return put_places(call, type, places);
}

/* Only for mixed sizes, while they are on. */
static nvmlReturn_t places_creatable(NvmlCall *call) {
        const TypeSpec *type = nvidia_type(call->card->pf->spec, call->request->args[0]);
        g_autoptr(GArray) places = NULL;

        if (!type || call->request->args[2] > 1)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!call->card->mixed_size || type->mig_backed || call->request->args[2] == 1)
                return NVML_ERROR_NOT_SUPPORTED;

        places = nvidia_free_placements(call->card, NULL, type);
        return put_places(call, type, places);
}

#define ROW(name) [NVML_CALL(name)]
#define GPU       NVML_ON_GPU, .vgpu = true

const NvmlHandler nvml_type_handlers[NVML_CALL_COUNT] = {
        ROW(nvmlVgpuTypeGetName) = { get_name },
        ROW(nvmlVgpuTypeGetClass) = { get_class },
        ROW(nvmlVgpuTypeGetFramebufferSize) = { get_framebuffer },
        ROW(nvmlVgpuTypeGetMaxInstances) = { get_max, GPU },
        ROW(nvmlVgpuTypeGetMaxInstancesPerGpuInstance) = { get_max_per_gi, .versions = max_versions },
        ROW(nvmlVgpuTypeGetGpuInstanceProfileId) = { get_gi_profile },
        ROW(nvmlVgpuTypeGetNumDisplayHeads) = { get_heads },
        ROW(nvmlVgpuTypeGetResolution) = { get_resolution },
        ROW(nvmlVgpuTypeGetFrameRateLimit) = { get_frame_rate },
        ROW(nvmlDeviceGetSupportedVgpus) = { supported, GPU },
        ROW(nvmlDeviceGetCreatableVgpus) = { creatable, GPU },
        ROW(nvmlDeviceGetVgpuTypeSupportedPlacements) = { places_supported, GPU, .versions = list_versions },
        ROW(nvmlDeviceGetVgpuTypeCreatablePlacements) = { places_creatable, GPU, .versions = list_versions },
};
