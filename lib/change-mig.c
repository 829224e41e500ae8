/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "change.h"

static CarvedChange for_instance(const CarvedGpu *gpu, const CarvedGpuInstance *instance) {
        return (CarvedChange){ .object = { .kind = CARVED_OBJECT_GPU_INSTANCE,
                                           .gpu = gpu->address,
                                           .vf_index = -1,
                                           .instance = instance->id } };
}

/* The one it continues: numbers are used again. */
static const CarvedGpuInstance *same(const CarvedGpu *gpu, const CarvedGpuInstance *instance) {
        const CarvedGpuInstance *other =
                gpu && gpu->mig ? carved_mig_find_placed(gpu->mig, instance->profile, instance->placement)
                                : NULL;

        return other && other->id == instance->id ? other : NULL;
}

static unsigned count(const CarvedGpu *gpu) {
        return gpu && gpu->mig ? gpu->mig->instances->len : 0;
}

void carved_change_instances_removed(GArray *list, const CarvedGpu *old, const CarvedGpu *new) {
        for (unsigned i = 0; i < count(old); i++) {
                CarvedChange change = for_instance(old, old->mig->instances->pdata[i]);

                change.removed = CARVED_FACET_GPU_INSTANCE;
                if (!same(new, old->mig->instances->pdata[i]))
                        g_array_append_val(list, change);
        }
}

void carved_change_instances_added(GArray *list, const CarvedGpu *old, const CarvedGpu *new) {
        for (unsigned i = 0; i < count(new); i++) {
                CarvedChange change = for_instance(new, new->mig->instances->pdata[i]);

                change.added = CARVED_FACET_GPU_INSTANCE;
                if (!same(old, new->mig->instances->pdata[i]))
                        g_array_append_val(list, change);
        }
}

/* The UUIDs, and places in the tree, of the vGPUs in it. */
static char *vgpus_in(const CarvedGpu *gpu, const CarvedGpuInstance *instance) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                if (vgpu->gpu_instance >= 0 && (uint32_t) vgpu->gpu_instance == instance->id)
                        g_string_append_printf(text, "%s@%d ", vgpu->uuid, vgpu->vf_index);
        }
        return g_string_free(text, FALSE);
}

void carved_change_instances(GArray *list, const CarvedGpu *old, const CarvedGpu *new) {
        for (unsigned i = 0; i < count(new); i++) {
                const CarvedGpuInstance *instance = new->mig->instances->pdata[i],
                                        *before = same(old, instance);
                CarvedChange change = for_instance(new, instance);
                g_autofree char *then = NULL, *now = NULL;

                if (!before)
                        continue;
                then = vgpus_in(old, before);
                now = vgpus_in(new, instance);
                change.kept = CARVED_FACET_GPU_INSTANCE;
                if (!g_strv_equal((const char *const *) before->uuids, (const char *const *) instance->uuids))
                        change.fields |= CARVED_FIELD_GPU_INSTANCE;
                if (!g_str_equal(then, now))
                        change.fields |= CARVED_FIELD_VGPU;
                if (change.fields)
                        g_array_append_val(list, change);
        }
}

static bool same_wish(const GArray *a, const GArray *b) {
        if (!a || !b || a->len != b->len)
                return !a == !b && !a;

        for (unsigned i = 0; i < a->len; i++)
                if (g_array_index(a, CarvedWantedInstance, i).profile !=
                    g_array_index(b, CarvedWantedInstance, i).profile)
                        return false;
        return true;
}

unsigned carved_change_mig(const CarvedGpu *a, const CarvedGpu *b) {
        unsigned fields = 0;

        if (!a->mig || !b->mig)
                return 0;
        if (a->mig->enabled != b->mig->enabled || a->mig->pending != b->mig->pending)
                fields |= CARVED_FIELD_MIG_MODE;
        if (a->mig_sync != b->mig_sync)
                fields |= CARVED_FIELD_MIG_SYNC;
        if (g_strcmp0(a->mig_trouble, b->mig_trouble) != 0)
                fields |= CARVED_FIELD_MIG_ERROR;
        if (!carved_mig_equal(a->mig, b->mig) || !same_wish(a->layout, b->layout))
                fields |= CARVED_FIELD_PROFILES;
        return fields;
}
