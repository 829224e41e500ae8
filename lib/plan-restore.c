/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "plan-make.h"
#include "policy.h"
#include "vendor.h"

/* Restore has no writing code of its own: it is a plan like any other, from what is wanted and what is there.
 */

static void fail(CarvedPlan *plan, const char *uuid, GError *error) {
        g_hash_table_replace(plan->failures, g_strdup(uuid), g_strdup(error->message));
        g_error_free(error);
}

/* The name decides: a driver may number its types anew. */
static int find_type(const CarvedGpu *gpu, const CarvedWanted *wanted, GError **error) {
        int type = wanted->type_name ? carved_policy_find_type(gpu, wanted->type_name, NULL) : -1;

        return type >= 0 ? type : carved_policy_find_type(gpu, wanted->type, error);
}

static const CarvedVf *find_vf(const CarvedGpu *gpu, const CarvedWanted *wanted, GError **error) {
        const CarvedVf *vf = carved_gpu_find_vf(gpu, (uint32_t) wanted->vf_index);

        if (!vf)
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_VF,
                            "VF %d, which it is wanted on, is not among the %u that are there",
                            wanted->vf_index, gpu->num_vfs);
        return vf;
}

/* It is made where it was, or not at all: guests know its address. */
static void plan_wanted(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu,
                        const CarvedWanted *wanted) {
        const CarvedVf *vf = NULL;
        GError *error = NULL;
        int type;

        if (wanted->vf_index >= 0 && !(vf = find_vf(gpu, wanted, &error))) {
                fail(plan, wanted->uuid, error);
                return;
        }
        type = find_type(gpu, wanted, &error);
        if (type < 0 || !plan_check_peers(model, gpu, vf, wanted->uuid, &error) ||
            !carved_policy_may_create(gpu, vf, (unsigned) type, &error)) {
                fail(plan, wanted->uuid, error);
                return;
        }
        plan_add_creation(plan, gpu, vf, wanted, (unsigned) type);
}

static void plan_absent(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu) {
        for (unsigned i = 0; i < gpu->absent->len; i++)
                plan_wanted(plan, model, gpu, plan_find_wanted(model, gpu->absent->pdata[i]));
}

/* Others may have changed them. */
static void plan_other_params(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu) {
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];
                const CarvedWanted *wanted = vgpu->ours ? plan_find_wanted(model, vgpu) : NULL;
                CarvedStep *step;

                if (!wanted || wanted->leftover || !wanted->params ||
                    g_strcmp0(wanted->params, vgpu->params) == 0)
                        continue;

                step = plan_add_vgpu(plan, CARVED_STEP_PARAMS, model, vgpu);
                g_free(step->old_text);
                step->old_text = g_steal_pointer(&step->text);
                step->text = g_strdup(wanted->params);
        }
}

/* What we were making when we were interrupted. */
static void plan_leftovers(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu,
                           const CarvedIntent *intent) {
        unsigned others = 0;

        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];
                const CarvedWanted *wanted = vgpu->ours ? plan_find_wanted(model, vgpu) : NULL;

                if (wanted && wanted->leftover)
                        plan_add_vgpu(plan, CARVED_STEP_REMOVE, model, vgpu);
                else
                        others++;
        }
        /* Somebody gave it to a guest, or to the host. */
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                others += vf->role == CARVED_VF_PASSTHROUGH || vf->role == CARVED_VF_HOST;
        }
        plan_leftover_mig(plan, gpu, intent);
        if (intent->leftover_vfs && intent->vfs < 0 && others == 0 && gpu->num_vfs > 0)
                plan_add_vfs(plan, gpu, 0);
}

static bool vfs_are_ready(const CarvedGpu *gpu, const CarvedIntent *intent) {
        return intent->vfs < 0 || (gpu->num_vfs == (uint32_t) intent->vfs && gpu->vfs->len == gpu->num_vfs &&
                                   (gpu->settled || intent->vfs == 0));
}

static bool may_set_vfs(const CarvedGpu *gpu, const CarvedIntent *intent, GError **error) {
        char address[CARVED_PCI_ADDRESS_MAX];

        if (!carved_policy_may_switch_vfs(gpu, error))
                return false;
        if (gpu->num_vfs == 0 || gpu->num_vfs == (uint32_t) intent->vfs)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                    "%d VFs are wanted of GPU %s, and somebody else has enabled %u", intent->vfs,
                    carved_pci_address_format(&gpu->address, address), gpu->num_vfs);
        return false;
}

/* We kept drivers from new VFs when we were interrupted. They are let again when the VFs are there, not
 * before. */
static void plan_loud(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent) {
        if (intent->leftover_quiet && !gpu->autoprobe)
                plan_add_count(plan, CARVED_STEP_AUTOPROBE, gpu, 0, 1);
}

