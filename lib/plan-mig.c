/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "mig-layout.h"
#include "plan-make.h"
#include "policy.h"

/* ---- steps ---- */

static CarvedStep *add_instance(CarvedPlan *plan, CarvedStepKind kind, const CarvedGpu *gpu, uint32_t profile,
                                CarvedPlacement placement, bool compute) {
        CarvedStep *step = plan_add(plan, kind, gpu);

        step->profile = profile;
        step->placement = placement;
        step->compute = compute;
        g_free(step->text);
        step->text = g_strdup(carved_mig_profile_name(gpu->mig, profile));
        g_snprintf(step->uuid, sizeof step->uuid, CARVED_STEP_INSTANCE "%u@%u:%u", profile, placement.start,
                   placement.size);
        return step;
}

static CarvedStep *add_drop(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedGpuInstance *instance) {
        return add_instance(plan, CARVED_STEP_DROP_INSTANCE, gpu, instance->profile, instance->placement,
                            instance->has_compute);
}

static void add_make(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedWantedInstance *wanted) {
        add_instance(plan, CARVED_STEP_MAKE_INSTANCE, gpu, carved_mig_wanted_profile(gpu->mig, wanted),
                     wanted->placement, wanted->compute);
}

static void add_mixed_size(CarvedPlan *plan, const CarvedGpu *gpu, uint32_t from, uint32_t to) {
        CarvedStep *step = plan_add_count(plan, CARVED_STEP_MIXED_SIZE, gpu, from, to);

        g_strlcpy(step->uuid, "mixed-size", sizeof step->uuid);
}

/* ---- who is in the way ---- */

/* "1 (3g.20gb at 4:4), …" of those that @is_meant, or NULL. */
static char *list_instances(const CarvedGpu *gpu, const GArray *but) {
        g_autoptr(GString) list = g_string_new(NULL);

        for (unsigned i = 0; i < gpu->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = gpu->mig->instances->pdata[i];

                if (carved_mig_is_wanted(gpu->mig, but, instance))
                        continue;
                g_string_append_printf(list, "%s%u (%s at %u:%u)", list->len > 0 ? ", " : "", instance->id,
                                       carved_mig_profile_name(gpu->mig, instance->profile),
                                       instance->placement.start, instance->placement.size);
        }
        return list->len > 0 ? g_string_free(g_steal_pointer(&list), FALSE) : NULL;
}

static bool is_idle(const CarvedGpuInstance *instance, const void *userdata) {
        return !carved_gpu_instance_vgpu(userdata, instance);
}

static bool check_idle(const CarvedGpu *gpu, const CarvedGpuInstance *instance, GError **error) {
        const CarvedVgpu *vgpu = carved_gpu_instance_vgpu(gpu, instance);

        if (!vgpu)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_IN_USE,
                    "GPU instance %u holds vGPU %s: it can't be destroyed before that is", instance->id,
                    vgpu->uuid);
        return false;
}

static bool check_no_vgpus(const CarvedGpu *gpu, const char *what, GError **error) {
        char address[CARVED_PCI_ADDRESS_MAX];

        if (gpu->vgpus->len == 0)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                    "%s of GPU %s can't be switched while it has vGPUs: %s", what,
                    carved_pci_address_format(&gpu->address, address),
                    ((CarvedVgpu *) gpu->vgpus->pdata[0])->uuid);
        return false;
}

/* The card of an order, if it can be cut. */
static const CarvedGpu *find_mig(const CarvedModel *model, const CarvedOrder *order, bool on,
                                 GError **error) {
        const CarvedGpu *gpu = plan_find_gpu(model, order, error);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (!gpu)
                return NULL;
        carved_pci_address_format(&gpu->address, address);
        if (gpu->stalled)
                return carved_policy_refuse(error, &gpu->reason, "It can't be cut"), NULL;
        if (!gpu->mig) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED, "GPU %s has no MIG%s%s", address,
                            gpu->nvml_error ? ", as far as can be told: " : "", gpu->nvml_error ?: "");
                return NULL;
        }
        if (on && !gpu->mig->enabled) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_READY,
                            gpu->mig->pending ? "MIG of GPU %s is not on yet: the card needs a reset"
                                              : "MIG of GPU %s is off: SetMode switches it on",
                            address);
                return NULL;
        }
        return gpu;
}

static const CarvedIntent *intent_of(const CarvedModel *model, const CarvedGpu *gpu) {
        return carved_model_intent(model, &gpu->address);
}

/* ---- the mode ---- */

