/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "change.h"
#include "model.h"
#include "snapshot.h"

struct CarvedModel {
        GPtrArray *gpus; /* CarvedGpu, by address */
};

CarvedModel *carved_model_new(void) {
        CarvedModel *model = g_new0(CarvedModel, 1);

        model->gpus = g_ptr_array_new_with_free_func((GDestroyNotify) carved_gpu_free);
        return model;
}

CarvedModel *carved_model_free(CarvedModel *model) {
        if (!model)
                return NULL;

        g_ptr_array_unref(model->gpus);
        g_free(model);
        return NULL;
}

unsigned carved_model_n_gpus(const CarvedModel *model) {
        return model->gpus->len;
}

const CarvedGpu *carved_model_nth_gpu(const CarvedModel *model, unsigned i) {
        return model->gpus->pdata[i];
}

/* Where it is, or where it would go. */
static unsigned position(const CarvedModel *model, const CarvedPciAddress *address, bool *ret_there) {
        unsigned low = 0, high = model->gpus->len;

        while (low < high) {
                unsigned middle = low + (high - low) / 2;
                const CarvedGpu *gpu = model->gpus->pdata[middle];
                int r = carved_pci_address_compare(address, &gpu->address);

                if (r == 0) {
                        *ret_there = true;
                        return middle;
                }
                if (r < 0)
                        high = middle;
                else
                        low = middle + 1;
        }

        *ret_there = false;
        return low;
}

const CarvedGpu *carved_model_find_gpu(const CarvedModel *model, const CarvedPciAddress *address) {
        bool there;
        unsigned i = position(model, address, &there);

        return there ? model->gpus->pdata[i] : NULL;
}

const CarvedVf *carved_model_find_vf(const CarvedModel *model, const CarvedPciAddress *address) {
        for (unsigned i = 0; i < model->gpus->len; i++) {
                const CarvedGpu *gpu = model->gpus->pdata[i];
                const CarvedVf *vf = gpu->address.domain == address->domain
                                             ? carved_gpu_find_vf_by_address(gpu, address)
                                             : NULL;

                if (vf)
                        return vf;
        }
        return NULL;
}

const CarvedVgpu *carved_model_find_vgpu(const CarvedModel *model, const char *uuid) {
        for (unsigned i = 0; i < model->gpus->len; i++) {
                const CarvedVgpu *vgpu = carved_gpu_find_vgpu(model->gpus->pdata[i], uuid);

                if (vgpu)
                        return vgpu;
        }
        return NULL;
}

static bool has_group(const CarvedGpu *gpu, int32_t group) {
        for (unsigned i = 0; i < gpu->vgpus->len; i++)
                if (((CarvedVgpu *) gpu->vgpus->pdata[i])->iommu_group == group)
                        return true;
        for (unsigned i = 0; i < gpu->vfs->len; i++)
                if (((CarvedVf *) gpu->vfs->pdata[i])->iommu_group == group)
                        return true;

        return false;
}

const CarvedGpu *carved_model_find_group(const CarvedModel *model, int32_t group) {
        for (unsigned i = 0; i < model->gpus->len; i++)
                if (has_group(model->gpus->pdata[i], group))
                        return model->gpus->pdata[i];

        return NULL;
}

/* The same card with a word about why it is as old as it is. */
static CarvedGpu *with_trouble(const CarvedGpu *gpu, const CarvedUpdate *update) {
        g_autoptr(GVariant) variant = g_variant_ref_sink(carved_snapshot_to_variant(gpu));
        CarvedGpu *copy = carved_snapshot_from_variant(variant);

        if (update->kind == CARVED_UPDATE_STALLED)
                copy->stalled = true;
        else {
                g_free(copy->error);
                copy->error = g_strdup(update->text);
        }
        carved_gpu_finish(copy);
        return copy;
}

/* What the GPU shall be from now on; NULL: gone. */
static CarvedGpu *next(const CarvedGpu *old, CarvedUpdate *update) {
        g_autoptr(CarvedGpu) given = g_steal_pointer(&update->gpu);

        if (update->kind == CARVED_UPDATE_GONE)
                return NULL;
        if (update->kind == CARVED_UPDATE_READ)
                return g_steal_pointer(&given);

        return with_trouble(old ?: given, update);
}

GArray *carved_model_apply(CarvedModel *model, CarvedUpdate *update) {
        g_autoptr(CarvedGpu) old = NULL;
        CarvedGpu *new;
        bool there;
        unsigned i;

        i = position(model, &update->address, &there);
        if (there) {
                /* Stolen, not freed: what is different is told against it. */
                old = g_ptr_array_steal_index(model->gpus, i);
        }

        new = next(old, update);
        if (new)
                g_ptr_array_insert(model->gpus, (int) i, new);
        return carved_change_list(old, new);
}
