/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "hold.h"
#include "nvml.h"

/* Calls about a card as a vGPU host, and about vGPUs that run. */

enum { VIRTUALIZATION_NONE = 0, VIRTUALIZATION_HOST_VGPU = 3 };

/* What a card can do as a host. */
enum {
        CAP_FRACTIONAL_MULTI = 0,
        CAP_HETEROGENEOUS_PROFILES = 1,
        CAP_HETEROGENEOUS_SIZES = 2,
        CAP_HOMOGENEOUS_PLACEMENTS = 9,
        CAP_MIG_TIMESLICING = 10,
        CAP_MIG_TIMESLICING_ON = 11,
        CAP_COUNT,
};

#define VM_ID_UUID 1

static const GpuSpec *spec_of(const NvmlCall *call) {
        return call->card->pf->spec;
}

static nvmlReturn_t virtualization_mode(NvmlCall *call) {
        const GpuSpec *spec = spec_of(call);
        bool host = !spec->no_vgpu_driver && spec->framework != FRAMEWORK_NONE;

        return nvml_put_number(call, host ? VIRTUALIZATION_HOST_VGPU : VIRTUALIZATION_NONE);
}

static nvmlReturn_t host_vgpu_mode(NvmlCall *call) {
        return nvml_put_number(call, spec_of(call)->total_vfs > 0);
}

/* Several vGPUs in one GPU instance: whether any type does that. */
static bool slices_time_in_mig(const GpuSpec *spec, const MigProfile *profile) {
        for (unsigned i = 0; i < spec->types->len; i++) {
                const TypeSpec *type = spec->types->pdata[i];

                if (type->mig_backed && type->max_per_gi > 1 && (!profile || type->gi_profile == profile->id))
                        return true;
        }

        return false;
}

