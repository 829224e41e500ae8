/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "change.h"
#include "model.h"
#include "snapshot.h"
#include "step.h"

struct CarvedModel {
        GPtrArray *gpus;        /* CarvedGpu, by address */
        GHashTable *intents;    /* address as text → CarvedIntent */
        GPtrArray *definitions; /* CarvedDefinition */
};

CarvedModel *carved_model_new(void) {
        CarvedModel *model = g_new0(CarvedModel, 1);

        model->gpus = g_ptr_array_new_with_free_func((GDestroyNotify) carved_gpu_free);
        model->intents =
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify) carved_intent_free);
        model->definitions = g_ptr_array_new();
        return model;
}

CarvedModel *carved_model_free(CarvedModel *model) {
        if (!model)
                return NULL;

        g_ptr_array_unref(model->gpus);
        g_hash_table_unref(model->intents);
        g_ptr_array_unref(model->definitions);
        g_free(model);
        return NULL;
}

void carved_model_set_definitions(CarvedModel *model, GPtrArray *definitions) {
        g_ptr_array_unref(model->definitions);
        model->definitions = g_ptr_array_ref(definitions);
}

const GPtrArray *carved_model_definitions(const CarvedModel *model) {
        return model->definitions;
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

const CarvedIntent *carved_model_intent(const CarvedModel *model, const CarvedPciAddress *address) {
        char text[CARVED_PCI_ADDRESS_MAX];

        return g_hash_table_lookup(model->intents, carved_pci_address_format(address, text));
}

GArray *carved_model_wanted_gpus(const CarvedModel *model) {
        GArray *gpus = g_array_new(FALSE, FALSE, sizeof(CarvedPciAddress));
        GHashTableIter iter;
        void *text, *intent;

        g_hash_table_iter_init(&iter, model->intents);
        while (g_hash_table_iter_next(&iter, &text, &intent)) {
                CarvedPciAddress address;

                if (!carved_intent_is_void(intent) && carved_pci_address_parse(text, &address))
                        g_array_append_val(gpus, address);
        }
        g_array_sort(gpus, (GCompareFunc) carved_pci_address_compare);
        return gpus;
}

static CarvedIntent *intent_of(CarvedModel *model, const CarvedPciAddress *address) {
        CarvedIntent *intent = (CarvedIntent *) carved_model_intent(model, address);
        char text[CARVED_PCI_ADDRESS_MAX];

        if (!intent) {
                intent = carved_intent_new();
                g_hash_table_insert(model->intents, g_strdup(carved_pci_address_format(address, text)),
                                    intent);
        }
        return intent;
}

void carved_model_merge(const CarvedModel *model, CarvedGpu *gpu) {
        const CarvedIntent *intent = carved_model_intent(model, &gpu->address);

        if (intent)
                carved_intent_apply(intent, gpu);
        carved_gpu_finish(gpu);
}

/* The same card with a word about why it is as old as it is. */
static CarvedGpu *with_trouble(const CarvedGpu *gpu, const CarvedUpdate *update) {
        CarvedGpu *other = carved_snapshot_copy(gpu);

        if (update->kind == CARVED_UPDATE_STALLED)
                other->stalled = true;
        else if (update->kind == CARVED_UPDATE_FAILED) {
                g_free(other->error);
                other->error = g_strdup(update->text);
        }
        return other;
}

/* What the daemon knows and the hardware does not: who is in use, by the last look; that we are at work. */
static void carry_over(CarvedGpu *gpu, const CarvedGpu *old, const CarvedUpdate *update) {
        gpu->busy = old && old->busy;
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                CarvedVgpu *vgpu = gpu->vgpus->pdata[i];
                const CarvedVgpu *before = old ? carved_gpu_find_vgpu(old, vgpu->uuid) : NULL;

                vgpu->in_use = update->kind == CARVED_UPDATE_USERS
                                       ? g_hash_table_contains(update->in_use, vgpu->uuid)
                                       : before && before->in_use;
        }
}

/* A card that something is wanted of, and that is not there. */
static CarvedGpu *ghost(const CarvedIntent *intent, const CarvedPciAddress *address, const CarvedGpu *old) {
        CarvedGpu *gpu = carved_gpu_new(address);

        sscanf(intent->identity, "%4hx:%4hx:%4hx:%4hx@", &gpu->vendor_id, &gpu->device_id,
               &gpu->subsystem_vendor_id, &gpu->subsystem_device_id);
        if (old && old->vendor_id == gpu->vendor_id && old->device_id == gpu->device_id) {
                gpu->vendor = g_strdup(old->vendor);
                gpu->model = g_strdup(old->model);
        }
        gpu->lost = true;
        gpu->settled = false;
        return gpu;
}

