/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "plan.h"
#include "policy.h"
#include "vendor.h"

static const char *const order_kinds[_CARVED_ORDER_KIND_MAX] = {
        [CARVED_ORDER_ENABLE_VFS] = "enable-vfs",   [CARVED_ORDER_DISABLE_VFS] = "disable-vfs",
        [CARVED_ORDER_CREATE_VGPU] = "create-vgpu", [CARVED_ORDER_DESTROY_VGPUS] = "destroy-vgpus",
        [CARVED_ORDER_SET_PARAMS] = "set-params",
};

const char *carved_order_kind_to_string(CarvedOrderKind kind) {
        return order_kinds[kind];
}

void carved_order_free(CarvedOrder *order) {
        if (!order)
                return;

        g_strfreev(order->uuids);
        g_strfreev(order->labels);
        g_free(order->type);
        g_free(order->params);
        g_free(order);
}

char *carved_order_key(const CarvedOrder *order) {
        g_autofree char *uuids = order->uuids ? g_strjoinv(" ", order->uuids) : NULL;
        g_autofree char *labels = order->labels ? g_strjoinv("\n", order->labels) : NULL;
        g_autofree char *type = g_strescape(order->type ?: "", NULL),
                        *params = g_strescape(order->params ?: "", NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        return g_strdup_printf("%s\n%s\n%d\n%u\n%d\n%s\n%s\n%s\n%s", order_kinds[order->kind],
                               carved_pci_address_format(&order->gpu, address), order->vf_index, order->count,
                               order->destroy_vgpus, type, uuids ?: "", params, labels ?: "");
}

void carved_plan_free(CarvedPlan *plan) {
        if (!plan)
                return;

        g_ptr_array_unref(plan->steps);
        g_array_unref(plan->gpus);
        g_ptr_array_unref(plan->adds);
        g_strfreev(plan->removes);
        g_free(plan);
}

static CarvedPlan *plan_new(void) {
        CarvedPlan *plan = g_new0(CarvedPlan, 1);

        plan->steps = g_ptr_array_new_with_free_func((GDestroyNotify) carved_step_free);
        plan->gpus = g_array_new(FALSE, FALSE, sizeof(CarvedPciAddress));
        plan->adds = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        return plan;
}

static int compare_addresses(const void *a, const void *b) {
        return carved_pci_address_compare(a, b);
}

static void plan_use(CarvedPlan *plan, const CarvedPciAddress *gpu) {
        for (unsigned i = 0; i < plan->gpus->len; i++)
                if (carved_pci_address_compare(&g_array_index(plan->gpus, CarvedPciAddress, i), gpu) == 0)
                        return;

        g_array_append_val(plan->gpus, *gpu);
        g_array_sort(plan->gpus, compare_addresses);
}

static CarvedStep *plan_add(CarvedPlan *plan, CarvedStepKind kind, const CarvedGpu *gpu) {
        CarvedStep *step = carved_step_new(kind, gpu);

        g_ptr_array_add(plan->steps, step);
        return step;
}

static CarvedStep *plan_add_count(CarvedPlan *plan, CarvedStepKind kind, const CarvedGpu *gpu, uint32_t from,
                                  uint32_t to) {
        CarvedStep *step = plan_add(plan, kind, gpu);

        step->old_number = from;
        step->number = to;
        return step;
}

static const CarvedGpu *find_gpu(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = carved_model_find_gpu(model, &order->gpu);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (!gpu)
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_GPU, "There is no GPU at %s any more",
                            carved_pci_address_format(&order->gpu, address));
        return gpu;
}

/* ---- VFs ---- */

static bool check_count(const CarvedGpu *gpu, uint32_t count, GError **error) {
        char address[CARVED_PCI_ADDRESS_MAX];

        carved_pci_address_format(&gpu->address, address);
        if (count > gpu->total_vfs) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS, "GPU %s has %u VFs, not %u",
                            address, gpu->total_vfs, count);
                return false;
        }
        if (carved_vendor_find(gpu->vendor_id)->has_sriov_manage && count != gpu->total_vfs) {
                g_set_error(
                        error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                        "GPU %s takes all of its %u VFs or none: NVIDIA's sriov-manage knows no other number",
                        address, gpu->total_vfs);
                return false;
        }
        return true;
}