/* What the driver would refuse, or what would be lost. */
static bool may_switch(const CarvedGpu *gpu, bool on, GError **error) {
        char address[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *there = list_instances(gpu, NULL);

        carved_pci_address_format(&gpu->address, address);
        if (!on && (gpu->num_vfs > 0 || gpu->vfs->len > 0)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                            "MIG of GPU %s can't be switched off while its VFs are on: DisableVfs first",
                            address);
                return false;
        }
        if (!on && there) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                            "MIG of GPU %s can't be switched off while it has GPU instances: %s; Clear "
                            "destroys them",
                            address, there);
                return false;
        }
        return check_no_vgpus(gpu, "MIG", error);
}

CarvedPlan *plan_mig_mode(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = find_mig(model, order, /* on= */ false, error);
        const CarvedIntent *intent = gpu ? intent_of(model, gpu) : NULL;
        g_autoptr(CarvedPlan) plan = plan_new();
        bool on = order->count > 0;

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        plan->set_mig = !intent || intent->mig != on;
        plan->mig = on;
        plan->set_layout = !on && intent && intent->layout;
        if (gpu->mig->enabled == on && gpu->mig->pending == on)
                return g_steal_pointer(&plan);
        if (!may_switch(gpu, on, error))
                return NULL;

        /* With VFs on the driver takes the card to be in use. They are empty, so they can go for a while. */
        if (gpu->num_vfs > 0)
                plan_add_vfs(plan, gpu, 0);
        plan_add_count(plan, CARVED_STEP_MIG, gpu, gpu->mig->enabled, on);
        if (gpu->num_vfs > 0)
                plan_add_vfs_again(plan, gpu);
        return g_steal_pointer(&plan);
}

/* ---- layouts ---- */

static bool same_layout(const GArray *a, const GArray *b) {
        if (!a || !b || a->len != b->len)
                return (a ? a->len : 0) == (b ? b->len : 0);

        for (unsigned i = 0; i < a->len; i++) {
                const CarvedWantedInstance *x = &g_array_index(a, CarvedWantedInstance, i),
                                           *y = &g_array_index(b, CarvedWantedInstance, i);

                if (x->profile != y->profile || x->placement.start != y->placement.start ||
                    x->placement.size != y->placement.size || x->compute != y->compute)
                        return false;
        }
        return true;
}

static int compare_places(const void *a, const void *b) {
        const CarvedWantedInstance *x = a, *y = b;

        return x->placement.start < y->placement.start ? -1 : x->placement.start > y->placement.start;
}

/* That is how it is to be cut from now on: a layout is nothing without the mode. Takes @layout. */
static void want_layout(CarvedPlan *plan, const CarvedIntent *intent, GArray *layout) {
        g_array_sort(layout, compare_places);
        plan->layout = layout;
        plan->set_layout = !same_layout(intent ? intent->layout : NULL, layout);
        plan->set_mig = layout->len > 0 && (!intent || intent->mig != 1);
        plan->mig = 1;
}

static bool is_dropped(const CarvedMigLayout *layout, const CarvedGpuInstance *instance) {
        for (unsigned i = 0; i < layout->drops->len; i++) {
                const CarvedMigPiece *piece = &g_array_index(layout->drops, CarvedMigPiece, i);

                if (piece->profile == instance->profile &&
                    piece->placement.start == instance->placement.start)
                        return true;
        }
        return false;
}

static void add_layout(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent,
                       const CarvedMigLayout *layout, bool compute) {
        GArray *wanted = g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));

        for (unsigned i = 0; i < gpu->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = gpu->mig->instances->pdata[i];
                CarvedWantedInstance kept = carved_mig_want(gpu->mig, instance->profile, instance->placement,
                                                            instance->has_compute);

                if (is_dropped(layout, instance))
                        add_drop(plan, gpu, instance);
                else
                        g_array_append_val(wanted, kept);
        }
        for (unsigned i = 0; i < layout->makes->len; i++) {
                const CarvedMigPiece *piece = &g_array_index(layout->makes, CarvedMigPiece, i);
                CarvedWantedInstance made =
                        carved_mig_want(gpu->mig, piece->profile, piece->placement, compute);

                add_make(plan, gpu, &made);
                g_array_append_val(wanted, made);
        }
        want_layout(plan, intent, wanted);
}

/* Somebody's instances are in the way of others, and nobody said that they may go. */
static bool check_replace(const CarvedGpu *gpu, const CarvedOrder *order, const CarvedMigCounts *counts,
                          GError **error) {
        g_autofree CarvedMigCounts *present = carved_mig_counts_present(gpu->mig);
        g_autofree char *there = list_instances(gpu, NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (order->replace || !there ||
            memcmp(present, counts, gpu->mig->profiles->len * sizeof *counts) == 0)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                    "GPU %s has GPU instances: %s; option replace replaces them",
                    carved_pci_address_format(&gpu->address, address), there);
        return false;
}

