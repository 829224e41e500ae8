/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "error.h"
#include "mig-table.h"
#include "order.h"
#include "store.h"

/* Plans for cards that are cut, and how that is kept. */

#define GPU_NAME "GPU 0000:08:00.0"

static CarvedGpu *a100(uint32_t vfs, bool on) {
        CarvedGpu *gpu = nvidia(vfs);

        gpu->mig = mig_new(&mig_a100);
        gpu->mig->enabled = gpu->mig->pending = on;
        gpu->serial = g_strdup("1320");
        return gpu;
}

static CarvedOrder order_layout(const char *const *layout, bool replace) {
        return (CarvedOrder){ .kind = CARVED_ORDER_APPLY_LAYOUT,
                              .gpu = nvidia_at,
                              .vf_index = -1,
                              .layout = (GStrv) layout,
                              .replace = replace,
                              .compute = true };
}

static CarvedOrder order_mode(bool on) {
        return (CarvedOrder){ .kind = CARVED_ORDER_SET_MIG, .gpu = nvidia_at, .vf_index = -1, .count = on };
}

/* MIG, VFs, and a 3g and a 1g. */
static CarvedIntent *wanted(int32_t vfs) {
        CarvedIntent *intent = intent_new(&nvidia_at, vfs);
        CarvedWantedInstance large = { 9, "3g.20gb", { 4, 4 }, true },
                             small = { 19, "1g.5gb", { 0, 1 }, true };

        intent->mig = 1;
        intent->layout = g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));
        g_array_append_val(intent->layout, small);
        g_array_append_val(intent->layout, large);
        return intent;
}

static void cut_as_wanted(CarvedGpu *gpu) {
        mig_cut(gpu->mig, "3g.20gb", 4)->has_compute = true;
        mig_cut(gpu->mig, "1g.5gb", 0)->has_compute = true;
}

START_TEST(a_layout_goes_where_it_fits) {
        g_autoptr(CarvedModel) model = host(a100(0, true));
        static const char *const layout[] = { "1g.5gb", "1", "3g.20gb", "1", NULL };

        expect_plan(model, order_layout(layout, false),
                    "Create GPU instance 3g.20gb at 4:4 of " GPU_NAME ", with a compute instance\n"
                    "Create GPU instance 1g.5gb at 0:1 of " GPU_NAME ", with a compute instance");
        expect_inverse(model, order_layout(layout, false),
                       "Destroy GPU instance 1g.5gb at 0:1 of " GPU_NAME "\n"
                       "Destroy GPU instance 3g.20gb at 4:4 of " GPU_NAME);
}
END_TEST

START_TEST(a_card_with_mig_off_is_not_cut) {
        g_autoptr(CarvedModel) model = host(a100(0, false));
        static const char *const layout[] = { "1g.5gb", "1", NULL };

        refuse_plan(model, order_layout(layout, false), CARVED_ERROR_NOT_READY,
                    "MIG of " GPU_NAME " is off: SetMode switches it on");
        expect_plan(model, order_mode(true), "Switch MIG of " GPU_NAME " on");
        expect_inverse(model, order_mode(true), "Switch MIG of " GPU_NAME " off");
        expect_plan(model, order_mode(false), "");
}
END_TEST

START_TEST(empty_vfs_go_for_a_while_when_mig_is_switched_on) {
        g_autoptr(CarvedModel) model = host(a100(4, false));

        expect_plan(model, order_mode(true),
                    "Run sriov-manage -d 0000:08:00.0: no VFs\n"
                    "Wait until the VFs of " GPU_NAME " are gone\n"
                    "Switch MIG of " GPU_NAME " on\n"
                    "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"
                    "Wait for 4 VFs of " GPU_NAME ", their drivers and vGPU types");
}
END_TEST

#define LOSS ", which switching VFs would lose: it is made again"

