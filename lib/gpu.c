/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "gpu.h"
#include "reason.h"
#include "vfio-driver.h"

static const char *const framework_names[_CARVED_FRAMEWORK_MAX] = {
        [CARVED_FRAMEWORK_NONE] = "none",
        [CARVED_FRAMEWORK_UNKNOWN] = "unknown",
        [CARVED_FRAMEWORK_MDEV] = "mdev",
        [CARVED_FRAMEWORK_VENDOR_VFIO] = "vendor-vfio",
        [CARVED_FRAMEWORK_VF_PASSTHROUGH] = "vf-passthrough",
};

static const char *const gpu_state_names[_CARVED_GPU_STATE_MAX] = {
        [CARVED_GPU_READY] = "ready",         [CARVED_GPU_NO_DRIVER] = "no-driver",
        [CARVED_GPU_UNSETTLED] = "unsettled", [CARVED_GPU_BUSY] = "busy",
        [CARVED_GPU_STALLED] = "stalled",     [CARVED_GPU_LOST] = "lost",
        [CARVED_GPU_MISMATCH] = "mismatch",
};

static const char *const vgpu_state_names[_CARVED_VGPU_STATE_MAX] = {
        [CARVED_VGPU_ACTIVE] = "active",
        [CARVED_VGPU_DEFINED] = "defined",
        [CARVED_VGPU_MISSING] = "missing",
        [CARVED_VGPU_FAILED] = "failed",
};

static const char *const sync_state_names[_CARVED_SYNC_STATE_MAX] = {
        [CARVED_SYNC_UNMANAGED] = "unmanaged",
        [CARVED_SYNC_SYNCED] = "synced",
        [CARVED_SYNC_OUT_OF_SYNC] = "out-of-sync",
        [CARVED_SYNC_CONTESTED] = "contested",
};

static const char *const mig_sync_names[_CARVED_MIG_SYNC_MAX] = {
        [CARVED_MIG_DISABLED] = "disabled",
        [CARVED_MIG_SYNCED] = "synced",
        [CARVED_MIG_OUT_OF_SYNC] = "out-of-sync",
};

static const char *const vf_role_names[_CARVED_VF_ROLE_MAX] = {
        [CARVED_VF_FREE] = "free",
        [CARVED_VF_VGPU] = "vgpu",
        [CARVED_VF_PASSTHROUGH] = "passthrough",
        [CARVED_VF_HOST] = "host",
};

const char *carved_framework_to_string(CarvedFramework framework) {
        return framework_names[framework];
}

bool carved_framework_from_string(const char *text, CarvedFramework *ret) {
        for (CarvedFramework i = 0; i < _CARVED_FRAMEWORK_MAX; i++)
                if (strcmp(framework_names[i], text) == 0) {
                        *ret = i;
                        return true;
                }
        return false;
}

const char *carved_gpu_state_to_string(CarvedGpuState state) {
        return gpu_state_names[state];
}

const char *carved_vf_role_to_string(CarvedVfRole role) {
        return vf_role_names[role];
}

const char *carved_vgpu_state_to_string(CarvedVgpuState state) {
        return vgpu_state_names[state];
}

const char *carved_sync_state_to_string(CarvedSyncState state) {
        return sync_state_names[state];
}

const char *carved_mig_sync_to_string(CarvedMigSync sync) {
        return mig_sync_names[sync];
}

CarvedType *carved_type_new(const char *id) {
        CarvedType *type = g_new0(CarvedType, 1);

        type->id = g_strdup(id);
        return type;
}

void carved_type_free(CarvedType *type) {
        if (!type)
                return;

        g_free(type->id);
        g_free(type->name);
        g_free(type->resource);
        g_free(type->max_resolution);
        g_free(type->device_api);
        g_free(type);
}

static void vf_free(void *p) {
        CarvedVf *vf = p;

        g_free(vf->driver);
        g_free(vf->override);
        g_free(vf->available);
        g_free(vf->error);
        carved_reason_clear(&vf->reason);
        g_free(vf);
}

static void vgpu_free(void *p) {
        CarvedVgpu *vgpu = p;

        g_free(vgpu->type);
        g_free(vgpu->params);
        g_free(vgpu->error);
        g_free(vgpu->type_name);
        g_strfreev(vgpu->labels);
        g_free(vgpu);
}

