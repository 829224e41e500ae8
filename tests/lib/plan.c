/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "order.h"

static bool same(GStrv a, GStrv b) {
        return g_strv_equal((const char *const *) a, (const char *const *) b);
}

/* ---- VFs ---- */

START_TEST(nvidia_vfs_come_by_its_program) {
        g_autoptr(CarvedModel) model = host(nvidia(0));
        static const char golden[] = "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"
                                     "Wait for 4 VFs of GPU 0000:08:00.0, their drivers and vGPU types";

        expect_plan(model, order_enable(&nvidia_at, 0), golden);
        expect_plan(model, order_enable(&nvidia_at, 4), golden);
}
END_TEST

START_TEST(other_vfs_come_by_the_kernel_and_stay_free_of_drivers) {
        g_autoptr(CarvedModel) model = host(intel(0)), off = NULL;
        CarvedGpu *gpu = intel(0);

        expect_plan(model, order_enable(&intel_at, 3),
                    "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
                    "Set the number of VFs of GPU 0000:03:00.0 to 3\n"
                    "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
                    "Wait for 3 VFs of GPU 0000:03:00.0");

        gpu->autoprobe = false; /* somebody's choice, which stays */
        off = host(gpu);
        expect_plan(off, order_enable(&intel_at, 0),
                    "Set the number of VFs of GPU 0000:03:00.0 to 4\nWait for 4 VFs of GPU 0000:03:00.0");
}
END_TEST

START_TEST(what_is_enabled_already_is_at_most_waited_for) {
        g_autoptr(CarvedModel) model = host(nvidia(4));
        CarvedGpu *unsettled = card_new(&other_at, CARVED_FRAMEWORK_MDEV, 4, 4);
        g_autoptr(CarvedPlan) plan = NULL;

        unsettled->settled = false;
        show(model, unsettled);
        show(model, intel(3));
        plan = plan_for(model, order_enable(&nvidia_at, 0));
        ck_assert_uint_eq(plan->steps->len, 0);
        ck_assert_uint_eq(plan->gpus->len, 1);
        expect_plan(model, order_enable(&intel_at, 3), "");
        expect_plan(model, order_enable(&other_at, 0),
                    "Wait for 4 VFs of GPU 0000:04:00.0, their drivers and vGPU types");
}
END_TEST

START_TEST(another_number_of_vfs_goes_through_none) {
        g_autoptr(CarvedModel) model = host(intel(2)), taken = NULL;
        CarvedGpu *gpu = intel(2);

        expect_plan(model, order_enable(&intel_at, 3),
                    "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
                    "Set the number of VFs of GPU 0000:03:00.0 to 0\n"
                    "Set the number of VFs of GPU 0000:03:00.0 to 3\n"
                    "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
                    "Wait for 3 VFs of GPU 0000:03:00.0");
        expect_inverse(model, order_enable(&intel_at, 3),
                       "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
                       "Set the number of VFs of GPU 0000:03:00.0 to 0\n"
                       "Set the number of VFs of GPU 0000:03:00.0 to 2\n"
                       "Wait for 2 VFs of GPU 0000:03:00.0\n"
                       "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before");

        vf_of(gpu, 1)->driver = g_strdup("xe");
        taken = host(gpu);
        refuse_plan(
                taken, order_enable(&intel_at, 3), CARVED_ERROR_CONFLICT,
                "2 VFs are enabled, and VF 0000:03:00.5 is taken: another number means to disable them all "
                "first");
}
END_TEST

START_TEST(numbers_that_the_card_does_not_take_are_refused) {
        g_autoptr(CarvedModel) model = host(nvidia(0));

        show(model, intel(0));
        refuse_plan(model, order_enable(&nvidia_at, 2), CARVED_ERROR_NOT_SUPPORTED,
                    "GPU 0000:08:00.0 takes all of its 4 VFs or none: NVIDIA's sriov-manage knows no other "
                    "number");
        refuse_plan(model, order_enable(&intel_at, 5), CARVED_ERROR_INVALID_ARGS,
                    "GPU 0000:03:00.0 has 4 VFs, not 5");
        refuse_plan(model, order_enable(&nvidia_at, 5), CARVED_ERROR_INVALID_ARGS,
                    "GPU 0000:08:00.0 has 4 VFs, not 5");
}
END_TEST

START_TEST(a_card_that_is_gone_is_no_such_gpu) {
        g_autoptr(CarvedModel) model = host(nvidia(4));
        static const char gone[] = "There is no GPU at 0000:04:00.0 any more";

        refuse_plan(model, order_enable(&other_at, 0), CARVED_ERROR_NO_SUCH_GPU, gone);
        refuse_plan(model, order_disable(&other_at, true), CARVED_ERROR_NO_SUCH_GPU, gone);
        refuse_plan(model, order_create(&other_at, -1, "746", LIST(A)), CARVED_ERROR_NO_SUCH_GPU, gone);
}
END_TEST

