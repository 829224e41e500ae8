/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "order.h"

static bool same(GStrv a, GStrv b) {
        return g_strv_equal((const char *const *) a, (const char *const *) b);
}

/* ---- making vGPUs ---- */

START_TEST(a_vgpu_goes_to_the_lowest_free_vf) {
        g_autoptr(CarvedModel) model = carved_model_new();
        CarvedOrder order = order_create(&nvidia_at, -1, "A2-4Q", LIST(A));
        g_autoptr(CarvedPlan) plan = NULL;
        const CarvedWanted *wanted;
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, B, 0);
        vf_of(gpu, 1)->iommu_group = -1; /* offers it, but can't be used */
        show(model, gpu);
        expect_plan(model, order, "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.6");
        expect_inverse(model, order, "Remove vGPU " A " from VF 0000:08:00.6");

        order.labels = LIST("team", "ml");
        plan = plan_for(model, order);
        wanted = plan->adds->pdata[0];
        ck_assert_str_eq(wanted->uuid, A);
        ck_assert_int_eq(wanted->vf_index, 2);
        ck_assert_int_eq(wanted->framework, CARVED_FRAMEWORK_MDEV);
        ck_assert_str_eq(wanted->type, "nvidia-746");
        ck_assert_str_eq(wanted->labels[1], "ml");
        ck_assert_ptr_null(plan->removes);
}
END_TEST

START_TEST(a_vgpu_goes_where_it_is_told) {
        g_autoptr(CarvedModel) model = carved_model_new();
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, B, 0);
        show(model, gpu);
        expect_plan(model, order_create(&nvidia_at, 3, "747", LIST(A)),
                    "Create vGPU " A " of type nvidia-747 on VF 0000:08:00.7");
        refuse_plan(model, order_create(&nvidia_at, 0, "746", LIST(A)), CARVED_ERROR_CONFLICT,
                    "NVIDIA A2-4Q can't be had on VF 0000:08:00.4: The VF holds vGPU " B);
        refuse_plan(model, order_create(&nvidia_at, 4, "746", LIST(A)), CARVED_ERROR_NO_SUCH_VF,
                    "VF 4 is gone");
        refuse_plan(model, order_create(&nvidia_at, 3, "748", LIST(A)), CARVED_ERROR_NO_SUCH_TYPE,
                    "GPU 0000:08:00.0 has no type '748'");
}
END_TEST

START_TEST(a_card_without_vfs_has_its_vgpus_itself) {
        g_autoptr(CarvedModel) model = host(card_new_t4(&nvidia_at));
        CarvedOrder order = order_create(&nvidia_at, -1, "nvidia-746", LIST(A));

        expect_plan(model, order, "Create vGPU " A " of type nvidia-746 on GPU 0000:08:00.0");
        order.params = (char *) "frame_rate_limiter=0";
        expect_plan(model, order,
                    "Create vGPU " A " of type nvidia-746 on GPU 0000:08:00.0\n"
                    "Set the parameters of vGPU " A " to 'frame_rate_limiter=0'");
        expect_inverse(model, order,
                       "Set the parameters of vGPU " A " to ''\nRemove vGPU " A " from GPU 0000:08:00.0");

        order.params = (char *) "two\nlines";
        refuse_plan(model, order, CARVED_ERROR_INVALID_ARGS,
                    "The parameters have a control character at place 4: they are one line");
}
END_TEST

START_TEST(a_whole_vf_is_bound_to_its_vfio_driver) {
        CarvedOrder order = order_create(&intel_at, -1, "vf", LIST(A));
        g_autoptr(CarvedModel) model = NULL;
        g_autoptr(CarvedPlan) plan = NULL;
        CarvedGpu *gpu = intel(2);

        vf_of(gpu, 0)->driver = g_strdup("xe");
        vf_of(gpu, 1)->override = g_strdup("mine");
        model = host(gpu);
        expect_plan(model, order, "Bind VF 0000:03:00.5 to its vfio driver, as vGPU " A);
        expect_inverse(model, order, "Take VF 0000:03:00.5, vGPU " A ", from its vfio driver");
        plan = plan_for(model, order);
        ck_assert_str_eq(((CarvedStep *) plan->steps->pdata[0])->old_text, "mine");
        ck_assert_str_eq(((CarvedWanted *) plan->adds->pdata[0])->old_override, "mine");

        order.params = (char *) "x=1";
        refuse_plan(model, order, CARVED_ERROR_NOT_SUPPORTED, "A whole VF has no parameters");
}
END_TEST

