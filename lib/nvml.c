/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "nvml.h"

/* The exact names: headers map plain ones to those with a version. */
static const struct {
        const char *name;
        size_t offset;
} symbols[] = {
#define SYMBOL(name, member)                                                                                 \
        { #name, offsetof(CarvedNvml, member) }
        SYMBOL(nvmlInit_v2, init),
        SYMBOL(nvmlShutdown, shutdown),
        SYMBOL(nvmlDeviceGetHandleByPciBusId_v2, find_device),
        SYMBOL(nvmlDeviceGetUUID, get_uuid),
        SYMBOL(nvmlDeviceGetSerial, get_serial),
        SYMBOL(nvmlDeviceGetMinorNumber, get_minor),
        SYMBOL(nvmlDeviceGetMemoryInfo, get_memory),
        SYMBOL(nvmlDeviceGetMigMode, get_mig_mode),
        SYMBOL(nvmlDeviceSetMigMode, set_mig_mode),
        SYMBOL(nvmlDeviceGetGpuInstanceProfileInfo, get_profile),
        SYMBOL(nvmlDeviceGetGpuInstanceProfileInfoV, get_profile_v),
        SYMBOL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, get_placements),
        SYMBOL(nvmlDeviceGetGpuInstanceRemainingCapacity, get_capacity),
        SYMBOL(nvmlDeviceCreateGpuInstanceWithPlacement, create_instance),
        SYMBOL(nvmlGpuInstanceDestroy, destroy_instance),
        SYMBOL(nvmlDeviceGetGpuInstances, list_instances),
        SYMBOL(nvmlGpuInstanceGetInfo, get_instance),
        SYMBOL(nvmlGpuInstanceGetComputeInstanceProfileInfo, get_compute_profile),
        SYMBOL(nvmlGpuInstanceCreateComputeInstance, create_compute),
        SYMBOL(nvmlGpuInstanceGetComputeInstances, list_compute),
        SYMBOL(nvmlComputeInstanceDestroy, destroy_compute),
        SYMBOL(nvmlDeviceGetMaxMigDeviceCount, count_mig_devices),
        SYMBOL(nvmlDeviceGetMigDeviceHandleByIndex, get_mig_device),
        SYMBOL(nvmlDeviceGetGpuInstanceId, get_instance_id),
        SYMBOL(nvmlDeviceGetVgpuCapabilities, get_vgpu_capability),
        SYMBOL(nvmlDeviceGetVgpuHeterogeneousMode, get_mixed),
        SYMBOL(nvmlDeviceSetVgpuHeterogeneousMode, set_mixed),
        SYMBOL(nvmlDeviceGetSupportedVgpus, list_types),
        SYMBOL(nvmlVgpuTypeGetName, get_type_name),
        SYMBOL(nvmlVgpuTypeGetFramebufferSize, get_type_framebuffer),
        SYMBOL(nvmlVgpuTypeGetMaxInstances, get_type_max),
        SYMBOL(nvmlVgpuTypeGetGpuInstanceProfileId, get_type_profile),
        SYMBOL(nvmlVgpuTypeGetNumDisplayHeads, get_type_heads),
        SYMBOL(nvmlVgpuTypeGetResolution, get_type_resolution),
        SYMBOL(nvmlVgpuTypeGetFrameRateLimit, get_type_frame_rate),
        SYMBOL(nvmlDeviceGetVgpuTypeSupportedPlacements, get_type_placements),
#undef SYMBOL
};

