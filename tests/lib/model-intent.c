/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "card.h"

#define IDENTITY "10de:0000:0000:0000@0000:08:00.0"
#define UUID     "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define FOREIGN  "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"

static const CarvedPciAddress address = { 0, 8, 0, 0 };

static CarvedGpu *card(CarvedFramework framework) {
        return card_new(&address, framework, 2, 2);
}

/* ---- what is told of it ---- */

static void expect_changes(CarvedModel *model, CarvedUpdate update, unsigned n, const CarvedChange *golden) {
        g_autoptr(GArray) list = NULL;

        update.address = address;
        list = carved_model_apply(model, &update);
        ck_assert_uint_eq(list->len, n);
        for (unsigned i = 0; i < n; i++) {
                const CarvedChange *change = &g_array_index(list, CarvedChange, i);

                ck_assert_int_eq(change->object.kind, golden[i].object.kind);
                ck_assert_int_eq(change->object.vf_index, golden[i].object.vf_index);
                ck_assert_str_eq(change->object.uuid, golden[i].object.uuid);
                ck_assert_uint_eq(change->removed, golden[i].removed);
                ck_assert_uint_eq(change->added, golden[i].added);
                ck_assert_uint_eq(change->kept, golden[i].kept);
                ck_assert_uint_eq(change->fields, golden[i].fields);
        }
}

#define GPU_FACETS (CARVED_FACET_GPU | CARVED_FACET_SRIOV | CARVED_FACET_VGPU_HOST)
#define GPU_CHANGE(what)                                                                                     \
        { .object = { CARVED_OBJECT_GPU, { 0 }, -1, "" }, .kept = GPU_FACETS, .fields = what }
#define VGPU_CHANGE(uuid, ...)                                                                               \
        { .object = { CARVED_OBJECT_VGPU, { 0 }, 1, uuid }, __VA_ARGS__ }
#define KEPT(what) .kept = CARVED_FACET_VGPU, .fields = what

START_TEST(labels_change_labels_only) {
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV);
        CarvedIntentChange of_card = { .set_labels = true,
                                       .label = "",
                                       .labels = LIST("rack", "7"),
                                       .identity = IDENTITY },
                           of_nobody = { .set_labels = true, .label = FOREIGN, .labels = LIST("rack", "7") };

        hold(gpu, UUID, 1);
        model = host(gpu);
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_INTENT, .intent = &of_card }, 1,
                       (CarvedChange[]){ GPU_CHANGE(CARVED_FIELD_LABELS | CARVED_FIELD_SYNC |
                                                    CARVED_FIELD_STORED_IDENTITY) });
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_INTENT, .intent = &of_nobody }, 0, NULL);
        ck_assert_str_eq(carved_model_find_gpu(model, &address)->labels[1], "7");
}
END_TEST

START_TEST(what_becomes_ours_changes_its_origin_or_its_name) {
        CarvedFramework framework = _i ? CARVED_FRAMEWORK_VENDOR_VFIO : CARVED_FRAMEWORK_MDEV;
        CarvedIntent *wanted = want(UUID, 1, framework, "nvidia-746");
        CarvedIntentChange adds = { .adds = wanted->vgpus, .identity = IDENTITY };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .intent = &adds };
        const CarvedChange managed = GPU_CHANGE(CARVED_FIELD_SYNC | CARVED_FIELD_STORED_IDENTITY);
        const CarvedChange vf = { .object = { CARVED_OBJECT_VF, { 0 }, 1, "" },
                                  .kept = CARVED_FACET_VF | CARVED_FACET_VGPU_HOST,
                                  .fields = CARVED_FIELD_VGPU | CARVED_FIELD_REASONS };
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = card(framework);

        hold(gpu, _i ? FOREIGN : UUID, 1);
        model = host(gpu);
        if (_i)
                expect_changes(model, update, 4,
                               (CarvedChange[]){ VGPU_CHANGE(FOREIGN, .removed = CARVED_FACET_VGPU),
                                                 VGPU_CHANGE(UUID, .added = CARVED_FACET_VGPU), managed,
                                                 vf });
        else
                expect_changes(model, update, 2,
                               (CarvedChange[]){ managed, VGPU_CHANGE(UUID, KEPT(CARVED_FIELD_ORIGIN |
                                                                                 CARVED_FIELD_LABELS |
                                                                                 CARVED_FIELD_PERSISTENT)) });
        carved_intent_free(wanted);
}
END_TEST

