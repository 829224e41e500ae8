/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "libnvidia-ml.h"

/* vGPUs: a card as their host, their types, and those that run. */

/* A number about a number: a type or an instance. */
static nvmlReturn_t ask_about(NvmlCallId call, unsigned id, void *out, size_t len) {
        return ask(&(NvmlRequest){ call, { id } }, out, len);
}

static nvmlReturn_t ask_gpu(NvmlCallId call, nvmlDevice_t device, unsigned argument, unsigned *out) {
        return ask(&(NvmlRequest){ call, { argument }, TOKEN(device) }, out, sizeof *out);
}

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned *mode) {
        return ask_gpu(NVML_CALL(nvmlDeviceGetVirtualizationMode), device, 0, mode);
}

nvmlReturn_t nvmlDeviceGetHostVgpuMode(nvmlDevice_t device, unsigned *mode) {
        return ask_gpu(NVML_CALL(nvmlDeviceGetHostVgpuMode), device, 0, mode);
}

/* Asked with too small a list, NVML says how long it must be. */
static nvmlReturn_t ask_sized(NvmlCallId call, nvmlDevice_t device, unsigned *count, unsigned *list) {
        NvmlReply reply;
        nvmlReturn_t r;

        if (!count || (*count > 0 && !list))
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask_reply(&(NvmlRequest){ call, { 0, *count }, TOKEN(device) }, &reply);
        if (r != NVML_SUCCESS && r != NVML_ERROR_INSUFFICIENT_SIZE) {
                poison(count, sizeof *count);
                return r;
        }

        *count = reply.len / (unsigned) sizeof *list;
        if (r == NVML_SUCCESS && list)
                memcpy(list, reply.data, reply.len);
        return r;
}

nvmlReturn_t nvmlDeviceGetSupportedVgpus(nvmlDevice_t device, unsigned *count, unsigned *types) {
        return ask_sized(NVML_CALL(nvmlDeviceGetSupportedVgpus), device, count, types);
}

nvmlReturn_t nvmlDeviceGetCreatableVgpus(nvmlDevice_t device, unsigned *count, unsigned *types) {
        return ask_sized(NVML_CALL(nvmlDeviceGetCreatableVgpus), device, count, types);
}

nvmlReturn_t nvmlDeviceGetActiveVgpus(nvmlDevice_t device, unsigned *count, unsigned *instances) {
        return ask_sized(NVML_CALL(nvmlDeviceGetActiveVgpus), device, count, instances);
}

nvmlReturn_t nvmlDeviceGetVgpuCapabilities(nvmlDevice_t device, unsigned capability, unsigned *result) {
        return ask_gpu(NVML_CALL(nvmlDeviceGetVgpuCapabilities), device, capability, result);
}

nvmlReturn_t nvmlGetVgpuDriverCapabilities(unsigned capability, unsigned *result) {
        return ask_about(NVML_CALL(nvmlGetVgpuDriverCapabilities), capability, result, sizeof *result);
}

nvmlReturn_t nvmlDeviceGetVgpuHeterogeneousMode(nvmlDevice_t device, nvmlVgpuHeterogeneousMode_t *mode) {
        return ask_versioned(
                &(NvmlRequest){ NVML_CALL(nvmlDeviceGetVgpuHeterogeneousMode), .handle = TOKEN(device) },
                mode);
}

nvmlReturn_t nvmlGpuInstanceGetVgpuHeterogeneousMode(nvmlGpuInstance_t gpuInstance,
                                                     nvmlVgpuHeterogeneousMode_t *mode) {
        return ask_versioned(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetVgpuHeterogeneousMode),
                                             .handle = TOKEN(gpuInstance) },
                             mode);
}

static nvmlReturn_t set_mixed(NvmlCallId call, uint64_t handle, const nvmlVgpuHeterogeneousMode_t *mode) {
        if (!mode)
                return NVML_ERROR_INVALID_ARGUMENT;
        return ask(&(NvmlRequest){ call, { mode->mode, [NVML_ARGS_MAX - 1] = mode->version }, handle }, NULL,
                   0);
}

