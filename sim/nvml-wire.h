/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Between the simulated libnvidia-ml.so.1, in somebody's process, and the simulated driver. The real ones
 * meet at device nodes and ioctls; these at a socket, a packet each way per call. A connection is an
 * initialised library: as long as it is open, the cards are in use. */

#include <stdint.h>

#define NVML_SOCKET "/run/carved-sim/nvml"

/* What the library can do: every name but nvmlErrorString, which needs nobody. */
#define NVML_CALLS(X)                                                                                        \
        X(nvmlInit_v2)                                                                                       \
        X(nvmlShutdown)                                                                                      \
        X(nvmlSystemGetDriverVersion)                                                                        \
        X(nvmlSystemGetNVMLVersion)                                                                          \
        X(nvmlDeviceGetCount_v2)                                                                             \
        X(nvmlDeviceGetHandleByIndex_v2)                                                                     \
        X(nvmlDeviceGetHandleByPciBusId_v2)                                                                  \
        X(nvmlDeviceGetHandleByUUID)                                                                         \
        X(nvmlDeviceGetPciInfo_v3)                                                                           \
        X(nvmlDeviceGetUUID)                                                                                 \
        X(nvmlDeviceGetName)                                                                                 \
        X(nvmlDeviceGetSerial)                                                                               \
        X(nvmlDeviceGetMemoryInfo)                                                                           \
        X(nvmlDeviceGetMemoryInfo_v2)                                                                        \
        X(nvmlDeviceGetMinorNumber)                                                                          \
        X(nvmlDeviceGetAttributes_v2)                                                                        \
        X(nvmlDeviceGetMigMode)                                                                              \
        X(nvmlDeviceSetMigMode)                                                                              \
        X(nvmlDeviceGetGpuInstanceProfileInfo)                                                               \
        X(nvmlDeviceGetGpuInstanceProfileInfoV)                                                              \
        X(nvmlDeviceGetGpuInstanceProfileInfoByIdV)                                                          \
        X(nvmlDeviceGetGpuInstancePossiblePlacements_v2)                                                     \
        X(nvmlDeviceGetGpuInstanceRemainingCapacity)                                                         \
        X(nvmlDeviceCreateGpuInstance)                                                                       \
        X(nvmlDeviceCreateGpuInstanceWithPlacement)                                                          \
        X(nvmlGpuInstanceDestroy)                                                                            \
        X(nvmlDeviceGetGpuInstances)                                                                         \
        X(nvmlDeviceGetGpuInstanceById)                                                                      \
        X(nvmlGpuInstanceGetInfo)                                                                            \
        X(nvmlGpuInstanceGetComputeInstanceProfileInfo)                                                      \
        X(nvmlGpuInstanceGetComputeInstanceProfileInfoV)                                                     \
        X(nvmlGpuInstanceGetComputeInstanceRemainingCapacity)                                                \
        X(nvmlGpuInstanceGetComputeInstancePossiblePlacements)                                               \
        X(nvmlGpuInstanceCreateComputeInstance)                                                              \
        X(nvmlGpuInstanceCreateComputeInstanceWithPlacement)                                                 \
        X(nvmlGpuInstanceGetComputeInstances)                                                                \
        X(nvmlGpuInstanceGetComputeInstanceById)                                                             \
        X(nvmlComputeInstanceGetInfo_v2)                                                                     \
        X(nvmlComputeInstanceDestroy)                                                                        \
        X(nvmlDeviceGetMaxMigDeviceCount)                                                                    \
        X(nvmlDeviceGetMigDeviceHandleByIndex)                                                               \
        X(nvmlDeviceIsMigDeviceHandle)                                                                       \
        X(nvmlDeviceGetGpuInstanceId)                                                                        \
        X(nvmlDeviceGetComputeInstanceId)                                                                    \
        X(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)                                                      \
        X(nvmlDeviceGetVirtualizationMode)                                                                   \
        X(nvmlDeviceGetHostVgpuMode)                                                                         \
        X(nvmlDeviceGetSupportedVgpus)                                                                       \
        X(nvmlDeviceGetCreatableVgpus)                                                                       \
        X(nvmlDeviceGetActiveVgpus)                                                                          \
        X(nvmlDeviceGetVgpuCapabilities)                                                                     \
        X(nvmlGetVgpuDriverCapabilities)                                                                     \
        X(nvmlDeviceGetVgpuHeterogeneousMode)                                                                \
        X(nvmlDeviceSetVgpuHeterogeneousMode)                                                                \
        X(nvmlGpuInstanceGetVgpuHeterogeneousMode)                                                           \
        X(nvmlGpuInstanceSetVgpuHeterogeneousMode)                                                           \
        X(nvmlDeviceGetVgpuTypeSupportedPlacements)                                                          \
        X(nvmlDeviceGetVgpuTypeCreatablePlacements)                                                          \
        X(nvmlVgpuTypeGetName)                                                                               \
        X(nvmlVgpuTypeGetClass)                                                                              \
        X(nvmlVgpuTypeGetFramebufferSize)                                                                    \
        X(nvmlVgpuTypeGetMaxInstances)                                                                       \
        X(nvmlVgpuTypeGetMaxInstancesPerGpuInstance)                                                         \
        X(nvmlVgpuTypeGetGpuInstanceProfileId)                                                               \
        X(nvmlVgpuTypeGetNumDisplayHeads)                                                                    \
        X(nvmlVgpuTypeGetResolution)                                                                         \
        X(nvmlVgpuTypeGetFrameRateLimit)                                                                     \
        X(nvmlVgpuInstanceGetVmID)                                                                           \
        X(nvmlVgpuInstanceGetUUID)                                                                           \
        X(nvmlVgpuInstanceGetMdevUUID)                                                                       \
        X(nvmlVgpuInstanceGetType)                                                                           \
        X(nvmlVgpuInstanceGetGpuPciId)                                                                       \
        X(nvmlVgpuInstanceGetGpuInstanceId)                                                                  \
        X(nvmlVgpuInstanceGetPlacementId)

#define NVML_CALL(name)      NVML_CALL_##name
#define NVML_CALL_ENUM(name) NVML_CALL(name),

typedef enum NvmlCallId { NVML_CALLS(NVML_CALL_ENUM) NVML_CALL_COUNT } NvmlCallId;

#define NVML_ARGS_MAX 4 /* the last one is for the version of a struct */
#define NVML_TEXT_MAX 96
#define NVML_DATA_MAX 4096

typedef struct NvmlRequest {
        uint32_t call;
        uint32_t args[NVML_ARGS_MAX];
        uint64_t handle;
        char text[NVML_TEXT_MAX];
} NvmlRequest;

/* Instead of a code: the library shall take its process down. */
#define NVML_REPLY_CRASH 0xDEADU

typedef struct NvmlReply {
        uint32_t code;
        uint32_t len; /* of data; also behind a failure where the call promises something then */
        uint8_t data[NVML_DATA_MAX];
} NvmlReply;
