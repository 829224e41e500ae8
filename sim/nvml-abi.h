/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The binary interface of libnvidia-ml.so.1, as far as it is simulated: names, layouts and version words as
 * the real library has them on x86-64. Own declarations; nothing of NVIDIA's is needed to build. */

#include <assert.h>
#include <stddef.h>

typedef enum nvmlReturn_t {
        NVML_SUCCESS = 0,
        NVML_ERROR_UNINITIALIZED = 1,
        NVML_ERROR_INVALID_ARGUMENT = 2,
        NVML_ERROR_NOT_SUPPORTED = 3,
        NVML_ERROR_NO_PERMISSION = 4,
        NVML_ERROR_NOT_FOUND = 6,
        NVML_ERROR_INSUFFICIENT_SIZE = 7,
        NVML_ERROR_DRIVER_NOT_LOADED = 9,
        NVML_ERROR_TIMEOUT = 10,
        NVML_ERROR_LIBRARY_NOT_FOUND = 12,
        NVML_ERROR_FUNCTION_NOT_FOUND = 13,
        NVML_ERROR_GPU_IS_LOST = 15,
        NVML_ERROR_RESET_REQUIRED = 16,
        NVML_ERROR_OPERATING_SYSTEM = 17,
        NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
        NVML_ERROR_IN_USE = 19,
        NVML_ERROR_MEMORY = 20,
        NVML_ERROR_NO_DATA = 21,
        NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
        NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
        NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
        NVML_ERROR_DEPRECATED = 26,
        NVML_ERROR_NOT_READY = 27,
        NVML_ERROR_GPU_NOT_FOUND = 28,
        NVML_ERROR_INVALID_STATE = 29,
        NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
        NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;

#define NVML_VERSION_WORD(type, version) ((unsigned) sizeof(type) | (version) << 24)

#define NVML_GPU_INSTANCE_PROFILE_COUNT     18
#define NVML_COMPUTE_INSTANCE_PROFILE_COUNT 9
#define NVML_NONE                           0xFFFFFFFFU /* no GPU instance */
#define NVML_NO_PLACEMENT                   0xFFFFU

typedef struct nvmlPciInfo_t {
        char busIdLegacy[16];
        unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
        char busId[32];
} nvmlPciInfo_t;

typedef struct nvmlMemory_t {
        unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct nvmlMemory_v2_t {
        unsigned version;
        unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct nvmlDeviceAttributes_t {
        unsigned multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount,
                sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
        unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef struct nvmlPlacement_t { /* of GPU instances and compute instances alike */
        unsigned start, size;
} nvmlPlacement_t;

typedef struct nvmlGpuInstanceProfileInfo_t {
        unsigned id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount,
                decoderCount, encoderCount, jpegCount, ofaCount;
        unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;

typedef struct nvmlGpuInstanceProfileInfo_v2_t {
        unsigned version, id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount,
                decoderCount, encoderCount, jpegCount, ofaCount;
        unsigned long long memorySizeMB;
        char name[96];
} nvmlGpuInstanceProfileInfo_v2_t;

typedef struct nvmlGpuInstanceProfileInfo_v3_t { /* the same size as v2, and other offsets */
        unsigned version, id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
                encoderCount, jpegCount, ofaCount;
        unsigned long long memorySizeMB;
        char name[96];
        unsigned capabilities;
} nvmlGpuInstanceProfileInfo_v3_t;

typedef struct nvmlGpuInstanceInfo_t {
        nvmlDevice_t device;
        unsigned id, profileId;
        nvmlPlacement_t placement;
} nvmlGpuInstanceInfo_t;

typedef struct nvmlComputeInstanceProfileInfo_t {
        unsigned id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount,
                sharedDecoderCount, sharedEncoderCount, sharedJpegCount, sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;

typedef struct nvmlComputeInstanceProfileInfo_v2_t {
        unsigned version;
        nvmlComputeInstanceProfileInfo_t v1;
        char name[96];
} nvmlComputeInstanceProfileInfo_v2_t;

typedef struct nvmlComputeInstanceProfileInfo_v3_t {
        nvmlComputeInstanceProfileInfo_v2_t v2;
        unsigned capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;

typedef struct nvmlComputeInstanceInfo_t {
        nvmlDevice_t device;
        nvmlGpuInstance_t gpuInstance;
        unsigned id, profileId;
        nvmlPlacement_t placement;
} nvmlComputeInstanceInfo_t;

typedef struct nvmlVgpuTypeMaxInstance_t {
        unsigned version, vgpuTypeId, maxInstancePerGI;
} nvmlVgpuTypeMaxInstance_t;

typedef struct nvmlVgpuHeterogeneousMode_t {
        unsigned version, mode;
} nvmlVgpuHeterogeneousMode_t;

typedef struct nvmlVgpuPlacementId_t {
        unsigned version, placementId;
} nvmlVgpuPlacementId_t;

typedef struct nvmlVgpuPlacementList_t {
        unsigned version, placementSize, count;
        unsigned *placementIds;
} nvmlVgpuPlacementList_t;

typedef struct nvmlVgpuPlacementList_v2_t {
        unsigned version, placementSize, count;
        unsigned *placementIds;
        unsigned mode; /* 0: of mixed sizes, 1: of equal ones */
} nvmlVgpuPlacementList_v2_t;

static_assert(sizeof(nvmlPciInfo_t) == 68 && sizeof(nvmlMemory_t) == 24 && sizeof(nvmlMemory_v2_t) == 40, "");
static_assert(sizeof(nvmlDeviceAttributes_t) == 40 && sizeof(nvmlPlacement_t) == 8, "");
static_assert(sizeof(nvmlGpuInstanceProfileInfo_t) == 48, "");
static_assert(sizeof(nvmlGpuInstanceProfileInfo_v2_t) == 152 &&
                      offsetof(nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB) == 48 &&
                      offsetof(nvmlGpuInstanceProfileInfo_v2_t, name) == 56,
              "");
static_assert(sizeof(nvmlGpuInstanceProfileInfo_v3_t) == 152 &&
                      offsetof(nvmlGpuInstanceProfileInfo_v3_t, memorySizeMB) == 40 &&
                      offsetof(nvmlGpuInstanceProfileInfo_v3_t, name) == 48 &&
                      offsetof(nvmlGpuInstanceProfileInfo_v3_t, capabilities) == 144,
              "");
static_assert(sizeof(nvmlGpuInstanceInfo_t) == 24 && sizeof(nvmlComputeInstanceInfo_t) == 32, "");
static_assert(sizeof(nvmlComputeInstanceProfileInfo_t) == 36 &&
                      sizeof(nvmlComputeInstanceProfileInfo_v2_t) == 136 &&
                      sizeof(nvmlComputeInstanceProfileInfo_v3_t) == 140,
              "");
static_assert(sizeof(nvmlVgpuTypeMaxInstance_t) == 12 && sizeof(nvmlVgpuHeterogeneousMode_t) == 8, "");
static_assert(sizeof(nvmlVgpuPlacementList_t) == 24 && sizeof(nvmlVgpuPlacementList_v2_t) == 32 &&
                      offsetof(nvmlVgpuPlacementList_v2_t, placementIds) == 16 &&
                      offsetof(nvmlVgpuPlacementList_v2_t, mode) == 24,
              "");

#pragma GCC visibility push(default)

nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlShutdown(void);
const char *nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length);
nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length);

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length);
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned length);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor);
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes);

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending);
nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned mode, nvmlReturn_t *activationStatus);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned profile,
                                                 nvmlGpuInstanceProfileInfo_t *info);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned profile, void *info);
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned profileId, void *info);
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned profileId,
                                                           nvmlPlacement_t *placements, unsigned *count);
nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned profileId,
                                                       unsigned *count);
nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned profileId,
                                         nvmlGpuInstance_t *gpuInstance);
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned profileId,
                                                      const nvmlPlacement_t *placement,
                                                      nvmlGpuInstance_t *gpuInstance);
nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t gpuInstance);
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned profileId,
                                       nvmlGpuInstance_t *gpuInstances, unsigned *count);
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *gpuInstance);
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gpuInstance, nvmlGpuInstanceInfo_t *info);

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t gpuInstance, unsigned profile,
                                                          unsigned engProfile,
                                                          nvmlComputeInstanceProfileInfo_t *info);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t gpuInstance, unsigned profile,
                                                           unsigned engProfile, void *info);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t gpuInstance,
                                                                unsigned profileId, unsigned *count);
nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t gpuInstance,
                                                                 unsigned profileId,
                                                                 nvmlPlacement_t *placements,
                                                                 unsigned *count);
nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t gpuInstance, unsigned profileId,
                                                  nvmlComputeInstance_t *computeInstance);
nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t gpuInstance,
                                                               unsigned profileId,
                                                               const nvmlPlacement_t *placement,
                                                               nvmlComputeInstance_t *computeInstance);
nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gpuInstance, unsigned profileId,
                                                nvmlComputeInstance_t *computeInstances, unsigned *count);
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gpuInstance, unsigned id,
                                                   nvmlComputeInstance_t *computeInstance);
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t computeInstance,
                                           nvmlComputeInstanceInfo_t *info);
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t computeInstance);

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count);
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig);
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *isMig);
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *id);
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned *id);
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *device);

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned *mode);
nvmlReturn_t nvmlDeviceGetHostVgpuMode(nvmlDevice_t device, unsigned *mode);
nvmlReturn_t nvmlDeviceGetSupportedVgpus(nvmlDevice_t device, unsigned *count, unsigned *types);
nvmlReturn_t nvmlDeviceGetCreatableVgpus(nvmlDevice_t device, unsigned *count, unsigned *types);
nvmlReturn_t nvmlDeviceGetActiveVgpus(nvmlDevice_t device, unsigned *count, unsigned *instances);
nvmlReturn_t nvmlDeviceGetVgpuCapabilities(nvmlDevice_t device, unsigned capability, unsigned *result);
nvmlReturn_t nvmlGetVgpuDriverCapabilities(unsigned capability, unsigned *result);
nvmlReturn_t nvmlDeviceGetVgpuHeterogeneousMode(nvmlDevice_t device, nvmlVgpuHeterogeneousMode_t *mode);
nvmlReturn_t nvmlDeviceSetVgpuHeterogeneousMode(nvmlDevice_t device, const nvmlVgpuHeterogeneousMode_t *mode);
nvmlReturn_t nvmlGpuInstanceGetVgpuHeterogeneousMode(nvmlGpuInstance_t gpuInstance,
                                                     nvmlVgpuHeterogeneousMode_t *mode);
