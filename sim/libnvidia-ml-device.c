/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "libnvidia-ml.h"

/* Cards: how to find them, and what they are. */

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
        return ask_text(&(NvmlRequest){ NVML_CALL(nvmlSystemGetDriverVersion) }, version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length) {
        return ask_text(&(NvmlRequest){ NVML_CALL(nvmlSystemGetNVMLVersion) }, version, length);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetCount_v2) }, count, sizeof *count);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetHandleByIndex_v2), { index } }, device,
                   sizeof *device);
}

static nvmlReturn_t handle_by_text(NvmlCallId call, const char *text, nvmlDevice_t *device) {
        NvmlRequest request = { .call = call };

        if (!text || strlen(text) >= sizeof request.text)
                return NVML_ERROR_INVALID_ARGUMENT;

        strcpy(request.text, text);
        return ask(&request, device, sizeof *device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device) {
        return handle_by_text(NVML_CALL(nvmlDeviceGetHandleByPciBusId_v2), pciBusId, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
        return handle_by_text(NVML_CALL(nvmlDeviceGetHandleByUUID), uuid, device);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetPciInfo_v3), .handle = TOKEN(device) }, pci,
                   sizeof *pci);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length) {
        return ask_text(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetUUID), .handle = TOKEN(device) }, uuid,
                        length);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
        return ask_text(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetName), .handle = TOKEN(device) }, name,
                        length);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned length) {
        return ask_text(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetSerial), .handle = TOKEN(device) }, serial,
                        length);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetMemoryInfo), .handle = TOKEN(device) }, memory,
                   sizeof *memory);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
        return ask_versioned(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetMemoryInfo_v2), .handle = TOKEN(device) },
                             memory);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetMinorNumber), .handle = TOKEN(device) }, minor,
                   sizeof *minor);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetAttributes_v2), .handle = TOKEN(device) },
                   attributes, sizeof *attributes);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetMaxMigDeviceCount), .handle = TOKEN(device) },
                   count, sizeof *count);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetMigDeviceHandleByIndex),
                                   { index },
                                   .handle = TOKEN(device) },
                   mig, sizeof *mig);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *isMig) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceIsMigDeviceHandle), .handle = TOKEN(device) }, isMig,
                   sizeof *isMig);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *id) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetGpuInstanceId), .handle = TOKEN(device) }, id,
                   sizeof *id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned *id) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetComputeInstanceId), .handle = TOKEN(device) }, id,
                   sizeof *id);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *device) {
        return ask(&(NvmlRequest){ NVML_CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle),
                                   .handle = TOKEN(mig) },
                   device, sizeof *device);
}
