/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "libnvidia-ml.h"

/* MIG: mode, profiles, GPU instances and compute instances. */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
        unsigned modes[2];
        nvmlReturn_t r;

        if (!current || !pending)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetMigMode), .handle = TOKEN(device) }, modes,
                sizeof modes);
        *current = modes[0];
        *pending = modes[1];
        return r;
}

nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned mode, nvmlReturn_t *activationStatus) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceSetMigMode), { mode }, .handle = TOKEN(device) },
                   activationStatus, sizeof *activationStatus);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned profile,
                                                 nvmlGpuInstanceProfileInfo_t *info) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstanceProfileInfo),
                                   { profile },
                                   .handle = TOKEN(device) },
                   info, sizeof *info);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned profile, void *info) {
        return ask_versioned(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstanceProfileInfoV),
                                             { profile },
                                             .handle = TOKEN(device) },
                             info);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned profileId, void *info) {
        return ask_versioned(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstanceProfileInfoByIdV),
                                             { profileId },
                                             .handle = TOKEN(device) },
                             info);
}

/* As many as there are: the caller's list has no length here. @list may be NULL, if @may_ask. */
static nvmlReturn_t ask_list(const NvmlRequest *request, void *list, size_t size, unsigned *count,
                             int may_ask) {
        NvmlReply reply;
        nvmlReturn_t r;

        if (!count || (!list && !may_ask))
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask_reply(request, &reply);
        poison(count, sizeof *count);
        if (r != NVML_SUCCESS)
                return r;

        *count = (unsigned) (reply.len / size);
        if (list)
                memcpy(list, reply.data, reply.len);
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned profileId,
                                                           nvmlPlacement_t *placements, unsigned *count) {
        return ask_list(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2),
                                        { profileId },
                                        .handle = TOKEN(device) },
                        placements, sizeof *placements, count, /* may_ask= */ 1);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned profileId,
                                                       unsigned *count) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstanceRemainingCapacity),
                                   { profileId },
                                   .handle = TOKEN(device) },
                   count, sizeof *count);
}

nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned profileId,
                                         nvmlGpuInstance_t *gpuInstance) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceCreateGpuInstance),
                                   { profileId },
                                   .handle = TOKEN(device) },
                   gpuInstance, sizeof *gpuInstance);
}

nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned profileId,
                                                      const nvmlPlacement_t *placement,
                                                      nvmlGpuInstance_t *gpuInstance) {
        if (!placement)
                return NVML_ERROR_INVALID_ARGUMENT;
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceCreateGpuInstanceWithPlacement),
                                   { profileId, placement->start, placement->size },
                                   .handle = TOKEN(device) },
                   gpuInstance, sizeof *gpuInstance);
}

nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t gpuInstance) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceDestroy), .handle = TOKEN(gpuInstance) }, NULL,
                   0);
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned profileId,
                                       nvmlGpuInstance_t *gpuInstances, unsigned *count) {
        return ask_list(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstances),
                                        { profileId },
                                        .handle = TOKEN(device) },
                        gpuInstances, sizeof *gpuInstances, count, /* may_ask= */ 0);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *gpuInstance) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstanceById), { id }, .handle = TOKEN(device) },
                   gpuInstance, sizeof *gpuInstance);
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gpuInstance, nvmlGpuInstanceInfo_t *info) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetInfo), .handle = TOKEN(gpuInstance) }, info,
                   sizeof *info);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t gpuInstance, unsigned profile,
                                                          unsigned engProfile,
                                                          nvmlComputeInstanceProfileInfo_t *info) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo),
                                   { profile, engProfile },
                                   .handle = TOKEN(gpuInstance) },
                   info, sizeof *info);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t gpuInstance, unsigned profile,
                                                           unsigned engProfile, void *info) {
        return ask_versioned(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetComputeInstanceProfileInfoV),
                                             { profile, engProfile },
                                             .handle = TOKEN(gpuInstance) },
                             info);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t gpuInstance,
                                                                unsigned profileId, unsigned *count) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetComputeInstanceRemainingCapacity),
                                   { profileId },
                                   .handle = TOKEN(gpuInstance) },
                   count, sizeof *count);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t gpuInstance,
                                                                 unsigned profileId,
                                                                 nvmlPlacement_t *placements,
                                                                 unsigned *count) {
        return ask_list(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetComputeInstancePossiblePlacements),
                                        { profileId },
                                        .handle = TOKEN(gpuInstance) },
                        placements, sizeof *placements, count, /* may_ask= */ 1);
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t gpuInstance, unsigned profileId,
                                                  nvmlComputeInstance_t *computeInstance) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceCreateComputeInstance),
                                   { profileId },
                                   .handle = TOKEN(gpuInstance) },
                   computeInstance, sizeof *computeInstance);
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t gpuInstance,
                                                               unsigned profileId,
                                                               const nvmlPlacement_t *placement,
                                                               nvmlComputeInstance_t *computeInstance) {
        if (!placement)
                return NVML_ERROR_INVALID_ARGUMENT;
        return ask(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceCreateComputeInstanceWithPlacement),
                                   { profileId, placement->start, placement->size },
                                   .handle = TOKEN(gpuInstance) },
                   computeInstance, sizeof *computeInstance);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gpuInstance, unsigned profileId,
                                                nvmlComputeInstance_t *computeInstances, unsigned *count) {
        return ask_list(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetComputeInstances),
                                        { profileId },
                                        .handle = TOKEN(gpuInstance) },
                        computeInstances, sizeof *computeInstances, count, /* may_ask= */ 0);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gpuInstance, unsigned id,
                                                   nvmlComputeInstance_t *computeInstance) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlGpuInstanceGetComputeInstanceById),
                                   { id },
                                   .handle = TOKEN(gpuInstance) },
                   computeInstance, sizeof *computeInstance);
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t computeInstance,
                                           nvmlComputeInstanceInfo_t *info) {
        return ask(
                &(NvmlRequest){ NVML_CALL(nvmlComputeInstanceGetInfo_v2), .handle = TOKEN(computeInstance) },
                info, sizeof *info);
}

nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t computeInstance) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlComputeInstanceDestroy), .handle = TOKEN(computeInstance) },
                   NULL, 0);
}
