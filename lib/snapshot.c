/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "snapshot.h"
#include "sysfs.h"
#include "vendor.h"
#include "vgpu-config.h"
#include "vgpu-type.h"

#define MDEV_TYPES "mdev_supported_types"

/* "Three of type number 7": types are numbered as they are found, and sorted when all are. */
typedef struct Offer {
        uint32_t type;
        uint16_t count;
} Offer;

typedef struct Offers {
        uint16_t **target;
        GArray *list; /* Offer */
} Offers;

typedef struct Reader {
        const CarvedHost *host;
        const CarvedVendor *vendor;
        CarvedGpu *gpu;
        GHashTable *type_numbers; /* id → number + 1 */
        GPtrArray *offers;        /* Offers */
} Reader;

static void offers_free(void *p) {
        Offers *offers = p;

        g_array_unref(offers->list);
        g_free(offers);
}

/* The first thing that went wrong is the one to show; what is merely absent is nothing wrong. */
static void note(char **target, GError *error) {
        if (error && !carved_sysfs_is_absent(error) && !*target)
                *target = g_strdup(error->message);
        g_clear_error(&error);
}

static int32_t read_group(int dir_fd, const char *below) {
        g_autofree char *name = carved_sysfs_read_link(dir_fd, below, CARVED_LINK_IOMMU_GROUP);
        int64_t group;

        return name && carved_sysfs_parse_number(name, 0, INT32_MAX, &group) ? (int32_t) group : -1;
}

/* Its number while reading; a new one is appended. */
static uint32_t type_number(Reader *r, const char *id, CarvedType **ret) {
        void *known = g_hash_table_lookup(r->type_numbers, id);

        if (!known) {
                CarvedType *type = carved_type_new(id);

                g_ptr_array_add(r->gpu->types, type);
                known = GUINT_TO_POINTER(r->gpu->types->len);
                g_hash_table_insert(r->type_numbers, type->id, known);
                *ret = type;
        } else
                *ret = NULL;

        return GPOINTER_TO_UINT(known) - 1;
}

static void name_type(Reader *r, CarvedType *type, const char *name) {
        if (!name || !*name || type->name)
                return;

        type->name = g_strdup(name);
        if (r->vendor->resource_domain)
                type->resource = carved_resource_name(r->vendor->resource_domain, name);
}

static GArray *new_offers(Reader *r, uint16_t **target) {
        Offers *offers = g_new0(Offers, 1);

        offers->target = target;
        offers->list = g_array_new(FALSE, FALSE, sizeof(Offer));
        g_ptr_array_add(r->offers, offers);
        return offers->list;
}

/* What is the same on all VFs of the card, so from whichever has it first. */
static void read_mdev_type(Reader *r, int types_fd, CarvedType *type) {
        g_autofree char *name = NULL, *description = NULL;
        GError *error = NULL;

        name = carved_sysfs_read(types_fd, type->id, CARVED_ATTR_NAME, &error);
        note(&r->gpu->error, g_steal_pointer(&error));
        name_type(r, type, name);

        description = carved_sysfs_read(types_fd, type->id, CARVED_ATTR_DESCRIPTION, &error);
        note(&r->gpu->error, g_steal_pointer(&error));
        if (description)
                carved_type_parse_description(type, description);

        type->device_api = carved_sysfs_read(types_fd, type->id, CARVED_ATTR_DEVICE_API, &error);
        note(&r->gpu->error, g_steal_pointer(&error));
}

static bool is_settled_type(Reader *r, const char *driver, const char *id) {
        size_t len;

        if (r->vendor->type_prefix)
                return g_str_has_prefix(id, r->vendor->type_prefix);

        len = driver ? strlen(driver) : 0;
        return len > 0 && strncmp(id, driver, len) == 0 && id[len] == '-';
}

/* The mdev types below @dir_fd and how many more of each. False: not all of them are usable yet. */
static bool read_mdev_types(Reader *r, int dir_fd, const char *driver, uint16_t **target, char **ret_error) {
        g_autoptr(GPtrArray) names = NULL;
        _cleanup_close_ int types_fd = -1;
        bool settled = true;
        GError *error = NULL;
        GArray *offers;

        types_fd = carved_sysfs_open_dir(dir_fd, MDEV_TYPES, &error);
        if (types_fd >= 0)
                names = carved_sysfs_list(types_fd, ".", &error);
        note(ret_error, error);
        if (!names || names->len == 0)
                return false;

        offers = new_offers(r, target);
        for (unsigned i = 0; i < names->len; i++) {
                const char *id = names->pdata[i];
                CarvedType *fresh;
                int64_t count = 0;
                Offer offer;

                if (!is_settled_type(r, driver, id)) {
                        settled = false;
                        continue;
                }

                offer.type = type_number(r, id, &fresh);
                if (fresh)
                        read_mdev_type(r, types_fd, fresh);

                error = NULL;
                carved_sysfs_read_number(types_fd, id, CARVED_ATTR_AVAILABLE_INSTANCES, 0, UINT16_MAX, &count,
                                         &error);
                note(ret_error, error);
                offer.count = (uint16_t) count;
                g_array_append_val(offers, offer);
        }
        return settled;
}