/* Another number is reached through none: nothing may be on the VFs that are there. */
static bool may_renumber(const CarvedGpu *gpu, GError **error) {
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];
                char address[CARVED_PCI_ADDRESS_MAX];

                if (vf->role == CARVED_VF_FREE)
                        continue;
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                            "%u VFs are enabled, and VF %s is taken: another number means to disable them "
                            "all first",
                            gpu->num_vfs, carved_pci_address_format(&vf->address, address));
                return false;
        }
        return true;
}

static bool has_host_vfs(const CarvedGpu *gpu) {
        for (unsigned i = 0; i < gpu->vfs->len; i++)
                if (((CarvedVf *) gpu->vfs->pdata[i])->role == CARVED_VF_HOST)
                        return true;

        return false;
}

static void plan_numvfs(CarvedPlan *plan, const CarvedGpu *gpu, uint32_t count) {
        bool quiet = gpu->autoprobe && !has_host_vfs(gpu);

        /* Else the host's own driver takes each VF as it comes, and desktops open it: there, and on the way
         * back. */
        if (quiet)
                plan_add_count(plan, CARVED_STEP_AUTOPROBE, gpu, 1, 0);
        if (gpu->num_vfs > 0 && count > 0)
                plan_add_count(plan, CARVED_STEP_NUMVFS, gpu, gpu->num_vfs, 0);
        plan_add_count(plan, CARVED_STEP_NUMVFS, gpu, count > 0 ? 0 : gpu->num_vfs, count);
        if (quiet)
                plan_add_count(plan, CARVED_STEP_AUTOPROBE, gpu, 0, 1);
}

static CarvedPlan *plan_enable(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = find_gpu(model, order, error);
        g_autoptr(CarvedPlan) plan = plan_new();
        uint32_t count;

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        count = order->count ?: gpu->total_vfs;
        if (!check_count(gpu, count, error))
                return NULL;
        if (gpu->num_vfs == count && gpu->vfs->len == count && gpu->settled)
                return g_steal_pointer(&plan);
        if (!carved_policy_may_switch_vfs(gpu, error))
                return NULL;
        if (gpu->num_vfs != count && gpu->num_vfs > 0 && !may_renumber(gpu, error))
                return NULL;

        /* They may be on, and not through yet: then there is nothing to do but wait. */
        if (gpu->num_vfs != count && carved_vendor_find(gpu->vendor_id)->has_sriov_manage)
                plan_add_count(plan, CARVED_STEP_SRIOV_MANAGE, gpu, gpu->num_vfs, count);
        else if (gpu->num_vfs != count)
                plan_numvfs(plan, gpu, count);
        plan_add_count(plan, CARVED_STEP_WAIT, gpu, count, count);
        return g_steal_pointer(&plan);
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

/* What a step on a vGPU that is there needs to know, to do it and to go back. */
static CarvedStep *plan_vgpu(CarvedPlan *plan, CarvedStepKind kind, const CarvedModel *model,
                             const CarvedVgpu *vgpu) {
        const CarvedVf *vf =
                vgpu->vf_index < 0 ? NULL : carved_gpu_find_vf(vgpu->gpu, (uint32_t) vgpu->vf_index);
        const CarvedIntent *intent = carved_model_intent(model, &vgpu->gpu->address);
        const CarvedWanted *wanted = intent ? carved_intent_find(intent, vgpu->uuid) : NULL;
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

static bool may_lose(const CarvedGpu *gpu, bool destroy, GError **error) {
        g_autoptr(GString) ours = g_string_new(NULL), foreign = g_string_new(NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];
                GString *list = vgpu->ours ? ours : foreign;

                if (vgpu->vf_index >= 0)
                        g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : "", vgpu->uuid);
        }
        carved_pci_address_format(&gpu->address, address);
        if (foreign->len > 0)
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                            "vGPUs that carved did not make are on VFs of GPU %s: %s", address, foreign->str);
        else if (ours->len > 0 && !destroy)
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                            "vGPUs are on VFs of GPU %s: %s; option destroy-vgpus destroys them", address,
                            ours->str);
        else
                return true;
        return false;
}

