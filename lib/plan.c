/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "mdevctl.h"
#include "plan-make.h"
#include "policy.h"
#include "vendor.h"
#include "vfio-driver.h"

static const char *const order_kinds[_CARVED_ORDER_KIND_MAX] = {
        [CARVED_ORDER_ENABLE_VFS] = "enable-vfs",
        [CARVED_ORDER_DISABLE_VFS] = "disable-vfs",
        [CARVED_ORDER_CREATE_VGPU] = "create-vgpu",
        [CARVED_ORDER_DESTROY_VGPUS] = "destroy-vgpus",
        [CARVED_ORDER_SET_PARAMS] = "set-params",
        [CARVED_ORDER_RESTORE] = "restore",
        [CARVED_ORDER_RESYNC] = "resync",
        [CARVED_ORDER_ADOPT] = "adopt",
        [CARVED_ORDER_SET_MIG] = "set-mig-mode",
        [CARVED_ORDER_APPLY_LAYOUT] = "apply-mig-layout",
        [CARVED_ORDER_CLEAR_MIG] = "clear-mig",
        [CARVED_ORDER_DESTROY_INSTANCE] = "destroy-gpu-instance",
        [CARVED_ORDER_SET_MIXED_SIZE] = "set-mixed-size",
};

const char *carved_order_kind_to_string(CarvedOrderKind kind) {
        return order_kinds[kind];
}

void carved_order_free(CarvedOrder *order) {
        if (!order)
                return;

        g_strfreev(order->uuids);
        g_strfreev(order->labels);
        g_strfreev(order->layout);
        g_free(order->type);
        g_free(order->params);
        g_free(order->adopt_as);
        g_free(order);
}

char *carved_order_key(const CarvedOrder *order) {
        g_autofree char *uuids = order->uuids ? g_strjoinv(" ", order->uuids) : NULL;
        g_autofree char *labels = order->labels ? g_strjoinv("\n", order->labels) : NULL;
        g_autofree char *layout = order->layout ? g_strjoinv(" ", order->layout) : NULL;
        g_autofree char *type = g_strescape(order->type ?: "", NULL),
                        *params = g_strescape(order->params ?: "", NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        return g_strdup_printf("%s\n%s\n%d\n%u\n%d%d%d%d\n%d%u\n%s\n%s\n%s\n%s\n%s", order_kinds[order->kind],
                               carved_pci_address_format(&order->gpu, address), order->vf_index, order->count,
                               order->destroy_vgpus, order->transient, order->replace, order->compute,
                               order->placed, order->placement_id, type, uuids ?: "", params, labels ?: "",
                               layout ?: "");
}

void carved_plan_free(CarvedPlan *plan) {
        if (!plan)
                return;

        g_ptr_array_unref(plan->steps);
        g_array_unref(plan->gpus);
        g_ptr_array_unref(plan->adds);
        g_strfreev(plan->removes);
        g_clear_pointer(&plan->layout, g_array_unref);
        g_hash_table_unref(plan->failures);
        g_free(plan);
}

CarvedPlan *plan_new(void) {
        CarvedPlan *plan = g_new0(CarvedPlan, 1);

        plan->steps = g_ptr_array_new_with_free_func((GDestroyNotify) carved_step_free);
        plan->gpus = g_array_new(FALSE, FALSE, sizeof(CarvedPciAddress));
        plan->adds = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        plan->failures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return plan;
}

static int compare_addresses(const void *a, const void *b) {
        return carved_pci_address_compare(a, b);
}

void plan_use(CarvedPlan *plan, const CarvedPciAddress *gpu) {
        for (unsigned i = 0; i < plan->gpus->len; i++)
                if (carved_pci_address_compare(&g_array_index(plan->gpus, CarvedPciAddress, i), gpu) == 0)
                        return;

        g_array_append_val(plan->gpus, *gpu);
        g_array_sort(plan->gpus, compare_addresses);
}

CarvedStep *plan_add(CarvedPlan *plan, CarvedStepKind kind, const CarvedGpu *gpu) {
        CarvedStep *step = carved_step_new(kind, gpu);

        g_ptr_array_add(plan->steps, step);
        return step;
}

CarvedStep *plan_add_count(CarvedPlan *plan, CarvedStepKind kind, const CarvedGpu *gpu, uint32_t from,
                           uint32_t to) {
        CarvedStep *step = plan_add(plan, kind, gpu);

        step->old_number = from;
        step->number = to;
        return step;
}

const CarvedGpu *plan_find_gpu(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = carved_model_find_gpu(model, &order->gpu);
        char address[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *what = NULL;

        carved_pci_address_format(&order->gpu, address);
        if (!gpu || gpu->lost) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_GPU, "There is no GPU at %s any more",
                            address);
                return NULL;
        }
        if (!gpu->stalled && (gpu->mismatch || gpu->unreadable) && order->kind != CARVED_ORDER_ADOPT) {
                what = g_strdup_printf("Nothing is done to GPU %s", address);
                carved_policy_refuse(error, &gpu->reason, what);
                return NULL;
        }
        return gpu;
}