nvmlReturn_t nvmlDeviceSetVgpuHeterogeneousMode(nvmlDevice_t device,
                                                const nvmlVgpuHeterogeneousMode_t *mode) {
        return set_mixed(NVML_CALL(nvmlDeviceSetVgpuHeterogeneousMode), TOKEN(device), mode);
}

nvmlReturn_t nvmlGpuInstanceSetVgpuHeterogeneousMode(nvmlGpuInstance_t gpuInstance,
                                                     const nvmlVgpuHeterogeneousMode_t *mode) {
        return set_mixed(NVML_CALL(nvmlGpuInstanceSetVgpuHeterogeneousMode), TOKEN(gpuInstance), mode);
}

/* The answer is the ids, and behind them the size of one. */
static nvmlReturn_t ask_places(NvmlCallId call, nvmlDevice_t device, unsigned type, void *info) {
        nvmlVgpuPlacementList_v2_t *list = info; /* v1 is the same, without the mode */
        NvmlReply reply;
        unsigned n;
        nvmlReturn_t r;

        if (!list)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask_reply(&(NvmlRequest){ call,
                                      { type, list->count, list->version >> 24 == 2 ? list->mode : 0,
                                        list->version },
                                      TOKEN(device) },
                      &reply);
        if (r != NVML_SUCCESS && r != NVML_ERROR_INSUFFICIENT_SIZE)
                return r;
        if (reply.len < sizeof n)
                return NVML_ERROR_UNKNOWN;

        n = reply.len / (unsigned) sizeof n - 1;
        list->count = n;
        memcpy(&list->placementSize, reply.data + n * sizeof n, sizeof n);
        if (r == NVML_SUCCESS && list->placementIds)
                memcpy(list->placementIds, reply.data, n * sizeof n);
        return r;
}

nvmlReturn_t nvmlDeviceGetVgpuTypeSupportedPlacements(nvmlDevice_t device, unsigned type, void *list) {
        return ask_places(NVML_CALL(nvmlDeviceGetVgpuTypeSupportedPlacements), device, type, list);
}

nvmlReturn_t nvmlDeviceGetVgpuTypeCreatablePlacements(nvmlDevice_t device, unsigned type, void *list) {
        return ask_places(NVML_CALL(nvmlDeviceGetVgpuTypeCreatablePlacements), device, type, list);
}

