/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "cutting.h"
#include "simctl.h"

/* Cards that are cut: modes, layouts, GPU instances, vGPUs on them, and what is left of it all after a
 * reboot. The argument is the host's name: a100 keeps its mode over a reboot, h100 does not. */

#define A "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"

static const Cut *cut;
static const Card *card;
static Client *client;

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

/* A host that carved was never run on, and whose card was never cut. */
static void set_up(void) {
        simctl_do("daemon", "stop");
        simctl_do("forget");
        run("find /var/lib/carved -mindepth 1 -delete");
        simctl_do("reboot");
        /* A worker of the one that was stopped may be in a look. */
        run("timeout 20 bash -c 'while test -n \"$(carved-simctl nvml)\"; do sleep 0.05; done'");
        host_uncut(card->address); /* Ampere keeps its mode */
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

/* "3g.20gb 1 2g.10gb 1 1g.5gb 2", in the words of this card. */
static const char *mixed_layout(void) {
        static char text[128];

        g_snprintf(text, sizeof text, "%s 1 %s 1 %s 2", cut->three, cut->two, cut->one);
        return text;
}

static const char *mixed_cut(void) {
        static char text[128];

        g_snprintf(text, sizeof text, "%s@0:2 %s@2:1 %s@3:1 %s@4:4", cut->two, cut->one, cut->one,
                   cut->three);
        return text;
}

static void assert_cut(const char *expected) {
        g_autofree char *shown = cut_shown(client, card->path);

        ck_assert_str_eq(shown, expected);
}

static void cut_mixed_layout(void) {
        MUST(cut_mode(client, card->path, true, &text_));
        MUST(cut_apply(client, card->path, mixed_layout(), "", &text_));
        assert_cut(mixed_cut());
}

static void must_call(const char *member) {
        const char *error = call_plain(client, card->path, GPU, member);

        ck_assert_msg(!error, "%s: %s", member, error);
}

static void refuse(const char *error, char *text, const char *expected_error, const char *pattern) {
        g_autofree char *said = text;

        ASSERT_ERROR(error, expected_error);
        ck_assert_msg(g_pattern_match_simple(pattern, said), "'%s' is not '%s'", said, pattern);
}

static void assert_sync(const char *state) {
        g_autofree char *shown = client_get_string(client, card->path, MIG, "SyncState");

        ck_assert_str_eq(shown, state);
}

#define REFUSE(call, error, pattern)                                                                         \
        do {                                                                                                 \
                char *text_ = NULL;                                                                          \
                const char *error_ = call;                                                                   \
                refuse(error_, text_, error, pattern);                                                       \
        } while (0)

/* ---- the mode ---- */

START_TEST(mig_is_switched_on_and_off) {
        g_autofree char *on = NULL, *off = NULL;

        assert_sync("disabled");
        MUST(cut_mode(client, card->path, true, &text_));
        ck_assert(cut_flag(client, card->path, MIG, "Enabled"));
        ck_assert(!cut_flag(client, card->path, MIG, "ResetRequired"));
        assert_sync("synced");
        on = host_cuts();
        ck_assert_ptr_nonnull(strstr(on, ".0 1 1"));
        MUST(cut_mode(client, card->path, true, &text_)); /* as it is */

        MUST(cut_mode(client, card->path, false, &text_));
        off = host_cuts();
        ck_assert_ptr_nonnull(strstr(off, ".0 0 0"));
        assert_sync("disabled");
}
END_TEST

START_TEST(a_card_that_somebody_has_open_keeps_its_mode_and_nothing_is_pending) {
        g_autofree char *before = host_cuts(), *after = NULL;

        ck_assert_int_eq(simctl_do("hold", card->address), 0);
        REFUSE(cut_mode(client, card->path, true, &text_), "InUse", "MIG of GPU * can't be switched on: *");
        ck_assert_int_eq(simctl_do("release", card->address), 0);
        after = host_cuts();
        ck_assert_str_eq(before, after);
        ck_assert(!cut_flag(client, card->path, MIG, "Pending"));
        await_gpu(client, card->path, "SyncState", "unmanaged");
}
END_TEST

START_TEST(a_mode_that_needs_a_reset_is_pending_until_then) {
        ck_assert_int_eq(simctl_do("fail", "nvml/activationStatus", "RESET_REQUIRED"), 0);
        MUST(cut_mode(client, card->path, true, &text_));
        ck_assert(!cut_flag(client, card->path, MIG, "Enabled"));
        ck_assert(cut_flag(client, card->path, MIG, "Pending"));
        ck_assert(cut_flag(client, card->path, MIG, "ResetRequired"));
        assert_sync("out-of-sync");
        await(client, card->path, MIG, "LastError",
              "It takes effect when the card is reset, or the host rebooted");
        REFUSE(cut_apply(client, card->path, mixed_layout(), "", &text_), "NotReady",
               "MIG of GPU * is not on yet: the card needs a reset");

        ck_assert_int_eq(simctl_do("reset", card->address), 0);
        must_call("Refresh");
        await(client, card->path, MIG, "SyncState", "synced");
        ck_assert(cut_flag(client, card->path, MIG, "Enabled"));
        ck_assert(!cut_flag(client, card->path, MIG, "ResetRequired"));
}
END_TEST

START_TEST(the_mode_stays_while_something_is_on_the_card) {
        cut_mixed_layout();
        REFUSE(cut_mode(client, card->path, false, &text_), "Conflict",
               "MIG of GPU * can't be switched off while it has GPU instances: * Clear destroys them");
        MUST(carve_enable(client, card, &text_));
        REFUSE(cut_mode(client, card->path, false, &text_), "Conflict",
               "MIG of GPU * can't be switched off while its VFs are on: DisableVfs first");
        MUST(carve_disable(client, card, false, &text_));
        MUST(cut_clear(client, card->path, &text_));
        MUST(cut_mode(client, card->path, false, &text_));
}
END_TEST

START_TEST(without_mig_the_card_is_time_sliced) {
        MUST(carve_enable(client, card, &text_));
        ck_assert(!cut_flag(client, card->path, MIG, "Enabled")); /* VFs alone never switch it on */
        MUST(carve_create(client, card->path, cut->sliced, A, NULL, &text_));
        REFUSE(carve_create(client, card->path, cut->type_one, B, NULL, &text_), "TypeNotAvailable",
               "* can't be had on GPU *: it needs a GPU instance *, and MIG is off");
        REFUSE(cut_mode(client, card->path, true, &text_), "Conflict",
               "MIG of GPU * can't be switched while it has vGPUs: " A);
        MUST(carve_destroy(client, A, &text_));

        MUST(cut_mode(client, card->path, true, &text_)); /* the VFs are empty, so they may go for a while */
        ck_assert_uint_eq(client_count(client, "org.carved1.VirtualFunction"), card->vfs);
        REFUSE(carve_create(client, card->path, cut->sliced, A, NULL, &text_), "TypeNotAvailable",
               "* can't be had on GPU *: MIG is on, and *");
}
END_TEST

/* ---- layouts ---- */

/* All orders of four words. */
START_TEST(a_layout_is_the_same_in_whichever_order_it_is_asked_for) {
        const char *words[] = { cut->three, cut->two, cut->one };
        static const unsigned orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                              { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

        MUST(cut_mode(client, card->path, true, &text_));
        for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
                g_autofree char *layout =
                        g_strdup_printf("%s %u %s %u %s %u", words[orders[i][0]], orders[i][0] == 2 ? 2 : 1,
                                        words[orders[i][1]], orders[i][1] == 2 ? 2 : 1, words[orders[i][2]],
                                        orders[i][2] == 2 ? 2 : 1);

                MUST(cut_apply(client, card->path, layout, "", &text_));
                assert_cut(mixed_cut());
                MUST(cut_clear(client, card->path, &text_));
                assert_cut("");
        }
}
END_TEST

START_TEST(what_does_not_fit_is_refused_before_anything_is_touched) {
        g_autofree char *before = NULL, *after = NULL, *layout = g_strdup_printf("%s 3", cut->three);

        cut_mixed_layout();
        before = host_cuts();
        for (unsigned i = 0; i < 2; i++)
                REFUSE(cut_apply(client, card->path, layout, i ? "dry-run replace" : "replace", &text_),
                       "NoCapacity",
                       "The card can't be cut into 3 × *: the card takes at most 2 of *, not 3; the nearest "
                       "that "
                       "fits is 2 × *");
        REFUSE(cut_apply(client, card->path, "5g.99gb 1", "replace", &text_), "NoSuchType",
               "There is no MIG profile '5g.99gb'; there are *");
        REFUSE(cut_apply(client, card->path, layout, "", &text_), "Conflict",
               "GPU * has GPU instances: *; option replace replaces them");
        after = host_cuts();
        ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(an_instance_that_fails_takes_those_before_it_with_it) {
        g_autofree char *before = NULL, *after = NULL;

        MUST(cut_mode(client, card->path, true, &text_));
        before = host_cuts();
        ck_assert_int_eq(
                simctl_do("fail", "nvml/nvmlDeviceCreateGpuInstanceWithPlacement", "UNKNOWN", "nth=3"), 0);
        REFUSE(cut_apply(client, card->path, mixed_layout(), "", &text_), "KernelRefused",
               "GPU instance * can't be created: NVIDIA's driver refused * (999)");
        after = host_cuts();
        ck_assert_str_eq(before, after);
        assert_cut("");
        assert_sync("synced");
        MUST(cut_apply(client, card->path, mixed_layout(), "", &text_));
}
END_TEST

START_TEST(a_replacement_touches_as_little_as_it_can) {
        g_autofree char *layout = g_strdup_printf("%s 1 %s 4", cut->three, cut->one);
        g_autofree char *expected = g_strdup_printf("%s@0:1 %s@1:1 %s@2:1 %s@3:1 %s@4:4", cut->one, cut->one,
                                                    cut->one, cut->one, cut->three);
        int kept;

        cut_mixed_layout();
        kept = cut_instance_at(client, card->path, 4);
        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        MUST(cut_apply(client, card->path, layout, "replace", &text_));
        assert_cut(expected);
        ck_assert_int_eq(cut_instance_at(client, card->path, 4), kept);
        run("test $(carved-simctl log | grep -c 'nvml nvmlGpuInstanceDestroy.*SUCCESS') = 1");
        run("test $(carved-simctl log | grep -c 'nvml nvmlDeviceCreateGpuInstanceWithPlacement.*SUCCESS') = "
            "2");
        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        MUST(cut_apply(client, card->path, layout, "", &text_)); /* it is so already */
        run("! carved-simctl log | grep -q nvmlDeviceCreate");
}
END_TEST

START_TEST(compute_instances_come_with_it_or_not) {
        g_autofree char *layout = g_strdup_printf("%s 1", cut->three), *path = NULL;
        g_autoptr(GVariant) with = NULL, without = NULL;

        MUST(cut_mode(client, card->path, true, &text_));
        MUST(cut_apply(client, card->path, layout, "", &text_));
        path = g_strdup_printf("%s/mig/%d", card->path, cut_instance_at(client, card->path, 4));
        with = client_get(client, path, INSTANCE, "Uuids");
        ck_assert_uint_eq(g_variant_n_children(with), 1);
        MUST(cut_clear(client, card->path, &text_));
        MUST(cut_apply(client, card->path, layout, "bare", &text_));
        without = client_get(client, path, INSTANCE, "Uuids");
        ck_assert_uint_eq(g_variant_n_children(without), 0);
}
END_TEST

START_TEST(one_instance_can_be_destroyed_and_stays_so) {
        g_autofree char *left = g_strdup_printf("%s@0:2 %s@3:1 %s@4:4", cut->two, cut->one, cut->three);

        cut_mixed_layout();
        MUST(cut_destroy(client, card->path, (unsigned) cut_instance_at(client, card->path, 2), &text_));
        assert_cut(left);
        assert_sync("synced");
        MUST(carve_enable(client, card, &text_));
        assert_cut(left);
}
END_TEST

/* ---- VFs ---- */

START_TEST(a_switch_of_vfs_loses_instances_and_makes_them_again) {
        g_autofree char *before = NULL, *after = NULL;

        cut_mixed_layout();
        before = host_cuts();
        MUST(carve_enable(client, card, &text_));
        assert_cut(mixed_cut());
        assert_sync("synced");
        MUST(carve_disable(client, card, false, &text_));
        after = host_cuts();
        ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(a_switch_that_fails_leaves_the_instances) {
        g_autofree char *before = NULL, *after = NULL;

        cut_mixed_layout();
        before = host_cuts();
        ck_assert_int_eq(simctl_do("fail", "*/sriov_numvfs", "EIO"), 0);
        ck_assert_ptr_nonnull(carve_enable(client, card, NULL));
        after = host_cuts();
        ck_assert_str_eq(before, after);
        assert_sync("synced");
}
END_TEST

START_TEST(a_switch_does_not_lose_what_others_cut) {
        MUST(cut_mode(client, card->path, true, &text_));
        host_make(card->address, cut->three, 0);
        REFUSE(carve_enable(client, card, &text_), "Conflict",
               "GPU * has GPU instances that carved did not make, and switching VFs loses them: *; Adopt or "
               "Clear them first");
        MUST(carve_adopt(client, card, &text_));
        MUST(carve_enable(client, card, &text_));
        ck_assert_int_ge(cut_instance_at(client, card->path, 0), 0);
}
END_TEST

/* ---- vGPUs on instances ---- */

START_TEST(types_follow_free_instances) {
        g_autofree char *reason = NULL, *path = NULL, *instance = NULL;
        g_autoptr(GVariant) vgpus = NULL, number = NULL, types = NULL;

        MUST(cut_mode(client, card->path, true, &text_));
        MUST(carve_enable(client, card, &text_));
        reason = gpu_reason(client, card->path);
        ck_assert_str_eq(reason, "no-gpu-instance");
        REFUSE(carve_create(client, card->path, cut->type_three, A, NULL, &text_), "TypeNotAvailable",
               "* can't be had on GPU *: it needs a free GPU instance *, and there is none");
        MUST(cut_apply(client, card->path, mixed_layout(), "", &text_));
        types = client_get(client, card->path, "org.carved1.VgpuHost", "CreatableTypes");
        ck_assert_uint_eq(g_variant_n_children(types), 3);

        MUST(carve_create(client, card->path, cut->type_three, A, NULL, &text_));
        REFUSE(carve_create(client, card->path, cut->type_three, B, NULL, &text_), "TypeNotAvailable",
               "* can't be had on GPU *: it needs a free GPU instance *, and there is none");
        path = carve_find(client, A);
        number = client_get(client, path, VGPU, "GpuInstance");
        ck_assert_int_eq(g_variant_get_int32(number), cut_instance_at(client, card->path, 4));
        instance = g_strdup_printf("%s/mig/%d", card->path, g_variant_get_int32(number));
        vgpus = client_get(client, instance, INSTANCE, "Vgpus");
        ck_assert_uint_eq(g_variant_n_children(vgpus), 1);
        MUST(carve_destroy(client, A, &text_));
        MUST(carve_create(client, card->path, cut->type_three, B, NULL, &text_));
}
END_TEST

START_TEST(an_instance_that_holds_a_vgpu_stays) {
        g_autofree char *before = NULL, *after = NULL, *other = g_strdup_printf("%s 1", cut->two);
        g_autofree char *around = g_strdup_printf("%s 1 %s 1", cut->three, cut->one);

        cut_mixed_layout();
        MUST(carve_enable(client, card, &text_));
        MUST(carve_create(client, card->path, cut->type_three, A, NULL, &text_));
        before = host_cuts();
        REFUSE(cut_destroy(client, card->path, (unsigned) cut_instance_at(client, card->path, 4), &text_),
               "InUse", "GPU instance * holds vGPU " A ": it can't be destroyed before that is");
        REFUSE(cut_clear(client, card->path, &text_), "InUse", "GPU instance * holds vGPU " A "*");
        REFUSE(cut_apply(client, card->path, other, "replace", &text_), "InUse",
               "GPU instance * is in use, and not part of what is asked for");
        after = host_cuts();
        ck_assert_str_eq(before, after);

        MUST(cut_apply(client, card->path, around, "replace", &text_));
        await_vgpu(client, A, "State", "active");
}
END_TEST

/* ---- others, and reboots ---- */

START_TEST(what_others_destroy_is_seen_and_can_be_repaired) {
        cut_mixed_layout();
        host_drop(card->address, 4);
        must_call("Refresh");
        assert_sync("out-of-sync");
        await_gpu(client, card->path, "SyncState", "out-of-sync");
        host_make(card->address, cut->two, 4); /* and something else is there instead */
        must_call("Resync");
        assert_cut(mixed_cut());
        await_gpu(client, card->path, "SyncState", "synced");

        host_drop(card->address, 4);
        MUST(carve_adopt(client, card, &text_));
        assert_sync("synced");
        await_gpu(client, card->path, "SyncState", "synced");
}
END_TEST

START_TEST(all_of_it_is_back_after_a_reboot) {
        g_autofree char *before = NULL, *after = NULL;
        g_autoptr(GPtrArray) then = NULL, now = NULL;

        cut_mixed_layout();
        MUST(carve_enable(client, card, &text_));
        MUST(carve_create(client, card->path, cut->type_three, A, NULL, &text_));
        MUST(carve_create(client, card->path, cut->type_one, B, NULL, &text_));
        before = host_cuts();
        then = describe_vgpus(client);
        sim_reboot(client);
        await_gpu(client, card->path, "SyncState", "synced");
        await(client, card->path, MIG, "SyncState", "synced");
        after = host_cuts();
        ck_assert_str_eq(before, after);
        now = describe_vgpus(client);
        ck_assert_uint_eq(now->len, then->len);
        for (unsigned i = 0; i < now->len; i++)
                ck_assert_str_eq(now->pdata[i], then->pdata[i]);
        await_manager(client, "running");
}
END_TEST

START_TEST(a_restart_of_carved_changes_nothing) {
        g_autofree char *before = NULL, *after = NULL;

        cut_mixed_layout();
        MUST(carve_enable(client, card, &text_));
        MUST(carve_create(client, card->path, cut->type_three, A, NULL, &text_));
        before = host_cuts();
        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        sim_restart(client);
        await_gpu(client, card->path, "SyncState", "synced");
        run("! carved-simctl log | grep -E 'nvml nvml[A-Za-z]*(Create|Destroy|Set)'");
        after = host_cuts();
        ck_assert_str_eq(before, after);
}
END_TEST

/* ---- mixed sizes ---- */

START_TEST(vgpus_of_several_sizes_need_it_to_be_switched_on) {
        REFUSE(cut_mixed(client, card->path, true, &text_), "Conflict",
               "Mixed sizes of GPU * can't be switched while its VFs are off: *");
        MUST(carve_enable(client, card, &text_));
        MUST(cut_mixed(client, card->path, true, &text_));
        ck_assert(cut_flag(client, card->path, MIXED, "Enabled"));
        MUST(carve_create(client, card->path, cut->sliced, A, NULL, &text_));
        MUST(carve_create(client, card->path, g_str_equal(card->host, "a100") ? "A100-5C" : "H100-10C", B,
                          NULL, &text_));
        REFUSE(cut_mixed(client, card->path, false, &text_), "Conflict",
               "Mixed sizes of GPU * can't be switched while it has vGPUs: *");
        MUST(carve_destroy(client, A, &text_));
        MUST(carve_call(client, card->path, "org.carved1.VgpuHost", "CreateVgpu", &text_, "sa{sv}",
                        cut->sliced, 2, "uuid", "s", A, "placement-id", "u", 20));
        await_vgpu(client, A, "Params", "vgpu-placement-id=20");

        sim_reboot(client);
        await_gpu(client, card->path, "SyncState", "synced");
        ck_assert(cut_flag(client, card->path, MIXED, "Enabled"));
        await_vgpu(client, B, "State", "active");
        MUST(carve_disable(client, card, true, &text_));
        ck_assert(!cut_flag(client, card->path, MIXED, "Enabled"));
        await_gpu(client, card->path, "SyncState", "unmanaged");
}
END_TEST

/* ---- the library ---- */

START_TEST(nobody_has_the_library_open_while_nothing_is_done) {
        g_autofree char *open = NULL;

        cut_mixed_layout();
        client_settle(client, 200);
        open = shell("carved-simctl nvml");
        ck_assert_str_eq(open, "");
}
END_TEST

START_TEST(a_library_that_crashes_costs_a_look_and_no_more) {
        MUST(cut_mode(client, card->path, true, &text_));
        ck_assert_int_eq(simctl_do("fail", "nvml/nvmlDeviceGetMigMode", "crash", "always"), 0);
        must_call("Refresh");
        await_gpu(client, card->path, "LastError",
                  "NVIDIA's library could not be asked: It crashed: Segmentation fault");
        ck_assert_ptr_null(client_get(client, card->path, MIG, "Enabled"));
        await_gpu(client, card->path, "State", "ready");
        MUST(carve_enable(client, card, &text_));
        simctl_do("forget");
        must_call("Refresh");
        await_gpu(client, card->path, "LastError", "");
        ck_assert(cut_flag(client, card->path, MIG, "Enabled"));
}
END_TEST

START_TEST(a_library_that_crashes_in_a_step_costs_the_step) {
        g_autofree char *before = NULL, *after = NULL;

        MUST(cut_mode(client, card->path, true, &text_));
        before = host_cuts();
        ck_assert_int_eq(
                simctl_do("fail", "nvml/nvmlDeviceCreateGpuInstanceWithPlacement", "crash-after", "nth=2"),
                0);
        ck_assert_ptr_nonnull(cut_apply(client, card->path, mixed_layout(), "", NULL));
        after = host_cuts();
        ck_assert_str_eq(before, after);
        MUST(cut_apply(client, card->path, mixed_layout(), "", &text_));
}
END_TEST

/* Where the two differ: in how long a mode lasts, and in the framework. */
static void add_both(TCase *tcase) {
        tcase_add_test(tcase, mig_is_switched_on_and_off);
        tcase_add_test(tcase, a_card_that_somebody_has_open_keeps_its_mode_and_nothing_is_pending);
        tcase_add_test(tcase, a_mode_that_needs_a_reset_is_pending_until_then);
        tcase_add_test(tcase, without_mig_the_card_is_time_sliced);
        tcase_add_test(tcase, a_switch_of_vfs_loses_instances_and_makes_them_again);
        tcase_add_test(tcase, types_follow_free_instances);
        tcase_add_test(tcase, all_of_it_is_back_after_a_reboot);
}

static void add_rest(TCase *tcase) {
        tcase_add_test(tcase, the_mode_stays_while_something_is_on_the_card);
        tcase_add_test(tcase, a_layout_is_the_same_in_whichever_order_it_is_asked_for);
        tcase_add_test(tcase, what_does_not_fit_is_refused_before_anything_is_touched);
        tcase_add_test(tcase, an_instance_that_fails_takes_those_before_it_with_it);
        tcase_add_test(tcase, a_replacement_touches_as_little_as_it_can);
        tcase_add_test(tcase, compute_instances_come_with_it_or_not);
        tcase_add_test(tcase, one_instance_can_be_destroyed_and_stays_so);
        tcase_add_test(tcase, a_switch_that_fails_leaves_the_instances);
        tcase_add_test(tcase, a_switch_does_not_lose_what_others_cut);
        tcase_add_test(tcase, an_instance_that_holds_a_vgpu_stays);
        tcase_add_test(tcase, what_others_destroy_is_seen_and_can_be_repaired);
        tcase_add_test(tcase, a_restart_of_carved_changes_nothing);
        tcase_add_test(tcase, vgpus_of_several_sizes_need_it_to_be_switched_on);
        tcase_add_test(tcase, nobody_has_the_library_open_while_nothing_is_done);
        tcase_add_test(tcase, a_library_that_crashes_costs_a_look_and_no_more);
        tcase_add_test(tcase, a_library_that_crashes_in_a_step_costs_the_step);
}

int main(int argc, char **argv) {
        Suite *suite = suite_create("mig");
        TCase *tcase = tcase_create("mig");

        cut = cut_find(argv[1]);
        card = &cut->card;
        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        add_both(tcase);
        if (argc > 2 || g_str_equal(argv[1], "h100")) /* the code is the same */
                add_rest(tcase);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
