/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "snapshot.h"

/* Worker and daemon are one binary: the format needs no version, but what arrives is checked all the same,
 * because a worker may have lost its mind before it wrote. */

#define ADDRESS "(uyyy)"
#define TYPE    "(smsmsmsmsutuuuu)"
#define VF      "(" ADDRESS "umsmsiubaqms)"
#define VGPU    "(siumsmsiiims)"
#define NVML    "(bmsmsmsim" CARVED_MIG_TYPE ")"
#define GPU     "(" ADDRESS "(qqqq)(msmsms)(ii)(bbbuuu)(bb)msa" TYPE "a" VF "a" VGPU "maq" NVML ")"

static GVariant *counts_to_variant(const uint16_t *counts, unsigned n) {
        return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT16, counts, counts ? n : 0, sizeof *counts);
}

static GVariant *types_to_variant(const CarvedGpu *gpu) {
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE("a" TYPE));
        for (unsigned i = 0; i < gpu->types->len; i++) {
                const CarvedType *t = gpu->types->pdata[i];

                g_variant_builder_add(&builder, TYPE, t->id, t->name, t->resource, t->max_resolution,
                                      t->device_api, t->known, t->framebuffer_mib, t->heads,
                                      t->frame_rate_limit, t->max_instances, t->mig_profile);
        }
        return g_variant_builder_end(&builder);
}

static GVariant *vfs_to_variant(const CarvedGpu *gpu) {
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE("a" VF));
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];
                const CarvedPciAddress *a = &vf->address;

                g_variant_builder_add(&builder, "(" ADDRESS "umsmsiub@aqms)", a->domain, a->bus, a->device,
                                      a->function, vf->index, vf->driver, vf->override, vf->iommu_group,
                                      (uint32_t) vf->framework, vf->settled,
                                      counts_to_variant(vf->available, gpu->types->len), vf->error);
        }
        return g_variant_builder_end(&builder);
}

static GVariant *vgpus_to_variant(const CarvedGpu *gpu) {
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE("a" VGPU));
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *v = gpu->vgpus->pdata[i];

                g_variant_builder_add(&builder, VGPU, v->uuid, v->vf_index, (uint32_t) v->framework, v->type,
                                      v->params, v->iommu_group, v->gpu_instance, v->placement_id, v->error);
        }
        return g_variant_builder_end(&builder);
}

static GVariant *nvml_to_variant(const CarvedGpu *g) {
        return g_variant_new("(bmsmsmsim@" CARVED_MIG_TYPE ")", g->nvml_deferred, g->serial, g->gpu_uuid,
                             g->nvml_error, g->mixed_size, g->mig ? carved_mig_to_variant(g->mig) : NULL);
}

GVariant *carved_snapshot_to_variant(const CarvedGpu *g) {
        const CarvedPciAddress *a = &g->address;

        return g_variant_new(
                "(" ADDRESS "(qqqq)(msmsms)(ii)(bbbuuu)(bb)ms@a" TYPE "@a" VF "@a" VGPU "m@aq@" NVML ")",
                a->domain, a->bus, a->device, a->function, g->vendor_id, g->device_id, g->subsystem_vendor_id,
                g->subsystem_device_id, g->vendor, g->model, g->driver, g->numa_node, g->iommu_group,
                g->has_sriov, g->has_mdev, g->autoprobe, g->total_vfs, g->num_vfs, (uint32_t) g->framework,
                g->stalled, g->settled, g->error, types_to_variant(g), vfs_to_variant(g), vgpus_to_variant(g),
                g->available ? counts_to_variant(g->available, g->types->len) : NULL, nvml_to_variant(g));
}

/* One count for each type, or nothing at all. */
static bool take_counts(GVariant *variant, unsigned n_types, uint16_t **ret) {
        const uint16_t *values;
        gsize n;

        values = g_variant_get_fixed_array(variant, &n, sizeof *values);
        if (n != 0 && n != n_types)
                return false;

        *ret = n == 0 ? NULL : g_memdup2(values, n * sizeof *values);
        return true;
}

static bool take_types(CarvedGpu *gpu, GVariantIter *iter) {
        CarvedType t = { 0 };

        while (g_variant_iter_next(iter, TYPE, &t.id, &t.name, &t.resource, &t.max_resolution, &t.device_api,
                                   &t.known, &t.framebuffer_mib, &t.heads, &t.frame_rate_limit,
                                   &t.max_instances, &t.mig_profile)) {
                CarvedType *last = gpu->types->len > 0 ? gpu->types->pdata[gpu->types->len - 1] : NULL;
                bool sorted = !last || carved_type_id_compare(last->id, t.id) < 0;

                g_ptr_array_add(gpu->types, g_memdup2(&t, sizeof t));
                if (!sorted)
                        return false;
        }
        return true;
}