CarvedGpu *carved_gpu_new(const CarvedPciAddress *address) {
        CarvedGpu *gpu = g_new0(CarvedGpu, 1);

        gpu->address = *address;
        gpu->numa_node = -1;
        gpu->iommu_group = -1;
        gpu->settled = true;
        gpu->autoprobe = true;
        gpu->mixed_size = -1;
        gpu->types = g_ptr_array_new_with_free_func((GDestroyNotify) carved_type_free);
        gpu->vfs = g_ptr_array_new_with_free_func(vf_free);
        gpu->vgpus = g_ptr_array_new_with_free_func(vgpu_free);
        gpu->absent = g_ptr_array_new_with_free_func(vgpu_free);
        return gpu;
}

void carved_gpu_free(CarvedGpu *gpu) {
        if (!gpu)
                return;

        g_free(gpu->vendor);
        g_free(gpu->model);
        g_free(gpu->driver);
        g_free(gpu->error);
        g_free(gpu->serial);
        g_free(gpu->gpu_uuid);
        g_free(gpu->nvml_error);
        carved_mig_free(gpu->mig);
        g_clear_pointer(&gpu->layout, g_array_unref);
        g_free(gpu->mig_trouble);
        g_free(gpu->available);
        g_free(gpu->identity);
        g_free(gpu->stored_identity);
        g_free(gpu->stored_serial);
        g_free(gpu->unreadable);
        g_free(gpu->trouble);
        g_strfreev(gpu->labels);
        carved_reason_clear(&gpu->reason);
        g_ptr_array_unref(gpu->absent);
        g_ptr_array_unref(gpu->types);
        g_ptr_array_unref(gpu->vfs);
        g_ptr_array_unref(gpu->vgpus);
        g_free(gpu);
}

CarvedVf *carved_gpu_add_vf(CarvedGpu *gpu, uint32_t index, const CarvedPciAddress *address) {
        CarvedVf *vf = g_new0(CarvedVf, 1);

        vf->gpu = gpu;
        vf->address = *address;
        vf->index = index;
        vf->iommu_group = -1;
        vf->vgpu = -1;
        g_ptr_array_add(gpu->vfs, vf);
        return vf;
}

static CarvedVgpu *add_vgpu(CarvedGpu *gpu, GPtrArray *list, const char *uuid, int32_t vf_index) {
        CarvedVgpu *vgpu = g_new0(CarvedVgpu, 1);

        g_strlcpy(vgpu->uuid, uuid, sizeof vgpu->uuid);
        for (char *p = vgpu->uuid; *p; p++)
                *p = g_ascii_tolower(*p);
        vgpu->gpu = gpu;
        vgpu->vf_index = vf_index;
        vgpu->iommu_group = -1;
        vgpu->gpu_instance = -1;
        vgpu->placement_id = -1;
        g_ptr_array_add(list, vgpu);
        return vgpu;
}

CarvedVgpu *carved_gpu_add_vgpu(CarvedGpu *gpu, const char *uuid, int32_t vf_index) {
        return add_vgpu(gpu, gpu->vgpus, uuid, vf_index);
}

CarvedVgpu *carved_gpu_add_absent(CarvedGpu *gpu, const char *uuid, int32_t vf_index) {
        return add_vgpu(gpu, gpu->absent, uuid, vf_index);
}

static int compare_vfs(const void *a, const void *b) {
        const CarvedVf *x = *(CarvedVf *const *) a, *y = *(CarvedVf *const *) b;

        return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_vgpus(const void *a, const void *b) {
        const CarvedVgpu *x = *(CarvedVgpu *const *) a, *y = *(CarvedVgpu *const *) b;

        return strcmp(x->uuid, y->uuid);
}

static CarvedVfRole role_of(const CarvedVf *vf) {
        if (vf->vgpu >= 0)
                return CARVED_VF_VGPU;
        if (!vf->driver)
                return CARVED_VF_FREE;
        if (carved_vfio_is_driver(vf->driver))
                return CARVED_VF_PASSTHROUGH;

        return vf->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH ? CARVED_VF_HOST : CARVED_VF_FREE;
}

CarvedGpuState carved_gpu_state(const CarvedGpu *gpu) {
        if (gpu->lost)
                return CARVED_GPU_LOST;
        if (gpu->stalled)
                return CARVED_GPU_STALLED;
        if (gpu->busy)
                return CARVED_GPU_BUSY;
        if (gpu->mismatch)
                return CARVED_GPU_MISMATCH;
        if (!gpu->driver)
                return CARVED_GPU_NO_DRIVER;

        return gpu->settled ? CARVED_GPU_READY : CARVED_GPU_UNSETTLED;
}

char *carved_gpu_identity(const CarvedGpu *gpu) {
        char address[CARVED_PCI_ADDRESS_MAX];

        return g_strdup_printf("%04x:%04x:%04x:%04x@%s", gpu->vendor_id, gpu->device_id,
                               gpu->subsystem_vendor_id, gpu->subsystem_device_id,
                               carved_pci_address_format(&gpu->address, address));
}

void carved_gpu_finish(CarvedGpu *gpu) {
        g_ptr_array_sort(gpu->vfs, compare_vfs);
        g_ptr_array_sort(gpu->vgpus, compare_vgpus);
        g_ptr_array_sort(gpu->absent, compare_vgpus);

        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];
                CarvedVf *vf = vgpu->vf_index < 0
                                       ? NULL
                                       : (CarvedVf *) carved_gpu_find_vf(gpu, (uint32_t) vgpu->vf_index);

                if (vf)
                        vf->vgpu = (int32_t) i;
        }

        gpu->state = carved_gpu_state(gpu);
        g_free(gpu->identity);
        gpu->identity = carved_gpu_identity(gpu);

        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                CarvedVf *vf = gpu->vfs->pdata[i];

                vf->role = role_of(vf);
                carved_reason_clear(&vf->reason);
                vf->reason = carved_reason_for_vf(vf);
        }
        carved_reason_clear(&gpu->reason);
        gpu->reason = carved_reason_for_gpu(gpu);
}

