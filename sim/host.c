/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "host.h"

G_DEFINE_QUARK(carved - sim - error, sim_error)

void type_spec_free(TypeSpec *type) {
        if (!type)
                return;

        g_free(type->name);
        g_free(type->class);
        g_free(type);
}

uint64_t type_spec_framebuffer(const TypeSpec *type) {
        return ((uint64_t) type->framebuffer_mib << 20) / 16 * 15;
}

void mig_profile_free(MigProfile *profile) {
        if (!profile)
                return;

        g_free(profile->name);
        if (profile->starts)
                g_array_unref(profile->starts);
        g_free(profile);
}

void mig_spec_free(MigSpec *mig) {
        if (!mig)
                return;

        g_ptr_array_unref(mig->profiles);
        g_free(mig);
}

GpuSpec *gpu_spec_new(void) {
        GpuSpec *gpu = g_new0(GpuSpec, 1);

        gpu->refs = 1;
        gpu->numa_node = -1;
        gpu->class = 0x030200;
        gpu->vf_stride = 1;
        gpu->driver_max_vfs = gpu->enables_at_most = UINT_MAX;
        gpu->denied = g_array_new(FALSE, FALSE, sizeof(unsigned));
        gpu->types = g_ptr_array_new_with_free_func((GDestroyNotify) type_spec_free);
        return gpu;
}

GpuSpec *gpu_spec_ref(GpuSpec *gpu) {
        gpu->refs++;
        return gpu;
}

void gpu_spec_unref(GpuSpec *gpu) {
        if (!gpu || --gpu->refs > 0)
                return;

        g_free(gpu->board);
        g_free(gpu->driver);
        g_free(gpu->home_driver);
        g_free(gpu->product);
        g_free(gpu->serial);
        g_free(gpu->uuid);
        mig_spec_free(gpu->mig);
        g_array_unref(gpu->denied);
        g_ptr_array_unref(gpu->types);
        g_free(gpu);
}

HostSpec *host_spec_new(const char *name) {
        HostSpec *host = g_new0(HostSpec, 1);

        host->name = g_strdup(name);
        host->iommu = true;
        host->nvml_lacks = g_ptr_array_new_with_free_func(g_free);
        host->gpus = g_ptr_array_new_with_free_func((GDestroyNotify) gpu_spec_unref);
        return host;
}

void host_spec_free(HostSpec *host) {
        if (!host)
                return;

        g_free(host->name);
        g_free(host->description);
        g_free(host->driver_version);
        g_ptr_array_unref(host->nvml_lacks);
        g_ptr_array_unref(host->gpus);
        g_free(host);
}

char *uuid_of(const char *prefix, const char *text) {
        g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA1, text, -1);

        return g_strdup_printf("%s%.8s-%.4s-4%.3s-8%.3s-%.12s", prefix, sum, sum + 8, sum + 12, sum + 15,
                               sum + 18);
}

void gpu_spec_identify(GpuSpec *gpu, const char *which) {
        g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA1, which, -1);

        sum[8] = '\0';
        if (!gpu->serial)
                gpu->serial = g_strdup_printf("132%010" G_GUINT64_FORMAT, g_ascii_strtoull(sum, NULL, 16));
        if (!gpu->uuid)
                gpu->uuid = uuid_of("GPU-", g_str_equal(gpu->serial, "none") ? which : gpu->serial);
}

bool host_spec_has_nvidia(const HostSpec *host) {
        for (unsigned i = 0; i < host->gpus->len; i++)
                if (g_strcmp0(((GpuSpec *) host->gpus->pdata[i])->home_driver, "nvidia") == 0)
                        return true;

        return false;
}

CarvedPciAddress gpu_spec_vf_address(const GpuSpec *gpu, unsigned index) {
        unsigned routing = (unsigned) gpu->address.bus << 8 | carved_pci_address_devfn(&gpu->address);

        routing += gpu->vf_offset + gpu->vf_stride * index;
        return (CarvedPciAddress){ gpu->address.domain, (uint8_t) (routing >> 8), routing >> 3 & 0x1f,
                                   routing & 7 };
}

static int compare_gpus(const void *a, const void *b) {
        return carved_pci_address_compare(&(*(GpuSpec *const *) a)->address,
                                          &(*(GpuSpec *const *) b)->address);
}