const CarvedWanted *plan_find_wanted(const CarvedModel *model, const CarvedVgpu *vgpu) {
        const CarvedIntent *intent = carved_model_intent(model, &vgpu->gpu->address);

        return intent ? carved_intent_find(intent, vgpu->uuid) : NULL;
}

static void place_on(CarvedStep *step, const CarvedVgpu *vgpu, const CarvedVf *vf) {
        g_strlcpy(step->uuid, vgpu->uuid, sizeof step->uuid);
        g_free(step->type);
        step->type = g_strdup(vgpu->type ?: "");
        step->framework = vgpu->framework;
        step->vf_index = vgpu->vf_index;
        if (vf)
                step->vf = vf->address;
}

CarvedStep *plan_add_vgpu(CarvedPlan *plan, CarvedStepKind kind, const CarvedModel *model,
                          const CarvedVgpu *vgpu) {
        const CarvedVf *vf =
                vgpu->vf_index < 0 ? NULL : carved_gpu_find_vf(vgpu->gpu, (uint32_t) vgpu->vf_index);
        const CarvedWanted *wanted = plan_find_wanted(model, vgpu);
        CarvedStep *step = plan_add(plan, kind, vgpu->gpu);

        place_on(step, vgpu, vf);
        g_free(step->text);
        step->text = g_strdup(vgpu->params ?: "");
        if (wanted && wanted->old_override) {
                g_free(step->old_text);
                step->old_text = g_strdup(wanted->old_override);
        }
        return step;
}

void plan_add_removal(CarvedPlan *plan, const CarvedModel *model, GPtrArray *vgpus) {
        for (unsigned i = 0; vgpus->len > 1 && i < vgpus->len; i++)
                plan_add_vgpu(plan, CARVED_STEP_IDLE, model, vgpus->pdata[i]);
        for (unsigned i = 0; i < vgpus->len; i++)
                plan_add_vgpu(plan, CARVED_STEP_REMOVE, model, vgpus->pdata[i]);
}

void plan_add_creation(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedVf *vf, const CarvedWanted *wanted,
                       unsigned type) {
        CarvedVgpu shape = { .gpu = gpu,
                             .type = ((CarvedType *) gpu->types->pdata[type])->id,
                             .framework = vf ? vf->framework : gpu->framework,
                             .vf_index = vf ? (int32_t) vf->index : -1 };
        CarvedStep *step = plan_add(plan, CARVED_STEP_CREATE, gpu);

        memcpy(shape.uuid, wanted->uuid, sizeof shape.uuid);
        place_on(step, &shape, vf);
        if (wanted->old_override) {
                g_free(step->old_text);
                step->old_text = g_strdup(wanted->old_override);
        }
        if (!wanted->params || !*wanted->params)
                return;

        step = plan_add(plan, CARVED_STEP_PARAMS, gpu);
        place_on(step, &shape, vf);
        g_free(step->text);
        step->text = g_strdup(wanted->params);
}

