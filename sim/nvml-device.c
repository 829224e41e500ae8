/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "nvml.h"

/* Calls about cards: which there are, what they are. */

#define DRIVER_VERSION "550.163.01"

/* What the host keeps of a card's memory. */
#define RESERVED_MIB 512

static const GpuSpec *spec_of(const NvmlCall *call) {
        return call->card->pf->spec;
}

static nvmlReturn_t driver_version(NvmlCall *call) {
        return nvml_put_text(call, call->session->kernel->driver_version ?: DRIVER_VERSION);
}

static nvmlReturn_t nvml_version_text(NvmlCall *call) {
        g_autofree char *text =
                g_strdup_printf("12.%s", call->session->kernel->driver_version ?: DRIVER_VERSION);

        return nvml_put_text(call, text);
}

static nvmlReturn_t get_count(NvmlCall *call) {
        return nvml_put_number(call, call->session->cards->len);
}

static nvmlReturn_t put_device(NvmlCall *call, const Nvidia *card) {
        if (card->pf->spec->gpu_lost)
                return NVML_ERROR_GPU_IS_LOST;
        return nvml_put_handle(call, nvml_device_handle(card));
}

static nvmlReturn_t by_index(NvmlCall *call) {
        unsigned index = call->request->args[0];

        if (index >= call->session->cards->len)
                return NVML_ERROR_INVALID_ARGUMENT;
        return put_device(call, call->session->cards->pdata[index]);
}

/* With four digits of domain or eight, in either case. */
static nvmlReturn_t by_bus_id(NvmlCall *call) {
        const char *text = call->request->text;
        unsigned domain, bus, device, function = 0;
        int end = 0;

        if (sscanf(text, "%8x:%2x:%2x%n.%1x%n", &domain, &bus, &device, &end, &function, &end) < 3 ||
            text[end] != '\0')
                return NVML_ERROR_INVALID_ARGUMENT;

        for (unsigned i = 0; i < call->session->cards->len; i++) {
                const Nvidia *card = call->session->cards->pdata[i];
                const CarvedPciAddress *at = &card->pf->address;

                if (at->domain == domain && at->bus == bus && at->device == device &&
                    at->function == function)
                        return put_device(call, card);
        }

        return NVML_ERROR_NOT_FOUND;
}

/* As MIG devices have been named since R470. The same instance in the same place has the same one. */
static char *mig_uuid(const Nvidia *card, const ComputeInstance *ci) {
        g_autofree char *which =
                g_strdup_printf("%s/%u/%u/%u", card->pf->spec->uuid, ci->gi->id, ci->gi->profile->id, ci->id);

        return uuid_of("MIG-", which);
}

