/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "order.h"

#define VFS_ON                                                                                               \
        "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"                                                          \
        "Wait for 4 VFs of GPU 0000:08:00.0, their drivers and vGPU types"
#define VFS_OFF   "Run sriov-manage -d 0000:08:00.0: no VFs\nWait until the VFs of GPU 0000:08:00.0 are gone"
#define GIVE_BACK "Give GPU 0000:08:00.0 back to its driver"
#define MAKE_A    "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.5"
#define MAKE_B    "Create vGPU " B " of type nvidia-746 on VF 0000:08:00.6"

/* Four VFs are wanted, and A and B on the second and third of them, B with parameters. */
static CarvedIntent *want_two(int32_t vfs) {
        CarvedIntent *intent = intent_new(&nvidia_at, vfs);

        intent_add(intent, B, 2)->params = g_strdup("x=1");
        intent_add(intent, A, 1);
        return intent;
}

static CarvedModel *host_that_wants(CarvedGpu *gpu, CarvedIntent *intent) {
        CarvedModel *model = host(gpu);

        store(model, gpu->vendor_id == 0x8086 ? &intel_at : &nvidia_at, intent);
        return model;
}

/* What can't be made, and why; @uuid NULL: nothing. */
static void expect_failure(const CarvedModel *model, const char *golden, const char *uuid, const char *why) {
        g_autoptr(CarvedPlan) plan = plan_for(model, order_restore(&nvidia_at));

        expect_plan(model, order_restore(&nvidia_at), golden);
        ck_assert_uint_eq(g_hash_table_size(plan->failures), uuid != NULL);
        if (uuid)
                ck_assert_pstr_eq(g_hash_table_lookup(plan->failures, uuid), why);
}

static CarvedWanted *nth_add(const CarvedPlan *plan, unsigned i) {
        ck_assert_uint_gt(plan->adds->len, i);
        return plan->adds->pdata[i];
}

/* ---- VFs ---- */

START_TEST(vfs_come_first_and_alone) {
        g_autoptr(CarvedModel) model = host_that_wants(nvidia(0), want_two(4)), whole = NULL;
        CarvedIntent *intent = intent_new(&intel_at, 3);
        CarvedOrder resync = order_restore(&nvidia_at);

        expect_failure(model, VFS_ON, NULL, NULL);
        resync.kind = CARVED_ORDER_RESYNC;
        expect_plan(model, resync, VFS_ON);

        intent_add(intent, C, 0);
        whole = host_that_wants(intel(0), intent);
        expect_plan(whole, order_restore(&intel_at),
                    "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
                    "Set the number of VFs of GPU 0000:03:00.0 to 3\n"
                    "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
                    "Wait for 3 VFs of GPU 0000:03:00.0");
}
END_TEST

START_TEST(vfs_that_are_not_through_are_waited_for) {
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = nvidia(_i ? 3 : 4);

        gpu->num_vfs = 4;
        gpu->settled = _i;
        model = host_that_wants(gpu, want_two(4));
        expect_plan(model, order_restore(&nvidia_at),
                    "Wait for 4 VFs of GPU 0000:08:00.0, their drivers and vGPU types");
}
END_TEST

START_TEST(another_number_of_vfs_is_somebody_elses) {
        CarvedIntent *three = intent_new(&intel_at, 3), *none = intent_new(&intel_at, 0);
        g_autoptr(CarvedModel) two = host_that_wants(intel(2), three), off = host_that_wants(intel(2), none);

        refuse_plan(two, order_restore(&intel_at), CARVED_ERROR_CONFLICT,
                    "3 VFs are wanted of GPU 0000:03:00.0, and somebody else has enabled 2");
        refuse_plan(off, order_restore(&intel_at), CARVED_ERROR_CONFLICT,
                    "0 VFs are wanted of GPU 0000:03:00.0, and somebody else has enabled 2");
}
END_TEST

/* ---- vGPUs ---- */

