/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "plan-make.h"
#include "policy.h"

/* One that is only wanted may be of a type that had another number then. */
static bool is_of_type(const CarvedVgpu *vgpu, const CarvedType *type) {
        if (vgpu->type_name && type->name)
                return strcmp(vgpu->type_name, type->name) == 0;

        return g_strcmp0(vgpu->type, type->id) == 0;
}

/* There already: as asked for, or in the way. */
static bool is_as_ordered(const CarvedVgpu *vgpu, const CarvedGpu *gpu, const CarvedOrder *order,
                          GError **error) {
        int type = carved_policy_find_type(gpu, order->type, NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (vgpu->gpu == gpu && type >= 0 && is_of_type(vgpu, gpu->types->pdata[type]) &&
            (order->vf_index < 0 || order->vf_index == vgpu->vf_index))
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_EXISTS,
                    "vGPU %s exists already, as %s on GPU %s, VF index %d", vgpu->uuid,
                    vgpu->type ?: "something unknown",
                    carved_pci_address_format(&vgpu->gpu->address, address), vgpu->vf_index);
        return false;
}

/* The lowest free one that can have the type, and that nobody has a claim on; NULL: straight on the GPU. */
static const CarvedVf *choose_vf(const CarvedModel *model, const CarvedGpu *gpu, unsigned type,
                                 const char *uuid) {
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                if (!vf->reason.code && carved_vf_is_creatable(vf, type) &&
                    !carved_gpu_find_claim(gpu, (int32_t) vf->index) &&
                    plan_check_peers(model, gpu, vf, uuid, NULL))
                        return vf;
        }
        return NULL;
}

static const char *why_no_vf(const CarvedGpu *gpu) {
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                if (vf->reason.code && !g_str_equal(vf->reason.code, "occupied"))
                        return vf->reason.text;
        }
        return gpu->absent->len > 0 ? "all are taken, or kept for vGPUs that are wanted there"
                                    : "all are taken";
}

/* A VF is part of what was asked for: it is kept. */
static bool check_claim(const CarvedGpu *gpu, const CarvedVf *vf, const char *uuid, GError **error) {
        const CarvedVgpu *claim = carved_gpu_find_claim(gpu, (int32_t) vf->index);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (!claim || strcmp(claim->uuid, uuid) == 0)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                    "VF %s is kept for vGPU %s, which is wanted there; Resync makes it, Destroy drops it",
                    carved_pci_address_format(&vf->address, address), claim->uuid);
        return false;
}

static bool check_create(const CarvedModel *model, const CarvedGpu *gpu, const CarvedOrder *order,
                         const CarvedVf **ret_vf, unsigned *ret_type, GError **error) {
        const CarvedVf *vf = NULL;
        int type;

        if (order->vf_index >= 0) {
                vf = carved_gpu_find_vf(gpu, (uint32_t) order->vf_index);
                if (!vf) {
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_VF, "VF %d is gone",
                                    order->vf_index);
                        return false;
                }
                if (!check_claim(gpu, vf, order->uuids[0], error) ||
                    !plan_check_peers(model, gpu, vf, order->uuids[0], error))
                        return false;
        }
        if (!plan_check_peers(model, gpu, NULL, order->uuids[0], error))
                return false;
        type = carved_policy_find_type(gpu, order->type, error);
        if (type < 0 || !carved_policy_may_create(gpu, vf, (unsigned) type, error))
                return false;

        *ret_type = (unsigned) type;
        *ret_vf = vf;
        if (vf || (gpu->available && gpu->available[type] > 0))
                return true;

        /* The driver offers it on VFs that can't be used: each says why itself. */
        *ret_vf = choose_vf(model, gpu, (unsigned) type, order->uuids[0]);
        if (!*ret_vf)
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_READY, "No VF can be used: %s",
                            why_no_vf(gpu));
        return *ret_vf != NULL;
}

#define PLACEMENT_PARAM "vgpu-placement-id"

/* The driver looks at it when a VM starts, and not before: what is no place fails the VM. */
static bool check_placement(const CarvedGpu *gpu, const CarvedOrder *order, GError **error) {
        char address[CARVED_PCI_ADDRESS_MAX];

        if (!order->placed)
                return true;
        if (strstr(order->params, PLACEMENT_PARAM)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS,
                            "The placement is given twice: as placement-id, and in the parameters");
                return false;
        }
        if (gpu->mixed_size > 0)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                    "GPU %s takes no placement id: it has them only while it can have vGPUs of several sizes",
                    carved_pci_address_format(&gpu->address, address));
        return false;
}

/* Also the placement is one of the plugin's parameters. NULL: none. */
static char *params_of(const CarvedOrder *order) {
        if (order->placed)
                return g_strdup_printf("%s%s" PLACEMENT_PARAM "=%u", order->params, *order->params ? "," : "",
                                       order->placement_id);

        return *order->params ? g_strdup(order->params) : NULL;
}

static CarvedWanted *want(const CarvedGpu *gpu, const CarvedVf *vf, const CarvedOrder *order,
                          unsigned index) {
        const CarvedType *type = gpu->types->pdata[index];
        CarvedWanted *wanted = carved_wanted_new(order->uuids[0], vf ? (int32_t) vf->index : -1,
                                                 vf ? vf->framework : gpu->framework, type->id);

        wanted->type_name = g_strdup(type->name);
        wanted->params = params_of(order);
        wanted->labels = order->labels && *order->labels ? g_strdupv(order->labels) : NULL;
        wanted->old_override = vf ? g_strdup(vf->override) : NULL;
        wanted->transient = order->transient;
        return wanted;
}

