/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "cleanup.h"
#include "framework-mdev.h"
#include "framework-passthrough.h"
#include "framework-vendor-vfio.h"
#include "look.h"
#include "nvml-look.h"
#include "sysfs.h"
#include "vgpu-config.h"

static bool has_name(GPtrArray *names, const char *name) {
        return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

static bool has_uuid(GPtrArray *names) {
        for (unsigned i = 0; i < names->len; i++)
                if (carved_uuid_is_valid(names->pdata[i]))
                        return true;

        return false;
}

/* Framework by looking, for this VF: kernel versions and card generations have both misled people. */
static void read_vf_framework(CarvedLook *look, int dir_fd, GPtrArray *names, CarvedVf *vf) {
        if (has_name(names, "nvidia") && carved_vendor_vfio_read(look, dir_fd, vf)) {
                vf->framework = CARVED_FRAMEWORK_VENDOR_VFIO;
                vf->settled = true;
        } else if (has_name(names, CARVED_MDEV_TYPES)) {
                vf->framework = CARVED_FRAMEWORK_MDEV;
                /* One that is taken offers nothing. */
                vf->settled = (look->brief && has_uuid(names)) ||
                              carved_mdev_read_types(look, dir_fd, vf->driver, &vf->available, &vf->error);
        } else {
                vf->framework = look->vendor->bare_sriov;
                vf->settled = vf->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
                if (vf->settled)
                        carved_passthrough_read(dir_fd, vf);
        }
}

static void read_vf(CarvedLook *look, int pf_fd, unsigned index) {
        g_autoptr(GPtrArray) names = NULL;
        g_autofree char *link = NULL;
        _cleanup_close_ int fd = -1;
        CarvedPciAddress address;
        GError *error = NULL;
        char virtfn[32];
        CarvedVf *vf;

        link = carved_sysfs_read_virtfn(pf_fd, index);
        if (!link || !carved_pci_address_parse(link, &address)) {
                look->gpu->settled = false; /* gone meanwhile */
                return;
        }

        vf = carved_gpu_add_vf(look->gpu, index, &address);
        g_snprintf(virtfn, sizeof virtfn, "virtfn%u", index);
        fd = carved_sysfs_open_dir(pf_fd, virtfn, &error);
        if (fd >= 0)
                names = carved_sysfs_list(fd, ".", &error);
        if (!names) {
                vf->error = g_strdup(error->message);
                g_error_free(error);
                return;
        }

        vf->driver = carved_sysfs_read_link(fd, NULL, CARVED_LINK_DRIVER);
        vf->iommu_group = carved_look_group(fd, NULL);
        read_vf_framework(look, fd, names, vf);
        carved_mdev_read_vgpus(look, fd, names, (int32_t) index);
        if (!vf->settled)
                look->gpu->settled = false;
}

static void read_vfs(CarvedLook *look, int fd, GPtrArray *names) {
        unsigned found = 0;

        for (unsigned i = 0; i < names->len; i++) {
                const char *name = names->pdata[i];
                int64_t index;

                if (!g_str_has_prefix(name, "virtfn") ||
                    !carved_sysfs_parse_number(name + strlen("virtfn"), 0, UINT16_MAX, &index))
                        continue;

                read_vf(look, fd, (unsigned) index);
                found++;
        }

        /* The kernel adds them one by one. */
        if (found != look->gpu->num_vfs)
                look->gpu->settled = false;
}

static uint32_t read_count(CarvedLook *look, int fd, CarvedAttribute attribute, bool *ret_there) {
        GError *error = NULL;
        int64_t value = 0;

        if (carved_sysfs_read_number(fd, NULL, attribute, 0, UINT16_MAX, &value, &error))
                *ret_there = true;
        else if (!carved_sysfs_is_absent(error))
                *ret_there = true;
        carved_look_note(&look->gpu->error, error);
        return (uint32_t) value;
}

static uint16_t read_pci_id(CarvedLook *look, int fd, CarvedAttribute attribute) {
        GError *error = NULL;
        int64_t value = 0;

        carved_sysfs_read_number(fd, NULL, attribute, 0, UINT16_MAX, &value, &error);
        carved_look_note(&look->gpu->error, error);
        return (uint16_t) value;
}

static void read_function(CarvedLook *look, int fd) {
        CarvedGpu *gpu = look->gpu;
        GError *error = NULL;
        int64_t node = -1;

        gpu->vendor_id = read_pci_id(look, fd, CARVED_ATTR_VENDOR);
        gpu->device_id = read_pci_id(look, fd, CARVED_ATTR_DEVICE);
        gpu->subsystem_vendor_id = read_pci_id(look, fd, CARVED_ATTR_SUBSYSTEM_VENDOR);
        gpu->subsystem_device_id = read_pci_id(look, fd, CARVED_ATTR_SUBSYSTEM_DEVICE);
        gpu->driver = carved_sysfs_read_link(fd, NULL, CARVED_LINK_DRIVER);
        gpu->iommu_group = carved_look_group(fd, NULL);

        carved_sysfs_read_number(fd, NULL, CARVED_ATTR_NUMA_NODE, -1, INT32_MAX, &node, &error);
        carved_look_note(&gpu->error, error);
        gpu->numa_node = (int32_t) node;
}

static CarvedFramework framework_of(const CarvedGpu *gpu, const CarvedVendor *vendor) {
        if (gpu->has_mdev)
                return CARVED_FRAMEWORK_MDEV;

        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                if (carved_vf_hosts_vgpus(vf))
                        return vf->framework;
        }

        return gpu->has_sriov && gpu->total_vfs > 0 ? vendor->bare_sriov : CARVED_FRAMEWORK_NONE;
}