CarvedPlan *carved_plan_make(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        /* It takes a call through the table for a dereference. */
        /* cppcheck-suppress ctunullpointer */
        static const PlanMaker makers[_CARVED_ORDER_KIND_MAX] = {
                [CARVED_ORDER_ENABLE_VFS] = plan_enable,
                [CARVED_ORDER_DISABLE_VFS] = plan_disable,
                [CARVED_ORDER_CREATE_VGPU] = plan_create,
                [CARVED_ORDER_DESTROY_VGPUS] = plan_destroy,
                [CARVED_ORDER_SET_PARAMS] = plan_params,
                [CARVED_ORDER_RESTORE] = plan_restore,
                [CARVED_ORDER_RESYNC] = plan_restore,
                [CARVED_ORDER_ADOPT] = plan_adopt,
                [CARVED_ORDER_SET_MIG] = plan_mig_mode,
                [CARVED_ORDER_APPLY_LAYOUT] = plan_layout,
                [CARVED_ORDER_CLEAR_MIG] = plan_clear,
                [CARVED_ORDER_DESTROY_INSTANCE] = plan_drop_instance,
                [CARVED_ORDER_SET_MIXED_SIZE] = plan_mixed_size,
        };

        if (order->params && !carved_policy_check_params(order->params, error))
                return NULL;

        return makers[order->kind](model, order, error);
}

bool plan_check_peers(const CarvedModel *model, const CarvedGpu *gpu, const CarvedVf *vf, const char *uuid,
                      GError **error) {
        const GPtrArray *definitions = carved_model_definitions(model);
        const CarvedDefinition *by_uuid = carved_mdevctl_find(definitions, uuid), *by_parent, *found;
        char parent[CARVED_PCI_ADDRESS_MAX];

        if ((vf ? vf->framework : gpu->framework) != CARVED_FRAMEWORK_MDEV)
                return true;

        carved_pci_address_format(vf ? &vf->address : &gpu->address, parent);
        /* One VF holds one; a GPU holds many. */
        by_parent = vf ? carved_mdevctl_find_autostart(definitions, parent) : NULL;
        found = by_uuid && by_uuid->autostart ? by_uuid : by_parent;
        if (!found)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                    "mdevctl makes %s on %s by itself (" CARVED_MDEVCTL_PATH
                    "/%s/%s): carved leaves both to it",
                    found->uuid, found->parent, found->parent, found->uuid);
        return false;
}

bool carved_order_is_mig(const CarvedOrder *order) {
        switch (order->kind) {
        case CARVED_ORDER_SET_MIG:
        case CARVED_ORDER_APPLY_LAYOUT:
        case CARVED_ORDER_CLEAR_MIG:
        case CARVED_ORDER_DESTROY_INSTANCE:
        case CARVED_ORDER_SET_MIXED_SIZE:
                return true;
        default:
                return false;
        }
}

bool carved_order_is_best_effort(const CarvedOrder *order) {
        return order->kind == CARVED_ORDER_RESTORE || order->kind == CARVED_ORDER_RESYNC;
}

bool carved_plan_changes_intent(const CarvedPlan *plan) {
        return plan->adds->len > 0 || (plan->removes && *plan->removes) || plan->set_vfs || plan->set_mig ||
               plan->set_layout || plan->set_mixed_size || plan->anew;
}

CarvedIntentChange carved_plan_change(const CarvedPlan *plan, const CarvedGpu *gpu) {
        bool first = carved_pci_address_compare(&gpu->address,
                                                &g_array_index(plan->gpus, CarvedPciAddress, 0)) == 0;

        return (CarvedIntentChange){ .adds = first ? plan->adds : NULL,
                                     .removes = plan->removes,
                                     .anew = plan->anew,
                                     .set_vfs = first && plan->set_vfs,
                                     .vfs = plan->vfs,
                                     .vfs_transient = plan->vfs_transient,
                                     .set_mig = first && plan->set_mig,
                                     .mig = plan->mig,
                                     .set_layout = first && plan->set_layout,
                                     .layout = plan->layout,
                                     .set_mixed_size = first && plan->set_mixed_size,
                                     .mixed_size = plan->mixed_size,
                                     .serial = gpu->serial,
                                     .gpu_uuid = gpu->gpu_uuid,
                                     .identity = gpu->identity };
}