/* The first of them: the rest has the same cause, or waits for it. */
static void note_mig_failures(CarvedIntent *intent, GHashTable *failures) {
        GHashTableIter iter;
        void *about, *why;

        g_clear_pointer(&intent->mig_error, g_free);
        g_hash_table_iter_init(&iter, failures);
        while (!intent->mig_error && g_hash_table_iter_next(&iter, &about, &why))
                if (g_str_has_prefix(about, CARVED_STEP_INSTANCE))
                        intent->mig_error = g_strdup(why);
        if (!intent->mig_error && (intent->mig >= 0 || intent->layout))
                intent->mig_error = g_strdup(g_hash_table_lookup(failures, ""));
}

static void note_failures(CarvedIntent *intent, GHashTable *failures) {
        for (unsigned i = 0; failures && i < intent->vgpus->len; i++) {
                CarvedWanted *wanted = intent->vgpus->pdata[i];
                const char *error = g_hash_table_lookup(failures, wanted->uuid);

                if (!error)
                        continue;
                g_free(wanted->error);
                wanted->error = g_strdup(error);
        }
        if (failures) {
                g_free(intent->error);
                intent->error = g_strdup(g_hash_table_lookup(failures, "")
                                                 ?: g_hash_table_lookup(failures, "mixed-size"));
                note_mig_failures(intent, failures);
        }
}

/* What the look shows, and what that says of what is wanted. */
static void take_look(CarvedIntent *intent, const CarvedGpu *old, CarvedGpu *new,
                      const CarvedUpdate *update) {
        intent->leftover_unbound &= !update->rebound;
        carved_intent_apply(intent, new);
        carved_intent_note(intent, old, new, update->now, old && old->busy);
        note_failures(intent, update->failures);
        carved_intent_apply(intent, new);
}

/* What the GPU shall be from now on; NULL: gone. */
static CarvedGpu *next(CarvedModel *model, const CarvedGpu *old, CarvedUpdate *update) {
        g_autoptr(CarvedGpu) given = g_steal_pointer(&update->gpu);
        CarvedIntent *intent = intent_of(model, &update->address);
        CarvedGpu *new;

        if (update->intent)
                carved_intent_change(intent, update->intent);
        if ((update->kind == CARVED_UPDATE_GONE || (old && old->lost && !given)) && intent->identity)
                new = ghost(intent, &update->address, old);
        else if (update->kind == CARVED_UPDATE_GONE || (old && old->lost && !given) || (!old && !given))
                return NULL;
        else
                new = update->kind == CARVED_UPDATE_READ ? g_steal_pointer(&given)
                                                         : with_trouble(old ?: given, update);

        if (update->kind == CARVED_UPDATE_READ)
                take_look(intent, old, new, update);
        else {
                note_failures(intent, update->failures);
                carved_intent_apply(intent, new);
        }
        carry_over(new, old, update);
        carved_gpu_finish(new);
        return new;
}

/* Twice in every job, so without a copy of everything. */
static GArray *set_busy(CarvedModel *model, const CarvedUpdate *update) {
        CarvedGpu *gpu = (CarvedGpu *) carved_model_find_gpu(model, &update->address);
        GArray *list = g_array_new(FALSE, FALSE, sizeof(CarvedChange));
        CarvedChange change = {
                .object = { .kind = CARVED_OBJECT_GPU, .gpu = update->address, .vf_index = -1 },
                .fields = CARVED_FIELD_STATE
        };

        if (!gpu)
                return list;

        gpu->busy = update->busy;
        change.kept = carved_gpu_facets(gpu);
        if (gpu->state != carved_gpu_state(gpu))
                g_array_append_val(list, change);
        gpu->state = carved_gpu_state(gpu);
        return list;
}

static void set_intent(CarvedModel *model, const CarvedPciAddress *address, CarvedIntent *intent) {
        char text[CARVED_PCI_ADDRESS_MAX];

        g_hash_table_replace(model->intents, g_strdup(carved_pci_address_format(address, text)), intent);
}

GArray *carved_model_apply(CarvedModel *model, CarvedUpdate *update) {
        g_autoptr(CarvedGpu) old = NULL;
        CarvedGpu *new;
        bool there;
        unsigned i;

        if (update->kind == CARVED_UPDATE_BUSY)
                return set_busy(model, update);
        if (update->kind == CARVED_UPDATE_STORED)
                set_intent(model, &update->address, g_steal_pointer(&update->whole));

        i = position(model, &update->address, &there);
        if (there) {
                /* Stolen, not freed: what is different is told against it. */
                old = g_ptr_array_steal_index(model->gpus, i);
        }

        new = next(model, old, update);
        if (new)
                g_ptr_array_insert(model->gpus, (int) i, new);
        return carved_change_list(old, new);
}