static void merge_type(CarvedLook *look, CarvedType *from) {
        CarvedType *fresh, *type;
        uint32_t number;

        number = carved_look_type(look, from->id, &fresh);
        type = look->gpu->types->pdata[number];
        carved_look_name_type(look, type, from->name);
        if (!type->max_resolution)
                type->max_resolution = g_steal_pointer(&from->max_resolution);
        if (type->known)
                return;

        type->known = from->known;
        type->framebuffer_mib = from->framebuffer_mib;
        type->heads = from->heads;
        type->frame_rate_limit = from->frame_rate_limit;
        type->max_instances = from->max_instances;
}

/* Where sysfs does not tell the types' facts, or has no types yet. */
static void read_vgpu_config(CarvedLook *look) {
        g_autoptr(GPtrArray) list = NULL;
        CarvedGpu *gpu = look->gpu;
        GError *error = NULL;

        if (!look->vendor->has_vgpu_config || gpu->framework == CARVED_FRAMEWORK_MDEV)
                return;

        list = carved_vgpu_config_read(look->host->vgpu_config, gpu, &error);
        carved_look_note(&gpu->error, error);
        if (!list || list->len == 0)
                return;

        for (unsigned i = 0; i < list->len; i++)
                merge_type(look, list->pdata[i]);

        /* A card that the driver package knows, whose types have yet to come: mdev on the card itself. */
        if (gpu->framework == CARVED_FRAMEWORK_NONE && g_strcmp0(gpu->driver, "nvidia") == 0) {
                gpu->framework = CARVED_FRAMEWORK_UNKNOWN;
                gpu->settled = false;
        }
}

static void add_vf_type(CarvedLook *look) {
        CarvedType *type;

        if (look->gpu->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH)
                return;

        carved_look_type(look, CARVED_TYPE_VF, &type);
        if (!type)
                return;
        type->name = g_strdup("Virtual function");
        type->max_instances = look->gpu->total_vfs;
        type->known = CARVED_TYPE_MAX_INSTANCES;
}