/* What comes after the mode: VFs, instances, and what is on them when those are there. */
static bool plan_below_mode(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu,
                            const CarvedOrder *order, GError **error) {
        const CarvedIntent *intent = carved_model_intent(model, &gpu->address);

        if (!vfs_are_ready(gpu, intent)) {
                if (!may_set_vfs(gpu, intent, error) ||
                    (gpu->num_vfs != (uint32_t) intent->vfs && !plan_may_lose_instances(model, gpu, error)))
                        return false;
                if (gpu->num_vfs != (uint32_t) intent->vfs)
                        plan_add_loss(plan, gpu);
                plan_add_vfs(plan, gpu, (uint32_t) intent->vfs);
                if (gpu->num_vfs != (uint32_t) intent->vfs)
                        plan_add_after_vfs(plan, model, gpu, intent->vfs > 0);
                return true;
        }

        plan_restore_instances(plan, model, gpu, order->kind == CARVED_ORDER_RESYNC);
        if (plan->steps->len > 0 && carved_step_is_nvml(plan->steps->pdata[plan->steps->len - 1]))
                return true; /* what can be had follows from them */
        plan_absent(plan, model, gpu);
        plan_other_params(plan, model, gpu);
        return true;
}

CarvedPlan *plan_restore(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = plan_find_gpu(model, order, error);
        const CarvedIntent *intent = gpu ? carved_model_intent(model, &gpu->address) : NULL;
        g_autoptr(CarvedPlan) plan = plan_new();

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        if (!intent || !intent->identity)
                return g_steal_pointer(&plan);
        if (!gpu->stalled && intent->leftover_unbound) {
                g_ptr_array_add(plan->steps, carved_step_new(CARVED_STEP_REBIND, gpu));
                if (carved_vendor_is_astray(gpu->vendor_id, gpu->driver))
                        return g_steal_pointer(&plan); /* the rest when it is back */
        }
        if (gpu->stalled || !gpu->driver) {
                carved_policy_refuse(error, &gpu->reason, "It can't be made as it is wanted");
                return NULL;
        }

        plan_leftovers(plan, model, gpu, intent);
        if (order->settle) {
                plan_loud(plan, gpu, intent);
                return g_steal_pointer(&plan);
        }
        if (!plan_restore_mode(plan, gpu, intent, error) || !plan_below_mode(plan, model, gpu, order, error))
                return NULL;
        plan_loud(plan, gpu, intent);
        return g_steal_pointer(&plan);
}

CarvedPlan *carved_plan_continue(const CarvedModel *model, const CarvedOrder *order) {
        const CarvedGpu *gpu;
        g_autoptr(CarvedPlan) plan = NULL;

        if (order->settle || (order->kind != CARVED_ORDER_ENABLE_VFS && !carved_order_is_best_effort(order)))
                return NULL;
        gpu = plan_find_gpu(model, order, NULL);
        if (!gpu || gpu->absent->len == 0)
                return NULL;

        plan = plan_new();
        plan_use(plan, &gpu->address);
        plan_absent(plan, model, gpu);
        return g_steal_pointer(&plan);
}

/* ---- taking over ---- */

static CarvedWanted *want_as_is(const CarvedVgpu *vgpu, const char *uuid) {
        const CarvedType *type = carved_vgpu_type(vgpu);
        CarvedWanted *wanted = carved_wanted_new(uuid, vgpu->vf_index, vgpu->framework, vgpu->type);

        wanted->type_name = type ? g_strdup(type->name) : NULL;
        wanted->params = vgpu->params && *vgpu->params ? g_strdup(vgpu->params) : NULL;
        return wanted;
}

/* With UUIDs, only those vGPUs; else the card, with all that is on it. */
static bool is_meant(const CarvedOrder *order, const CarvedVgpu *vgpu) {
        return vgpu->type &&
               (!order->uuids || g_strv_contains((const char *const *) order->uuids, vgpu->uuid));
}

CarvedPlan *plan_adopt(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = plan_find_gpu(model, order, error);
        g_autoptr(CarvedPlan) plan = plan_new();
        const CarvedIntent *intent;
        bool on_vf = false;

        if (!gpu)
                return NULL;
        if (gpu->stalled)
                return carved_policy_refuse(error, &gpu->reason, "It can't be adopted"), NULL;

        plan_use(plan, &gpu->address);
        plan->anew = gpu->mismatch || gpu->unreadable;
        intent = carved_model_intent(model, &gpu->address);
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                if ((vgpu->ours && !plan->anew) || !is_meant(order, vgpu))
                        continue;
                on_vf |= vgpu->vf_index >= 0;
                if (order->adopt_as && vgpu->framework == CARVED_FRAMEWORK_MDEV &&
                    strcmp(order->adopt_as, vgpu->uuid) != 0) {
                        g_set_error(
                                error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                                "vGPU %s keeps its UUID: it is the kernel's own name of a mediated device",
                                vgpu->uuid);
                        return NULL;
                }
                g_ptr_array_add(plan->adds, want_as_is(vgpu, order->adopt_as ?: vgpu->uuid));
        }
        if (gpu->num_vfs > 0 && (!order->uuids || on_vf) &&
            (plan->anew || !intent || intent->vfs != (int32_t) gpu->num_vfs || intent->vfs_transient)) {
                plan->set_vfs = true;
                plan->vfs = (int32_t) gpu->num_vfs;
        }
        if (!order->uuids)
                plan_adopt_mig(plan, gpu, intent);
        return g_steal_pointer(&plan);
}