static nvmlReturn_t capabilities(NvmlCall *call) {
        const GpuSpec *spec = spec_of(call);
        unsigned capability = call->request->args[0];

        if (capability >= CAP_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;

        switch (capability) {
        case CAP_FRACTIONAL_MULTI:
        case CAP_HETEROGENEOUS_PROFILES:
                return nvml_put_number(call, 1);
        case CAP_HETEROGENEOUS_SIZES:
                return nvml_put_number(call, spec->mixed_size);
        case CAP_HOMOGENEOUS_PLACEMENTS:
                return nvml_put_number(call, spec->equal_placements);
        case CAP_MIG_TIMESLICING:
        case CAP_MIG_TIMESLICING_ON:
                return nvml_put_number(call, slices_time_in_mig(spec, NULL));
        default:
                return nvml_put_number(call, 0);
        }
}

static nvmlReturn_t driver_capabilities(NvmlCall *call) {
        if (call->request->args[0] > 1)
                return NVML_ERROR_INVALID_ARGUMENT;
        return nvml_put_number(call, call->request->args[0] == 0);
}

static bool mode_versions(unsigned word, unsigned *ret_size) {
        *ret_size = sizeof(nvmlVgpuHeterogeneousMode_t);
        return word == NVML_VERSION_WORD(nvmlVgpuHeterogeneousMode_t, 1);
}

/* Of the whole card without MIG; of a GPU instance where several vGPUs share one. */
static bool may_mix(const NvmlCall *call) {
        const GpuSpec *spec = spec_of(call);

        if (!spec->mixed_size || spec->total_vfs == 0)
                return false;
        return call->gi ? slices_time_in_mig(spec, call->gi->profile) : !nvidia_mig_on(call->card);
}

static nvmlReturn_t get_mixed(NvmlCall *call) {
        nvmlVgpuHeterogeneousMode_t mode = { nvml_version(call), nvidia_is_mixed(call->card, call->gi) };

        return may_mix(call) ? nvml_put(call, &mode, sizeof mode) : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t set_mixed(NvmlCall *call) {
        if (call->request->args[0] > 1)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!may_mix(call))
                return NVML_ERROR_NOT_SUPPORTED;
        return nvidia_set_mixed(call->card, call->gi, call->request->args[0]);
}

/* Those that a VM has, not those that are merely there. */
static nvmlReturn_t active(NvmlCall *call) {
        for (unsigned i = 0; i < call->card->vgpus->len; i++) {
                const Vgpu *vgpu = call->card->vgpus->pdata[i];

                if (nvidia_vgpu_in_use(vgpu))
                        nvml_put_number(call, vgpu->instance);
        }
        return nvml_check_size(call);
}

static const Vgpu *running(const NvmlCall *call) {
        for (unsigned i = 0; i < call->session->cards->len; i++) {
                const Nvidia *card = call->session->cards->pdata[i];

                for (unsigned j = 0; j < card->vgpus->len; j++) {
                        const Vgpu *vgpu = card->vgpus->pdata[j];

                        if (vgpu->instance == call->request->args[0] && nvidia_vgpu_in_use(vgpu))
                                return vgpu;
                }
        }

        return NULL;
}

static nvmlReturn_t vm_id(NvmlCall *call) {
        const Vgpu *vgpu = running(call);
        const Hold *hold = vgpu ? hold_find_vgpu(call->session->kernel, vgpu) : NULL;

        if (!hold)
                return NVML_ERROR_NOT_FOUND;

        nvml_put_number(call, VM_ID_UUID);
        return nvml_put_text(call, hold->vm);
}

static nvmlReturn_t instance_uuid(NvmlCall *call) {
        const Vgpu *vgpu = running(call);
        g_autofree char *which = NULL, *uuid = NULL;

        if (!vgpu)
                return NVML_ERROR_NOT_FOUND;

        which = g_strdup_printf("%s/%s/%u", spec_of(&(NvmlCall){ .card = vgpu->nvidia })->uuid,
                                vgpu->on->device.name, vgpu->instance);
        uuid = uuid_of("", which);
        return nvml_put_text(call, uuid);
}

static nvmlReturn_t mdev_uuid(NvmlCall *call) {
        const Vgpu *vgpu = running(call);

        if (!vgpu)
                return NVML_ERROR_NOT_FOUND;
        return vgpu->mdev ? nvml_put_text(call, vgpu->mdev->device.name) : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t instance_type(NvmlCall *call) {
        const Vgpu *vgpu = running(call);

        return vgpu ? nvml_put_number(call, vgpu->type->id) : NVML_ERROR_NOT_FOUND;
}

/* As the guest sees it; with no driver in the guest nobody knows. */
static nvmlReturn_t guest_pci_id(NvmlCall *call) {
        return running(call) ? nvml_put_text(call, "00000000:00:00.0") : NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t instance_gi(NvmlCall *call) {
        const Vgpu *vgpu = running(call);

        if (!vgpu)
                return NVML_ERROR_NOT_FOUND;
        return nvml_put_number(call, vgpu->gi ? vgpu->gi->id : NVML_NONE);
}

static nvmlReturn_t instance_placement(NvmlCall *call) {
        const Vgpu *vgpu = running(call);
        nvmlVgpuPlacementId_t id = { nvml_version(call), NVML_NO_PLACEMENT };

        if (!vgpu)
                return NVML_ERROR_NOT_FOUND;

        if (vgpu->placement >= 0)
                id.placementId = (unsigned) vgpu->placement;
        return nvml_put(call, &id, sizeof id);
}

#define ROW(name) [NVML_CALL(name)]
#define GPU       NVML_ON_GPU, .vgpu = true
#define GI        NVML_ON_GI, .vgpu = true, .mig = true, .mig_on = true

const NvmlHandler nvml_vgpu_handlers[NVML_CALL_COUNT] = {
        ROW(nvmlDeviceGetVirtualizationMode) = { virtualization_mode, NVML_ON_GPU },
        ROW(nvmlDeviceGetHostVgpuMode) = { host_vgpu_mode, GPU },
        ROW(nvmlDeviceGetVgpuCapabilities) = { capabilities, GPU },
        ROW(nvmlGetVgpuDriverCapabilities) = { driver_capabilities },
        ROW(nvmlDeviceGetVgpuHeterogeneousMode) = { get_mixed, GPU, .versions = mode_versions },
        ROW(nvmlDeviceSetVgpuHeterogeneousMode) = { set_mixed, GPU, .root = true, .versions = mode_versions },
        ROW(nvmlGpuInstanceGetVgpuHeterogeneousMode) = { get_mixed, GI, .versions = mode_versions },
        ROW(nvmlGpuInstanceSetVgpuHeterogeneousMode) = { set_mixed, GI, .root = true,
                                                         .versions = mode_versions },
        ROW(nvmlDeviceGetActiveVgpus) = { active, GPU },
        ROW(nvmlVgpuInstanceGetVmID) = { vm_id },
        ROW(nvmlVgpuInstanceGetUUID) = { instance_uuid },
        ROW(nvmlVgpuInstanceGetMdevUUID) = { mdev_uuid },
        ROW(nvmlVgpuInstanceGetType) = { instance_type },
        ROW(nvmlVgpuInstanceGetGpuPciId) = { guest_pci_id },
        ROW(nvmlVgpuInstanceGetGpuInstanceId) = { instance_gi },
        ROW(nvmlVgpuInstanceGetPlacementId) = { instance_placement, .versions = mode_versions },
};