/* A whole VF is a vGPU only because we say so. */
START_TEST(a_whole_vf_that_is_no_longer_wanted_is_no_vgpu) {
        CarvedIntent *wanted = want(UUID, 1, CARVED_FRAMEWORK_VF_PASSTHROUGH, CARVED_TYPE_VF);
        CarvedIntentChange adds = { .adds = wanted->vgpus }, removes = { .removes = LIST(UUID) };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .address = address, .intent = &adds };
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_VF_PASSTHROUGH);
        g_autoptr(CarvedModel) model = NULL;

        vf_of(gpu, 1)->driver = g_strdup("vfio-pci");
        model = host(gpu);
        g_array_unref(carved_model_apply(model, &update));
        carved_intent_free(wanted);
        ck_assert(carved_model_find_vgpu(model, UUID)->ours);

        update.intent = &removes;
        g_array_unref(carved_model_apply(model, &update));
        ck_assert_ptr_null(carved_model_find_vgpu(model, UUID));
}
END_TEST

START_TEST(users_change_only_who_is_in_use) {
        g_autoptr(GHashTable) users = g_hash_table_new(g_str_hash, g_str_equal);
        CarvedUpdate update = { .kind = CARVED_UPDATE_USERS, .in_use = users };
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV), *again = card(CARVED_FRAMEWORK_MDEV);
        const CarvedChange golden[] = { VGPU_CHANGE(UUID, KEPT(CARVED_FIELD_IN_USE)) };
        g_autoptr(CarvedModel) model = NULL;

        hold(gpu, UUID, 1);
        hold(gpu, FOREIGN, 0);
        hold(again, UUID, 1);
        hold(again, FOREIGN, 0);
        carved_gpu_finish(again);
        model = host(gpu);
        expect_changes(model, update, 0, NULL);
        g_hash_table_add(users, (void *) UUID);
        expect_changes(model, update, 1, golden);
        expect_changes(model, update, 0, NULL);
        /* The hardware does not know, so another look at it changes nothing. */
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_READ, .gpu = again }, 0, NULL);
        ck_assert(carved_model_find_vgpu(model, UUID)->in_use);
        g_hash_table_remove_all(users);
        expect_changes(model, update, 1, golden);
}
END_TEST

START_TEST(work_changes_the_state_until_it_ends) {
        g_autoptr(CarvedModel) model = host(card(CARVED_FRAMEWORK_MDEV)), none = carved_model_new();
        CarvedUpdate begin = { .kind = CARVED_UPDATE_BUSY, .busy = true }, end = { CARVED_UPDATE_BUSY };
        const CarvedChange golden[] = { GPU_CHANGE(CARVED_FIELD_STATE) };
        CarvedGpu *again = card(CARVED_FRAMEWORK_MDEV);

        carved_gpu_finish(again);
        expect_changes(none, begin, 0, NULL);
        expect_changes(model, begin, 1, golden);
        expect_changes(model, begin, 0, NULL);
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_READ, .gpu = again }, 0, NULL);
        ck_assert_int_eq(carved_model_find_gpu(model, &address)->state, CARVED_GPU_BUSY);
        expect_changes(model, end, 1, golden);
        ck_assert_int_eq(carved_model_find_gpu(model, &address)->state, CARVED_GPU_READY);
}
END_TEST

/* ---- a card that is gone ---- */

#define VFS_REMOVED                                                                                          \
        { .object = { CARVED_OBJECT_VF, { 0 }, 0, "" },                                                      \
          .removed = CARVED_FACET_VF | CARVED_FACET_VGPU_HOST },                                             \
        {                                                                                                    \
                .object = { CARVED_OBJECT_VF, { 0 }, 1, "" },                                                \
                .removed = CARVED_FACET_VF | CARVED_FACET_VGPU_HOST                                          \
        }
#define GPU_FACETS_CHANGE(...)                                                                               \
        { .object = { CARVED_OBJECT_GPU, { 0 }, -1, "" }, __VA_ARGS__ }
#define BELOW_GPU(...)                                                                                       \
        { .object = { CARVED_OBJECT_VGPU, { 0 }, -1, UUID }, __VA_ARGS__ }

static void store(CarvedModel *model, CarvedIntent *intent) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_STORED, .address = address, .whole = intent };

        g_array_unref(carved_model_apply(model, &update));
}

