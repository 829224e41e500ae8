/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "cards.h"
#include "keeping.h"
#include "simctl.h"

/* What others do to what was asked for: it is seen, said, and put right when somebody says so. The argument
 * is the host's name. */

#define A      "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B      "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"
#define CONFIG "/etc/carved/carved.conf"

static const Card *card;
static Client *client;
static char *path_of_a;

static bool is_host(const char *name) {
        return g_str_equal(card->host, name);
}

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

static const char *params(void) {
        return card->has_params ? "x=1" : NULL;
}

/* Whatever a test has left, the next one finds a host that carved was never run on. */
static void reset(void) {
        simctl_do("daemon", "stop");
        simctl_do("forget");
        simctl_do("plug", card->address);
        run("find /var/lib/carved /etc/carved -mindepth 1 -delete");
        ck_assert_int_eq(simctl_do("reboot"), 0);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
}

static void set_up(void) {
        g_autoptr(GVariant) done = NULL;

        reset();
        client = client_new();
        MUST(carve_enable(client, card, &text_));
        MUST(carve_create(client, card->path, card->type, A, params(), &text_));
        MUST(carve_create(client, card->path, card->more, B, NULL, &text_));
        path_of_a = carve_find(client, A);
        done = client_call(client, path_of_a, VGPU, "SetLabels", NULL, "a{ss}a{sv}", 1, "team", "ml", 0);
        await_gpu(client, card->path, "State", "ready");
        await_manager(client, "running");
        client_forget(client);
}

static void tear_down(void) {
        g_clear_pointer(&path_of_a, g_free);
        client = client_free(client);
}

/* ---- what others do ---- */

static char *address_of(const char *uuid) {
        g_autofree char *path = carve_find(client, uuid);

        return client_get_string(client, path, VGPU, "Address");
}

/* Vendor VFIO tells nobody. */
static void refresh(void) {
        ck_assert_ptr_null(call_plain(client, card->path, GPU, "Refresh"));
}

static void remove_by_hand(const char *uuid) {
        g_autofree char *address = address_of(uuid), *output = NULL;

        if (is_host("l40s"))
                output = shell("echo 0 >/sys/bus/pci/devices/%s/nvidia/current_vgpu_type", address);
        else if (is_host("plain"))
                output = shell("echo %s >/sys/bus/pci/drivers/vfio-pci/unbind", address);
        else
                output = shell("echo 1 >/sys/bus/mdev/devices/%s/remove", uuid);
}

static void vfs_off_by_hand(void) {
        if (is_host("plain"))
                run("echo 0 >/sys/bus/pci/devices/0000:05:00.0/sriov_numvfs");
        else {
                g_autofree char *output = shell("/usr/lib/nvidia/sriov-manage -d %s", card->address);
        }
        run("carved-simctl settle");
}

static void resync(void) {
        ck_assert_ptr_null(call_plain(client, card->path, GPU, "Resync"));
}

/* ---- what is seen of it ---- */

/* A VF that was taken from vfio-pci by hand still has its override. */
static unsigned count_there(void) {
        g_autofree char *text = NULL;

        if (!is_host("plain"))
                return host_count_vgpus();
        text = shell("ls /sys/bus/pci/drivers/vfio-pci | grep -c 0000: || true");
        return (unsigned) atoi(text);
}

static void assert_not_there(const char *uuid, const char *state) {
        g_autofree char *path = NULL, *parent = NULL, *expected = NULL, *row = NULL;

        await_vgpu(client, uuid, "State", state);
        path = carve_find(client, uuid);
        expected = g_strdup_printf("%s/vgpu/%s", card->path, uuid);
        g_strdelimit(expected + strlen(card->path), "-", '_');
        ck_assert_str_eq(path, expected);
        parent = client_get_string(client, path, VGPU, "Parent");
        ck_assert_str_eq(parent, card->path);
        await_gpu(client, card->path, "SyncState", "out-of-sync");
        await_manager(client, "degraded");
        row = stored_state(client, card->address);
        ck_assert_str_eq(row, g_str_equal(row, "lost") ? "lost" : "out-of-sync");
}

static void assert_a_is_whole(void) {
        g_autofree char *path = NULL, *label = NULL;

        await_vgpu(client, A, "State", "active");
        await_vgpu(client, A, "Params", params() ?: "");
        path = carve_find(client, A);
        ck_assert_str_eq(path, path_of_a);
        label = label_of(client, path, VGPU, "team");
        ck_assert_str_eq(label, "ml");
        await_gpu(client, card->path, "SyncState", "synced");
        await_manager(client, "running");
}

/* For as long as anything would take that goes on by itself. */
static void assert_stays(const char *uuid, const char *state) {
        client_settle(client, 300);
        ck_assert(client_wait(client, 60000, all_is_quiet, &(Quiet){ .any_gpu = true }));
        await_vgpu(client, uuid, "State", state);
}