START_TEST(all_that_is_absent_is_made_where_it_was) {
        g_autoptr(CarvedModel) model = host_that_wants(nvidia(4), want_two(4)), one = NULL, t4 = NULL;
        CarvedIntent *intent = want_two(4), *straight = intent_new(&nvidia_at, -1);
        g_autoptr(CarvedPlan) plan = NULL;
        CarvedGpu *gpu = nvidia(4);

        expect_failure(model, MAKE_A "\n" MAKE_B "\nSet the parameters of vGPU " B " to 'x=1'", NULL, NULL);
        plan = plan_for(model, order_restore(&nvidia_at));
        ck_assert(!carved_plan_changes_intent(plan));
        ck_assert_uint_eq(plan->gpus->len, 1);

        hold(gpu, A, 1);
        one = host_that_wants(gpu, intent);
        expect_failure(one, MAKE_B "\nSet the parameters of vGPU " B " to 'x=1'", NULL, NULL);

        intent_add(straight, A, -1);
        t4 = host_that_wants(card_new_t4(&nvidia_at), straight);
        expect_failure(t4, "Create vGPU " A " of type nvidia-746 on GPU 0000:08:00.0", NULL, NULL);
}
END_TEST

START_TEST(a_whole_vf_gets_its_old_override_back_some_day) {
        CarvedIntent *intent = intent_new(&intel_at, 2);
        g_autoptr(CarvedModel) model = NULL;
        g_autoptr(CarvedPlan) plan = NULL;

        intent_add(intent, C, 1)->old_override = g_strdup("mine");
        model = host_that_wants(intel(2), intent);
        expect_plan(model, order_restore(&intel_at), "Bind VF 0000:03:00.5 to its vfio driver, as vGPU " C);
        plan = plan_for(model, order_restore(&intel_at));
        ck_assert_str_eq(((CarvedStep *) plan->steps->pdata[0])->old_text, "mine");
}
END_TEST

START_TEST(the_name_of_a_type_decides_what_is_made) {
        CarvedIntent *intent = intent_new(&nvidia_at, 4);
        CarvedWanted *wanted = intent_add(intent, A, 1);
        g_autoptr(CarvedModel) model = NULL;

        wanted->type_name = g_strdup("NVIDIA A2-8Q"); /* it was nvidia-746 that day */
        model = host_that_wants(nvidia(4), intent);
        expect_failure(model, "Create vGPU " A " of type nvidia-747 on VF 0000:08:00.5", NULL, NULL);
}
END_TEST

static void vf_taken(CarvedGpu *g, CarvedIntent *i) {
        hold(g, C, 1);
}
static void unknown_type(CarvedGpu *g, CarvedIntent *i) {
        carved_intent_find(i, A)->type[7] = '0';
}
static void other_size(CarvedGpu *g, CarvedIntent *i) {
        hold(g, C, 0);
        for (unsigned vf = 1; vf < 4; vf++)
                offer(g, vf, 1, 0);
        carved_intent_find(i, A)->type_name = g_strdup("NVIDIA A2-8Q");
}
static void vf_not_there(CarvedGpu *g, CarvedIntent *i) {
        carved_intent_find(i, A)->vf_index = 7;
}
static void vf_unreadable(CarvedGpu *g, CarvedIntent *i) {
        vf_of(g, 1)->error = g_strdup("It can't be read");
}

static const struct {
        void (*now)(CarvedGpu *gpu, CarvedIntent *intent);
        const char *why;
} obstacles[] = {
        { vf_taken, "NVIDIA A2-4Q can't be had on VF 0000:08:00.5: The VF holds vGPU " C },
        { unknown_type, "GPU 0000:08:00.0 has no type 'nvidia-046'" },
        { other_size, "NVIDIA A2-8Q can't be had on VF 0000:08:00.5: vGPU " C
                      " fixes the card to its own size, 4096 MiB; to be had are NVIDIA A2-4Q" },
        { vf_not_there, "VF 7, which it is wanted on, is not among the 4 that are there" },
        { vf_unreadable, "NVIDIA A2-4Q can't be had on VF 0000:08:00.5: It can't be read" },
};

START_TEST(what_can_not_be_made_costs_nobody_else) {
        CarvedIntent *intent = want_two(4);
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = nvidia(4);

        obstacles[_i].now(gpu, intent);
        model = host_that_wants(gpu, intent);
        expect_failure(model, MAKE_B "\nSet the parameters of vGPU " B " to 'x=1'", A, obstacles[_i].why);
}
END_TEST

START_TEST(parameters_that_others_changed_are_set_back) {
        CarvedIntent *intent = want_two(4);
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = nvidia(4);
        CarvedVgpu *a = hold(gpu, A, 1), *b = hold(gpu, B, 2);

        g_free(a->params);
        a->params = g_strdup("y=1"); /* nobody asked for any */
        g_free(b->params);
        b->params = g_strdup("x=2");
        model = host_that_wants(gpu, intent);
        expect_plan(model, order_restore(&nvidia_at), "Set the parameters of vGPU " B " to 'x=1'");
        expect_inverse(model, order_restore(&nvidia_at), "Set the parameters of vGPU " B " to 'x=2'");
}
END_TEST