static bool take_vfs(CarvedGpu *gpu, GVariantIter *iter) {
        g_autoptr(GVariant) item = NULL;

        while ((item = g_variant_iter_next_value(iter))) {
                g_autoptr(GVariant) counts = NULL;
                CarvedPciAddress a;
                uint32_t index, framework;
                char *driver, *override, *error;
                gboolean settled;
                bool in_order;
                int32_t group;
                CarvedVf *vf;

                g_variant_get(item, "(" ADDRESS "umsmsiub@aqms)", &a.domain, &a.bus, &a.device, &a.function,
                              &index, &driver, &override, &group, &framework, &settled, &counts, &error);
                in_order = gpu->vfs->len == 0 ||
                           ((CarvedVf *) gpu->vfs->pdata[gpu->vfs->len - 1])->index < index;
                vf = carved_gpu_add_vf(gpu, index, &a);
                vf->driver = driver;
                vf->override = override;
                vf->error = error;
                vf->iommu_group = group;
                vf->settled = settled;
                if (framework >= _CARVED_FRAMEWORK_MAX || !in_order ||
                    !take_counts(counts, gpu->types->len, &vf->available))
                        return false;
                vf->framework = (CarvedFramework) framework;
                g_clear_pointer(&item, g_variant_unref);
        }
        return true;
}

static bool take_vgpus(CarvedGpu *gpu, GVariantIter *iter) {
        g_autoptr(GVariant) item = NULL;

        while ((item = g_variant_iter_next_value(iter))) {
                int32_t vf_index, group, instance, placement;
                char *type, *params, *error;
                uint32_t framework;
                const char *uuid;
                CarvedVgpu *vgpu;

                g_variant_get(item, "(&siumsmsiiims)", &uuid, &vf_index, &framework, &type, &params, &group,
                              &instance, &placement, &error);
                vgpu = carved_gpu_add_vgpu(gpu, uuid, vf_index);
                vgpu->type = type;
                vgpu->params = params;
                vgpu->error = error;
                vgpu->iommu_group = group;
                vgpu->gpu_instance = instance;
                vgpu->placement_id = placement;
                if (framework >= _CARVED_FRAMEWORK_MAX || !carved_uuid_is_valid(uuid) ||
                    (vf_index >= 0 && !carved_gpu_find_vf(gpu, (uint32_t) vf_index)))
                        return false;
                vgpu->framework = (CarvedFramework) framework;
                g_clear_pointer(&item, g_variant_unref);
        }
        return true;
}

static void take_nvml(CarvedGpu *gpu, GVariant *variant) {
        g_autoptr(GVariant) mig = NULL;
        gboolean deferred;

        g_variant_get(variant, "(bmsmsmsim@" CARVED_MIG_TYPE ")", &deferred, &gpu->serial, &gpu->gpu_uuid,
                      &gpu->nvml_error, &gpu->mixed_size, &mig);
        gpu->nvml_deferred = deferred;
        gpu->mig = mig ? carved_mig_from_variant(mig) : NULL;
}

CarvedGpu *carved_snapshot_from_variant(GVariant *variant) {
        g_autoptr(GVariantIter) types = NULL, vfs = NULL, vgpus = NULL;
        g_autoptr(GVariant) available = NULL, nvml = NULL;
        g_autoptr(CarvedGpu) gpu = NULL;
        gboolean has_sriov, has_mdev, autoprobe, stalled, settled;
        CarvedPciAddress a = { 0 };
        uint32_t framework;
        CarvedGpu *g;

        if (!g_variant_is_of_type(variant, G_VARIANT_TYPE(GPU)) || !g_variant_is_normal_form(variant))
                return NULL;

        g = gpu = carved_gpu_new(&a);
        g_variant_get(variant,
                      "(" ADDRESS "(qqqq)(msmsms)(ii)(bbbuuu)(bb)msa" TYPE "a" VF "a" VGPU "m@aq@" NVML ")",
                      &g->address.domain, &g->address.bus, &g->address.device, &g->address.function,
                      &g->vendor_id, &g->device_id, &g->subsystem_vendor_id, &g->subsystem_device_id,
                      &g->vendor, &g->model, &g->driver, &g->numa_node, &g->iommu_group, &has_sriov,
                      &has_mdev, &autoprobe, &g->total_vfs, &g->num_vfs, &framework, &stalled, &settled,
                      &g->error, &types, &vfs, &vgpus, &available, &nvml);
        take_nvml(g, nvml);
        g->has_sriov = has_sriov;
        g->has_mdev = has_mdev;
        g->autoprobe = autoprobe;
        g->stalled = stalled;
        g->settled = settled;
        if (framework >= _CARVED_FRAMEWORK_MAX)
                return NULL;

        g->framework = (CarvedFramework) framework;
        if (!take_types(g, types) || !take_vfs(g, vfs) || !take_vgpus(g, vgpus))
                return NULL;
        if (available && !take_counts(available, g->types->len, &g->available))
                return NULL;

        carved_gpu_finish(g);
        return g_steal_pointer(&gpu);
}

CarvedGpu *carved_snapshot_copy(const CarvedGpu *gpu) {
        g_autoptr(GVariant) variant = g_variant_ref_sink(carved_snapshot_to_variant(gpu));
        CarvedGpu *copy = carved_snapshot_from_variant(variant);

        /* Whole VFs are vGPUs only because we say so. */
        for (unsigned i = copy->vgpus->len; i > 0; i--)
                if (((CarvedVgpu *) copy->vgpus->pdata[i - 1])->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                        g_ptr_array_remove_index(copy->vgpus, i - 1);
        for (unsigned i = 0; i < copy->vfs->len; i++)
                ((CarvedVf *) copy->vfs->pdata[i])->vgpu = -1;
        return copy;
}
