/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "cutting.h"
#include "simctl.h"

/* A card is known by its serial number and its UUID, where the driver tells: in another slot it is the same,
 * and another of its model in its slot is not. On host h100. */

#define A     "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define OLD   "0000:19:00.0"
#define NEW   "0000:1b:00.0"
#define THERE "/org/carved1/gpu/0000_1b_00_0"

static const Cut *cut;
static Client *client;

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

static void set_up(void) {
        simctl_do("daemon", "stop");
        simctl_do("unplug", NEW);
        simctl_do("unplug", OLD);
        /* Back from where the last test left it. */
        ck_assert(simctl_do("plug", OLD, "from=" NEW) == 0 || simctl_do("plug", OLD) == 0);
        run("find /var/lib/carved -mindepth 1 -delete");
        simctl_do("reboot");
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static void carve(void) {
        g_autofree char *layout = g_strdup_printf("%s 1 %s 2", cut->three, cut->one);

        MUST(cut_mode(client, H100, true, &text_));
        MUST(cut_apply(client, H100, layout, "", &text_));
        MUST(carve_enable(client, &cut->card, &text_));
        MUST(carve_create(client, H100, cut->type_three, A, NULL, &text_));
}

static char *serial_of(const char *path) {
        return client_get_string(client, path, GPU, "Serial");
}

/* All that was wanted is on the new slot, and nothing is left of the old one. */
static void assert_moved(const char *before) {
        g_autofree char *cut_now = NULL, *place = NULL, *stored = NULL;

        ck_assert(client_wait(client, 20000, object_is_there, THERE));
        await_gpu(client, THERE, "SyncState", "synced");
        cut_now = cut_shown(client, THERE);
        ck_assert_str_eq(cut_now, before);
        await_vgpu(client, A, "State", "active");
        place = carve_find(client, A);
        ck_assert(g_str_has_prefix(place, THERE "/vf/0/"));
        ck_assert(client_wait(client, 5000, object_is_gone, H100));
        stored = shell("ls /var/lib/carved/gpus");
        ck_assert_str_eq(g_strchomp(stored), "0000_1b_00_0.json");
        await_manager(client, "running");
}

START_TEST(a_card_that_is_moved_keeps_what_is_wanted_of_it) {
        g_autofree char *before = NULL, *serial = NULL, *moved = NULL;

        carve();
        before = cut_shown(client, H100);
        serial = serial_of(H100);
        ck_assert_int_eq(simctl_do("unplug", OLD), 0);
        await_gpu(client, H100, "State", "lost");
        ck_assert_int_eq(simctl_do("plug", NEW, "from=" OLD), 0);
        assert_moved(before);
        moved = serial_of(THERE);
        ck_assert_str_eq(serial, moved);
}
END_TEST

START_TEST(so_does_one_that_is_moved_while_the_host_is_off) {
        g_autofree char *before = NULL;

        carve();
        before = cut_shown(client, H100);
        client = client_free(client);
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        ck_assert_int_eq(simctl_do("unplug", OLD), 0);
        ck_assert_int_eq(simctl_do("plug", NEW, "from=" OLD), 0);
        ck_assert_int_eq(simctl_do("reboot"), 0);
        simctl_do("daemon", "start");
        client = client_new();
        assert_moved(before);
}
END_TEST

START_TEST(another_card_of_the_same_model_in_its_slot_is_not_touched) {
        g_autofree char *serial = NULL, *other = NULL, *identity = NULL, *stored = NULL;
        g_autofree char *reason = NULL, *cuts = NULL;

        carve();
        serial = serial_of(H100);
        ck_assert_int_eq(simctl_do("unplug", OLD), 0);
        await_gpu(client, H100, "State", "lost");
        ck_assert_int_eq(simctl_do("plug", OLD, "h100-80"), 0);
        await_gpu(client, H100, "State", "mismatch");
        other = serial_of(H100);
        ck_assert_str_ne(serial, other);
        identity = client_get_string(client, H100, GPU, "Identity");
        stored = client_get_string(client, H100, GPU, "StoredIdentity");
        ck_assert_str_eq(identity, stored); /* so only the number tells */
        reason = gpu_reason(client, H100);
        ck_assert_str_eq(reason, "mismatch");
        cuts = host_cuts();
        ck_assert_ptr_nonnull(strstr(cuts, OLD " 0 0"));
        ck_assert_uint_eq(host_count_vgpus(), 0);
        await_manager(client, "degraded");
}
END_TEST

/* Both are there, and each has what the other had. */
START_TEST(the_card_comes_back_to_its_own_from_beside_another) {
        g_autofree char *before = NULL;

        carve();
        before = cut_shown(client, H100);
        ck_assert_int_eq(simctl_do("unplug", OLD), 0);
        await_gpu(client, H100, "State", "lost");
        ck_assert_int_eq(simctl_do("plug", OLD, "h100-80"), 0);
        await_gpu(client, H100, "State", "mismatch");
        ck_assert_int_eq(simctl_do("plug", NEW, "from=" OLD), 0);
        ck_assert(client_wait(client, 20000, object_is_there, THERE));
        await_gpu(client, THERE, "SyncState", "synced");
        await_gpu(client, H100, "SyncState", "unmanaged");
        await_gpu(client, H100, "State", "ready");
        await_vgpu(client, A, "State", "active");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("moved");
        TCase *tcase = tcase_create("moved");

        cut = cut_find("h100");
        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, a_card_that_is_moved_keeps_what_is_wanted_of_it);
        tcase_add_test(tcase, so_does_one_that_is_moved_while_the_host_is_off);
        tcase_add_test(tcase, another_card_of_the_same_model_in_its_slot_is_not_touched);
        tcase_add_test(tcase, the_card_comes_back_to_its_own_from_beside_another);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