CarvedPlan *plan_layout(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = find_mig(model, order, /* on= */ true, error);
        g_autofree CarvedMigCounts *counts = NULL;
        g_autoptr(CarvedPlan) plan = plan_new();
        g_auto(CarvedMigLayout) layout = { 0 };

        if (!gpu || !carved_mig_counts_parse(gpu->mig, order->layout, &counts, error))
                return NULL;

        plan_use(plan, &gpu->address);
        if (!check_replace(gpu, order, counts, error) ||
            !carved_mig_layout_plan(gpu->mig, counts, order->replace ? is_idle : NULL, gpu, &layout, error))
                return NULL;

        add_layout(plan, gpu, intent_of(model, gpu), &layout, order->compute);
        return g_steal_pointer(&plan);
}

CarvedPlan *plan_clear(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = find_mig(model, order, /* on= */ false, error);
        g_autoptr(CarvedPlan) plan = plan_new();

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        want_layout(plan, intent_of(model, gpu), g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance)));
        for (unsigned i = 0; i < gpu->mig->instances->len; i++) {
                if (!check_idle(gpu, gpu->mig->instances->pdata[i], error))
                        return NULL;
                add_drop(plan, gpu, gpu->mig->instances->pdata[i]);
        }
        return g_steal_pointer(&plan);
}

CarvedPlan *plan_drop_instance(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = find_mig(model, order, /* on= */ false, error);
        const CarvedGpuInstance *instance = gpu ? carved_mig_find_instance(gpu->mig, order->count) : NULL;
        const CarvedIntent *intent = gpu ? intent_of(model, gpu) : NULL;
        g_autoptr(CarvedPlan) plan = plan_new();
        GArray *rest;

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        if (!instance) /* gone meanwhile: that is what was asked for */
                return g_steal_pointer(&plan);
        if (!check_idle(gpu, instance, error))
                return NULL;

        add_drop(plan, gpu, instance);
        rest = intent && intent->layout ? g_array_copy(intent->layout)
                                        : g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));
        for (unsigned i = rest->len; i > 0; i--)
                if (carved_mig_find_wanted(gpu->mig, &g_array_index(rest, CarvedWantedInstance, i - 1)) ==
                    instance)
                        g_array_remove_index(rest, i - 1);
        want_layout(plan, intent, rest);
        plan->set_mig = false;
        return g_steal_pointer(&plan);
}

/* ---- mixed sizes ---- */

CarvedPlan *plan_mixed_size(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = plan_find_gpu(model, order, error);
        const CarvedIntent *intent = gpu ? intent_of(model, gpu) : NULL;
        g_autoptr(CarvedPlan) plan = plan_new();
        char address[CARVED_PCI_ADDRESS_MAX];
        bool on = order->count > 0;

        if (!gpu)
                return NULL;
        carved_pci_address_format(&order->gpu, address);
        if (gpu->stalled)
                return carved_policy_refuse(error, &gpu->reason, "Mixed sizes can't be switched"), NULL;
        if (gpu->mixed_size < 0) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                            "GPU %s can't have vGPUs of several sizes at once", address);
                return NULL;
        }

        plan_use(plan, &gpu->address);
        plan->set_mixed_size = !intent || intent->mixed_size != on;
        plan->mixed_size = on;
        if (gpu->mixed_size == on && (gpu->num_vfs > 0 || !on))
                return g_steal_pointer(&plan);
        if (gpu->num_vfs == 0) {
                g_set_error(
                        error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                        "Mixed sizes of GPU %s can't be switched while its VFs are off: enabling them would "
                        "lose it",
                        address);
                return NULL;
        }
        if (!check_no_vgpus(gpu, "Mixed sizes", error))
                return NULL;

        add_mixed_size(plan, gpu, (uint32_t) gpu->mixed_size, on);
        return g_steal_pointer(&plan);
}

/* ---- what VFs take with them, and what comes after them ---- */

bool plan_may_lose_instances(const CarvedModel *model, const CarvedGpu *gpu, GError **error) {
        const CarvedIntent *intent = intent_of(model, gpu);
        g_autofree char *foreign = gpu->mig ? list_instances(gpu, intent ? intent->layout : NULL) : NULL;
        char address[CARVED_PCI_ADDRESS_MAX];

        if (!foreign)
                return true;

        g_set_error(
                error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                "GPU %s has GPU instances that carved did not make, and switching VFs loses them: %s; Adopt "
                "or Clear them first",
                carved_pci_address_format(&gpu->address, address), foreign);
        return false;
}