static CarvedIntent *want_one(int32_t vf) {
        CarvedIntent *intent = want(UUID, vf, CARVED_FRAMEWORK_MDEV, "nvidia-746");

        intent->identity = g_strdup(IDENTITY);
        return intent;
}

/* UUID is wanted on the second VF, and it is there. */
static CarvedModel *host_with_one(void) {
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV);
        CarvedModel *model;

        gpu->vendor = g_strdup("NVIDIA");
        gpu->model = g_strdup("A2");
        hold(gpu, UUID, 1);
        model = host(gpu);
        store(model, want_one(1));
        return model;
}

static void pull(CarvedModel *model) {
        CarvedUpdate gone = { .kind = CARVED_UPDATE_GONE, .address = address };

        g_array_unref(carved_model_apply(model, &gone));
}

START_TEST(a_card_that_is_gone_stays_while_something_is_wanted_of_it) {
        g_autoptr(CarvedModel) model = host_with_one();
        const CarvedVgpu *vgpu;
        const CarvedGpu *gpu;

        expect_changes(
                model, (CarvedUpdate){ .kind = CARVED_UPDATE_GONE }, 6,
                (CarvedChange[]){ VGPU_CHANGE(UUID, .removed = CARVED_FACET_VGPU), VFS_REMOVED,
                                  GPU_FACETS_CHANGE(.removed = CARVED_FACET_SRIOV | CARVED_FACET_VGPU_HOST),
                                  BELOW_GPU(.added = CARVED_FACET_VGPU),
                                  GPU_FACETS_CHANGE(.kept = CARVED_FACET_GPU,
                                                    .fields = CARVED_FIELD_DRIVER | CARVED_FIELD_IOMMU_GROUP |
                                                              CARVED_FIELD_FRAMEWORK | CARVED_FIELD_STATE |
                                                              CARVED_FIELD_REASONS | CARVED_FIELD_SYNC |
                                                              CARVED_FIELD_TOTAL_VFS | CARVED_FIELD_NUM_VFS |
                                                              CARVED_FIELD_VFS | CARVED_FIELD_TYPES |
                                                              CARVED_FIELD_AVAILABLE |
                                                              CARVED_FIELD_CREATABLE) });
        gpu = carved_model_find_gpu(model, &address);
        ck_assert_int_eq(gpu->state, CARVED_GPU_LOST);
        ck_assert_int_eq(gpu->sync, CARVED_SYNC_OUT_OF_SYNC);
        ck_assert_str_eq(gpu->reason.code, "lost");
        ck_assert_str_eq(gpu->identity, IDENTITY);
        ck_assert(!gpu->mismatch);
        ck_assert_str_eq(gpu->vendor, "NVIDIA");
        ck_assert_str_eq(gpu->model, "A2");
        vgpu = carved_model_find_vgpu(model, UUID);
        ck_assert_int_eq(vgpu->state, CARVED_VGPU_DEFINED);
        ck_assert_int_eq(vgpu->vf_index, 1);
        ck_assert_int_eq(carved_vgpu_place(vgpu), -1);
}
END_TEST

START_TEST(a_card_that_nothing_is_wanted_of_goes) {
        g_autoptr(CarvedModel) model = host(card(CARVED_FRAMEWORK_MDEV));

        pull(model);
        ck_assert_uint_eq(carved_model_n_gpus(model), 0);
        pull(model); /* again is nothing */
        ck_assert_uint_eq(carved_model_n_gpus(model), 0);
}
END_TEST

START_TEST(a_lost_card_goes_with_what_is_wanted_of_it) {
        static const CarvedUpdateKind others[] = { CARVED_UPDATE_STALLED, CARVED_UPDATE_FAILED };
        CarvedIntentChange removes = { .removes = LIST(UUID) };
        g_autoptr(CarvedModel) model = host_with_one();

        pull(model);
        for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
                expect_changes(model, (CarvedUpdate){ .kind = others[i], .text = "it broke" }, 0, NULL);
                ck_assert_int_eq(carved_model_find_gpu(model, &address)->state, CARVED_GPU_LOST);
        }
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_INTENT, .intent = &removes }, 2,
                       (CarvedChange[]){ BELOW_GPU(.removed = CARVED_FACET_VGPU),
                                         GPU_FACETS_CHANGE(.removed = CARVED_FACET_GPU) });
        ck_assert_uint_eq(carved_model_n_gpus(model), 0);
}
END_TEST