nvmlReturn_t nvmlGpuInstanceSetVgpuHeterogeneousMode(nvmlGpuInstance_t gpuInstance,
                                                     const nvmlVgpuHeterogeneousMode_t *mode);
nvmlReturn_t nvmlDeviceGetVgpuTypeSupportedPlacements(nvmlDevice_t device, unsigned type, void *list);
nvmlReturn_t nvmlDeviceGetVgpuTypeCreatablePlacements(nvmlDevice_t device, unsigned type, void *list);

nvmlReturn_t nvmlVgpuTypeGetName(unsigned type, char *name, unsigned *size);
nvmlReturn_t nvmlVgpuTypeGetClass(unsigned type, char *name, unsigned *size);
nvmlReturn_t nvmlVgpuTypeGetFramebufferSize(unsigned type, unsigned long long *bytes);
nvmlReturn_t nvmlVgpuTypeGetMaxInstances(nvmlDevice_t device, unsigned type, unsigned *count);
nvmlReturn_t nvmlVgpuTypeGetMaxInstancesPerGpuInstance(nvmlVgpuTypeMaxInstance_t *max);
nvmlReturn_t nvmlVgpuTypeGetGpuInstanceProfileId(unsigned type, unsigned *profileId);
nvmlReturn_t nvmlVgpuTypeGetNumDisplayHeads(unsigned type, unsigned *heads);
nvmlReturn_t nvmlVgpuTypeGetResolution(unsigned type, unsigned head, unsigned *x, unsigned *y);
nvmlReturn_t nvmlVgpuTypeGetFrameRateLimit(unsigned type, unsigned *limit);

nvmlReturn_t nvmlVgpuInstanceGetVmID(unsigned instance, char *vmId, unsigned size, unsigned *type);
nvmlReturn_t nvmlVgpuInstanceGetUUID(unsigned instance, char *uuid, unsigned size);
nvmlReturn_t nvmlVgpuInstanceGetMdevUUID(unsigned instance, char *uuid, unsigned size);
nvmlReturn_t nvmlVgpuInstanceGetType(unsigned instance, unsigned *type);
nvmlReturn_t nvmlVgpuInstanceGetGpuPciId(unsigned instance, char *id, unsigned *size);
nvmlReturn_t nvmlVgpuInstanceGetGpuInstanceId(unsigned instance, unsigned *id);
nvmlReturn_t nvmlVgpuInstanceGetPlacementId(unsigned instance, nvmlVgpuPlacementId_t *placement);

#pragma GCC visibility pop