int carved_gpu_find_type(const CarvedGpu *gpu, const char *id) {
        unsigned low = 0, high = gpu->types->len;

        while (low < high) {
                unsigned middle = low + (high - low) / 2;
                int r = carved_type_id_compare(id, ((CarvedType *) gpu->types->pdata[middle])->id);

                if (r == 0)
                        return (int) middle;
                if (r < 0)
                        high = middle;
                else
                        low = middle + 1;
        }

        return -1;
}

bool carved_gpu_has_half_made(const CarvedGpu *gpu) {
        for (unsigned i = 0; i < gpu->vgpus->len; i++)
                if (!((const CarvedVgpu *) gpu->vgpus->pdata[i])->type)
                        return true;

        return false;
}

const CarvedVf *carved_gpu_find_vf(const CarvedGpu *gpu, uint32_t index) {
        CarvedVf key = { .index = index }, *p = &key, **found;

        /* Nearly always all of them are there. */
        if (index < gpu->vfs->len && ((CarvedVf *) gpu->vfs->pdata[index])->index == index)
                return gpu->vfs->pdata[index];
        if (gpu->vfs->len == 0)
                return NULL;

        found = bsearch(&p, gpu->vfs->pdata, gpu->vfs->len, sizeof(void *), compare_vfs);
        return found ? *found : NULL;
}

const CarvedVf *carved_gpu_find_vf_by_address(const CarvedGpu *gpu, const CarvedPciAddress *address) {
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                if (carved_pci_address_compare(&vf->address, address) == 0)
                        return vf;
        }

        return NULL;
}

static const CarvedVgpu *find_in(GPtrArray *list, const char *uuid) {
        for (unsigned i = 0; i < list->len; i++) {
                const CarvedVgpu *vgpu = list->pdata[i];

                if (g_ascii_strcasecmp(vgpu->uuid, uuid) == 0)
                        return vgpu;
        }
        return NULL;
}

const CarvedVgpu *carved_gpu_find_vgpu(const CarvedGpu *gpu, const char *uuid) {
        return find_in(gpu->vgpus, uuid) ?: find_in(gpu->absent, uuid);
}

const CarvedVgpu *carved_gpu_find_claim(const CarvedGpu *gpu, int32_t vf_index) {
        for (unsigned i = 0; vf_index >= 0 && i < gpu->absent->len; i++)
                if (((CarvedVgpu *) gpu->absent->pdata[i])->vf_index == vf_index)
                        return gpu->absent->pdata[i];

        return NULL;
}

int32_t carved_vgpu_place(const CarvedVgpu *vgpu) {
        return vgpu->state == CARVED_VGPU_ACTIVE ? vgpu->vf_index : -1;
}

const CarvedType *carved_vgpu_type(const CarvedVgpu *vgpu) {
        int i = vgpu->type ? carved_gpu_find_type(vgpu->gpu, vgpu->type) : -1;

        return i < 0 ? NULL : vgpu->gpu->types->pdata[i];
}

const char *carved_gpu_last_error(const CarvedGpu *gpu) {
        return gpu->error ?: gpu->trouble ?: gpu->nvml_error;
}