START_TEST(a_lost_card_that_comes_back_is_the_same) {
        g_autoptr(CarvedModel) model = host_with_one();
        CarvedGpu *back = card(CARVED_FRAMEWORK_MDEV);
        const CarvedGpu *gpu;

        if (_i)
                hold(back, UUID, 1);
        pull(model);
        show(model, back);
        gpu = carved_model_find_gpu(model, &address);
        ck_assert_uint_eq(carved_model_n_gpus(model), 1);
        ck_assert_int_eq(gpu->state, CARVED_GPU_READY);
        ck_assert_int_eq(gpu->sync, _i ? CARVED_SYNC_SYNCED : CARVED_SYNC_OUT_OF_SYNC);
        ck_assert_uint_eq(gpu->absent->len, !_i);
        /* It went with its card: nobody removed it. */
        ck_assert_int_eq(carved_model_find_vgpu(model, UUID)->state,
                         _i ? CARVED_VGPU_ACTIVE : CARVED_VGPU_DEFINED);
}
END_TEST

START_TEST(another_card_instead_of_a_lost_one_is_a_mismatch) {
        g_autoptr(CarvedModel) model = host_with_one();
        CarvedGpu *other = card(CARVED_FRAMEWORK_MDEV);

        pull(model);
        other->device_id = 0x25b6;
        show(model, other);
        ck_assert_int_eq(carved_model_find_gpu(model, &address)->state, CARVED_GPU_MISMATCH);
        ck_assert_str_eq(carved_model_find_gpu(model, &address)->stored_identity, IDENTITY);
        ck_assert_ptr_null(carved_model_find_vgpu(model, UUID));
}
END_TEST

START_TEST(what_is_stored_waits_for_its_card) {
        g_autoptr(CarvedModel) model = carved_model_new();
        CarvedIntent *intent = want_one(1);
        g_autoptr(GArray) wanted = NULL;
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV);

        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_STORED, .whole = intent }, 0, NULL);
        ck_assert_uint_eq(carved_model_n_gpus(model), 0);
        wanted = carved_model_wanted_gpus(model);
        ck_assert_uint_eq(wanted->len, 1);
        ck_assert_int_eq(carved_pci_address_compare(&g_array_index(wanted, CarvedPciAddress, 0), &address),
                         0);

        if (_i) { /* it does not come */
                pull(model);
                ck_assert_int_eq(carved_model_find_gpu(model, &address)->state, CARVED_GPU_LOST);
                ck_assert_int_eq(carved_model_find_gpu(model, &address)->vendor_id, 0x10de);
                ck_assert_int_eq(carved_model_find_vgpu(model, UUID)->state, CARVED_VGPU_DEFINED);
        }
        hold(gpu, UUID, 1);
        show(model, gpu);
        ck_assert(carved_model_find_vgpu(model, UUID)->ours);
        ck_assert_int_eq(carved_model_find_gpu(model, &address)->sync, CARVED_SYNC_SYNCED);
}
END_TEST

/* ---- a vGPU that is gone ---- */

START_TEST(a_vgpu_that_is_removed_moves_below_its_gpu) {
        g_autoptr(CarvedModel) model = host_with_one();
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV);
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ, .address = address, .gpu = gpu };
        g_autoptr(GArray) list = NULL;
        const CarvedChange *first, *second;

        carved_gpu_finish(gpu);
        list = carved_model_apply(model, &update);
        first = &g_array_index(list, CarvedChange, 0);
        second = &g_array_index(list, CarvedChange, 1);
        ck_assert_uint_eq(first->removed, CARVED_FACET_VGPU);
        ck_assert_int_eq(first->object.vf_index, 1);
        ck_assert_uint_eq(second->added, CARVED_FACET_VGPU);
        ck_assert_int_eq(second->object.vf_index, -1);
        for (unsigned i = 2; i < list->len; i++)
                ck_assert(!g_array_index(list, CarvedChange, i).removed &&
                          !g_array_index(list, CarvedChange, i).added);
        ck_assert_int_eq(carved_model_find_vgpu(model, UUID)->state, CARVED_VGPU_MISSING);
}
END_TEST