/* ---- what is left over ---- */

#define REMOVE_A "Remove vGPU " A " from VF 0000:08:00.5"

static CarvedModel *host_with_leftover(bool other, bool vfs, int32_t wanted) {
        CarvedIntent *intent = intent_new(&nvidia_at, wanted);
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, A, 1);
        intent_add(intent, A, 1)->leftover = true;
        if (other)
                hold(gpu, C, 3);
        intent->leftover_vfs = vfs;
        return host_that_wants(gpu, intent);
}

START_TEST(what_is_left_over_goes_first) {
        g_autoptr(CarvedModel) model = NULL;
        CarvedIntent *intent = want_two(4);
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, A, 1);
        carved_intent_find(intent, A)->leftover = true;
        carved_intent_find(intent, A)->params = g_strdup("y=1"); /* which nobody needs any more */
        model = host_that_wants(gpu, intent);
        expect_failure(model, REMOVE_A "\n" MAKE_B "\nSet the parameters of vGPU " B " to 'x=1'", NULL, NULL);
}
END_TEST

START_TEST(vfs_that_are_left_over_go_when_nothing_is_on_them) {
        g_autoptr(CarvedModel) ours = host_with_leftover(false, true, -1),
                               kept = host_with_leftover(false, false, -1),
                               foreign = host_with_leftover(true, true, -1),
                               wanted = host_with_leftover(false, true, 4);

        expect_plan(ours, order_restore(&nvidia_at), REMOVE_A "\n" VFS_OFF);
        expect_plan(kept, order_restore(&nvidia_at), REMOVE_A);
        expect_plan(foreign, order_restore(&nvidia_at), REMOVE_A);
        expect_plan(wanted, order_restore(&nvidia_at), REMOVE_A);
}
END_TEST

/* Somebody may have given a VF to a guest, or to the host. */
START_TEST(vfs_that_are_left_over_stay_when_a_driver_has_one) {
        CarvedIntent *intent = intent_new(&intel_at, -1), *free = intent_new(&intel_at, -1);
        g_autoptr(CarvedModel) model = NULL, idle = NULL;
        CarvedGpu *gpu = intel(2);

        intent->leftover_vfs = free->leftover_vfs = true;
        vf_of(gpu, 1)->driver = g_strdup(_i ? "vfio-pci" : "xe");
        model = host_that_wants(gpu, intent);
        expect_plan(model, order_restore(&intel_at), "");

        idle = host_that_wants(intel(2), free);
        expect_plan(idle, order_restore(&intel_at),
                    "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
                    "Set the number of VFs of GPU 0000:03:00.0 to 0\n"
                    "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
                    "Wait until the VFs of GPU 0000:03:00.0 are gone");
}
END_TEST

START_TEST(drivers_are_let_to_new_vfs_again) {
        CarvedIntent *intent = intent_new(&intel_at, -1);
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = intel(2);

        intent->leftover_quiet = true;
        gpu->autoprobe = _i;
        model = host_that_wants(gpu, intent);
        expect_plan(model, order_restore(&intel_at),
                    _i ? "" : "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before");
}
END_TEST

/* Where NVIDIA's program was interrupted, the card comes first, alone where it has no driver to work with.
 * With its own one, it may still be locked; with another, it is that one's. */
START_TEST(a_card_that_was_only_lent_comes_back) {
        static const struct {
                const char *driver, *golden;
        } rows[] = {
                { NULL, GIVE_BACK },
                { "pci-pf-stub", GIVE_BACK },
                { "nvidia", GIVE_BACK "\n" VFS_ON },
        };
        g_autoptr(CarvedModel) model = NULL;
        CarvedIntent *intent = want_two(4);
        CarvedGpu *gpu = nvidia(0);
        CarvedOrder settle = order_restore(&nvidia_at);

        g_free(gpu->driver);
        gpu->driver = g_strdup(rows[_i].driver);
        intent->leftover_unbound = true;
        model = host_that_wants(gpu, intent);
        ck_assert_int_eq(carved_model_nth_gpu(model, 0)->sync, CARVED_SYNC_OUT_OF_SYNC);
        expect_plan(model, order_restore(&nvidia_at), rows[_i].golden);
        settle.settle = true;
        expect_plan(model, settle, GIVE_BACK);
}
END_TEST

