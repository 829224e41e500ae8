/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "error.h"
#include "plan-make.h"
#include "policy.h"
#include "vendor.h"

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

void plan_add_vfs(CarvedPlan *plan, const CarvedGpu *gpu, uint32_t count) {
        /* They may be on, and not through yet: then there is nothing to do but wait. */
        if (gpu->num_vfs != count && carved_vendor_find(gpu->vendor_id)->has_sriov_manage)
                plan_add_count(plan, CARVED_STEP_SRIOV_MANAGE, gpu, gpu->num_vfs, count);
        else if (gpu->num_vfs != count)
                plan_numvfs(plan, gpu, count);
        plan_add_count(plan, CARVED_STEP_WAIT, gpu, count, count);
}

void plan_add_vfs_again(CarvedPlan *plan, const CarvedGpu *gpu) {
        plan_add_count(plan, CARVED_STEP_SRIOV_MANAGE, gpu, 0, gpu->num_vfs);
        plan_add_count(plan, CARVED_STEP_WAIT, gpu, gpu->num_vfs, gpu->num_vfs);
}

/* Is it asked for already, for at least as long? */
static bool is_wanted(const CarvedModel *model, const CarvedGpu *gpu, uint32_t count, bool transient) {
        const CarvedIntent *intent = carved_model_intent(model, &gpu->address);

        return intent && intent->vfs == (int32_t) count && (transient || !intent->vfs_transient);
}

CarvedPlan *plan_enable(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = plan_find_gpu(model, order, error);
        g_autoptr(CarvedPlan) plan = plan_new();
        uint32_t count;

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        count = order->count ?: gpu->total_vfs;
        if (!check_count(gpu, count, error))
                return NULL;

        plan->set_vfs = !is_wanted(model, gpu, count, order->transient);
        plan->vfs = (int32_t) count;
        plan->vfs_transient = order->transient;
        if (gpu->num_vfs == count && gpu->vfs->len == count && gpu->settled)
                return g_steal_pointer(&plan);
        if (!carved_policy_may_switch_vfs(gpu, error))
                return NULL;
        if (gpu->num_vfs != count && gpu->num_vfs > 0 && !may_renumber(gpu, error))
                return NULL;
        if (gpu->num_vfs == count) {
                plan_add_vfs(plan, gpu, count); /* which is to wait */
                return g_steal_pointer(&plan);
        }
        if (!plan_may_lose_instances(model, gpu, error))
                return NULL;

        plan_add_loss(plan, gpu);
        plan_add_vfs(plan, gpu, count);
        plan_add_after_vfs(plan, model, gpu, /* vfs= */ true);
        return g_steal_pointer(&plan);
}

static void list_uuid(GString *list, const CarvedVgpu *vgpu) {
        if (vgpu->vf_index >= 0)
                g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : "", vgpu->uuid);
}

/* Also those that are only wanted: without VFs they can't be. */
static bool may_lose(const CarvedGpu *gpu, bool destroy, GError **error) {
        g_autoptr(GString) ours = g_string_new(NULL), foreign = g_string_new(NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        for (unsigned i = 0; i < gpu->vgpus->len; i++)
                list_uuid(((CarvedVgpu *) gpu->vgpus->pdata[i])->ours ? ours : foreign, gpu->vgpus->pdata[i]);
        for (unsigned i = 0; i < gpu->absent->len; i++)
                list_uuid(ours, gpu->absent->pdata[i]);

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

static void list_on_vfs(GPtrArray *from, GPtrArray *list, GStrvBuilder *uuids) {
        for (unsigned i = 0; i < from->len; i++) {
                const CarvedVgpu *vgpu = from->pdata[i];

                if (vgpu->vf_index < 0)
                        continue;
                if (list)
                        g_ptr_array_add(list, (void *) vgpu);
                g_strv_builder_add(uuids, vgpu->uuid);
        }
}

CarvedPlan *plan_disable(const CarvedModel *model, const CarvedOrder *order, GError **error) {
        const CarvedGpu *gpu = plan_find_gpu(model, order, error);
        g_autoptr(GStrvBuilder) removes = g_strv_builder_new();
        g_autoptr(GPtrArray) vgpus = g_ptr_array_new();
        g_autoptr(CarvedPlan) plan = plan_new();
        const CarvedIntent *intent;

        if (!gpu)
                return NULL;

        plan_use(plan, &gpu->address);
        intent = carved_model_intent(model, &gpu->address);
        plan->set_vfs = intent && intent->vfs >= 0;
        plan->vfs = -1;
        plan->set_mixed_size = intent && intent->mixed_size >= 0; /* it is one of VFs */
        plan->mixed_size = -1;
        if (!may_lose(gpu, order->destroy_vgpus, error))
                return NULL;

        list_on_vfs(gpu->vgpus, vgpus, removes);
        list_on_vfs(gpu->absent, NULL, removes);
        plan->removes = g_strv_builder_end(removes);
        if (gpu->num_vfs == 0 && gpu->vfs->len == 0)
                return g_steal_pointer(&plan);
        if (!carved_policy_may_switch_vfs(gpu, error) || !plan_may_lose_instances(model, gpu, error))
                return NULL;

        plan_add_removal(plan, model, vgpus);
        plan_add_loss(plan, gpu);
        plan_add_vfs(plan, gpu, 0);
        plan_add_after_vfs(plan, model, gpu, /* vfs= */ false);
        return g_steal_pointer(&plan);
}