GStrv carved_plan_describe(const CarvedPlan *plan) {
        GStrv words = g_new0(char *, plan->steps->len + 1);

        for (unsigned i = 0; i < plan->steps->len; i++)
                words[i] = carved_step_describe(plan->steps->pdata[i]);
        return words;
}

bool carved_plan_equal(const CarvedPlan *a, const CarvedPlan *b) {
        if (a->steps->len != b->steps->len)
                return false;

        for (unsigned i = 0; i < a->steps->len; i++) {
                g_autoptr(GVariant) x = g_variant_ref_sink(carved_step_to_variant(a->steps->pdata[i]));
                g_autoptr(GVariant) y = g_variant_ref_sink(carved_step_to_variant(b->steps->pdata[i]));

                if (!g_variant_equal(x, y))
                        return false;
        }
        return true;
}

/* All that is asked of a VF is that a vGPU can be made on it. */
static bool vfs_are_there(const CarvedGpu *gpu, uint32_t count) {
        if (gpu->num_vfs != count || gpu->vfs->len != count)
                return false;
        if (!gpu->driver)
                return false;

        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                if (!vf->settled || (vf->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH && !vf->driver))
                        return false;
        }
        /* With MIG on, and no GPU instance yet, there need not be any type. */
        return count == 0 || gpu->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH || gpu->types->len > 0 ||
               (gpu->mig && gpu->mig->enabled);
}

/* The vGPU of a step as the hardware shows it: only an mdev carries its name. */
static const CarvedVgpu *find_shown(const CarvedStep *step, const CarvedGpu *gpu) {
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                if (vgpu->vf_index == step->vf_index &&
                    (step->framework != CARVED_FRAMEWORK_MDEV || strcmp(vgpu->uuid, step->uuid) == 0))
                        return vgpu;
        }
        return NULL;
}

static bool is_passed_through(const CarvedStep *step, const CarvedGpu *gpu) {
        const CarvedVf *vf = carved_gpu_find_vf(gpu, (uint32_t) step->vf_index);

        return vf && carved_vfio_is_driver(vf->driver);
}

bool carved_step_is_done(const CarvedStep *step, const CarvedGpu *gpu) {
        const CarvedVgpu *vgpu = find_shown(step, gpu);
        bool whole = step->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;

        switch (step->kind) {
        case CARVED_STEP_WAIT:
                return vfs_are_there(gpu, step->number);
        case CARVED_STEP_CREATE:
                return whole ? is_passed_through(step, gpu) : vgpu && g_strcmp0(vgpu->type, step->type) == 0;
        case CARVED_STEP_REMOVE:
                return whole ? !is_passed_through(step, gpu)
                             : !vgpu || g_strcmp0(vgpu->type, step->type) != 0;
        case CARVED_STEP_PARAMS:
                return vgpu && g_strcmp0(vgpu->params, step->text) == 0;
        case CARVED_STEP_REBIND:
                return !carved_vendor_is_astray(gpu->vendor_id, gpu->driver);
        /* There, a later step may have gone on from it; back, it is the last word. */
        case CARVED_STEP_SRIOV_MANAGE:
        case CARVED_STEP_NUMVFS:
                return !step->undo || gpu->num_vfs == step->number;
        case CARVED_STEP_AUTOPROBE:
                return !step->undo || gpu->autoprobe == (step->number > 0);
        case CARVED_STEP_MIG:
                return gpu->mig && gpu->mig->pending == (step->number > 0);
        case CARVED_STEP_MIXED_SIZE:
                return gpu->mixed_size == (int32_t) step->number || (step->undo && gpu->num_vfs == 0);
        case CARVED_STEP_MAKE_INSTANCE:
                return gpu->mig && carved_mig_find_placed(gpu->mig, step->profile, step->placement);
        case CARVED_STEP_DROP_INSTANCE:
                return (step->number && !step->undo) || !gpu->mig ||
                       !carved_mig_find_placed(gpu->mig, step->profile, step->placement);
        default:
                return true;
        }
}
