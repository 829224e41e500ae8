/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "change.h"

unsigned carved_gpu_facets(const CarvedGpu *gpu) {
        unsigned facets = CARVED_FACET_GPU;

        if (gpu->has_sriov)
                facets |= CARVED_FACET_SRIOV;
        if (carved_gpu_hosts_vgpus(gpu))
                facets |= CARVED_FACET_VGPU_HOST;
        if (gpu->mig)
                facets |= CARVED_FACET_MIG;
        if (gpu->mixed_size >= 0)
                facets |= CARVED_FACET_MIXED_SIZE;
        return facets;
}

unsigned carved_vf_facets(const CarvedVf *vf) {
        return CARVED_FACET_VF | (carved_vf_hosts_vgpus(vf) ? CARVED_FACET_VGPU_HOST : 0);
}

static CarvedChange for_gpu(const CarvedGpu *gpu) {
        return (CarvedChange){ .object = { .kind = CARVED_OBJECT_GPU, .gpu = gpu->address, .vf_index = -1 } };
}

static CarvedChange for_vf(const CarvedVf *vf) {
        return (CarvedChange){ .object = { .kind = CARVED_OBJECT_VF,
                                           .gpu = vf->gpu->address,
                                           .vf_index = (int32_t) vf->index } };
}

static CarvedChange for_vgpu(const CarvedVgpu *vgpu) {
        CarvedChange change = { .object = { .kind = CARVED_OBJECT_VGPU,
                                            .gpu = vgpu->gpu->address,
                                            .vf_index = carved_vgpu_place(vgpu) } };

        memcpy(change.object.uuid, vgpu->uuid, sizeof change.object.uuid);
        return change;
}

static bool same_labels(GStrv a, GStrv b) {
        static const char *const none[] = { NULL };

        return g_strv_equal(a ? (const char *const *) a : none, b ? (const char *const *) b : none);
}

static bool same_reason(const CarvedReason *a, const CarvedReason *b) {
        return g_strcmp0(a->code, b->code) == 0 && g_strcmp0(a->text, b->text) == 0;
}

static bool same_type(const CarvedType *a, const CarvedType *b) {
        return strcmp(a->id, b->id) == 0 && g_strcmp0(a->name, b->name) == 0 &&
               g_strcmp0(a->resource, b->resource) == 0 &&
               g_strcmp0(a->max_resolution, b->max_resolution) == 0 &&
               g_strcmp0(a->device_api, b->device_api) == 0 && a->known == b->known &&
               a->framebuffer_mib == b->framebuffer_mib && a->heads == b->heads &&
               a->frame_rate_limit == b->frame_rate_limit && a->max_instances == b->max_instances &&
               a->mig_profile == b->mig_profile;
}

static bool same_types(const CarvedGpu *a, const CarvedGpu *b) {
        if (a->types->len != b->types->len)
                return false;

        for (unsigned i = 0; i < a->types->len; i++)
                if (!same_type(a->types->pdata[i], b->types->pdata[i]))
                        return false;

        return true;
}

static bool same_available(const CarvedGpu *a, const CarvedGpu *b) {
        for (unsigned i = 0; i < a->types->len; i++) {
                uint32_t n = 0, m = 0;

                if (carved_gpu_available(a, i, &n) != carved_gpu_available(b, i, &m) || n != m)
                        return false;
        }
        return true;
}

static bool same_creatable(const CarvedGpu *a, const CarvedGpu *b) {
        for (unsigned i = 0; i < a->types->len; i++)
                if (carved_gpu_is_creatable(a, i) != carved_gpu_is_creatable(b, i))
                        return false;

        return true;
}

static bool same_vfs(const CarvedGpu *a, const CarvedGpu *b) {
        if (a->vfs->len != b->vfs->len)
                return false;

        for (unsigned i = 0; i < a->vfs->len; i++)
                if (((CarvedVf *) a->vfs->pdata[i])->index != ((CarvedVf *) b->vfs->pdata[i])->index)
                        return false;

        return true;
}