/* An id that the driver gives where it has one: nothing, "Not Applicable", or a number. */
static int32_t read_id(int dir_fd, const char *below, CarvedAttribute attribute, char **ret_error) {
        g_autofree char *text = NULL;
        GError *error = NULL;
        int64_t value;

        text = carved_sysfs_read(dir_fd, below, attribute, &error);
        note(ret_error, error);
        if (!text || !*text || g_str_equal(text, "Not Applicable"))
                return -1;
        if (carved_sysfs_parse_number(text, -1, INT32_MAX, &value))
                return (int32_t) value;

        if (!*ret_error)
                *ret_error = g_strdup_printf("'%s' is not a number", carved_attribute_name(attribute));
        return -1;
}

static void read_vgpu_attributes(CarvedVgpu *vgpu, int dir_fd, const char *below) {
        GError *error = NULL;

        vgpu->params = carved_sysfs_read(dir_fd, below, CARVED_ATTR_VGPU_PARAMS, &error);
        note(&vgpu->error, error);
        vgpu->gpu_instance = read_id(dir_fd, below, CARVED_ATTR_GPU_INSTANCE_ID, &vgpu->error);
        vgpu->placement_id = read_id(dir_fd, below, CARVED_ATTR_PLACEMENT_ID, &vgpu->error);
}

/* The mdevs among the entries of their parent's directory. */
static void read_mdevs(Reader *r, int dir_fd, GPtrArray *names, int32_t vf_index) {
        for (unsigned i = 0; i < names->len; i++) {
                const char *uuid = names->pdata[i];
                CarvedVgpu *vgpu;

                if (!carved_uuid_is_valid(uuid))
                        continue;

                vgpu = carved_gpu_add_vgpu(r->gpu, uuid, vf_index);
                vgpu->framework = CARVED_FRAMEWORK_MDEV;
                vgpu->iommu_group = read_group(dir_fd, uuid);
                read_vgpu_attributes(vgpu, dir_fd, uuid);

                /* The link comes after `add`; what follows it is an event that reads again. */
                vgpu->type = carved_sysfs_read_link(dir_fd, uuid, CARVED_LINK_MDEV_TYPE);
                if (!vgpu->type)
                        r->gpu->settled = false;
        }
}

/* The types that a vendor-VFIO VF offers now, and the one that it is. */
static void read_vendor_vfio(Reader *r, int dir_fd, CarvedVf *vf, int64_t current) {
        g_autoptr(GArray) creatable = NULL;
        g_autofree char *text = NULL;
        GError *error = NULL;
        GArray *offers;

        text = carved_sysfs_read(dir_fd, NULL, CARVED_ATTR_CREATABLE_VGPU_TYPES, &error);
        note(&vf->error, error);
        creatable = carved_creatable_parse(text ?: "");

        offers = new_offers(r, &vf->available);
        for (unsigned i = 0; i < creatable->len; i++) {
                CarvedCreatable *c = &g_array_index(creatable, CarvedCreatable, i);
                g_autofree char *id = g_strdup_printf("nvidia-%u", c->id);
                CarvedType *fresh;
                Offer offer = { type_number(r, id, &fresh), 1 };

                if (fresh)
                        name_type(r, fresh, c->name);
                g_array_append_val(offers, offer);
        }

        if (current > 0) {
                char address[CARVED_PCI_ADDRESS_MAX], uuid[CARVED_UUID_LEN + 1];
                CarvedType *fresh;
                CarvedVgpu *vgpu;

                carved_pci_address_format(&vf->address, address);
                vgpu = carved_gpu_add_vgpu(r->gpu, carved_uuid_v5(r->host->machine_id, address, uuid),
                                           (int32_t) vf->index);
                vgpu->framework = CARVED_FRAMEWORK_VENDOR_VFIO;
                vgpu->iommu_group = vf->iommu_group;
                vgpu->type = g_strdup_printf("nvidia-%" G_GINT64_FORMAT, current);
                type_number(r, vgpu->type, &fresh);
                read_vgpu_attributes(vgpu, dir_fd, NULL);
        }
}