START_TEST(a_switch_of_vfs_says_what_it_loses_and_makes_it_again) {
        CarvedGpu *gpu = a100(0, true);
        g_autoptr(CarvedModel) model = NULL;

        cut_as_wanted(gpu);
        model = host(gpu);
        refuse_plan(model, order_enable(&nvidia_at, 0), CARVED_ERROR_CONFLICT,
                    GPU_NAME " has GPU instances that carved did not make, and switching VFs loses them: 1 "
                             "(3g.20gb at 4:4), 2 (1g.5gb at 0:1); Adopt or Clear them first");
        store(model, &nvidia_at, wanted(-1));
        expect_plan(model, order_enable(&nvidia_at, 0),
                    "Destroy GPU instance 3g.20gb at 4:4 of " GPU_NAME LOSS "\n"
                    "Destroy GPU instance 1g.5gb at 0:1 of " GPU_NAME LOSS "\n"
                    "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"
                    "Wait for 4 VFs of " GPU_NAME ", their drivers and vGPU types\n"
                    "Create GPU instance 1g.5gb at 0:1 of " GPU_NAME ", with a compute instance\n"
                    "Create GPU instance 3g.20gb at 4:4 of " GPU_NAME ", with a compute instance");
        expect_inverse(model, order_enable(&nvidia_at, 0),
                       "Destroy GPU instance 3g.20gb at 4:4 of " GPU_NAME "\n"
                       "Destroy GPU instance 1g.5gb at 0:1 of " GPU_NAME "\n"
                       "Run sriov-manage -d 0000:08:00.0: no VFs\n"
                       "Create GPU instance 1g.5gb at 0:1 of " GPU_NAME ", with a compute instance\n"
                       "Create GPU instance 3g.20gb at 4:4 of " GPU_NAME ", with a compute instance");
}
END_TEST

START_TEST(after_a_reboot_all_comes_in_its_order) {
        static const char rest[] =
                "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"
                "Wait for 4 VFs of " GPU_NAME ", their drivers and vGPU types\n"
                "Create GPU instance 1g.5gb at 0:1 of " GPU_NAME ", with a compute instance\n"
                "Create GPU instance 3g.20gb at 4:4 of " GPU_NAME ", with a compute instance";
        g_autofree char *hopper = g_strconcat("Switch MIG of " GPU_NAME " on\n", rest, NULL);
        g_autoptr(CarvedModel) kept = host(a100(0, true)), lost = host(a100(0, false)), blind = NULL;
        CarvedGpu *unknown = a100(0, true);

        store(kept, &nvidia_at, wanted(4));
        expect_plan(kept, order_restore(&nvidia_at), rest);
        store(lost, &nvidia_at, wanted(4));
        expect_plan(lost, order_restore(&nvidia_at), hopper);

        /* Nobody tells how it is cut: it is not carved otherwise than it is wanted meanwhile. */
        g_clear_pointer(&unknown->mig, carved_mig_free);
        unknown->nvml_error = g_strdup("it is gone");
        blind = host(unknown);
        store(blind, &nvidia_at, wanted(4));
        refuse_plan(blind, order_restore(&nvidia_at), CARVED_ERROR_NOT_READY,
                    "MIG is wanted, and nobody tells how the card is cut: it is gone");
}
END_TEST

START_TEST(only_resync_takes_away_what_others_cut) {
        CarvedGpu *gpu = a100(4, true);
        CarvedOrder resync = order_restore(&nvidia_at);
        g_autoptr(CarvedModel) model = NULL;

        mig_cut(gpu->mig, "1g.5gb", 0);
        mig_cut(gpu->mig, "2g.10gb", 4);
        model = host(gpu);
        store(model, &nvidia_at, wanted(4));
        expect_plan(model, order_restore(&nvidia_at),
                    "Create GPU instance 3g.20gb at 4:4 of " GPU_NAME ", with a compute instance");
        resync.kind = CARVED_ORDER_RESYNC;
        expect_plan(model, resync,
                    "Destroy GPU instance 2g.10gb at 4:2 of " GPU_NAME "\n"
                    "Create GPU instance 3g.20gb at 4:4 of " GPU_NAME ", with a compute instance");
}
END_TEST

/* ---- how it is kept ---- */