static const struct {
        NvmlReturn code;
        int errnum;
        const char *text;
} returns[] = {
        { NVML_SUCCESS, 0, "it went well" },
        { NVML_UNINITIALIZED, EIO, "the library is not started" },
        { NVML_INVALID_ARGUMENT, EINVAL, "it takes no such argument" },
        { NVML_NOT_SUPPORTED, EOPNOTSUPP, "the card, or its mode, does not support that" },
        { NVML_NO_PERMISSION, EPERM, "no permission" },
        { NVML_NOT_FOUND, ENOENT, "there is no such thing" },
        { NVML_INSUFFICIENT_SIZE, E2BIG, "there is more than fits" },
        { NVML_DRIVER_NOT_LOADED, ENODEV, "the driver is not loaded" },
        { NVML_TIMEOUT, ETIMEDOUT, "it took too long" },
        { NVML_LIBRARY_NOT_FOUND, ENOSYS, "the library is not there" },
        { NVML_FUNCTION_NOT_FOUND, ENOSYS, "this version of the library has no such function" },
        { NVML_GPU_IS_LOST, ENODEV, "the card has fallen off the bus" },
        { NVML_RESET_REQUIRED, EAGAIN, "the card needs a reset" },
        { NVML_OPERATING_SYSTEM, EACCES, "the operating system kept it from the card" },
        { NVML_LIB_RM_VERSION_MISMATCH, ENOEXEC, "library and driver are of different versions" },
        { NVML_IN_USE, EBUSY, "it is in use" },
        { NVML_MEMORY, ENOMEM, "there is not enough memory" },
        { NVML_NO_DATA, ENODATA, "there is no data" },
        { NVML_VGPU_ECC_NOT_SUPPORTED, EOPNOTSUPP, "the vGPU can't be had with ECC" },
        { NVML_INSUFFICIENT_RESOURCES, ENOSPC, "there is no room for it" },
        { NVML_ARGUMENT_VERSION_MISMATCH, EINVAL, "the library knows another version of the argument" },
        { NVML_DEPRECATED, ENOSYS, "the library has it no more" },
        { NVML_NOT_READY, EAGAIN, "the card is not ready" },
        { NVML_GPU_NOT_FOUND, ENODEV, "the library does not know the card" },
        { NVML_INVALID_STATE, EINVAL, "the card is in no state for that" },
};

const char *carved_nvml_text(NvmlReturn r) {
        for (size_t i = 0; i < G_N_ELEMENTS(returns); i++)
                if (returns[i].code == r)
                        return returns[i].text;

        return "something that has no name";
}

int carved_nvml_errno(NvmlReturn r) {
        for (size_t i = 0; i < G_N_ELEMENTS(returns); i++)
                if (returns[i].code == r)
                        return returns[i].errnum;

        return EIO;
}

NvmlReturn carved_nvml_open(CarvedNvml *nvml, const char *library, char **ret_text) {
        NvmlReturn r;

        *nvml = (CarvedNvml){ 0 };
        nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (!nvml->library) {
                *ret_text = g_strdup(dlerror());
                return NVML_LIBRARY_NOT_FOUND;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(symbols); i++) {
                void *symbol = dlsym(nvml->library, symbols[i].name);

                memcpy((char *) nvml + symbols[i].offset, &symbol, sizeof symbol);
        }

        r = carved_nvml_call(nvml, init);
        nvml->initialised = r == NVML_SUCCESS;
        return r;
}

void carved_nvml_close(CarvedNvml *nvml) {
        if (nvml->initialised)
                carved_nvml_call(nvml, shutdown);
        if (nvml->library)
                dlclose(nvml->library);
        *nvml = (CarvedNvml){ 0 };
}

NvmlReturn carved_nvml_find(const CarvedNvml *nvml, const CarvedPciAddress *address, NvmlDevice **ret) {
        char text[32];

        /* NVML's own spelling: eight digits of domain, upper case. */
        g_snprintf(text, sizeof text, "%08X:%02X:%02X.%X", address->domain, address->bus, address->device,
                   address->function);
        return carved_nvml_call(nvml, find_device, text, ret);
}

void carved_nvml_take_text(char *to, size_t to_size, const char *from, size_t size) {
        size_t len = strnlen(from, size);

        *to = '\0';
        if (len == size || len >= to_size)
                return;
        for (size_t i = 0; i < len; i++)
                if (!g_ascii_isprint(from[i]))
                        return;
        memcpy(to, from, len);
        to[len] = '\0';
}