/* Only where we would change it. */
static bool read_autoprobe(CarvedLook *look, int fd) {
        GError *error = NULL;
        int64_t value = 1;

        if (look->gpu->has_sriov && look->vendor->bare_sriov == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                carved_sysfs_read_number(fd, NULL, CARVED_ATTR_SRIOV_AUTOPROBE, 0, 1, &value, &error);
        carved_look_note(&look->gpu->error, error);
        return value != 0;
}

/* Only NVIDIA's own driver knows the library. */
static void read_nvml(CarvedLook *look, CarvedMemory *memory) {
        if (!look->vendor->has_nvml || g_strcmp0(look->gpu->driver, "nvidia") != 0) {
                g_clear_pointer(&memory->nvml, g_variant_unref);
                return;
        }

        if (memory->depth != CARVED_DEPTH_DUE || carved_nvml_is_due(memory->nvml, look->gpu)) {
                GVariant *fresh = carved_nvml_ask(look->host, look->gpu,
                                                  memory->depth == CARVED_DEPTH_SURE || !memory->nvml);

                look->gpu->nvml_deferred = !fresh;
                if (fresh && memory->nvml)
                        g_variant_unref(memory->nvml);
                memory->nvml = fresh ?: memory->nvml;
        }
        carved_nvml_tell(look, memory->nvml);
}

static void read_gpu(CarvedLook *look, int fd, GPtrArray *names, CarvedMemory *memory) {
        CarvedGpu *gpu = look->gpu;
        bool there = false;

        read_function(look, fd);
        look->vendor = carved_vendor_find(gpu->vendor_id);
        gpu->total_vfs = read_count(look, fd, CARVED_ATTR_SRIOV_TOTALVFS, &there);
        gpu->has_sriov = there && gpu->total_vfs > 0;
        gpu->autoprobe = read_autoprobe(look, fd);

        if (has_name(names, CARVED_MDEV_TYPES)) {
                gpu->has_mdev = true;
                if (!carved_mdev_read_types(look, fd, gpu->driver, &gpu->available, &gpu->error))
                        gpu->settled = false;
        }
        carved_mdev_read_vgpus(look, fd, names, -1);
        read_vfs(look, fd, names);

        gpu->framework = framework_of(gpu, look->vendor);
        read_vgpu_config(look);
        read_nvml(look, memory);
        add_vf_type(look);
        carved_look_settle(look);
        carved_gpu_finish(gpu);
}

static int open_gpu(const CarvedHost *host, const CarvedPciAddress *address, GError **error) {
        char text[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *path = g_strdup_printf("%s/bus/pci/devices/%s", host->sysfs,
                                                carved_pci_address_format(address, text));

        return carved_sysfs_open_dir(-1, path, error);
}

CarvedGpu *carved_snapshot_read(const CarvedHost *host, const CarvedPciAddress *address, CarvedMemory *memory,
                                GError **error) {
        _cleanup_close_ int fd = open_gpu(host, address, error);
        g_autoptr(CarvedGpu) gpu = carved_gpu_new(address);
        g_autoptr(GPtrArray) names = NULL;
        g_auto(CarvedLook) look = { 0 };
        bool there;

        if (fd < 0)
                return NULL;

        carved_look_init(&look, host, gpu);

        /* First of all: this read waits for whoever is changing the number of VFs, so the rest is of one
         * piece. */
        gpu->num_vfs = read_count(&look, fd, CARVED_ATTR_SRIOV_NUMVFS, &there);
        names = carved_sysfs_list(fd, ".", error);
        if (!names)
                return NULL;

        read_gpu(&look, fd, names, memory);
        return g_steal_pointer(&gpu);
}

CarvedGpu *carved_snapshot_read_vfs(const CarvedHost *host, const CarvedPciAddress *address,
                                    const uint32_t *vfs, unsigned n, GError **error) {
        _cleanup_close_ int fd = open_gpu(host, address, error);
        g_autoptr(CarvedGpu) gpu = carved_gpu_new(address);
        g_auto(CarvedLook) look = { 0 };

        if (fd < 0)
                return NULL;

        carved_look_init(&look, host, gpu);
        look.brief = true;
        gpu->vendor_id = read_pci_id(&look, fd, CARVED_ATTR_VENDOR);
        gpu->device_id = read_pci_id(&look, fd, CARVED_ATTR_DEVICE);
        look.vendor = carved_vendor_find(gpu->vendor_id);
        for (unsigned i = 0; i < n; i++)
                read_vf(&look, fd, vfs[i]);
        carved_look_settle(&look);
        carved_gpu_finish(gpu);
        return g_steal_pointer(&gpu);
}