/* All of them: first it is seen that each can go. */
static void plan_removal(CarvedPlan *plan, const CarvedModel *model, GPtrArray *vgpus) {
        for (unsigned i = 0; vgpus->len > 1 && i < vgpus->len; i++)
                plan_vgpu(plan, CARVED_STEP_IDLE, model, vgpus->pdata[i]);
        for (unsigned i = 0; i < vgpus->len; i++)
                plan_vgpu(plan, CARVED_STEP_REMOVE, model, vgpus->pdata[i]);
}

static CarvedPlan *plan_disable(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = find_gpu(model, order, error);
        g_autoptr(GStrvBuilder) removes = g_strv_builder_new();
        g_autoptr(GPtrArray) vgpus = g_ptr_array_new();
        g_autoptr(CarvedPlan) plan = plan_new();

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        if (gpu->num_vfs == 0 && gpu->vfs->len == 0)
                return g_steal_pointer(&plan);
        if (!carved_policy_may_switch_vfs(gpu, error) || !may_lose(gpu, order->destroy_vgpus, error))
                return NULL;

        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                if (vgpu->vf_index < 0)
                        continue;
                g_ptr_array_add(vgpus, (void *) vgpu);
                g_strv_builder_add(removes, vgpu->uuid);
        }
        plan_removal(plan, model, vgpus);
        plan->removes = g_strv_builder_end(removes);
        if (carved_vendor_find(gpu->vendor_id)->has_sriov_manage)
                plan_add_count(plan, CARVED_STEP_SRIOV_MANAGE, gpu, gpu->num_vfs, 0);
        else
                plan_numvfs(plan, gpu, 0);
        plan_add_count(plan, CARVED_STEP_WAIT, gpu, 0, 0);
        return g_steal_pointer(&plan);
}

/* ---- vGPUs ---- */

/* There already: as asked for, or in the way. */
static bool is_as_ordered(const CarvedVgpu *vgpu, const CarvedGpu *gpu, const CarvedOrder *order,
                          GError **error) {
        int type = carved_policy_find_type(gpu, order->type, NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (vgpu->gpu == gpu && type >= 0 && carved_vgpu_type(vgpu) == gpu->types->pdata[type] &&
            (order->vf_index < 0 || order->vf_index == vgpu->vf_index))
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_EXISTS,
                    "vGPU %s exists already, as %s on GPU %s, VF index %d", vgpu->uuid,
                    vgpu->type ?: "something unknown",
                    carved_pci_address_format(&vgpu->gpu->address, address), vgpu->vf_index);
        return false;
}

/* The lowest free one that can have the type; NULL: straight on the GPU. */
static const CarvedVf *choose_vf(const CarvedGpu *gpu, unsigned type) {
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                if (!vf->reason.code && carved_vf_is_creatable(vf, type))
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
        return "all are taken";
}

static bool check_create(const CarvedGpu *gpu, const CarvedOrder *order, const CarvedVf **ret_vf,
                         unsigned *ret_type, GError **error) {
        const CarvedVf *vf = NULL;
        int type;

        if (order->vf_index >= 0) {
                vf = carved_gpu_find_vf(gpu, (uint32_t) order->vf_index);
                if (!vf) {
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_VF, "VF %d is gone",
                                    order->vf_index);
                        return false;
                }
        }
        type = carved_policy_find_type(gpu, order->type, error);
        if (type < 0 || !carved_policy_may_create(gpu, vf, (unsigned) type, error))
                return false;

        *ret_type = (unsigned) type;
        *ret_vf = vf;
        if (vf || (gpu->available && gpu->available[type] > 0))
                return true;

        /* The driver offers it on VFs that can't be used: each says why itself. */
        *ret_vf = choose_vf(gpu, (unsigned) type);
        if (!*ret_vf)
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_READY, "No VF can be used: %s",
                            why_no_vf(gpu));
        return *ret_vf != NULL;
}