/* ---- nothing to be done ---- */

static void no_driver(CarvedGpu *g, CarvedIntent *i) {
        g_clear_pointer(&g->driver, g_free);
}
static void on_vfio(CarvedGpu *g, CarvedIntent *i) {
        g_free(g->driver);
        g->driver = g_strdup("vfio-pci");
}
static void another(CarvedGpu *g, CarvedIntent *i) {
        g->device_id = 0x25b6;
}
static void unreadable(CarvedGpu *g, CarvedIntent *i) {
        i->unreadable = g_strdup("line 1");
}

static const struct {
        void (*now)(CarvedGpu *gpu, CarvedIntent *intent);
        CarvedError code;
        const char *message;
} refusals[] = {
        { no_driver, CARVED_ERROR_NOT_READY,
          "It can't be made as it is wanted: No driver is bound to the card" },
        { on_vfio, CARVED_ERROR_CONFLICT,
          "The VFs of GPU 0000:08:00.0 can't be switched: The card is bound to vfio-pci, to be passed "
          "through "
          "whole" },
        { another, CARVED_ERROR_MISMATCH,
          "Nothing is done to GPU 0000:08:00.0: Another card is in this slot than the one that vGPUs are "
          "wanted "
          "of, 10de:0000:0000:0000@0000:08:00.0; Adopt this one, or Forget that" },
        { unreadable, CARVED_ERROR_STATE_UNREADABLE,
          "Nothing is done to GPU 0000:08:00.0: What is wanted of the card can't be read: line 1; Adopt what "
          "is "
          "there, or Forget it" },
};

START_TEST(a_card_that_nothing_can_be_done_to_says_why) {
        CarvedIntent *intent = want_two(4);
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = nvidia(0);

        refusals[_i].now(gpu, intent);
        model = host_that_wants(gpu, intent);
        refuse_plan(model, order_restore(&nvidia_at), refusals[_i].code, refusals[_i].message);
}
END_TEST

START_TEST(a_card_that_does_not_answer_or_is_gone_is_left_alone) {
        CarvedUpdate stalled = { .kind = CARVED_UPDATE_STALLED, .address = nvidia_at },
                     gone = { .kind = CARVED_UPDATE_GONE, .address = nvidia_at };
        g_autoptr(CarvedModel) model = host_that_wants(nvidia(4), want_two(4));

        g_array_unref(carved_model_apply(model, &stalled));
        refuse_plan(model, order_restore(&nvidia_at), CARVED_ERROR_STALLED,
                    "It can't be made as it is wanted: The driver does not answer: somebody holds the card's "
                    "lock "
                    "in the kernel");
        g_array_unref(carved_model_apply(model, &gone));
        refuse_plan(model, order_restore(&nvidia_at), CARVED_ERROR_NO_SUCH_GPU,
                    "There is no GPU at 0000:08:00.0 any more");
}
END_TEST

START_TEST(a_card_that_nothing_is_wanted_of_is_left_alone) {
        g_autoptr(CarvedModel) model = host_with_two(0, ""), synced = host_with_two(2, ""), bare = NULL;
        CarvedGpu *gpu = nvidia(0);

        expect_failure(model, "", NULL, NULL);
        expect_failure(synced, "", NULL, NULL);
        no_driver(gpu, NULL);
        bare = host(gpu);
        expect_failure(bare, "", NULL, NULL);
}
END_TEST

/* ---- what comes after the first plan ---- */

START_TEST(what_waited_for_vfs_follows_in_the_same_job) {
        CarvedOrder enable = order_enable(&nvidia_at, 0), restore = order_restore(&nvidia_at),
                    create = order_create(&nvidia_at, 3, "746", LIST(C)),
                    disable = order_disable(&nvidia_at, true);
        g_autoptr(CarvedModel) model = host_that_wants(nvidia(4), want_two(4)), full = host_with_two(2, ""),
                               none = carved_model_new();
        const CarvedOrder *const more[] = { &enable, &restore }, *const no_more[] = { &create, &disable };

        for (unsigned i = 0; i < 2; i++) {
                g_autoptr(CarvedPlan) plan = carved_plan_continue(model, more[i]);
                g_auto(GStrv) words = carved_plan_describe(plan);

                ck_assert(g_strv_equal((const char *const *) words,
                                       (const char *const *) LIST(
                                               MAKE_A, MAKE_B, "Set the parameters of vGPU " B " to 'x=1'")));
                ck_assert_uint_eq(plan->gpus->len, 1);
                ck_assert_ptr_null(carved_plan_continue(model, no_more[i]));
                ck_assert_ptr_null(carved_plan_continue(full, more[i]));
                ck_assert_ptr_null(carved_plan_continue(none, more[i]));
        }
        ck_assert(carved_order_is_best_effort(&restore) && !carved_order_is_best_effort(&enable));
}
END_TEST