START_TEST(what_is_wanted_of_a_cut_card_survives_the_disk) {
        g_autoptr(CarvedIntent) intent = wanted(4), read = carved_intent_new();
        g_autofree char *text = NULL;
        const CarvedWantedInstance *first;

        intent->serial = g_strdup("1320");
        intent->gpu_uuid = g_strdup("GPU-1");
        intent->mixed_size = 0;
        text = carved_store_format_intent(intent, false);
        ck_assert(carved_store_parse_intent(text, false, read, NULL));
        ck_assert_int_eq(read->mig, 1);
        ck_assert_int_eq(read->mixed_size, 0);
        ck_assert_str_eq(read->serial, "1320");
        ck_assert_str_eq(read->gpu_uuid, "GPU-1");
        ck_assert_uint_eq(read->layout->len, 2);
        first = &g_array_index(read->layout, CarvedWantedInstance, 0);
        ck_assert_uint_eq(first->profile, 19);
        ck_assert_str_eq(first->name, "1g.5gb");
        ck_assert(first->placement.start == 0 && first->placement.size == 1 && first->compute);
}
END_TEST

START_TEST(an_instance_without_a_place_is_unreadable) {
        g_autoptr(CarvedIntent) read = carved_intent_new();
        g_autoptr(GError) error = NULL;

        ck_assert(!carved_store_parse_intent(
                "{\"format\":1,\"identity\":{\"vendor\":\"10de\",\"device\":\"20b0\",\"subsystem-vendor\":"
                "\"10de\","
                "\"subsystem-device\":\"0000\",\"address\":\"0000:08:00.0\"},\"generation\":1,"
                "\"intent\":{\"mig-layout\":[{\"profile\":9,\"start\":4}]}}",
                false, read, &error));
        ck_assert_str_eq(error->message,
                         "intent.mig-layout[0].size: missing: an instance has a profile and a place");
}
END_TEST

START_TEST(a_card_with_another_serial_number_is_another_card) {
        CarvedGpu *gpu = a100(0, true);
        CarvedIntent *intent = wanted(4), *unknown = wanted(4);
        g_autoptr(CarvedModel) model = host(gpu);

        intent->serial = g_strdup("1999");
        store(model, &nvidia_at, intent);
        ck_assert(carved_model_find_gpu(model, &nvidia_at)->mismatch);
        store(model, &nvidia_at, unknown); /* one side does not know */
        ck_assert(!carved_model_find_gpu(model, &nvidia_at)->mismatch);
}
END_TEST

START_TEST(what_was_half_cut_is_destroyed_at_the_next_start) {
        CarvedGpu *gpu = a100(0, true);
        CarvedIntent *intent = intent_new(&nvidia_at, -1);
        CarvedWantedInstance made = { 9, "", { 4, 4 }, true };
        CarvedOrder settle = order_restore(&nvidia_at);
        g_autoptr(CarvedModel) model = NULL;

        cut_as_wanted(gpu);
        model = host(gpu);
        intent->leftover_instances = g_array_new(FALSE, FALSE, sizeof made);
        g_array_append_val(intent->leftover_instances, made);
        intent->leftover_mig = 0;
        store(model, &nvidia_at, intent);
        settle.settle = true;
        expect_plan(model, settle,
                    "Destroy GPU instance 3g.20gb at 4:4 of " GPU_NAME "\nSwitch MIG of " GPU_NAME " off");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("plan-mig");
        TCase *tcase = tcase_create("plan-mig");

        tcase_add_test(tcase, a_layout_goes_where_it_fits);
        tcase_add_test(tcase, a_card_with_mig_off_is_not_cut);
        tcase_add_test(tcase, empty_vfs_go_for_a_while_when_mig_is_switched_on);
        tcase_add_test(tcase, a_switch_of_vfs_says_what_it_loses_and_makes_it_again);
        tcase_add_test(tcase, after_a_reboot_all_comes_in_its_order);
        tcase_add_test(tcase, only_resync_takes_away_what_others_cut);
        tcase_add_test(tcase, what_is_wanted_of_a_cut_card_survives_the_disk);
        tcase_add_test(tcase, an_instance_without_a_place_is_unreadable);
        tcase_add_test(tcase, a_card_with_another_serial_number_is_another_card);
        tcase_add_test(tcase, what_was_half_cut_is_destroyed_at_the_next_start);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