static unsigned gpu_fields(const CarvedGpu *a, const CarvedGpu *b) {
        bool types = same_types(a, b);
        unsigned fields = 0;

        if (g_strcmp0(a->driver, b->driver) != 0)
                fields |= CARVED_FIELD_DRIVER;
        if (a->iommu_group != b->iommu_group)
                fields |= CARVED_FIELD_IOMMU_GROUP;
        if (a->numa_node != b->numa_node)
                fields |= CARVED_FIELD_NUMA_NODE;
        if (a->framework != b->framework)
                fields |= CARVED_FIELD_FRAMEWORK;
        if (a->state != b->state)
                fields |= CARVED_FIELD_STATE;
        if (!same_reason(&a->reason, &b->reason))
                fields |= CARVED_FIELD_REASONS;
        if (g_strcmp0(carved_gpu_last_error(a), carved_gpu_last_error(b)) != 0)
                fields |= CARVED_FIELD_ERROR;
        if (!same_labels(a->labels, b->labels))
                fields |= CARVED_FIELD_LABELS;
        if (a->sync != b->sync)
                fields |= CARVED_FIELD_SYNC;
        if (g_strcmp0(a->stored_identity, b->stored_identity) != 0)
                fields |= CARVED_FIELD_STORED_IDENTITY;
        if (a->total_vfs != b->total_vfs)
                fields |= CARVED_FIELD_TOTAL_VFS;
        if (a->num_vfs != b->num_vfs)
                fields |= CARVED_FIELD_NUM_VFS;
        if (!same_vfs(a, b))
                fields |= CARVED_FIELD_VFS;
        if (g_strcmp0(a->serial, b->serial) != 0 || g_strcmp0(a->gpu_uuid, b->gpu_uuid) != 0)
                fields |= CARVED_FIELD_SERIAL;
        if (a->mixed_size != b->mixed_size)
                fields |= CARVED_FIELD_MIXED_SIZE;
        fields |= carved_change_mig(a, b);
        /* Both follow the list of types, so with another list both are said anew. */
        if (!types)
                fields |= CARVED_FIELD_TYPES;
        if (!types || !same_available(a, b))
                fields |= CARVED_FIELD_AVAILABLE;
        if (!types || !same_creatable(a, b))
                fields |= CARVED_FIELD_CREATABLE;
        return fields;
}

static bool any_creatable(const CarvedVf *vf) {
        for (unsigned i = 0; i < vf->gpu->types->len; i++)
                if (carved_vf_is_creatable(vf, i))
                        return true;

        return false;
}

static bool vf_same_creatable(const CarvedVf *a, const CarvedVf *b, bool types) {
        if (!types)
                return !any_creatable(a) && !any_creatable(b);

        for (unsigned i = 0; i < a->gpu->types->len; i++)
                if (carved_vf_is_creatable(a, i) != carved_vf_is_creatable(b, i))
                        return false;

        return true;
}

static const char *vgpu_on(const CarvedVf *vf) {
        return vf->vgpu < 0 ? NULL : ((CarvedVgpu *) vf->gpu->vgpus->pdata[vf->vgpu])->uuid;
}

static unsigned vf_fields(const CarvedVf *a, const CarvedVf *b, bool types) {
        unsigned fields = 0;

        if (g_strcmp0(a->driver, b->driver) != 0)
                fields |= CARVED_FIELD_DRIVER;
        if (a->iommu_group != b->iommu_group)
                fields |= CARVED_FIELD_IOMMU_GROUP;
        if (a->role != b->role)
                fields |= CARVED_FIELD_ROLE;
        if (g_strcmp0(vgpu_on(a), vgpu_on(b)) != 0)
                fields |= CARVED_FIELD_VGPU;
        if (!same_reason(&a->reason, &b->reason))
                fields |= CARVED_FIELD_REASONS;
        if (!vf_same_creatable(a, b, types))
                fields |= CARVED_FIELD_CREATABLE;
        return fields;
}

static unsigned vgpu_fields(const CarvedVgpu *a, const CarvedVgpu *b) {
        const CarvedType *x = carved_vgpu_type(a), *y = carved_vgpu_type(b);
        unsigned fields = 0;

        if (g_strcmp0(a->type, b->type) != 0)
                fields |= CARVED_FIELD_TYPE;
        if (g_strcmp0(x ? x->name : a->type_name, y ? y->name : b->type_name) != 0)
                fields |= CARVED_FIELD_TYPE_NAME;
        if (g_strcmp0(a->params, b->params) != 0)
                fields |= CARVED_FIELD_PARAMS;
        if (a->iommu_group != b->iommu_group)
                fields |= CARVED_FIELD_IOMMU_GROUP;
        if (a->gpu_instance != b->gpu_instance)
                fields |= CARVED_FIELD_GPU_INSTANCE;
        if (a->placement_id != b->placement_id)
                fields |= CARVED_FIELD_PLACEMENT;
        if (g_strcmp0(a->error, b->error) != 0)
                fields |= CARVED_FIELD_ERROR;
        if (a->ours != b->ours)
                fields |= CARVED_FIELD_ORIGIN;
        if (a->in_use != b->in_use)
                fields |= CARVED_FIELD_IN_USE;
        if (!same_labels(a->labels, b->labels))
                fields |= CARVED_FIELD_LABELS;
        if (a->state != b->state)
                fields |= CARVED_FIELD_STATE;
        if (a->persistent != b->persistent)
                fields |= CARVED_FIELD_PERSISTENT;
        return fields;
}

/* The one it continues: same place, same function. NULL: it is new, or another. */
static const CarvedVf *same_vf(const CarvedGpu *gpu, const CarvedVf *vf) {
        const CarvedVf *other = gpu ? carved_gpu_find_vf(gpu, vf->index) : NULL;

        return other && carved_pci_address_compare(&other->address, &vf->address) == 0 ? other : NULL;
}