static bool has_name(GPtrArray *names, const char *name) {
        return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* Framework by looking, for this VF: kernel versions and card generations have both misled people. */
static void read_vf_framework(Reader *r, int dir_fd, GPtrArray *names, CarvedVf *vf) {
        if (has_name(names, "nvidia")) {
                GError *error = NULL;
                int64_t current = 0;
                bool ok;

                ok = carved_sysfs_read_number(dir_fd, NULL, CARVED_ATTR_CURRENT_VGPU_TYPE, 0, UINT32_MAX,
                                              &current, &error);
                if (ok || !carved_sysfs_is_absent(error)) {
                        note(&vf->error, error);
                        vf->framework = CARVED_FRAMEWORK_VENDOR_VFIO;
                        vf->settled = true;
                        read_vendor_vfio(r, dir_fd, vf, current);
                        return;
                }
                g_error_free(error);
        }

        if (has_name(names, MDEV_TYPES)) {
                vf->framework = CARVED_FRAMEWORK_MDEV;
                vf->settled = read_mdev_types(r, dir_fd, vf->driver, &vf->available, &vf->error);
                return;
        }

        vf->framework = r->vendor->bare_sriov;
        vf->settled = vf->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
}

static void read_vf(Reader *r, int pf_fd, unsigned index) {
        g_autoptr(GPtrArray) names = NULL;
        g_autofree char *link = NULL;
        _cleanup_close_ int fd = -1;
        CarvedPciAddress address;
        GError *error = NULL;
        char virtfn[32];
        CarvedVf *vf;

        link = carved_sysfs_read_virtfn(pf_fd, index);
        if (!link || !carved_pci_address_parse(link, &address)) {
                r->gpu->settled = false; /* gone meanwhile */
                return;
        }

        vf = carved_gpu_add_vf(r->gpu, index, &address);
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
        vf->iommu_group = read_group(fd, NULL);
        read_vf_framework(r, fd, names, vf);
        read_mdevs(r, fd, names, (int32_t) index);
        if (!vf->settled)
                r->gpu->settled = false;
}

static void read_vfs(Reader *r, int fd, GPtrArray *names) {
        unsigned found = 0;

        for (unsigned i = 0; i < names->len; i++) {
                const char *name = names->pdata[i];
                int64_t index;

                if (!g_str_has_prefix(name, "virtfn") ||
                    !carved_sysfs_parse_number(name + strlen("virtfn"), 0, UINT16_MAX, &index))
                        continue;

                read_vf(r, fd, (unsigned) index);
                found++;
        }

        /* The kernel adds them one by one. */
        if (found != r->gpu->num_vfs)
                r->gpu->settled = false;
}

static uint32_t read_count(Reader *r, int fd, CarvedAttribute attribute, bool *ret_there) {
        GError *error = NULL;
        int64_t value = 0;

        if (carved_sysfs_read_number(fd, NULL, attribute, 0, UINT16_MAX, &value, &error))
                *ret_there = true;
        else if (!carved_sysfs_is_absent(error))
                *ret_there = true;
        note(&r->gpu->error, error);
        return (uint32_t) value;
}

static uint16_t read_pci_id(Reader *r, int fd, CarvedAttribute attribute) {
        GError *error = NULL;
        int64_t value = 0;

        carved_sysfs_read_number(fd, NULL, attribute, 0, UINT16_MAX, &value, &error);
        note(&r->gpu->error, error);
        return (uint16_t) value;
}

static void read_function(Reader *r, int fd) {
        CarvedGpu *gpu = r->gpu;
        GError *error = NULL;
        int64_t node = -1;

        gpu->vendor_id = read_pci_id(r, fd, CARVED_ATTR_VENDOR);
        gpu->device_id = read_pci_id(r, fd, CARVED_ATTR_DEVICE);
        gpu->subsystem_vendor_id = read_pci_id(r, fd, CARVED_ATTR_SUBSYSTEM_VENDOR);
        gpu->subsystem_device_id = read_pci_id(r, fd, CARVED_ATTR_SUBSYSTEM_DEVICE);
        gpu->driver = carved_sysfs_read_link(fd, NULL, CARVED_LINK_DRIVER);
        gpu->iommu_group = read_group(fd, NULL);

        carved_sysfs_read_number(fd, NULL, CARVED_ATTR_NUMA_NODE, -1, INT32_MAX, &node, &error);
        note(&gpu->error, error);
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

static void merge_type(Reader *r, CarvedType *from) {
        CarvedType *fresh, *type;
        uint32_t number;

        number = type_number(r, from->id, &fresh);
        type = r->gpu->types->pdata[number];
        name_type(r, type, from->name);
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
static void read_vgpu_config(Reader *r) {
        g_autoptr(GPtrArray) list = NULL;
        CarvedGpu *gpu = r->gpu;
        GError *error = NULL;

        if (!r->vendor->has_vgpu_config || gpu->framework == CARVED_FRAMEWORK_MDEV)
                return;

        list = carved_vgpu_config_read(r->host->vgpu_config, gpu, &error);
        note(&gpu->error, error);
        if (!list || list->len == 0)
                return;

        for (unsigned i = 0; i < list->len; i++)
                merge_type(r, list->pdata[i]);

        /* A card that the driver package knows, whose types have yet to come: mdev on the card itself. */
        if (gpu->framework == CARVED_FRAMEWORK_NONE && g_strcmp0(gpu->driver, "nvidia") == 0) {
                gpu->framework = CARVED_FRAMEWORK_UNKNOWN;
                gpu->settled = false;
        }
}

static void add_vf_type(Reader *r) {
        CarvedType *type;

        if (r->gpu->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH)
                return;

        type_number(r, CARVED_TYPE_VF, &type);
        if (!type)
                return;
        type->name = g_strdup("Virtual function");
        type->max_instances = r->gpu->total_vfs;
        type->known = CARVED_TYPE_MAX_INSTANCES;
}

static int compare_types(const void *a, const void *b) {
        const CarvedType *x = *(CarvedType *const *) a, *y = *(CarvedType *const *) b;

        return carved_type_id_compare(x->id, y->id);
}

/* Sorts the types and turns each list of offers into an array beside them. */
static void settle_types(Reader *r) {
        g_autoptr(GPtrArray) found = g_ptr_array_copy(r->gpu->types, NULL, NULL);
        g_autofree unsigned *place = g_new0(unsigned, found->len + 1);

        g_ptr_array_set_free_func(found, NULL);
        g_ptr_array_sort(r->gpu->types, compare_types);
        for (unsigned i = 0; i < found->len; i++)
                place[i] = (unsigned) carved_gpu_find_type(r->gpu, ((CarvedType *) found->pdata[i])->id);

        for (unsigned i = 0; i < r->offers->len; i++) {
                Offers *offers = r->offers->pdata[i];

                *offers->target = g_new0(uint16_t, found->len + 1);
                for (unsigned j = 0; j < offers->list->len; j++) {
                        Offer *offer = &g_array_index(offers->list, Offer, j);

                        (*offers->target)[place[offer->type]] = offer->count;
                }
        }
}

static void read_gpu(Reader *r, int fd, GPtrArray *names) {
        CarvedGpu *gpu = r->gpu;
        bool there = false;

        read_function(r, fd);
        r->vendor = carved_vendor_find(gpu->vendor_id);
        gpu->total_vfs = read_count(r, fd, CARVED_ATTR_SRIOV_TOTALVFS, &there);
        gpu->has_sriov = there && gpu->total_vfs > 0;

        if (has_name(names, MDEV_TYPES)) {
                gpu->has_mdev = true;
                if (!read_mdev_types(r, fd, gpu->driver, &gpu->available, &gpu->error))
                        gpu->settled = false;
        }
        read_mdevs(r, fd, names, -1);
        read_vfs(r, fd, names);

        gpu->framework = framework_of(gpu, r->vendor);
        read_vgpu_config(r);
        add_vf_type(r);
        settle_types(r);
        carved_gpu_finish(gpu);
}

CarvedGpu *carved_snapshot_read(const CarvedHost *host, const CarvedPciAddress *address, GError **error) {
        g_autoptr(CarvedGpu) gpu = carved_gpu_new(address);
        g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
        g_autoptr(GPtrArray) offers = g_ptr_array_new_with_free_func(offers_free), names = NULL;
        Reader reader = { .host = host, .gpu = gpu, .type_numbers = numbers, .offers = offers };
        char text[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *path = NULL;
        _cleanup_close_ int fd = -1;
        bool there;

        path = g_strdup_printf("%s/bus/pci/devices/%s", host->sysfs,
                               carved_pci_address_format(address, text));
        fd = carved_sysfs_open_dir(-1, path, error);
        if (fd < 0)
                return NULL;

        /* First of all: this read waits for whoever is changing the number of VFs, so the rest is of one
         * piece. */
        gpu->num_vfs = read_count(&reader, fd, CARVED_ATTR_SRIOV_NUMVFS, &there);
        names = carved_sysfs_list(fd, ".", error);
        if (!names)
                return NULL;

        read_gpu(&reader, fd, names);
        return g_steal_pointer(&gpu);
}