/* ---- somebody removes one ---- */

START_TEST(what_somebody_removed_is_missing_until_resync_makes_it_again) {
        remove_by_hand(A);
        if (is_host("l40s"))
                refresh();
        assert_not_there(A, "missing");
        assert_stays(A, "missing");
        await_vgpu(client, B, "State", "active");
        ck_assert_uint_eq(count_there(), 1);

        resync();
        assert_a_is_whole();
        ck_assert_uint_eq(count_there(), 2);
}
END_TEST

START_TEST(resync_looks_before_it_says_that_all_is_well) {
        remove_by_hand(A);
        resync();
        assert_a_is_whole();
        ck_assert_uint_eq(count_there(), 2);
}
END_TEST

START_TEST(what_is_missing_can_be_withdrawn) {
        g_autofree char *path = NULL;

        remove_by_hand(A);
        refresh();
        await_vgpu(client, A, "State", "missing");
        MUST(carve_destroy(client, A, &text_));
        path = carve_find(client, A);
        ck_assert_ptr_null(path);
        await_gpu(client, card->path, "SyncState", "synced");
        resync();
        ck_assert_uint_eq(count_there(), 1);
}
END_TEST

START_TEST(our_own_destroying_is_no_drift) {
        for (unsigned i = 0; i < 4; i++) {
                MUST(carve_destroy(client, A, &text_));
                await_gpu(client, card->path, "SyncState", "synced");
                MUST(carve_create(client, card->path, card->type, A, NULL, &text_));
        }
        remove_by_hand(B);
        refresh();
        await_vgpu(client, B, "State", "missing");
        await_gpu(client, card->path, "SyncState", "out-of-sync"); /* the first, so not contested */
}
END_TEST

START_TEST(what_is_removed_three_times_is_contested) {
        static const char *const expected[] = { "out-of-sync", "out-of-sync", "contested" };
        g_autofree char *row = NULL;

        for (unsigned i = 0; i < G_N_ELEMENTS(expected); i++) {
                remove_by_hand(A);
                refresh();
                await_vgpu(client, A, "State", "missing");
                await_gpu(client, card->path, "SyncState", expected[i]);
                await_manager(client, "degraded");
                if (i == 2)
                        row = stored_state(client, card->address);
                resync();
                assert_a_is_whole();
        }
        ck_assert_str_eq(row, "contested");
}
END_TEST

/* ---- somebody switches VFs off ---- */

static unsigned finished_jobs(void) {
        client_settle(client, 200);
        return client_heard(client, "JobFinished", NULL, NULL);
}

START_TEST(vfs_switched_off_by_hand_stay_off_until_enable_brings_all_back_in_one_job) {
        if (card->vfs == 0)
                return;
        vfs_off_by_hand();
        assert_not_there(A, "defined");
        assert_not_there(B, "defined");
        assert_stays(A, "defined");
        ck_assert_uint_eq(client_count(client, "org.carved1.VirtualFunction"), 0);

        client_forget(client);
        MUST(carve_enable(client, card, &text_));
        ck_assert_uint_eq(count_there(), 2); /* when the reply is there */
        assert_a_is_whole();
        await_vgpu(client, B, "State", "active");
        ck_assert_uint_eq(finished_jobs(), 1);
}
END_TEST

START_TEST(vfs_switched_off_by_hand_are_no_deletions) {
        if (card->vfs == 0)
                return;
        for (unsigned i = 0; i < 4; i++) {
                vfs_off_by_hand();
                await_vgpu(client, A, "State", "defined");
                await_gpu(client, card->path, "SyncState", "out-of-sync");
                resync();
                assert_a_is_whole();
        }
}
END_TEST

/* ---- drivers and cards come and go ---- */

START_TEST(a_driver_loaded_anew_gets_everything_back) {
        if (is_host("plain"))
                return;
        ck_assert_int_eq(simctl_do("reload-driver", "away=500ms"), 0);
        ck_assert(client_wait(client, 60000, all_is_quiet, NULL));
        assert_a_is_whole();
        await_vgpu(client, B, "State", "active");
        ck_assert_uint_eq(count_there(), 2);
}
END_TEST

START_TEST(with_repair_off_a_driver_loaded_anew_gets_nothing_back_by_itself) {
        if (is_host("plain"))
                return;
        run("printf '[Manager]\\nRepair=no\\n' >" CONFIG);
        sim_restart(client);
        ck_assert_int_eq(simctl_do("reload-driver"), 0);
        run("carved-simctl settle");
        await_vgpu(client, A, "State", card->vfs > 0 ? "defined" : "missing");
        client_settle(client, 500);
        ck_assert_uint_eq(count_there(), 0);
        await_manager(client, "degraded");
        resync();
        assert_a_is_whole();
}
END_TEST