/* What the call does not say stays as it was asked for before. */
static void keep_old(CarvedWanted *wanted, const CarvedWanted *old) {
        if (!wanted->params)
                wanted->params = g_strdup(old->params);
        if (!wanted->labels)
                wanted->labels = g_strdupv(old->labels);
        g_free(wanted->old_override);
        wanted->old_override = g_strdup(old->old_override);
}

/* A vGPU on a VF is nothing after a reboot without it: so VFs that others switched on are wanted from now on.
 */
static void want_vfs(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu, bool transient) {
        const CarvedIntent *intent = carved_model_intent(model, &gpu->address);

        if (intent && intent->vfs >= 0 && (transient || !intent->vfs_transient))
                return;

        plan->set_vfs = true;
        plan->vfs = (int32_t) gpu->num_vfs;
        plan->vfs_transient = transient;
}

CarvedPlan *plan_create(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = plan_find_gpu(model, order, error);
        const CarvedVgpu *there = carved_model_find_vgpu(model, order->uuids[0]);
        g_autoptr(CarvedPlan) plan = plan_new();
        CarvedOrder at = *order;
        const CarvedVf *vf = NULL;
        CarvedWanted *wanted;
        unsigned type = 0;

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        if (there && !is_as_ordered(there, gpu, order, error))
                return NULL;
        if (there && there->state == CARVED_VGPU_ACTIVE)
                return g_steal_pointer(&plan);
        if (there)
                at.vf_index = there->vf_index; /* wanted for long: where it was */
        if (!check_create(model, gpu, &at, &vf, &type, error) || !check_placement(gpu, order, error))
                return NULL;
        if (*order->params && vf && vf->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED, "A whole VF has no parameters");
                return NULL;
        }

        wanted = want(gpu, vf, order, type);
        if (there)
                keep_old(wanted, plan_find_wanted(model, there));
        g_ptr_array_add(plan->adds, wanted);
        if (vf)
                want_vfs(plan, model, gpu, order->transient);
        plan_add_creation(plan, gpu, vf, wanted, type);
        return g_steal_pointer(&plan);
}

CarvedPlan *plan_destroy(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        g_autoptr(GPtrArray) vgpus = g_ptr_array_new();
        g_autoptr(CarvedPlan) plan = plan_new();

        for (char **uuid = order->uuids; *uuid; uuid++) {
                const CarvedVgpu *vgpu = carved_model_find_vgpu(model, *uuid);

                if (!vgpu) {
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_VGPU, "There is no vGPU '%s'",
                                    *uuid);
                        return NULL;
                }
                if (!carved_policy_is_ours(vgpu, error))
                        return NULL;
                if (vgpu->gpu->stalled)
                        return carved_policy_refuse(error, &vgpu->gpu->reason, "It can't be destroyed"), NULL;

                plan_use(plan, &vgpu->gpu->address);
                if (vgpu->state == CARVED_VGPU_ACTIVE)
                        g_ptr_array_add(vgpus, (void *) vgpu);
        }
        plan_add_removal(plan, model, vgpus);
        plan->removes = g_strdupv(order->uuids);
        return g_steal_pointer(&plan);
}

static void want_params(CarvedPlan *plan, const CarvedModel *model, const CarvedVgpu *vgpu,
                        const char *params) {
        const CarvedWanted *now = plan_find_wanted(model, vgpu);
        CarvedWanted *wanted;

        if (!now || g_strcmp0(now->params ?: "", params) == 0)
                return;

        wanted = carved_wanted_copy(now);
        g_free(wanted->params);
        wanted->params = *params ? g_strdup(params) : NULL;
        g_ptr_array_add(plan->adds, wanted);
}

CarvedPlan *plan_params(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedVgpu *vgpu = carved_model_find_vgpu(model, order->uuids[0]);
        g_autoptr(CarvedPlan) plan = plan_new();
        CarvedStep *step;

        if (!vgpu) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_VGPU, "There is no vGPU '%s'",
                            order->uuids[0]);
                return NULL;
        }
        if (!carved_policy_is_ours(vgpu, error))
                return NULL;
        if (vgpu->gpu->stalled)
                return carved_policy_refuse(error, &vgpu->gpu->reason, "Its parameters can't be set"), NULL;
        if (vgpu->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH ||
            (!vgpu->params && vgpu->state == CARVED_VGPU_ACTIVE)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                            "vGPU %s has no parameters: its driver offers none", vgpu->uuid);
                return NULL;
        }

        plan_use(plan, &vgpu->gpu->address);
        want_params(plan, model, vgpu, order->params);
        if (vgpu->state != CARVED_VGPU_ACTIVE || strcmp(vgpu->params, order->params) == 0)
                return g_steal_pointer(&plan);

        step = plan_add_vgpu(plan, CARVED_STEP_PARAMS, model, vgpu);
        g_free(step->old_text);
        step->old_text = g_steal_pointer(&step->text);
        step->text = g_strdup(order->params);
        return g_steal_pointer(&plan);
}