static nvmlReturn_t by_uuid(NvmlCall *call) {
        for (unsigned i = 0; i < call->session->cards->len; i++) {
                const Nvidia *card = call->session->cards->pdata[i];

                if (g_str_equal(card->pf->spec->uuid, call->request->text))
                        return put_device(call, card);
                for (unsigned j = 0; j < card->instances->len; j++) {
                        const GpuInstance *gi = card->instances->pdata[j];

                        for (unsigned k = 0; k < gi->computes->len; k++) {
                                g_autofree char *uuid = mig_uuid(card, gi->computes->pdata[k]);

                                if (g_str_equal(uuid, call->request->text))
                                        return nvml_put_handle(call,
                                                               nvml_mig_handle(card, gi->computes->pdata[k]));
                        }
                }
        }

        return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t pci_info(NvmlCall *call) {
        const PciDevice *pf = call->card->pf;
        const CarvedPciAddress *at = &pf->address;
        nvmlPciInfo_t info = { .domain = at->domain,
                               .bus = at->bus,
                               .device = at->device,
                               .pciDeviceId = (unsigned) pf->device_id << 16 | pf->vendor,
                               .pciSubSystemId =
                                       (unsigned) pf->subsystem_device << 16 | pf->subsystem_vendor };

        g_snprintf(info.busIdLegacy, sizeof info.busIdLegacy, "%04X:%02X:%02X.%X", at->domain, at->bus,
                   at->device, at->function);
        g_snprintf(info.busId, sizeof info.busId, "%08X:%02X:%02X.%X", at->domain, at->bus, at->device,
                   at->function);
        return nvml_put(call, &info, sizeof info);
}

static nvmlReturn_t get_uuid(NvmlCall *call) {
        g_autofree char *uuid = call->ci ? mig_uuid(call->card, call->ci) : g_strdup(spec_of(call)->uuid);

        return nvml_put_text(call, uuid);
}

static char *product_of(const GpuSpec *spec) {
        g_autofree char *model = g_ascii_strup(spec->board ?: "graphics device", -1);

        return spec->product ? g_strdup(spec->product) : g_strdup_printf("NVIDIA %s", model);
}

static nvmlReturn_t get_name(NvmlCall *call) {
        g_autofree char *product = product_of(spec_of(call)), *name = NULL;

        if (!call->ci)
                return nvml_put_text(call, product);

        name = g_strdup_printf("%s MIG %s", product, call->gi->profile->name);
        return nvml_put_text(call, name);
}

static nvmlReturn_t get_serial(NvmlCall *call) {
        if (g_str_equal(spec_of(call)->serial, "none"))
                return NVML_ERROR_NOT_SUPPORTED;
        return nvml_put_text(call, spec_of(call)->serial);
}

static unsigned long long memory_of(const NvmlCall *call) {
        return (unsigned long long) (call->ci ? call->gi->profile->memory_mib : spec_of(call)->memory_mib)
               << 20;
}

static nvmlReturn_t memory_info(NvmlCall *call) {
        unsigned long long total = memory_of(call),
                           used = MIN(total, (unsigned long long) RESERVED_MIB << 20);

        return nvml_put(call, &(nvmlMemory_t){ total, total - used, used }, sizeof(nvmlMemory_t));
}

static bool memory_versions(unsigned word, unsigned *ret_size) {
        *ret_size = sizeof(nvmlMemory_v2_t);
        return word == NVML_VERSION_WORD(nvmlMemory_v2_t, 2);
}

static nvmlReturn_t memory_info_v2(NvmlCall *call) {
        unsigned long long total = memory_of(call),
                           reserved = MIN(total, (unsigned long long) RESERVED_MIB << 20);

        return nvml_put(call, &(nvmlMemory_v2_t){ nvml_version(call), total, reserved, total - reserved, 0 },
                        sizeof(nvmlMemory_v2_t));
}

static nvmlReturn_t minor_number(NvmlCall *call) {
        return nvml_put_number(call, call->card->minor);
}

static nvmlReturn_t attributes(NvmlCall *call) {
        const MigProfile *profile = call->gi->profile;
        unsigned of = profile->slices, slices = call->ci->slices;
        nvmlDeviceAttributes_t a = { profile->multiprocessors / of * slices,
                                     profile->copy_engines,
                                     profile->decoders,
                                     profile->encoders,
                                     profile->jpegs,
                                     profile->ofas,
                                     of,
                                     slices,
                                     profile->memory_mib };

        return nvml_put(call, &a, sizeof a);
}

/* 0 where there can be none. */
static nvmlReturn_t max_mig_devices(NvmlCall *call) {
        const MigSpec *mig = spec_of(call)->mig;

        return nvml_put_number(call, mig && nvidia_mig_on(call->card) ? mig->compute_slices : 0);
}

/* By position, so that there are holes. */
static nvmlReturn_t mig_by_index(NvmlCall *call) {
        unsigned index = call->request->args[0];

        if (index >= spec_of(call)->mig->compute_slices)
                return NVML_ERROR_INVALID_ARGUMENT;

        for (unsigned i = 0; i < call->card->instances->len; i++) {
                const GpuInstance *gi = call->card->instances->pdata[i];

                for (unsigned j = 0; j < gi->computes->len; j++) {
                        const ComputeInstance *ci = gi->computes->pdata[j];

                        if (gi->start + ci->start == index)
                                return nvml_put_handle(call, nvml_mig_handle(call->card, ci));
                }
        }

        return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t is_mig(NvmlCall *call) {
        return nvml_put_number(call, call->ci != NULL);
}

static nvmlReturn_t gi_id(NvmlCall *call) {
        return nvml_put_number(call, call->gi->id);
}

static nvmlReturn_t ci_id(NvmlCall *call) {
        return nvml_put_number(call, call->ci->id);
}

static nvmlReturn_t parent(NvmlCall *call) {
        return nvml_put_handle(call, nvml_device_handle(call->card));
}

#define ROW(name) [NVML_CALL(name)]

const NvmlHandler nvml_device_handlers[NVML_CALL_COUNT] = {
        ROW(nvmlSystemGetDriverVersion) = { driver_version },
        ROW(nvmlSystemGetNVMLVersion) = { nvml_version_text },
        ROW(nvmlDeviceGetCount_v2) = { get_count },
        ROW(nvmlDeviceGetHandleByIndex_v2) = { by_index },
        ROW(nvmlDeviceGetHandleByPciBusId_v2) = { by_bus_id },
        ROW(nvmlDeviceGetHandleByUUID) = { by_uuid },
        ROW(nvmlDeviceGetPciInfo_v3) = { pci_info, NVML_ON_DEVICE },
        ROW(nvmlDeviceGetUUID) = { get_uuid, NVML_ON_DEVICE },
        ROW(nvmlDeviceGetName) = { get_name, NVML_ON_DEVICE },
        ROW(nvmlDeviceGetSerial) = { get_serial, NVML_ON_DEVICE },
        ROW(nvmlDeviceGetMemoryInfo) = { memory_info, NVML_ON_DEVICE },
        ROW(nvmlDeviceGetMemoryInfo_v2) = { memory_info_v2, NVML_ON_DEVICE, .versions = memory_versions },
        ROW(nvmlDeviceGetMinorNumber) = { minor_number, NVML_ON_GPU },
        ROW(nvmlDeviceGetAttributes_v2) = { attributes, NVML_ON_MIG },
        ROW(nvmlDeviceGetMaxMigDeviceCount) = { max_mig_devices, NVML_ON_GPU },
        ROW(nvmlDeviceGetMigDeviceHandleByIndex) = { mig_by_index, NVML_ON_GPU, .mig = true, .mig_on = true },
        ROW(nvmlDeviceIsMigDeviceHandle) = { is_mig, NVML_ON_DEVICE },
        ROW(nvmlDeviceGetGpuInstanceId) = { gi_id, NVML_ON_MIG },
        ROW(nvmlDeviceGetComputeInstanceId) = { ci_id, NVML_ON_MIG },
        ROW(nvmlDeviceGetDeviceHandleFromMigDeviceHandle) = { parent, NVML_ON_MIG },
};