void host_spec_add(HostSpec *host, GpuSpec *gpu) {
        char address[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *which = g_strdup_printf("%s@%s", gpu->board ?: "card",
                                                 carved_pci_address_format(&gpu->address, address));

        gpu_spec_identify(gpu, which);
        g_ptr_array_add(host->gpus, gpu_spec_ref(gpu));
        g_ptr_array_sort(host->gpus, compare_gpus);
}

/* Whether a function of one, its VFs counted in, is where one of the other is. */
static bool overlap(const GpuSpec *a, const GpuSpec *b) {
        bool taken[256] = {};

        if (a->address.domain != b->address.domain || a->address.bus != b->address.bus)
                return false;

        taken[carved_pci_address_devfn(&a->address)] = true;
        for (unsigned i = 0; i < a->total_vfs; i++) {
                CarvedPciAddress vf = gpu_spec_vf_address(a, i);

                taken[carved_pci_address_devfn(&vf)] = true;
        }
        for (unsigned i = 0; i < b->total_vfs; i++) {
                CarvedPciAddress vf = gpu_spec_vf_address(b, i);

                if (taken[carved_pci_address_devfn(&vf)])
                        return true;
        }

        return taken[carved_pci_address_devfn(&b->address)];
}

bool host_spec_may_add(const HostSpec *host, const GpuSpec *gpu, GError **error) {
        CarvedPciAddress last = gpu_spec_vf_address(gpu, gpu->total_vfs > 0 ? gpu->total_vfs - 1 : 0);
        char text[CARVED_PCI_ADDRESS_MAX], at[CARVED_PCI_ADDRESS_MAX];

        if (gpu->total_vfs > 0 && gpu->address.bus == 0) {
                g_set_error(error, SIM_ERROR, 0, "sriov needs another bus than 00: the root ports are there");
                return false;
        }
        if (gpu->total_vfs > 0 && last.bus != gpu->address.bus) {
                g_set_error(error, SIM_ERROR, 0, "the last VF would be on bus %02x: one bus must do",
                            last.bus);
                return false;
        }

        carved_pci_address_format(&gpu->address, text);
        for (unsigned i = 0; i < host->gpus->len; i++) {
                const GpuSpec *there = host->gpus->pdata[i];

                if (!overlap(there, gpu))
                        continue;
                carved_pci_address_format(&there->address, at);
                if (g_str_equal(text, at))
                        g_set_error(error, SIM_ERROR, 0, "two GPUs at %s", text);
                else
                        g_set_error(error, SIM_ERROR, 0, "the GPUs at %s and %s, or their VFs, overlap", at,
                                    text);
                return false;
        }

        return true;
}

bool host_spec_merge(HostSpec *host, HostSpec *other, GError **error) {
        for (unsigned i = 0; i < other->gpus->len; i++) {
                if (!host_spec_may_add(host, other->gpus->pdata[i], error)) {
                        g_prefix_error(error, "%s: ", other->name);
                        return false;
                }
                host_spec_add(host, other->gpus->pdata[i]);
        }

        host->mtty |= other->mtty;
        host->iommu &= other->iommu;
        host->vfio_cdev |= other->vfio_cdev;
        host->nvml = MAX(host->nvml, other->nvml);
        for (unsigned i = 0; i < other->nvml_lacks->len; i++)
                g_ptr_array_add(host->nvml_lacks, g_strdup(other->nvml_lacks->pdata[i]));
        if (other->driver_version && !host->driver_version)
                host->driver_version = g_strdup(other->driver_version);
        return true;
}

/* G cards of V VFs and T mdev types: for measuring how things grow. Types as on an A2, all of one size so
 * that any mixture fits; only the number of VFs and the driver's own limit of 32 stand against them. */
static GpuSpec *scale_gpu(unsigned index, unsigned vfs, unsigned types) {
        GpuSpec *gpu = gpu_spec_new();

        gpu->address = (CarvedPciAddress){ .bus = (uint8_t) (index + 1) };
        gpu->board = g_strdup("scale");
        gpu->vendor = gpu->subsystem_vendor = 0x10de;
        gpu->device = gpu->vf_device = 0x25b6;
        gpu->subsystem_device = 0x157e;
        gpu->revision = 0xa1;
        gpu->driver = g_strdup("nvidia");
        gpu->home_driver = g_strdup("nvidia");
        gpu->numa_node = (int) (index % 2);
        gpu->total_vfs = vfs;
        gpu->vf_offset = 4;
        gpu->vfs_on = true;
        gpu->framework = FRAMEWORK_MDEV;

        for (unsigned t = 0; t < types; t++) {
                TypeSpec *type = g_new(TypeSpec, 1);

                *type = (TypeSpec){ .id = 1000 + t,
                                    .name = g_strdup_printf("NVIDIA SIM-%uQ", t + 1),
                                    .class = g_strdup("Quadro"),
                                    .heads = 4,
                                    .frame_rate_limit = 60,
                                    .framebuffer_mib = 1024,
                                    .width = 5120,
                                    .height = 2880,
                                    .max = vfs };
                g_ptr_array_add(gpu->types, type);
        }

        return gpu;
}

HostSpec *host_spec_scale(const char *name, GError **error) {
        unsigned gpus, vfs, types;
        g_autoptr(HostSpec) host = NULL;
        int end = 0;

        /* sscanf() would take signs and blanks. */
        if (strpbrk(name, "+- \t\n\v\f\r") ||
            sscanf(name, "scale:%3ux%3ux%3u%n", &gpus, &vfs, &types, &end) != 3 || name[end] != '\0' ||
            gpus < 1 || gpus > 200 || vfs < 1 || vfs > 240 || types < 1 || types > 100) {
                g_set_error(
                        error, SIM_ERROR, 0,
                        "%s: not of the form scale:GxVxT with 1 to 200 GPUs, 1 to 240 VFs, 1 to 100 types",
                        name);
                return NULL;
        }

        host = host_spec_new(name);
        for (unsigned i = 0; i < gpus; i++) {
                g_autoptr(GpuSpec) gpu = scale_gpu(i, vfs, types);

                host_spec_add(host, gpu);
        }
        return g_steal_pointer(&host);
}