const CarvedVgpu *carved_gpu_instance_vgpu(const CarvedGpu *gpu, const CarvedGpuInstance *instance) {
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                if (vgpu->gpu_instance >= 0 && (uint32_t) vgpu->gpu_instance == instance->id)
                        return vgpu;
        }
        return NULL;
}

bool carved_gpu_hosts_vgpus(const CarvedGpu *gpu) {
        return gpu->framework != CARVED_FRAMEWORK_NONE;
}

bool carved_vf_hosts_vgpus(const CarvedVf *vf) {
        return vf->framework != CARVED_FRAMEWORK_NONE && vf->framework != CARVED_FRAMEWORK_UNKNOWN;
}

bool carved_vf_is_creatable(const CarvedVf *vf, unsigned type) {
        if (vf->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                return vf->role == CARVED_VF_FREE;

        return vf->available && vf->available[type] > 0;
}

bool carved_gpu_is_creatable(const CarvedGpu *gpu, unsigned type) {
        if (gpu->available && gpu->available[type] > 0)
                return true;

        for (unsigned i = 0; i < gpu->vfs->len; i++)
                if (carved_vf_is_creatable(gpu->vfs->pdata[i], type))
                        return true;

        return false;
}

/* One each; but some cards put several into one instance, and do not tell how many more. */
static bool free_instances(const CarvedGpu *gpu, uint32_t profile, uint32_t vfs, uint32_t *ret) {
        uint32_t n = 0;

        for (unsigned i = 0; i < gpu->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = gpu->mig->instances->pdata[i];

                n += instance->profile == profile && !carved_gpu_instance_vgpu(gpu, instance);
        }
        *ret = MIN(n, vfs);
        return n > 0;
}

bool carved_gpu_available(const CarvedGpu *gpu, unsigned type, uint32_t *ret) {
        const CarvedType *t = gpu->types->pdata[type];
        uint32_t sum = 0, left;

        if (gpu->available) {
                *ret = gpu->available[type];
                return true;
        }

        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                if (vf->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                        sum += vf->role == CARVED_VF_FREE;
                else if (vf->available)
                        sum += vf->available[type];
        }

        if (sum > 0 && gpu->mig && gpu->mig->enabled && (t->known & CARVED_TYPE_MIG_PROFILE))
                return free_instances(gpu, t->mig_profile, sum, ret);

        /* Each VF says "one more here" up to the last free place on the card: the card's maximum tells how
         * many. */
        if (sum > 0 && !(t->known & CARVED_TYPE_MAX_INSTANCES))
                return false;

        left = t->max_instances > gpu->vgpus->len ? t->max_instances - gpu->vgpus->len : 0;
        *ret = MIN(sum, left);
        return true;
}

uint32_t carved_gpu_used(const CarvedGpu *gpu, unsigned type) {
        const CarvedType *t = gpu->types->pdata[type];
        uint32_t used = 0;

        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                used += g_strcmp0(vgpu->type, t->id) == 0;
        }
        return used;
}

int carved_type_id_compare(const char *a, const char *b) {
        while (*a && *b) {
                if (g_ascii_isdigit(*a) && g_ascii_isdigit(*b)) {
                        size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
                        size_t len_a = strspn(a + zeros_a, "0123456789"),
                               len_b = strspn(b + zeros_b, "0123456789");
                        int r;

                        if (len_a != len_b)
                                return len_a < len_b ? -1 : 1;
                        r = strncmp(a + zeros_a, b + zeros_b, len_a);
                        if (r != 0)
                                return r;
                        if (zeros_a != zeros_b) /* different texts are never equal */
                                return zeros_a < zeros_b ? -1 : 1;
                        a += zeros_a + len_a;
                        b += zeros_b + len_b;
                } else {
                        if (*a != *b)
                                return (unsigned char) *a < (unsigned char) *b ? -1 : 1;
                        a++;
                        b++;
                }
        }

        return *a ? 1 : *b ? -1 : 0;
}

char *carved_resource_name(const char *domain, const char *type_name) {
        GString *name = g_string_new(domain);
        bool space = false;

        g_string_append_c(name, '/');
        for (const char *p = type_name; *p; p++) {
                if (g_ascii_isspace(*p)) {
                        space = true;
                        continue;
                }
                /* Each run of white space is one, and none at the ends. */
                if (space && name->str[name->len - 1] != '/')
                        g_string_append_c(name, '_');
                space = false;
                g_string_append_c(name, *p == '/' || *p == '.' ? '_' : *p);
        }
        return g_string_free(name, FALSE);
}
