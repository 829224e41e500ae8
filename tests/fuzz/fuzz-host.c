/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "boot.h"
#include "fuzz.h"
#include "nvidia-mig.h"

/* A host file of any content: refused with a sentence, or a host that keeps its promises. */

#define FILE_NAME "any.json"

static void check_refusal(const GError *error) {
        g_assert(error && error->domain == SIM_ERROR);
        g_assert(g_str_has_prefix(error->message, FILE_NAME ": "));
        g_assert(error->message[strlen(FILE_NAME ": ")] != '\0');
}

static void check_types(const GpuSpec *gpu) {
        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];

                g_assert(type->id > 0 && type->framebuffer_mib > 0 && type->max > 0);
                g_assert(type->name && *type->name && !strpbrk(type->name, "/\n"));
                for (unsigned j = 0; j < i; j++)
                        g_assert(((TypeSpec *) gpu->types->pdata[j])->id != type->id);
        }
}

/* Wherever they may be, they are there with all of their size. */
static void check_places(const GpuSpec *gpu) {
        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];
                g_autoptr(GArray) places = nvidia_placements(gpu, type);

                for (unsigned j = 0; j < places->len; j++)
                        g_assert(g_array_index(places, unsigned, j) < 0xffffff / 1024 + 1);
        }
}

static void check_mig(const MigSpec *mig) {
        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const MigProfile *profile = mig->profiles->pdata[i];

                g_assert(profile->slices > 0 && profile->slices <= mig->compute_slices);
                g_assert(profile->starts->len > 0 && profile->starts->len <= mig->memory_slices);
        }
}

static void check_gpu(const GpuSpec *gpu) {
        g_assert(gpu->vendor != 0 && gpu->device != 0);
        g_assert(gpu->total_vfs <= 255);
        g_assert(gpu->framework == FRAMEWORK_NONE || gpu->types->len > 0);
        g_assert(gpu->framework != FRAMEWORK_VENDOR_VFIO || gpu->total_vfs > 0);
        g_assert(!gpu->vfs_on || gpu->total_vfs > 0);
        check_types(gpu);
        check_places(gpu);
        if (gpu->mig)
                check_mig(gpu->mig);

        for (unsigned i = 0; i < gpu->total_vfs; i++) {
                CarvedPciAddress vf = gpu_spec_vf_address(gpu, i);

                g_assert(vf.domain == gpu->address.domain && vf.bus == gpu->address.bus);
                g_assert(carved_pci_address_compare(&vf, &gpu->address) > 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autoptr(GError) error = NULL;
        g_autoptr(HostSpec) host = NULL;
        g_autofree char *config = NULL;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        host = host_spec_parse(SIM_SOURCE_DIR, FILE_NAME, size > 0 ? (const char *) data : "", size, &error);
        if (!host) {
                check_refusal(error);
                return 0;
        }

        g_assert(!error);
        for (unsigned i = 0; i < host->gpus->len; i++)
                check_gpu(host->gpus->pdata[i]);
        config = boot_vgpu_config(host);
        g_assert(!config || g_str_has_suffix(config, "</vgpuconfig>\n"));
        return 0;
}
