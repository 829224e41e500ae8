/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "model.h"
#include "snapshot.h"

#define UUID "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"

static const CarvedPciAddress address = { 0, 8, 0, 0 };

static CarvedGpu *card(unsigned vfs, int vgpu_on) {
        CarvedGpu *gpu = carved_gpu_new(&address);

        gpu->driver = g_strdup("nvidia");
        gpu->iommu_group = 1;
        gpu->has_sriov = true;
        gpu->total_vfs = 4;
        gpu->num_vfs = vfs;
        gpu->framework = CARVED_FRAMEWORK_MDEV;
        g_ptr_array_add(gpu->types, carved_type_new("nvidia-746"));
        for (uint32_t i = 0; i < vfs; i++) {
                CarvedVf *vf = carved_gpu_add_vf(gpu, i, &(CarvedPciAddress){ 0, 8, 0, (uint8_t) (4 + i) });

                vf->framework = CARVED_FRAMEWORK_MDEV;
                vf->iommu_group = 10 + (int32_t) i;
                vf->available = g_new0(uint16_t, 1);
                vf->available[0] = (int) i != vgpu_on;
        }
        if (vgpu_on >= 0)
                carved_gpu_add_vgpu(gpu, UUID, vgpu_on)->type = g_strdup("nvidia-746");
        carved_gpu_finish(gpu);
        return gpu;
}

static GArray *apply(CarvedModel *model, CarvedGpu *gpu) {
        CarvedUpdate update = { CARVED_UPDATE_READ, address, gpu, NULL };

        return carved_model_apply(model, &update);
}

static const CarvedChange *nth(GArray *list, unsigned i) {
        return &g_array_index(list, CarvedChange, i);
}

START_TEST(parents_are_added_before_children) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) list = apply(model, card(2, 1));

        ck_assert_uint_eq(list->len, 4);
        ck_assert_int_eq(nth(list, 0)->object.kind, CARVED_OBJECT_GPU);
        ck_assert_uint_eq(nth(list, 0)->added,
                          CARVED_FACET_GPU | CARVED_FACET_SRIOV | CARVED_FACET_VGPU_HOST);
        ck_assert_int_eq(nth(list, 1)->object.kind, CARVED_OBJECT_VF);
        ck_assert_int_eq(nth(list, 2)->object.vf_index, 1);
        ck_assert_int_eq(nth(list, 3)->object.kind, CARVED_OBJECT_VGPU);
        ck_assert_str_eq(nth(list, 3)->object.uuid, UUID);
}
END_TEST

START_TEST(children_are_removed_before_parents) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(2, 1)), list = NULL;
        CarvedUpdate gone = { .kind = CARVED_UPDATE_GONE, .address = address };

        list = carved_model_apply(model, &gone);
        ck_assert_uint_eq(list->len, 4);
        ck_assert_int_eq(nth(list, 0)->object.kind, CARVED_OBJECT_VGPU);
        ck_assert_int_eq(nth(list, 1)->object.kind, CARVED_OBJECT_VF);
        ck_assert_int_eq(nth(list, 3)->object.kind, CARVED_OBJECT_GPU);
        ck_assert_uint_eq(carved_model_n_gpus(model), 0);
}
END_TEST

START_TEST(the_same_again_is_no_change) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(3, 1)), list = apply(model, card(3, 1));

        ck_assert_uint_eq(list->len, 0);
}
END_TEST

START_TEST(a_new_vgpu_changes_gpu_and_siblings_once) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(2, -1)), list = apply(model, card(2, 1));
        unsigned changed_vfs = 0;

        ck_assert_int_eq(nth(list, 0)->object.kind, CARVED_OBJECT_VGPU);
        ck_assert_uint_eq(nth(list, 0)->added, CARVED_FACET_VGPU);
        for (unsigned i = 1; i < list->len; i++) {
                ck_assert_uint_eq(nth(list, i)->added | nth(list, i)->removed, 0);
                if (nth(list, i)->object.kind == CARVED_OBJECT_VF) {
                        changed_vfs++;
                        ck_assert_int_eq(nth(list, i)->object.vf_index, 1);
                        ck_assert_uint_eq(nth(list, i)->fields, CARVED_FIELD_ROLE | CARVED_FIELD_VGPU |
                                                                        CARVED_FIELD_REASONS |
                                                                        CARVED_FIELD_CREATABLE);
                }
        }
        ck_assert_uint_eq(changed_vfs, 1);
}
END_TEST

START_TEST(a_vgpu_that_moves_is_removed_then_added) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(2, 0)), list = apply(model, card(2, 1));

        ck_assert_uint_eq(nth(list, 0)->removed, CARVED_FACET_VGPU);
        ck_assert_int_eq(nth(list, 0)->object.vf_index, 0);
        ck_assert_uint_eq(nth(list, 1)->added, CARVED_FACET_VGPU);
        ck_assert_int_eq(nth(list, 1)->object.vf_index, 1);
}
END_TEST

START_TEST(another_card_in_the_slot_is_another_object) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(0, -1)), list = NULL;
        CarvedGpu *other = card(0, -1);

        other->device_id = 0x1234;
        carved_gpu_finish(other);
        list = apply(model, other);
        ck_assert_uint_eq(list->len, 2);
        ck_assert_uint_eq(nth(list, 0)->removed & CARVED_FACET_GPU, CARVED_FACET_GPU);
        ck_assert_uint_eq(nth(list, 1)->added & CARVED_FACET_GPU, CARVED_FACET_GPU);
}
END_TEST