START_TEST(disabling_waits_until_the_vfs_are_gone) {
        g_autoptr(CarvedModel) model = host(nvidia(4));

        show(model, intel(2));
        show(model, card_new(&other_at, CARVED_FRAMEWORK_MDEV, 4, 0));
        expect_plan(
                model, order_disable(&nvidia_at, false),
                "Run sriov-manage -d 0000:08:00.0: no VFs\nWait until the VFs of GPU 0000:08:00.0 are gone");
        expect_plan(model, order_disable(&intel_at, false),
                    "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
                    "Set the number of VFs of GPU 0000:03:00.0 to 0\n"
                    "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
                    "Wait until the VFs of GPU 0000:03:00.0 are gone");
        expect_plan(model, order_disable(&other_at, false), "");
}
END_TEST

START_TEST(disabling_takes_our_vgpus_when_told_so_and_never_others) {
        g_autoptr(CarvedModel) model = host_with_two(2, "x=1"), foreign = host_with_two(1, "");
        g_autoptr(CarvedPlan) plan = plan_for(model, order_disable(&nvidia_at, true));

        refuse_plan(model, order_disable(&nvidia_at, false), CARVED_ERROR_CONFLICT,
                    "vGPUs are on VFs of GPU 0000:08:00.0: " A ", " B "; option destroy-vgpus destroys them");
        expect_plan(
                model, order_disable(&nvidia_at, true),
                "Check that nobody uses vGPU " A "\nCheck that nobody uses vGPU " B "\n"
                "Remove vGPU " A " from VF 0000:08:00.5\nRemove vGPU " B " from VF 0000:08:00.6\n"
                "Run sriov-manage -d 0000:08:00.0: no VFs\nWait until the VFs of GPU 0000:08:00.0 are gone");
        expect_inverse(model, order_disable(&nvidia_at, true),
                       "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"
                       "Wait for 4 VFs of GPU 0000:08:00.0, their drivers and vGPU types\n"
                       "Create vGPU " B
                       " of type nvidia-746 on VF 0000:08:00.6\nSet the parameters of vGPU " B " to 'x=1'\n"
                       "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.5");
        ck_assert(same(plan->removes, LIST(A, B)));
        for (unsigned i = 0; i < 2; i++)
                refuse_plan(foreign, order_disable(&nvidia_at, i), CARVED_ERROR_CONFLICT,
                            "vGPUs that carved did not make are on VFs of GPU 0000:08:00.0: " B);
}
END_TEST

/* ---- orders and plans as values ---- */

static char *key(CarvedOrder order) {
        return carved_order_key(&order);
}

START_TEST(an_order_has_one_key_and_no_other_has_it) {
        CarvedOrder first = order_create(&nvidia_at, 1, "746", LIST(A)), others[9];
        g_autofree char *mine = key(first), *again = NULL;

        again = key(order_create(&(CarvedPciAddress){ 0, 8, 0, 0 }, 1, "746", LIST(A)));
        ck_assert_str_eq(mine, again);

        for (unsigned i = 0; i < G_N_ELEMENTS(others); i++)
                others[i] = first;
        others[0].kind = CARVED_ORDER_SET_PARAMS;
        others[1].gpu.domain = 1;
        others[2].vf_index = -1;
        others[3].type = (char *) "747";
        others[4].uuids = LIST(B);
        others[5].params = (char *) "x=1";
        others[6].labels = LIST("team", "ml");
        others[7].destroy_vgpus = true;
        others[8].count = 2;
        for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
                g_autofree char *other = key(others[i]);

                ck_assert_msg(strcmp(mine, other) != 0, "order %u has the same key", i);
        }
}
END_TEST

START_TEST(plans_are_equal_by_what_they_do) {
        g_autoptr(CarvedModel) model = host(nvidia(4));
        g_autoptr(CarvedPlan) a = plan_for(model, order_create(&nvidia_at, -1, "746", LIST(A))),
                              alike = plan_for(model, order_create(&nvidia_at, 0, "A2-4Q", LIST(A))),
                              vf = plan_for(model, order_create(&nvidia_at, 1, "746", LIST(A))),
                              none = plan_for(model, order_enable(&nvidia_at, 0));

        ck_assert(carved_plan_equal(a, alike));
        ck_assert(!carved_plan_equal(a, vf));
        ck_assert(!carved_plan_equal(a, none));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("plan");
        TCase *tcase = tcase_create("plan");

        tcase_add_test(tcase, nvidia_vfs_come_by_its_program);
        tcase_add_test(tcase, other_vfs_come_by_the_kernel_and_stay_free_of_drivers);
        tcase_add_test(tcase, what_is_enabled_already_is_at_most_waited_for);
        tcase_add_test(tcase, another_number_of_vfs_goes_through_none);
        tcase_add_test(tcase, numbers_that_the_card_does_not_take_are_refused);
        tcase_add_test(tcase, a_card_that_is_gone_is_no_such_gpu);
        tcase_add_test(tcase, disabling_waits_until_the_vfs_are_gone);
        tcase_add_test(tcase, disabling_takes_our_vgpus_when_told_so_and_never_others);
        tcase_add_test(tcase, an_order_has_one_key_and_no_other_has_it);
        tcase_add_test(tcase, plans_are_equal_by_what_they_do);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