/* A text whose length goes both ways. */
static nvmlReturn_t ask_sized_text(NvmlCallId call, unsigned id, char *text, unsigned *size) {
        NvmlReply reply;
        nvmlReturn_t r;

        if (!size || (*size > 0 && !text))
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask_reply(&(NvmlRequest){ call, { id } }, &reply);
        poison(text, *size);
        if (r != NVML_SUCCESS)
                return r;
        if (reply.len > *size) {
                *size = reply.len;
                return NVML_ERROR_INSUFFICIENT_SIZE;
        }

        *size = reply.len;
        memcpy(text, reply.data, reply.len);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlVgpuTypeGetName(unsigned type, char *name, unsigned *size) {
        return ask_sized_text(NVML_CALL(nvmlVgpuTypeGetName), type, name, size);
}

nvmlReturn_t nvmlVgpuTypeGetClass(unsigned type, char *name, unsigned *size) {
        return ask_sized_text(NVML_CALL(nvmlVgpuTypeGetClass), type, name, size);
}

nvmlReturn_t nvmlVgpuTypeGetFramebufferSize(unsigned type, unsigned long long *bytes) {
        return ask_about(NVML_CALL(nvmlVgpuTypeGetFramebufferSize), type, bytes, sizeof *bytes);
}

nvmlReturn_t nvmlVgpuTypeGetMaxInstances(nvmlDevice_t device, unsigned type, unsigned *count) {
        return ask_gpu(NVML_CALL(nvmlVgpuTypeGetMaxInstances), device, type, count);
}

nvmlReturn_t nvmlVgpuTypeGetMaxInstancesPerGpuInstance(nvmlVgpuTypeMaxInstance_t *max) {
        return ask_versioned(&(NvmlRequest){ NVML_CALL(nvmlVgpuTypeGetMaxInstancesPerGpuInstance),
                                             { max ? max->vgpuTypeId : 0 } },
                             max);
}

nvmlReturn_t nvmlVgpuTypeGetGpuInstanceProfileId(unsigned type, unsigned *profileId) {
        return ask_about(NVML_CALL(nvmlVgpuTypeGetGpuInstanceProfileId), type, profileId, sizeof *profileId);
}

nvmlReturn_t nvmlVgpuTypeGetNumDisplayHeads(unsigned type, unsigned *heads) {
        return ask_about(NVML_CALL(nvmlVgpuTypeGetNumDisplayHeads), type, heads, sizeof *heads);
}

nvmlReturn_t nvmlVgpuTypeGetResolution(unsigned type, unsigned head, unsigned *x, unsigned *y) {
        unsigned size[2];
        nvmlReturn_t r;

        if (!x || !y)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask(&(NvmlRequest){ NVML_CALL(nvmlVgpuTypeGetResolution), { type, head } }, size, sizeof size);
        *x = size[0];
        *y = size[1];
        return r;
}

nvmlReturn_t nvmlVgpuTypeGetFrameRateLimit(unsigned type, unsigned *limit) {
        return ask_about(NVML_CALL(nvmlVgpuTypeGetFrameRateLimit), type, limit, sizeof *limit);
}

/* What kind of id it is comes first. */
nvmlReturn_t nvmlVgpuInstanceGetVmID(unsigned instance, char *vmId, unsigned size, unsigned *type) {
        NvmlReply reply;
        nvmlReturn_t r;

        if (!vmId || !type)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask_reply(&(NvmlRequest){ NVML_CALL(nvmlVgpuInstanceGetVmID), { instance } }, &reply);
        poison(vmId, size);
        poison(type, sizeof *type);
        if (r != NVML_SUCCESS || reply.len < sizeof *type)
                return r;
        if (reply.len - sizeof *type > size)
                return NVML_ERROR_INSUFFICIENT_SIZE;

        memcpy(type, reply.data, sizeof *type);
        memcpy(vmId, reply.data + sizeof *type, reply.len - sizeof *type);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlVgpuInstanceGetUUID(unsigned instance, char *uuid, unsigned size) {
        return ask_text(&(NvmlRequest){ NVML_CALL(nvmlVgpuInstanceGetUUID), { instance } }, uuid, size);
}

nvmlReturn_t nvmlVgpuInstanceGetMdevUUID(unsigned instance, char *uuid, unsigned size) {
        return ask_text(&(NvmlRequest){ NVML_CALL(nvmlVgpuInstanceGetMdevUUID), { instance } }, uuid, size);
}

nvmlReturn_t nvmlVgpuInstanceGetType(unsigned instance, unsigned *type) {
        return ask_about(NVML_CALL(nvmlVgpuInstanceGetType), instance, type, sizeof *type);
}

nvmlReturn_t nvmlVgpuInstanceGetGpuPciId(unsigned instance, char *id, unsigned *size) {
        return ask_sized_text(NVML_CALL(nvmlVgpuInstanceGetGpuPciId), instance, id, size);
}

nvmlReturn_t nvmlVgpuInstanceGetGpuInstanceId(unsigned instance, unsigned *id) {
        return ask_about(NVML_CALL(nvmlVgpuInstanceGetGpuInstanceId), instance, id, sizeof *id);
}

nvmlReturn_t nvmlVgpuInstanceGetPlacementId(unsigned instance, nvmlVgpuPlacementId_t *placement) {
        return ask_versioned(&(NvmlRequest){ NVML_CALL(nvmlVgpuInstanceGetPlacementId), { instance } },
                             placement);
}