void plan_add_loss(CarvedPlan *plan, const CarvedGpu *gpu) {
        for (unsigned i = 0; gpu->mig && i < gpu->mig->instances->len; i++)
                add_drop(plan, gpu, gpu->mig->instances->pdata[i])->number = 1;
}

void plan_add_after_vfs(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu, bool vfs) {
        const CarvedIntent *intent = intent_of(model, gpu);

        if (intent && vfs && intent->mixed_size > 0 && gpu->mixed_size >= 0)
                add_mixed_size(plan, gpu, 0, 1);
        for (unsigned i = 0; intent && intent->layout && gpu->mig && i < intent->layout->len; i++)
                add_make(plan, gpu, &g_array_index(intent->layout, CarvedWantedInstance, i));
}

/* ---- making it as it is wanted ---- */

bool plan_restore_mode(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent, GError **error) {
        if (intent->mig < 0 && !intent->layout)
                return true;
        if (!gpu->mig && intent->mig == 0)
                return true;
        if (!gpu->mig) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_READY,
                            "MIG is wanted, and nobody tells how the card is cut: %s",
                            gpu->nvml_error ?: "it has no MIG");
                return false;
        }
        if (intent->mig < 0 || gpu->mig->pending == (intent->mig > 0))
                return true;
        if (!may_switch(gpu, intent->mig > 0, error))
                return false;

        plan_add_count(plan, CARVED_STEP_MIG, gpu, gpu->mig->enabled, intent->mig > 0);
        return true;
}

void plan_restore_instances(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu, bool exactly) {
        const CarvedIntent *intent = intent_of(model, gpu);

        if (intent->mixed_size >= 0 && gpu->mixed_size >= 0 && intent->mixed_size != gpu->mixed_size &&
            gpu->num_vfs > 0 && gpu->vgpus->len == 0)
                add_mixed_size(plan, gpu, (uint32_t) gpu->mixed_size, (uint32_t) intent->mixed_size);
        if (!gpu->mig || !intent->layout)
                return;

        for (unsigned i = 0; exactly && i < gpu->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = gpu->mig->instances->pdata[i];

                if (!carved_mig_is_wanted(gpu->mig, intent->layout, instance) && is_idle(instance, gpu))
                        add_drop(plan, gpu, instance);
        }
        for (unsigned i = 0; i < intent->layout->len; i++) {
                const CarvedWantedInstance *wanted = &g_array_index(intent->layout, CarvedWantedInstance, i);

                if (!carved_mig_find_wanted(gpu->mig, wanted))
                        add_make(plan, gpu, wanted);
        }
}

void plan_leftover_mig(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent) {
        const GArray *left = intent->leftover_instances;

        for (unsigned i = 0; gpu->mig && left && i < left->len; i++) {
                const CarvedGpuInstance *instance =
                        carved_mig_find_wanted(gpu->mig, &g_array_index(left, CarvedWantedInstance, i));

                if (instance && is_idle(instance, gpu))
                        add_drop(plan, gpu, instance);
        }
        if (intent->leftover_mixed_size >= 0 && gpu->mixed_size >= 0 && gpu->vgpus->len == 0 &&
            gpu->num_vfs > 0 && intent->leftover_mixed_size != gpu->mixed_size)
                add_mixed_size(plan, gpu, (uint32_t) gpu->mixed_size, (uint32_t) intent->leftover_mixed_size);
        if (gpu->mig && intent->leftover_mig >= 0 && intent->mig < 0 &&
            gpu->mig->pending != (intent->leftover_mig > 0) && gpu->num_vfs == 0 && gpu->vgpus->len == 0)
                plan_add_count(plan, CARVED_STEP_MIG, gpu, gpu->mig->enabled,
                               (uint32_t) intent->leftover_mig);
}

void plan_adopt_mig(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent) {
        GArray *layout = g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));

        for (unsigned i = 0; gpu->mig && i < gpu->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = gpu->mig->instances->pdata[i];
                CarvedWantedInstance wanted = carved_mig_want(gpu->mig, instance->profile,
                                                              instance->placement, instance->has_compute);

                g_array_append_val(layout, wanted);
        }
        want_layout(plan, plan->anew ? NULL : intent, layout);
        plan->mig = gpu->mig && gpu->mig->enabled;
        plan->set_mig = gpu->mig && (gpu->mig->enabled || (intent && intent->mig > 0)) &&
                        (plan->anew || !intent || intent->mig != plan->mig);
        plan->mixed_size = gpu->mixed_size > 0;
        plan->set_mixed_size = gpu->mixed_size >= 0 &&
                               (gpu->mixed_size > 0 || (intent && intent->mixed_size > 0)) &&
                               (plan->anew || !intent || intent->mixed_size != plan->mixed_size);
}