START_TEST(interfaces_come_and_go_with_capability) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(0, -1)), list = NULL;
        CarvedGpu *poor = card(0, -1);

        poor->has_sriov = false;
        poor->framework = CARVED_FRAMEWORK_NONE;
        carved_gpu_finish(poor);
        list = apply(model, poor);
        ck_assert_uint_eq(nth(list, 0)->removed, CARVED_FACET_SRIOV | CARVED_FACET_VGPU_HOST);
        ck_assert_uint_eq(nth(list, 1)->kept, CARVED_FACET_GPU);
}
END_TEST

START_TEST(a_stalled_card_keeps_what_was_seen) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(2, 1)), list = NULL;
        CarvedUpdate update = { .kind = CARVED_UPDATE_STALLED, .address = address };
        const CarvedGpu *gpu;

        list = carved_model_apply(model, &update);
        gpu = carved_model_find_gpu(model, &address);
        ck_assert_int_eq(gpu->state, CARVED_GPU_STALLED);
        ck_assert_str_eq(gpu->reason.code, "stalled");
        ck_assert_uint_eq(gpu->vgpus->len, 1);
        ck_assert_uint_eq(nth(list, 0)->fields & CARVED_FIELD_STATE, CARVED_FIELD_STATE);
}
END_TEST

START_TEST(a_failure_is_the_cards_last_error) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) list = NULL;
        CarvedUpdate update = { CARVED_UPDATE_FAILED, address, card(0, -1), "it broke" };

        list = carved_model_apply(model, &update);
        ck_assert_str_eq(carved_model_find_gpu(model, &address)->error, "it broke");
}
END_TEST

START_TEST(everything_is_found_by_its_key) {
        g_autoptr(CarvedModel) model = carved_model_new();
        g_autoptr(GArray) before = apply(model, card(2, 1));

        ck_assert_uint_eq(carved_model_find_vf(model, &(CarvedPciAddress){ 0, 8, 0, 5 })->index, 1);
        ck_assert_ptr_null(carved_model_find_vf(model, &address));
        ck_assert_int_eq(carved_model_find_vgpu(model, "DD6772A8-7DB8-4E96-9A73-F94C389D9BC3")->vf_index, 1);
        ck_assert_ptr_nonnull(carved_model_find_group(model, 11));
        ck_assert_ptr_null(carved_model_find_group(model, 99));
        ck_assert_ptr_null(carved_model_find_gpu(model, &(CarvedPciAddress){ 1, 8, 0, 0 }));
}
END_TEST

START_TEST(a_snapshot_survives_the_journey) {
        g_autoptr(CarvedGpu) gpu = card(3, 2), again = NULL;
        g_autoptr(GVariant) there = NULL, back = NULL;

        ((CarvedType *) gpu->types->pdata[0])->name = g_strdup("NVIDIA A2-4Q");
        gpu->error = g_strdup("something");
        there = g_variant_ref_sink(carved_snapshot_to_variant(gpu));
        again = carved_snapshot_from_variant(there);
        back = g_variant_ref_sink(carved_snapshot_to_variant(again));
        ck_assert(g_variant_equal(there, back));
}
END_TEST

START_TEST(nonsense_is_no_snapshot) {
        g_autoptr(CarvedGpu) gpu = card(2, 0), other = card(2, 1);
        g_autoptr(GVariant) wrong = g_variant_ref_sink(g_variant_new("(su)", "hello", 1)), twice = NULL,
                            lost = NULL;

        ck_assert_ptr_null(carved_snapshot_from_variant(wrong));

        ((CarvedVf *) gpu->vfs->pdata[1])->index = 0; /* two VFs in one place */
        twice = g_variant_ref_sink(carved_snapshot_to_variant(gpu));
        ck_assert_ptr_null(carved_snapshot_from_variant(twice));

        ((CarvedVf *) other->vfs->pdata[1])->index = 7; /* a vGPU on a VF that is not there */
        lost = g_variant_ref_sink(carved_snapshot_to_variant(other));
        ck_assert_ptr_null(carved_snapshot_from_variant(lost));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("model");
        TCase *tcase = tcase_create("model");

        tcase_add_test(tcase, parents_are_added_before_children);
        tcase_add_test(tcase, children_are_removed_before_parents);
        tcase_add_test(tcase, the_same_again_is_no_change);
        tcase_add_test(tcase, a_new_vgpu_changes_gpu_and_siblings_once);
        tcase_add_test(tcase, a_vgpu_that_moves_is_removed_then_added);
        tcase_add_test(tcase, another_card_in_the_slot_is_another_object);
        tcase_add_test(tcase, interfaces_come_and_go_with_capability);
        tcase_add_test(tcase, a_stalled_card_keeps_what_was_seen);
        tcase_add_test(tcase, a_failure_is_the_cards_last_error);
        tcase_add_test(tcase, everything_is_found_by_its_key);
        tcase_add_test(tcase, a_snapshot_survives_the_journey);
        tcase_add_test(tcase, nonsense_is_no_snapshot);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