START_TEST(a_vgpu_straight_on_the_gpu_stays_where_it_is) {
        CarvedGpu *gpu = card_new_t4(&address), *without = card_new_t4(&address);
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ, .gpu = without };
        g_autoptr(CarvedModel) model = NULL;

        g_clear_pointer(&hold(gpu, UUID, -1)->params, g_free);
        model = host(gpu);
        store(model, want_one(-1));
        carved_gpu_finish(without);
        expect_changes(model, update, 2,
                       (CarvedChange[]){ GPU_FACETS_CHANGE(.kept = CARVED_FACET_GPU | CARVED_FACET_VGPU_HOST,
                                                           .fields = CARVED_FIELD_SYNC),
                                         BELOW_GPU(KEPT(CARVED_FIELD_STATE)) });
}
END_TEST

START_TEST(what_we_remove_ourselves_is_not_missing) {
        g_autoptr(CarvedModel) model = host_with_one();
        CarvedUpdate busy = { .kind = CARVED_UPDATE_BUSY, .address = address, .busy = true };

        g_array_unref(carved_model_apply(model, &busy));
        show(model, card(CARVED_FRAMEWORK_MDEV));
        ck_assert_int_eq(carved_model_find_vgpu(model, UUID)->state, CARVED_VGPU_DEFINED);
}
END_TEST

START_TEST(what_could_not_be_made_says_why_until_it_is_there) {
        g_autoptr(GHashTable) failures = g_hash_table_new(g_str_hash, g_str_equal);
        g_autoptr(CarvedModel) model = host(card(CARVED_FRAMEWORK_MDEV));
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ, .address = address, .failures = failures };
        CarvedGpu *there = card(CARVED_FRAMEWORK_MDEV);

        store(model, want_one(1));
        g_hash_table_insert(failures, (void *) UUID, (void *) "no room");
        g_hash_table_insert(failures, (void *) "", (void *) "no VFs");
        update.gpu = card(CARVED_FRAMEWORK_MDEV);
        g_array_unref(carved_model_apply(model, &update));
        ck_assert_int_eq(carved_model_find_vgpu(model, UUID)->state, CARVED_VGPU_FAILED);
        ck_assert_str_eq(carved_model_find_vgpu(model, UUID)->error, "no room");
        ck_assert_str_eq(carved_model_find_gpu(model, &address)->trouble, "no VFs");

        show(model, card(CARVED_FRAMEWORK_MDEV)); /* a mere look forgets nothing */
        ck_assert_int_eq(carved_model_find_vgpu(model, UUID)->state, CARVED_VGPU_FAILED);
        ck_assert_str_eq(carved_model_find_gpu(model, &address)->trouble, "no VFs");

        hold(there, UUID, 1);
        show(model, there);
        ck_assert_int_eq(carved_model_find_vgpu(model, UUID)->state, CARVED_VGPU_ACTIVE);
        ck_assert_ptr_null(carved_model_find_vgpu(model, UUID)->error);
        ck_assert_ptr_null(carved_model_find_gpu(model, &address)->trouble);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("model-intent");
        TCase *tcase = tcase_create("model-intent");

        tcase_add_test(tcase, labels_change_labels_only);
        tcase_add_loop_test(tcase, what_becomes_ours_changes_its_origin_or_its_name, 0, 2);
        tcase_add_test(tcase, a_whole_vf_that_is_no_longer_wanted_is_no_vgpu);
        tcase_add_test(tcase, users_change_only_who_is_in_use);
        tcase_add_test(tcase, work_changes_the_state_until_it_ends);
        tcase_add_test(tcase, a_card_that_is_gone_stays_while_something_is_wanted_of_it);
        tcase_add_test(tcase, a_card_that_nothing_is_wanted_of_goes);
        tcase_add_test(tcase, a_lost_card_goes_with_what_is_wanted_of_it);
        tcase_add_loop_test(tcase, a_lost_card_that_comes_back_is_the_same, 0, 2);
        tcase_add_test(tcase, another_card_instead_of_a_lost_one_is_a_mismatch);
        tcase_add_loop_test(tcase, what_is_stored_waits_for_its_card, 0, 2);
        tcase_add_test(tcase, a_vgpu_that_is_removed_moves_below_its_gpu);
        tcase_add_test(tcase, a_vgpu_straight_on_the_gpu_stays_where_it_is);
        tcase_add_test(tcase, what_we_remove_ourselves_is_not_missing);
        tcase_add_test(tcase, what_could_not_be_made_says_why_until_it_is_there);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
