/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "order.h"

const CarvedPciAddress nvidia_at = { 0, 8, 0, 0 }, other_at = { 0, 4, 0, 0 }, intel_at = { 0, 3, 0, 0 };

CarvedGpu *nvidia(uint32_t vfs) {
        return card_new(&nvidia_at, CARVED_FRAMEWORK_MDEV, 4, vfs);
}

CarvedGpu *intel(uint32_t vfs) {
        return card_new(&intel_at, CARVED_FRAMEWORK_VF_PASSTHROUGH, 4, vfs);
}

void own(CarvedModel *model, const CarvedPciAddress *gpu, const char *uuid, int32_t vf,
         const char *old_override) {
        bool whole = carved_model_find_gpu(model, gpu)->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
        g_autoptr(GPtrArray) adds = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        CarvedIntentChange change = { .adds = adds };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .address = *gpu, .intent = &change };
        CarvedWanted *wanted = carved_wanted_new(uuid, vf, carved_model_find_gpu(model, gpu)->framework,
                                                 whole ? CARVED_TYPE_VF : "nvidia-746");

        wanted->old_override = g_strdup(old_override);
        g_ptr_array_add(adds, wanted);
        g_array_unref(carved_model_apply(model, &update));
        ck_assert(carved_model_find_vgpu(model, uuid)->ours);
}

CarvedModel *host_with_two(unsigned n_ours, const char *params_of_b) {
        CarvedGpu *gpu = nvidia(4);
        CarvedModel *model;

        hold(gpu, A, 1);
        g_free(hold(gpu, B, 2)->params);
        ((CarvedVgpu *) gpu->vgpus->pdata[1])->params = g_strdup(params_of_b);
        model = host(gpu);
        if (n_ours > 0)
                own(model, &nvidia_at, A, 1, NULL);
        if (n_ours > 1)
                own(model, &nvidia_at, B, 2, NULL);
        return model;
}

void add_whole(CarvedModel *model, const char *old_override) {
        CarvedGpu *gpu = intel(1);

        vf_of(gpu, 0)->driver = g_strdup("vfio-pci");
        show(model, gpu);
        own(model, &intel_at, C, 0, old_override);
}

CarvedIntent *intent_new(const CarvedPciAddress *gpu, int32_t vfs) {
        CarvedIntent *intent = carved_intent_new();
        char address[CARVED_PCI_ADDRESS_MAX];

        intent->identity = g_strdup_printf("%s:0000:0000:0000@%s", gpu == &intel_at ? "8086" : "10de",
                                           carved_pci_address_format(gpu, address));
        intent->vfs = vfs;
        return intent;
}

CarvedWanted *intent_add(CarvedIntent *intent, const char *uuid, int32_t vf) {
        bool whole = g_str_has_prefix(intent->identity, "8086");
        CarvedWanted *wanted =
                carved_wanted_new(uuid, vf, whole ? CARVED_FRAMEWORK_VF_PASSTHROUGH : CARVED_FRAMEWORK_MDEV,
                                  whole ? CARVED_TYPE_VF : "nvidia-746");

        g_ptr_array_add(intent->vgpus, wanted);
        return wanted;
}

void store(CarvedModel *model, const CarvedPciAddress *gpu, CarvedIntent *intent) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_STORED, .address = *gpu, .whole = intent };

        g_array_unref(carved_model_apply(model, &update));
}

/* ---- orders ---- */

CarvedOrder order_enable(const CarvedPciAddress *gpu, uint32_t count) {
        return (CarvedOrder){ .kind = CARVED_ORDER_ENABLE_VFS, .gpu = *gpu, .vf_index = -1, .count = count };
}

CarvedOrder order_disable(const CarvedPciAddress *gpu, bool destroy) {
        return (CarvedOrder){
                .kind = CARVED_ORDER_DISABLE_VFS, .gpu = *gpu, .vf_index = -1, .destroy_vgpus = destroy
        };
}

CarvedOrder order_create(const CarvedPciAddress *gpu, int32_t vf, const char *type, GStrv uuid) {
        return (CarvedOrder){ .kind = CARVED_ORDER_CREATE_VGPU,
                              .gpu = *gpu,
                              .vf_index = vf,
                              .uuids = uuid,
                              .type = (char *) type,
                              .params = (char *) "" };
}

CarvedOrder order_destroy(GStrv uuids) {
        return (CarvedOrder){ .kind = CARVED_ORDER_DESTROY_VGPUS, .vf_index = -1, .uuids = uuids };
}

CarvedOrder order_set_params(GStrv uuid, const char *params) {
        return (CarvedOrder){
                .kind = CARVED_ORDER_SET_PARAMS, .vf_index = -1, .uuids = uuid, .params = (char *) params
        };
}

CarvedOrder order_restore(const CarvedPciAddress *gpu) {
        return (CarvedOrder){ .kind = CARVED_ORDER_RESTORE, .gpu = *gpu, .vf_index = -1 };
}

CarvedOrder order_adopt(const CarvedPciAddress *gpu, GStrv uuids, const char *as) {
        return (CarvedOrder){ .kind = CARVED_ORDER_ADOPT,
                              .gpu = *gpu,
                              .vf_index = -1,
                              .uuids = uuids,
                              .adopt_as = (char *) as };
}

CarvedPlan *plan_for(const CarvedModel *model, CarvedOrder order) {
        GError *error = NULL;
        CarvedPlan *plan = carved_plan_make(model, &order, &error);

        ck_assert_msg(plan && !error, "refused: %s", error ? error->message : "without a word");
        return plan;
}

void expect_plan(const CarvedModel *model, CarvedOrder order, const char *golden) {
        g_autoptr(CarvedPlan) plan = plan_for(model, order);
        g_auto(GStrv) words = carved_plan_describe(plan);
        g_autofree char *text = g_strjoinv("\n", words);

        ck_assert_str_eq(text, golden);
}

void refuse_plan(const CarvedModel *model, CarvedOrder order, CarvedError code, const char *message) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_plan_make(model, &order, &error));
        ck_assert_ptr_nonnull(error);
        ck_assert_str_eq(error->message, message);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) code));
}

void expect_inverse(const CarvedModel *model, CarvedOrder order, const char *golden) {
        g_autoptr(CarvedPlan) plan = plan_for(model, order);
        g_autoptr(GString) text = g_string_new(NULL);

        for (unsigned i = plan->steps->len; i > 0; i--) {
                g_autoptr(GPtrArray) back = carved_step_inverse(plan->steps->pdata[i - 1]);

                for (unsigned k = 0; k < back->len; k++) {
                        g_autofree char *words = carved_step_describe(back->pdata[k]);

                        ck_assert(((CarvedStep *) back->pdata[k])->undo);
                        g_string_append_printf(text, "%s%s", text->len > 0 ? "\n" : "", words);
                }
        }
        ck_assert_str_eq(text->str, golden);
}