static const CarvedVgpu *same_vgpu(const CarvedGpu *gpu, const CarvedVgpu *vgpu) {
        const CarvedVgpu *other = gpu ? carved_gpu_find_vgpu(gpu, vgpu->uuid) : NULL;

        /* Absent or not is another place as well, but for those straight on the GPU: there it is a change. */
        return other && other->vf_index == vgpu->vf_index && other->framework == vgpu->framework &&
                               carved_vgpu_place(other) == carved_vgpu_place(vgpu)
                       ? other
                       : NULL;
}

/* Those that are there, and those that are wanted only. */
static unsigned count_vgpus(const CarvedGpu *gpu) {
        return gpu->vgpus->len + gpu->absent->len;
}

static const CarvedVgpu *nth_vgpu(const CarvedGpu *gpu, unsigned i) {
        return i < gpu->vgpus->len ? gpu->vgpus->pdata[i] : gpu->absent->pdata[i - gpu->vgpus->len];
}

static void list_removed(GArray *list, const CarvedGpu *old, const CarvedGpu *new) {
        for (unsigned i = 0; i < count_vgpus(old); i++) {
                const CarvedVgpu *vgpu = nth_vgpu(old, i);
                CarvedChange change = for_vgpu(vgpu);

                change.removed = CARVED_FACET_VGPU;
                if (!same_vgpu(new, vgpu))
                        g_array_append_val(list, change);
        }
        carved_change_instances_removed(list, old, new);
        for (unsigned i = 0; i < old->vfs->len; i++) {
                const CarvedVf *vf = old->vfs->pdata[i], *now = same_vf(new, vf);
                CarvedChange change = for_vf(vf);

                change.removed = carved_vf_facets(vf) & ~(now ? carved_vf_facets(now) : 0);
                if (change.removed)
                        g_array_append_val(list, change);
        }

        CarvedChange change = for_gpu(old);

        change.removed = carved_gpu_facets(old) & ~(new ? carved_gpu_facets(new) : 0);
        if (change.removed)
                g_array_append_val(list, change);
}

static void list_added(GArray *list, const CarvedGpu *old, const CarvedGpu *new) {
        CarvedChange change = for_gpu(new);

        change.added = carved_gpu_facets(new) & ~(old ? carved_gpu_facets(old) : 0);
        if (change.added)
                g_array_append_val(list, change);

        for (unsigned i = 0; i < new->vfs->len; i++) {
                const CarvedVf *vf = new->vfs->pdata[i], *before = same_vf(old, vf);

                change = for_vf(vf);
                change.added = carved_vf_facets(vf) & ~(before ? carved_vf_facets(before) : 0);
                if (change.added)
                        g_array_append_val(list, change);
        }
        carved_change_instances_added(list, old, new);
        for (unsigned i = 0; i < count_vgpus(new); i++) {
                const CarvedVgpu *vgpu = nth_vgpu(new, i);

                change = for_vgpu(vgpu);
                change.added = CARVED_FACET_VGPU;
                if (!same_vgpu(old, vgpu))
                        g_array_append_val(list, change);
        }
}

static void list_changed(GArray *list, const CarvedGpu *old, const CarvedGpu *new) {
        bool types = same_types(old, new);
        CarvedChange change = for_gpu(new);

        change.kept = carved_gpu_facets(old) & carved_gpu_facets(new);
        change.fields = gpu_fields(old, new);
        if (change.fields)
                g_array_append_val(list, change);

        for (unsigned i = 0; i < new->vfs->len; i++) {
                const CarvedVf *vf = new->vfs->pdata[i], *before = same_vf(old, vf);

                change = for_vf(vf);
                change.kept = before ? carved_vf_facets(before) & carved_vf_facets(vf) : 0;
                change.fields = before ? vf_fields(before, vf, types) : 0;
                if (change.fields)
                        g_array_append_val(list, change);
        }
        for (unsigned i = 0; i < count_vgpus(new); i++) {
                const CarvedVgpu *vgpu = nth_vgpu(new, i), *before = same_vgpu(old, vgpu);

                change = for_vgpu(vgpu);
                change.kept = CARVED_FACET_VGPU;
                change.fields = before ? vgpu_fields(before, vgpu) : 0;
                if (change.fields)
                        g_array_append_val(list, change);
        }
        carved_change_instances(list, old, new);
}

/* Another card in the same place is another object: identity is constant. */
static bool is_another(const CarvedGpu *a, const CarvedGpu *b) {
        return a && b && strcmp(a->identity, b->identity) != 0;
}

GArray *carved_change_list(const CarvedGpu *old, const CarvedGpu *new) {
        GArray *list = g_array_new(FALSE, FALSE, sizeof(CarvedChange));
        bool another = is_another(old, new);

        if (old)
                list_removed(list, old, another ? NULL : new);
        if (new)
                list_added(list, another ? NULL : old, new);
        if (old && new && !another)
                list_changed(list, old, new);
        return list;
}