static CarvedPlan *plan_create(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = find_gpu(model, order, error);
        const CarvedVgpu *there = carved_model_find_vgpu(model, order->uuids[0]);
        g_autoptr(CarvedPlan) plan = plan_new();
        const CarvedVf *vf = NULL;
        CarvedVgpu shape = { .gpu = gpu };
        CarvedWanted *wanted;
        unsigned type = 0;

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        if (there)
                return is_as_ordered(there, gpu, order, error) ? g_steal_pointer(&plan) : NULL;
        if (!check_create(gpu, order, &vf, &type, error))
                return NULL;

        g_strlcpy(shape.uuid, order->uuids[0], sizeof shape.uuid);
        shape.type = ((CarvedType *) gpu->types->pdata[type])->id;
        shape.framework = vf ? vf->framework : gpu->framework;
        shape.vf_index = vf ? (int32_t) vf->index : -1;
        if (*order->params && shape.framework == CARVED_FRAMEWORK_VF_PASSTHROUGH) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED, "A whole VF has no parameters");
                return NULL;
        }

        wanted = carved_wanted_new(shape.uuid, shape.vf_index, shape.framework, shape.type);
        wanted->labels = g_strdupv(order->labels);
        wanted->old_override = vf ? g_strdup(vf->override) : NULL;
        g_ptr_array_add(plan->adds, wanted);

        place_on(plan_add(plan, CARVED_STEP_CREATE, gpu), &shape, vf);
        if (wanted->old_override) {
                CarvedStep *step = plan->steps->pdata[0];

                g_free(step->old_text);
                step->old_text = g_strdup(wanted->old_override);
        }
        if (*order->params) {
                CarvedStep *step = plan_add(plan, CARVED_STEP_PARAMS, gpu);

                place_on(step, &shape, vf);
                g_free(step->text);
                step->text = g_strdup(order->params);
        }
        return g_steal_pointer(&plan);
}

static CarvedPlan *plan_destroy(const CarvedModel *model, const CarvedOrder *order, GError **error) {
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
                g_ptr_array_add(vgpus, (void *) vgpu);
        }
        plan_removal(plan, model, vgpus);
        plan->removes = g_strdupv(order->uuids);
        return g_steal_pointer(&plan);
}

static CarvedPlan *plan_params(const CarvedModel *model, const CarvedOrder *order, GError **error) {
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
        if (!vgpu->params) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                            "vGPU %s has no parameters: its driver offers none", vgpu->uuid);
                return NULL;
        }

        plan_use(plan, &vgpu->gpu->address);
        if (strcmp(vgpu->params, order->params) == 0)
                return g_steal_pointer(&plan);

        step = plan_vgpu(plan, CARVED_STEP_PARAMS, model, vgpu);
        g_free(step->old_text);
        step->old_text = g_steal_pointer(&step->text);
        step->text = g_strdup(order->params);
        return g_steal_pointer(&plan);
}

CarvedPlan *carved_plan_make(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        static CarvedPlan *(*const makers[_CARVED_ORDER_KIND_MAX])(const CarvedModel *, const CarvedOrder *,
                                                                   GError **) = {
                [CARVED_ORDER_ENABLE_VFS] = plan_enable,  [CARVED_ORDER_DISABLE_VFS] = plan_disable,
                [CARVED_ORDER_CREATE_VGPU] = plan_create, [CARVED_ORDER_DESTROY_VGPUS] = plan_destroy,
                [CARVED_ORDER_SET_PARAMS] = plan_params,
        };

        if (order->params && !carved_policy_check_params(order->params, error))
                return NULL;

        return makers[order->kind](model, order, error);
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
        return count == 0 || gpu->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH || gpu->types->len > 0;
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

        return vf && vf->driver && strstr(vf->driver, "vfio");
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
        /* There, a later step may have gone on from it; back, it is the last word. */
        case CARVED_STEP_SRIOV_MANAGE:
        case CARVED_STEP_NUMVFS:
                return !step->undo || gpu->num_vfs == step->number;
        case CARVED_STEP_AUTOPROBE:
                return !step->undo || gpu->autoprobe == (step->number > 0);
        default:
                return true;
        }
}