/* ---- taking over ---- */

/* A and B on VFs, neither ours. */
START_TEST(a_card_is_adopted_with_all_that_is_on_it) {
        g_autoptr(CarvedModel) model = host_with_two(0, "x=1");
        g_autoptr(CarvedPlan) plan = plan_for(model, order_adopt(&nvidia_at, NULL, NULL));

        ck_assert_uint_eq(plan->steps->len, 0);
        ck_assert_uint_eq(plan->adds->len, 2);
        ck_assert(plan->set_vfs && !plan->vfs_transient && !plan->anew);
        ck_assert_int_eq(plan->vfs, 4);
        ck_assert_str_eq(nth_add(plan, 0)->uuid, A);
        ck_assert_ptr_null(nth_add(plan, 0)->params);
        ck_assert_str_eq(nth_add(plan, 1)->uuid, B);
        ck_assert_str_eq(nth_add(plan, 1)->params, "x=1");
        ck_assert_int_eq(nth_add(plan, 1)->vf_index, 2);
        ck_assert_int_eq(nth_add(plan, 1)->framework, CARVED_FRAMEWORK_MDEV);
        ck_assert_str_eq(nth_add(plan, 1)->type, "nvidia-746");
        ck_assert_str_eq(nth_add(plan, 1)->type_name, "NVIDIA A2-4Q");
        ck_assert(!nth_add(plan, 1)->transient);
}
END_TEST

START_TEST(one_vgpu_is_adopted_with_the_vfs_that_it_needs) {
        g_autoptr(CarvedModel) model = host_with_two(0, ""), both = NULL;
        g_autoptr(CarvedPlan) plan = plan_for(model, order_adopt(&nvidia_at, LIST(B), NULL)), straight = NULL;
        CarvedGpu *gpu = nvidia(4);

        ck_assert_uint_eq(plan->adds->len, 1);
        ck_assert_str_eq(nth_add(plan, 0)->uuid, B);
        ck_assert(plan->set_vfs && plan->vfs == 4);

        hold(gpu, A, -1);
        both = host(gpu);
        straight = plan_for(both, order_adopt(&nvidia_at, LIST(A), NULL));
        ck_assert_uint_eq(straight->adds->len, 1);
        ck_assert(!straight->set_vfs);
}
END_TEST

START_TEST(what_is_ours_already_or_half_made_is_not_adopted) {
        CarvedIntent *intent = intent_new(&nvidia_at, 4);
        g_autoptr(CarvedModel) model = NULL;
        g_autoptr(CarvedPlan) plan = NULL;
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, A, 1);
        g_clear_pointer(&hold(gpu, B, 2)->type, g_free);
        intent_add(intent, A, 1);
        intent->vfs_transient = _i; /* from now on they are not */
        model = host_that_wants(gpu, intent);
        plan = plan_for(model, order_adopt(&nvidia_at, NULL, NULL));
        ck_assert_uint_eq(plan->adds->len, 0);
        ck_assert_int_eq(plan->set_vfs, _i);
        ck_assert_int_eq(carved_plan_changes_intent(plan), _i);
}
END_TEST

START_TEST(only_what_the_kernel_does_not_name_gets_another_name) {
        g_autoptr(CarvedModel) model = host_with_two(0, ""), vendor = NULL;
        CarvedGpu *gpu = card_new(&nvidia_at, CARVED_FRAMEWORK_VENDOR_VFIO, 4, 4);
        g_autoptr(CarvedPlan) same = plan_for(model, order_adopt(&nvidia_at, LIST(A), A)), plan = NULL;

        ck_assert_str_eq(nth_add(same, 0)->uuid, A);
        refuse_plan(model, order_adopt(&nvidia_at, LIST(A), C), CARVED_ERROR_NOT_SUPPORTED,
                    "vGPU " A " keeps its UUID: it is the kernel's own name of a mediated device");

        hold(gpu, A, 1);
        vendor = host(gpu);
        plan = plan_for(vendor, order_adopt(&nvidia_at, LIST(A), C));
        ck_assert_str_eq(nth_add(plan, 0)->uuid, C);
        ck_assert_int_eq(nth_add(plan, 0)->vf_index, 1);
        ck_assert_int_eq(nth_add(plan, 0)->framework, CARVED_FRAMEWORK_VENDOR_VFIO);
}
END_TEST