START_TEST(a_card_that_was_pulled_is_lost_and_comes_back_with_all) {
        ck_assert_int_eq(simctl_do("unplug", card->address), 0);
        await_gpu(client, card->path, "State", "lost");
        assert_not_there(A, "defined");
        assert_not_there(B, "defined");
        ASSERT_ERROR(carve_create(client, card->path, card->type, NULL, NULL, NULL), "UnknownMethod");
        ASSERT_ERROR(call_plain(client, card->path, GPU, "Resync"), "NoSuchGpu");

        ck_assert_int_eq(simctl_do("plug", card->address), 0);
        assert_a_is_whole();
        await_vgpu(client, B, "State", "active");
}
END_TEST

START_TEST(with_repair_off_a_card_that_comes_back_is_as_it_comes) {
        run("printf '[Manager]\\nRepair=no\\n' >" CONFIG);
        sim_restart(client);
        ck_assert_int_eq(simctl_do("unplug", card->address), 0);
        await_gpu(client, card->path, "State", "lost");
        ck_assert_int_eq(simctl_do("plug", card->address), 0);
        await_gpu(client, card->path, "State", "ready");
        assert_stays(A, "defined");
        ck_assert_uint_eq(count_there(), 0);
        resync();
        assert_a_is_whole();
}
END_TEST

/* ---- somebody changes one ---- */

START_TEST(params_that_others_changed_are_set_back_by_resync) {
        g_autofree char *output = NULL, *address = NULL;

        if (!card->has_params)
                return;
        address = address_of(A);
        output = *address ? shell("echo y=2 >/sys/bus/pci/devices/%s/nvidia/vgpu_params", address)
                          : shell("echo y=2 >/sys/bus/mdev/devices/" A "/nvidia/vgpu_params");
        refresh();
        await_vgpu(client, A, "Params", "y=2");
        await_vgpu(client, A, "State", "active");
        await_gpu(client, card->path, "SyncState", "out-of-sync");
        await_manager(client, "degraded");
        resync();
        assert_a_is_whole();
}
END_TEST

/* A VF that holds another's vGPU by now: ours is not moved, and his is not touched. */
START_TEST(what_cant_be_made_where_it_was_is_failed_and_not_moved) {
        g_autofree char *error = NULL, *path = NULL, *output = NULL;

        if (!is_host("a2"))
                return;
        remove_by_hand(A);
        await_vgpu(client, A, "State", "missing");
        output = shell("mdevctl start -u 00000000-0000-4000-8000-000000000001 -p 0000:08:00.4 -t nvidia-746");
        await_vgpu(client, "00000000-0000-4000-8000-000000000001", "Origin", "foreign");
        ASSERT_ERROR(call_plain(client, card->path, GPU, "Resync"), "Failed");
        await_vgpu(client, A, "State", "failed");
        path = carve_find(client, A);
        error = client_get_string(client, path, VGPU, "LastError");
        ck_assert_msg(strstr(error, "00000000-0000-4000-8000-000000000001"), "'%s'", error);
        await_vgpu(client, "00000000-0000-4000-8000-000000000001", "State", "active");
        g_free(output);
        output = shell("mdevctl stop -u 00000000-0000-4000-8000-000000000001");
        ck_assert(client_wait(client, 5000, object_is_gone,
                              GPU_A2 "/vf/0/vgpu/00000000_0000_4000_8000_000000000001"));
        resync();
        assert_a_is_whole();
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("drift");
        TCase *tcase = tcase_create("drift"), *last = tcase_create("last");

        card = card_find(argv[1]);
        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, what_somebody_removed_is_missing_until_resync_makes_it_again);
        tcase_add_test(tcase, resync_looks_before_it_says_that_all_is_well);
        tcase_add_test(tcase, what_is_missing_can_be_withdrawn);
        tcase_add_test(tcase, our_own_destroying_is_no_drift);
        tcase_add_test(tcase, what_is_removed_three_times_is_contested);
        tcase_add_test(tcase, vfs_switched_off_by_hand_stay_off_until_enable_brings_all_back_in_one_job);
        tcase_add_test(tcase, vfs_switched_off_by_hand_are_no_deletions);
        tcase_add_test(tcase, a_driver_loaded_anew_gets_everything_back);
        tcase_add_test(tcase, with_repair_off_a_driver_loaded_anew_gets_nothing_back_by_itself);
        tcase_add_test(tcase, a_card_that_was_pulled_is_lost_and_comes_back_with_all);
        tcase_add_test(tcase, with_repair_off_a_card_that_comes_back_is_as_it_comes);
        tcase_add_test(tcase, params_that_others_changed_are_set_back_by_resync);
        tcase_add_test(tcase, what_cant_be_made_where_it_was_is_failed_and_not_moved);
        suite_add_tcase(suite, tcase);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