/* What a VF offers counts only where it can be used: never may the card itself stand in for a VF. */
START_TEST(a_card_whose_vfs_are_all_unusable_is_not_bound_itself) {
        CarvedGpu *gpu = _i ? intel(2) : nvidia(2);
        CarvedOrder order = order_create(&gpu->address, -1, _i ? "vf" : "nvidia-746", LIST(A));
        g_autoptr(CarvedModel) model = NULL;
        g_autoptr(CarvedPlan) plan = NULL;
        g_autoptr(GError) error = NULL;

        vf_of(gpu, 0)->iommu_group = -1;
        vf_of(gpu, 1)->error = g_strdup("It can't be read");
        model = host(gpu);
        plan = carved_plan_make(model, &order, &error);
        ck_assert_ptr_null(plan);
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_NOT_READY));
}
END_TEST

START_TEST(a_name_that_exists_is_as_asked_or_refused) {
        static const char exists[] =
                "vGPU " A " exists already, as nvidia-746 on GPU 0000:08:00.0, VF index 1";
        g_autoptr(CarvedModel) model = carved_model_new();
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, A, 1);
        g_clear_pointer(&hold(gpu, B, 2)->type, g_free);
        show(model, gpu);
        show(model, card_new(&other_at, CARVED_FRAMEWORK_MDEV, 4, 4));
        expect_plan(model, order_create(&nvidia_at, -1, "746", LIST(A)), "");
        expect_plan(model, order_create(&nvidia_at, 1, "A2-4Q", LIST(A)), "");
        refuse_plan(model, order_create(&nvidia_at, 2, "746", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse_plan(model, order_create(&nvidia_at, -1, "747", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse_plan(model, order_create(&other_at, -1, "746", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse_plan(model, order_create(&nvidia_at, -1, "746", LIST(B)), CARVED_ERROR_EXISTS,
                    "vGPU " B " exists already, as something unknown on GPU 0000:08:00.0, VF index 2");
}
END_TEST

/* ---- the rest of a vGPU's life ---- */

START_TEST(several_are_destroyed_only_when_all_are_idle) {
        g_autoptr(CarvedModel) model = host_with_two(2, "");
        g_autoptr(CarvedPlan) plan = NULL;

        add_whole(model, "mine");
        expect_plan(model, order_destroy(LIST(A)), "Remove vGPU " A " from VF 0000:08:00.5");
        expect_plan(model, order_destroy(LIST(B, C, A)),
                    "Check that nobody uses vGPU " B "\nCheck that nobody uses vGPU " C "\n"
                    "Check that nobody uses vGPU " A "\nRemove vGPU " B " from VF 0000:08:00.6\n"
                    "Take VF 0000:03:00.4, vGPU " C ", from its vfio driver\n"
                    "Remove vGPU " A " from VF 0000:08:00.5");
        expect_inverse(model, order_destroy(LIST(A, C)),
                       "Bind VF 0000:03:00.4 to its vfio driver, as vGPU " C "\n"
                       "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.5");

        plan = plan_for(model, order_destroy(LIST(B, C, A)));
        ck_assert_uint_eq(plan->gpus->len, 2);
        ck_assert_uint_eq(g_array_index(plan->gpus, CarvedPciAddress, 0).bus, 3);
        ck_assert_uint_eq(g_array_index(plan->gpus, CarvedPciAddress, 1).bus, 8);
        ck_assert(same(plan->removes, LIST(B, C, A)));
        ck_assert_str_eq(((CarvedStep *) plan->steps->pdata[4])->old_text, "mine");
}
END_TEST

START_TEST(only_what_is_ours_and_answers_is_destroyed) {
        CarvedUpdate stalled = { .kind = CARVED_UPDATE_STALLED, .address = nvidia_at };
        g_autoptr(CarvedModel) model = host_with_two(1, "");

        refuse_plan(model, order_destroy(LIST(A, B)), CARVED_ERROR_NOT_OURS,
                    "vGPU " B " was not made by carved: its maker has to do that");
        refuse_plan(model, order_destroy(LIST(A, C)), CARVED_ERROR_NO_SUCH_VGPU, "There is no vGPU '" C "'");

        g_array_unref(carved_model_apply(model, &stalled));
        refuse_plan(
                model, order_destroy(LIST(A)), CARVED_ERROR_STALLED,
                "It can't be destroyed: The driver does not answer: somebody holds the card's lock in the "
                "kernel");
}
END_TEST

START_TEST(parameters_are_set_once) {
        g_autoptr(CarvedModel) model = host_with_two(2, "x=1"), foreign = host_with_two(1, "x=1");

        add_whole(model, NULL);
        expect_plan(model, order_set_params(LIST(B), "x=1"), "");
        expect_plan(model, order_set_params(LIST(B), "x=2"), "Set the parameters of vGPU " B " to 'x=2'");
        expect_inverse(model, order_set_params(LIST(B), "x=2"), "Set the parameters of vGPU " B " to 'x=1'");
        refuse_plan(foreign, order_set_params(LIST(B), "x=2"), CARVED_ERROR_NOT_OURS,
                    "vGPU " B " was not made by carved: its maker has to do that");
        refuse_plan(model, order_set_params(LIST(C), ""), CARVED_ERROR_NOT_SUPPORTED,
                    "vGPU " C " has no parameters: its driver offers none");
        refuse_plan(model, order_set_params(LIST("x"), ""), CARVED_ERROR_NO_SUCH_VGPU,
                    "There is no vGPU 'x'");
}
END_TEST

/* ---- what is wanted and not there ---- */

/* Four VFs, and A is wanted on the second. */
static CarvedModel *host_without_a(CarvedGpu *gpu, bool transient) {
        CarvedIntent *intent = intent_new(&nvidia_at, 4);
        CarvedModel *model = host(gpu);
        CarvedWanted *wanted = intent_add(intent, A, 1);

        wanted->type_name = g_strdup("NVIDIA A2-4Q");
        wanted->params = g_strdup("x=1");
        wanted->labels = g_strdupv(LIST("team", "ml"));
        wanted->transient = transient;
        store(model, &nvidia_at, intent);
        return model;
}

START_TEST(a_vf_is_kept_for_the_one_that_is_wanted_there) {
        static const char kept[] = "VF 0000:08:00.5 is kept for vGPU " A
                                   ", which is wanted there; Resync makes it, Destroy drops it";
        g_autoptr(CarvedModel) model = NULL, full = NULL;
        CarvedGpu *gpu = nvidia(4), *rest = nvidia(4);

        hold(gpu, C, 0);
        model = host_without_a(gpu, false);
        expect_plan(model, order_create(&nvidia_at, -1, "746", LIST(B)),
                    "Create vGPU " B " of type nvidia-746 on VF 0000:08:00.6");
        refuse_plan(model, order_create(&nvidia_at, 1, "746", LIST(B)), CARVED_ERROR_CONFLICT, kept);
        refuse_plan(model, order_create(&nvidia_at, 1, "747", LIST(B)), CARVED_ERROR_CONFLICT, kept);

        hold(rest, C, 0);
        hold(rest, "44444444-7db8-4e96-9a73-f94c389d9bc3", 2);
        hold(rest, "55555555-7db8-4e96-9a73-f94c389d9bc3", 3);
        full = host_without_a(rest, false);
        refuse_plan(full, order_create(&nvidia_at, -1, "746", LIST(B)), CARVED_ERROR_NOT_READY,
                    "No VF can be used: all are taken, or kept for vGPUs that are wanted there");
}
END_TEST

START_TEST(what_is_wanted_already_is_made_where_it_was) {
        /* With the parameters that were asked for then: this call says nothing of them. */
        static const char golden[] = "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.5\n"
                                     "Set the parameters of vGPU " A " to 'x=1'";
        static const char exists[] =
                "vGPU " A " exists already, as nvidia-746 on GPU 0000:08:00.0, VF index 1";
        g_autoptr(CarvedModel) model = host_without_a(nvidia(4), false),
                               off = host_without_a(nvidia(0), false);
        g_autoptr(CarvedPlan) plan = plan_for(model, order_create(&nvidia_at, -1, "746", LIST(A)));

        expect_plan(model, order_create(&nvidia_at, -1, "746", LIST(A)), golden);
        expect_plan(model, order_create(&nvidia_at, 1, "A2-4Q", LIST(A)), golden);
        ck_assert_uint_eq(plan->adds->len, 1);
        ck_assert_int_eq(((CarvedWanted *) plan->adds->pdata[0])->vf_index, 1);
        refuse_plan(model, order_create(&nvidia_at, 2, "746", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse_plan(model, order_create(&nvidia_at, -1, "747", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse_plan(off, order_create(&nvidia_at, -1, "746", LIST(A)), CARVED_ERROR_NO_SUCH_VF,
                    "VF 1 is gone");
}
END_TEST

/* A driver that numbers anew: what is wanted has another number, and the same name. */
START_TEST(what_is_wanted_already_is_known_by_the_name_of_its_type) {
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = nvidia(4);

        g_free(card_type(gpu, CARD_8Q)->name);
        g_free(card_type(gpu, CARD_4Q)->name);
        card_type(gpu, CARD_8Q)->name = g_strdup("NVIDIA A2-4Q");
        card_type(gpu, CARD_4Q)->name = g_strdup("NVIDIA A2-2Q");
        model = host_without_a(gpu, false);
        expect_plan(model, order_create(&nvidia_at, -1, "A2-4Q", LIST(A)),
                    "Create vGPU " A " of type nvidia-747 on VF 0000:08:00.5\n"
                    "Set the parameters of vGPU " A " to 'x=1'");
        refuse_plan(model, order_create(&nvidia_at, -1, "nvidia-746", LIST(A)), CARVED_ERROR_EXISTS,
                    "vGPU " A " exists already, as nvidia-746 on GPU 0000:08:00.0, VF index 1");
}
END_TEST

START_TEST(what_is_not_there_is_destroyed_without_a_step) {
        g_autoptr(CarvedModel) model = host_without_a(nvidia(_i ? 4 : 0), false);
        g_autoptr(CarvedPlan) plan = plan_for(model, order_destroy(LIST(A)));

        ck_assert_uint_eq(plan->steps->len, 0);
        ck_assert(same(plan->removes, LIST(A)));
        ck_assert(carved_plan_changes_intent(plan));
        ck_assert_uint_eq(plan->gpus->len, 1);
}
END_TEST

static const struct {
        const char *params;
        bool changes;
} settings[] = { { "x=2", true }, { "", true }, { "x=1", false } };

START_TEST(parameters_of_what_is_not_there_are_only_wanted) {
        g_autoptr(CarvedModel) model = host_without_a(nvidia(4), true);
        g_autoptr(CarvedPlan) plan = plan_for(model, order_set_params(LIST(A), settings[_i].params));
        const CarvedWanted *wanted;

        ck_assert_uint_eq(plan->steps->len, 0);
        ck_assert_int_eq(carved_plan_changes_intent(plan), settings[_i].changes);
        ck_assert_uint_eq(plan->adds->len, settings[_i].changes);
        if (!settings[_i].changes)
                return;
        wanted = plan->adds->pdata[0];
        ck_assert_pstr_eq(wanted->params, *settings[_i].params ? settings[_i].params : NULL);
        ck_assert_str_eq(wanted->uuid, A);
        ck_assert_int_eq(wanted->vf_index, 1);
        ck_assert_str_eq(wanted->type_name, "NVIDIA A2-4Q");
        ck_assert_str_eq(wanted->labels[1], "ml");
        ck_assert(wanted->transient);
}
END_TEST

START_TEST(what_is_not_there_gets_its_first_parameters_unless_it_is_a_whole_vf) {
        CarvedIntent *intent = intent_new(&nvidia_at, 4), *whole = intent_new(&intel_at, 4);
        g_autoptr(CarvedModel) model = host(nvidia(4));
        g_autoptr(CarvedPlan) plan = NULL;

        intent_add(intent, A, 1);
        intent_add(whole, C, 1);
        store(model, &nvidia_at, intent);
        show(model, intel(4));
        store(model, &intel_at, whole);
        plan = plan_for(model, order_set_params(LIST(A), "x=1"));
        ck_assert_uint_eq(plan->steps->len, 0);
        ck_assert_uint_eq(plan->adds->len, 1);
        refuse_plan(model, order_set_params(LIST(C), "x=1"), CARVED_ERROR_NOT_SUPPORTED,
                    "vGPU " C " has no parameters: its driver offers none");
}
END_TEST

/* Also of one that is there: what is set is wanted from now on, whoever set it. */
START_TEST(parameters_that_are_so_already_become_wanted) {
        g_autoptr(CarvedModel) model = host_with_two(2, "x=1");
        g_autoptr(CarvedPlan) plan = plan_for(model, order_set_params(LIST(B), "x=1"));

        ck_assert_uint_eq(plan->steps->len, 0);
        ck_assert_uint_eq(plan->adds->len, 1);
        ck_assert_str_eq(((CarvedWanted *) plan->adds->pdata[0])->params, "x=1");
}
END_TEST

START_TEST(vfs_that_something_is_wanted_on_are_not_switched_off) {
        g_autoptr(CarvedModel) model = host_without_a(nvidia(_i ? 4 : 0), false);
        g_autoptr(CarvedPlan) plan = plan_for(model, order_disable(&nvidia_at, true));

        refuse_plan(model, order_disable(&nvidia_at, false), CARVED_ERROR_CONFLICT,
                    "vGPUs are on VFs of GPU 0000:08:00.0: " A "; option destroy-vgpus destroys them");
        expect_plan(model, order_disable(&nvidia_at, true),
                    _i ? "Run sriov-manage -d 0000:08:00.0: no VFs\n"
                         "Wait until the VFs of GPU 0000:08:00.0 are gone"
                       : "");
        ck_assert(same(plan->removes, LIST(A)));
        ck_assert(plan->set_vfs && plan->vfs == -1);
}
END_TEST

/* ---- how long ---- */

/* VFs as they are wanted, -1: others switched them on; what is asked for; what becomes of the VFs. */
static const struct {
        int32_t vfs;
        bool vfs_transient, transient;
        bool set, to_transient;
} lives[] = {
        { -1, false, false, true, false }, { -1, false, true, true, true }, { 4, false, false, false, false },
        { 4, false, true, false, false },  { 4, true, false, true, false }, { 4, true, true, false, false },
};

START_TEST(vfs_are_wanted_as_long_as_what_is_on_them) {
        CarvedOrder orders[] = { order_create(&nvidia_at, 0, "746", LIST(B)), order_enable(&nvidia_at, 0) };
        CarvedIntent *intent = intent_new(&nvidia_at, lives[_i].vfs);
        g_autoptr(CarvedModel) model = host(nvidia(4));

        intent->vfs_transient = lives[_i].vfs_transient;
        store(model, &nvidia_at, intent);
        for (unsigned i = 0; i < G_N_ELEMENTS(orders); i++) {
                g_autoptr(CarvedPlan) plan = NULL;

                orders[i].transient = lives[_i].transient;
                plan = plan_for(model, orders[i]);
                ck_assert_int_eq(plan->set_vfs, lives[_i].set);
                if (plan->set_vfs) {
                        ck_assert_int_eq(plan->vfs, 4);
                        ck_assert_int_eq(plan->vfs_transient, lives[_i].to_transient);
                }
                if (plan->adds->len > 0)
                        ck_assert_int_eq(((CarvedWanted *) plan->adds->pdata[0])->transient,
                                         lives[_i].transient);
        }
}
END_TEST

START_TEST(what_is_straight_on_the_card_needs_no_vfs) {
        g_autoptr(CarvedModel) model = host(card_new_t4(&nvidia_at));
        g_autoptr(CarvedPlan) plan = plan_for(model, order_create(&nvidia_at, -1, "746", LIST(B)));

        ck_assert(!plan->set_vfs);
        ck_assert_uint_eq(plan->adds->len, 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("plan-vgpu");
        TCase *tcase = tcase_create("plan-vgpu");

        tcase_add_test(tcase, a_vgpu_goes_to_the_lowest_free_vf);
        tcase_add_test(tcase, a_vgpu_goes_where_it_is_told);
        tcase_add_test(tcase, a_card_without_vfs_has_its_vgpus_itself);
        tcase_add_test(tcase, a_whole_vf_is_bound_to_its_vfio_driver);
        tcase_add_test(tcase, a_name_that_exists_is_as_asked_or_refused);
        tcase_add_test(tcase, several_are_destroyed_only_when_all_are_idle);
        tcase_add_test(tcase, only_what_is_ours_and_answers_is_destroyed);
        tcase_add_test(tcase, parameters_are_set_once);
        tcase_add_loop_test(tcase, a_card_whose_vfs_are_all_unusable_is_not_bound_itself, 0, 2);
        tcase_add_test(tcase, a_vf_is_kept_for_the_one_that_is_wanted_there);
        tcase_add_test(tcase, what_is_wanted_already_is_made_where_it_was);
        tcase_add_test(tcase, what_is_wanted_already_is_known_by_the_name_of_its_type);
        tcase_add_loop_test(tcase, what_is_not_there_is_destroyed_without_a_step, 0, 2);
        tcase_add_loop_test(tcase, parameters_of_what_is_not_there_are_only_wanted, 0,
                            G_N_ELEMENTS(settings));
        tcase_add_test(tcase, what_is_not_there_gets_its_first_parameters_unless_it_is_a_whole_vf);
        tcase_add_test(tcase, parameters_that_are_so_already_become_wanted);
        tcase_add_loop_test(tcase, vfs_that_something_is_wanted_on_are_not_switched_off, 0, 2);
        tcase_add_loop_test(tcase, vfs_are_wanted_as_long_as_what_is_on_them, 0, G_N_ELEMENTS(lives));
        tcase_add_test(tcase, what_is_straight_on_the_card_needs_no_vfs);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