/* Another card, or what is stored can't be read. */
START_TEST(what_can_not_be_applied_is_forgotten_by_adopting) {
        g_autoptr(CarvedModel) model = NULL;
        CarvedIntent *intent = want_two(4);
        CarvedIntentChange change;
        g_autoptr(CarvedPlan) plan = NULL;
        CarvedGpu *gpu = nvidia(4);

        (_i ? another : unreadable)(gpu, intent);
        hold(gpu, A, 1);
        model = host_that_wants(gpu, intent);
        plan = plan_for(model, order_adopt(&nvidia_at, NULL, NULL));
        ck_assert(plan->anew && plan->set_vfs && plan->vfs == 4);
        ck_assert_uint_eq(plan->adds->len, 1);
        ck_assert_str_eq(nth_add(plan, 0)->uuid, A);
        change = carved_plan_change(plan, carved_model_find_gpu(model, &nvidia_at));
        ck_assert(change.anew && change.set_vfs);
        ck_assert_str_eq(change.identity,
                         _i ? "10de:25b6:0000:0000@0000:08:00.0" : "10de:0000:0000:0000@0000:08:00.0");
}
END_TEST

START_TEST(a_card_that_does_not_answer_is_not_adopted) {
        CarvedUpdate stalled = { .kind = CARVED_UPDATE_STALLED, .address = nvidia_at };
        g_autoptr(CarvedModel) model = host_with_two(0, "");

        g_array_unref(carved_model_apply(model, &stalled));
        refuse_plan(model, order_adopt(&nvidia_at, NULL, NULL), CARVED_ERROR_STALLED,
                    "It can't be adopted: The driver does not answer: somebody holds the card's lock in the "
                    "kernel");
        refuse_plan(model, order_adopt(&other_at, NULL, NULL), CARVED_ERROR_NO_SUCH_GPU,
                    "There is no GPU at 0000:04:00.0 any more");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("plan-restore");
        TCase *tcase = tcase_create("plan-restore");

        tcase_add_test(tcase, vfs_come_first_and_alone);
        tcase_add_loop_test(tcase, vfs_that_are_not_through_are_waited_for, 0, 2);
        tcase_add_test(tcase, another_number_of_vfs_is_somebody_elses);
        tcase_add_test(tcase, all_that_is_absent_is_made_where_it_was);
        tcase_add_test(tcase, a_whole_vf_gets_its_old_override_back_some_day);
        tcase_add_test(tcase, the_name_of_a_type_decides_what_is_made);
        tcase_add_loop_test(tcase, what_can_not_be_made_costs_nobody_else, 0, G_N_ELEMENTS(obstacles));
        tcase_add_test(tcase, parameters_that_others_changed_are_set_back);
        tcase_add_test(tcase, what_is_left_over_goes_first);
        tcase_add_test(tcase, vfs_that_are_left_over_go_when_nothing_is_on_them);
        tcase_add_loop_test(tcase, vfs_that_are_left_over_stay_when_a_driver_has_one, 0, 2);
        tcase_add_loop_test(tcase, drivers_are_let_to_new_vfs_again, 0, 2);
        tcase_add_loop_test(tcase, a_card_that_was_only_lent_comes_back, 0, 3);
        tcase_add_loop_test(tcase, a_card_that_nothing_can_be_done_to_says_why, 0, G_N_ELEMENTS(refusals));
        tcase_add_test(tcase, a_card_that_does_not_answer_or_is_gone_is_left_alone);
        tcase_add_test(tcase, a_card_that_nothing_is_wanted_of_is_left_alone);
        tcase_add_test(tcase, what_waited_for_vfs_follows_in_the_same_job);
        tcase_add_test(tcase, a_card_is_adopted_with_all_that_is_on_it);
        tcase_add_test(tcase, one_vgpu_is_adopted_with_the_vfs_that_it_needs);
        tcase_add_loop_test(tcase, what_is_ours_already_or_half_made_is_not_adopted, 0, 2);
        tcase_add_test(tcase, only_what_the_kernel_does_not_name_gets_another_name);
        tcase_add_loop_test(tcase, what_can_not_be_applied_is_forgotten_by_adopting, 0, 2);
        tcase_add_test(tcase, a_card_that_does_not_answer_is_not_adopted);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
