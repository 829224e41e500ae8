/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "cards.h"
#include "keeping.h"
#include "simctl.h"

/* What is kept, and for how long; what is others', and how it becomes ours; and that a start of carved
 * changes nothing. The argument is the host's name. */

#define A     "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B     "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"
#define HOST  "org.carved1.VgpuHost"
#define SRIOV "org.carved1.Sriov"

static const Card *card;
static Client *client;

static bool is_host(const char *name) {
        return g_str_equal(card->host, name);
}

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

/* A host that carved was never run on. */
static void set_up(void) {
        simctl_do("daemon", "stop");
        simctl_do("forget");
        simctl_do("plug", card->address);
        run("find /var/lib/carved /etc/carved -mindepth 1 -delete");
        ck_assert_int_eq(simctl_do("reboot"), 0);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static void carve(void) {
        MUST(carve_enable(client, card, &text_));
        MUST(carve_create(client, card->path, card->type, A, card->has_params ? "x=1" : NULL, &text_));
        MUST(carve_create(client, card->path, card->more, B, NULL, &text_));
}

static bool is_there(const char *uuid) {
        g_autofree char *path = carve_find(client, uuid);

        return path != NULL;
}

static bool is_persistent(const char *uuid) {
        g_autofree char *path = carve_find(client, uuid);
        g_autoptr(GVariant) value = client_get(client, path, VGPU, "Persistent");

        return g_variant_get_boolean(value);
}

static void set_persistent(const char *uuid, bool persistent) {
        g_autofree char *path = carve_find(client, uuid);
        g_autoptr(GVariant) done =
                client_call(client, path, VGPU, "SetPersistent", NULL, "ba{sv}", persistent, 0);
}

static void create_transient(const char *uuid) {
        g_autoptr(GVariant) made = client_call(client, card->path, HOST, "CreateVgpu", NULL, "sa{sv}",
                                               card->type, 2, "uuid", "s", uuid, "persist", "b", false);
}

static void set_label(const char *path, const char *interface, const char *key, const char *value) {
        g_autoptr(GVariant) done =
                client_call(client, path, interface, "SetLabels", NULL, "a{ss}a{sv}", 1, key, value, 0);
}

/* ---- for how long ---- */

START_TEST(what_is_not_to_persist_stays_over_a_restart_and_goes_with_a_reboot) {
        g_autofree char *label = NULL, *path = NULL;

        MUST(carve_enable(client, card, &text_));
        create_transient(A);
        MUST(carve_create(client, card->path, card->more, B, NULL, &text_));
        path = carve_find(client, A);
        set_label(path, VGPU, "for", "a day");
        ck_assert(!is_persistent(A));
        ck_assert(is_persistent(B));

        sim_restart(client);
        await_vgpu(client, A, "State", "active");
        await_vgpu(client, A, "Origin", "carved");
        ck_assert(!is_persistent(A));
        label = label_of(client, path, VGPU, "for");
        ck_assert_str_eq(label, "a day");

        sim_reboot(client);
        await_vgpu(client, B, "State", "active");
        ck_assert(!is_there(A));
        ck_assert_uint_eq(host_count_vgpus(), 1);
        await_manager(client, "running");
}
END_TEST

START_TEST(vfs_that_are_not_to_persist_go_with_a_reboot) {
        g_autoptr(GVariant) reply = NULL;

        if (card->vfs == 0)
                return;
        reply = client_call(client, card->path, SRIOV, "EnableVfs", NULL, "ua{sv}", 0, 1, "persist", "b",
                            false);
        sim_restart(client);
        ck_assert_uint_eq(client_count(client, "org.carved1.VirtualFunction"), card->vfs);
        await_gpu(client, card->path, "SyncState", "synced");
        sim_reboot(client);
        ck_assert_uint_eq(client_count(client, "org.carved1.VirtualFunction"), 0);
        await_manager(client, "running");
}
END_TEST

START_TEST(one_can_change_ones_mind_both_ways) {
        MUST(carve_enable(client, card, &text_));
        create_transient(A);
        MUST(carve_create(client, card->path, card->more, B, NULL, &text_));
        set_persistent(A, true);
        set_persistent(B, false);
        ck_assert(is_persistent(A));
        ck_assert(!is_persistent(B));
        set_persistent(A, true); /* again: nothing to do */

        sim_reboot(client);
        await_vgpu(client, A, "State", "active");
        ck_assert(!is_there(B));
        ck_assert_uint_eq(host_count_vgpus(), 1);
        await_manager(client, "running");
}
END_TEST

/* Kept without its VFs, it could not be made again. */
START_TEST(a_vgpu_that_is_to_persist_keeps_its_vfs) {
        g_autoptr(GVariant) reply = NULL;

        if (card->vfs == 0)
                return;
        reply = client_call(client, card->path, SRIOV, "EnableVfs", NULL, "ua{sv}", 0, 1, "persist", "b",
                            false);
        MUST(carve_create(client, card->path, card->type, A, NULL, &text_));
        create_transient(B);
        sim_reboot(client);
        await_vgpu(client, A, "State", "active");
        ck_assert(!is_there(B));
}
END_TEST

START_TEST(labels_of_cards_and_vgpus_survive_a_reboot) {
        g_autofree char *path = NULL, *of_vgpu = NULL, *of_gpu = NULL;

        set_label(card->path, GPU, "rack", "7"); /* of a card that nothing else is wanted of */
        sim_reboot(client);
        of_gpu = label_of(client, card->path, GPU, "rack");
        ck_assert_str_eq(of_gpu, "7");

        carve();
        path = carve_find(client, A);
        set_label(path, VGPU, "team", "\303\244 \"ml\"\\");
        sim_reboot(client);
        of_vgpu = label_of(client, path, VGPU, "team");
        ck_assert_str_eq(of_vgpu, "\303\244 \"ml\"\\");
        g_free(of_gpu);
        of_gpu = label_of(client, card->path, GPU, "rack");
        ck_assert_str_eq(of_gpu, "7");
}
END_TEST

/* ---- what is others' ---- */

/* As Nova, libvirt or a person would, before carved is run for the first time. */
static void carve_by_hand(void) {
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        if (is_host("plain"))
                run("cd /sys/bus/pci/devices/0000:05:00.0 && echo 0 >sriov_drivers_autoprobe && "
                    "echo 8 >sriov_numvfs && echo 1 >sriov_drivers_autoprobe");
        else if (card->vfs > 0)
                run("/usr/lib/nvidia/sriov-manage -e ALL && carved-simctl settle");
        if (is_host("l40s"))
                run("cd /sys/bus/pci/devices/0000:26:00.0 && echo 1150 >virtfn2/nvidia/current_vgpu_type");
        else if (is_host("a2"))
                run("cd /sys/bus/pci/devices/0000:08:00.0/virtfn2/mdev_supported_types && echo " A
                    " >nvidia-746/create");
        else if (is_host("t4"))
                run("cd /sys/class/mdev_bus/0000:3b:00.0/mdev_supported_types && echo " A
                    " >nvidia-232/create");
        run("carved-simctl settle");
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
}

/* The first vGPU that carved shows; NULL: none. */
static char *find_any(void) {
        g_autoptr(GPtrArray) lines = describe_vgpus(client);
        char *space = lines->len > 0 ? strchr(lines->pdata[0], ' ') : NULL;

        return space ? g_strndup(lines->pdata[0], (gsize) (space - (char *) lines->pdata[0])) : NULL;
}

START_TEST(what_others_made_is_shown_and_not_touched) {
        g_autofree char *before = NULL, *after = NULL, *path = NULL, *uuid = NULL;
        const char *error;

        carve_by_hand();
        before = host_summary();
        ck_assert_uint_eq(client_count(client, "org.carved1.VirtualFunction"), card->vfs);
        await_gpu(client, card->path, "SyncState", "unmanaged");
        await_manager(client, "running");
        path = find_any();
        if (is_host("plain")) {
                ck_assert_ptr_null(path);
                return;
        }
        await(client, path, VGPU, "Origin", "foreign");
        await(client, path, VGPU, "State", "active");
        uuid = client_get_string(client, path, VGPU, "Uuid");
        ASSERT_ERROR(carve_destroy(client, uuid, NULL), "NotOurs");
        ASSERT_ERROR(call_plain(client, path, VGPU, "Destroy"), "NotOurs");
        ck_assert_ptr_null(
                client_call(client, path, VGPU, "SetLabels", &error, "a{ss}a{sv}", 1, "a", "b", 0));
        ASSERT_ERROR(error, "NotOurs");
        ck_assert_ptr_null(client_call(client, path, VGPU, "SetPersistent", &error, "ba{sv}", true, 0));
        ASSERT_ERROR(error, "NotOurs");
        ck_assert_ptr_null(call_plain(client, card->path, GPU, "Resync"));
        if (card->vfs > 0)
                ASSERT_ERROR(carve_disable(client, card, true, NULL), "Conflict");
        sim_restart(client);
        await(client, path, VGPU, "Origin", "foreign");
        after = host_summary();
        ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(a_card_that_is_adopted_is_the_same_after_a_reboot) {
        g_autofree char *before = NULL, *after = NULL, *path = NULL;
        g_autoptr(GPtrArray) shown = NULL, again = NULL;

        carve_by_hand();
        before = host_summary();
        ck_assert_ptr_null(call_plain(client, card->path, GPU, "Adopt"));
        path = find_any();
        if (path)
                await(client, path, VGPU, "Origin", "carved");
        if (card->vfs > 0 || path)
                await_gpu(client, card->path, "SyncState", "synced");
        shown = describe_vgpus(client);
        sim_reboot(client);
        after = host_summary();
        ck_assert_str_eq(before, after);
        again = describe_vgpus(client);
        assert_same_lines(again, shown);
}
END_TEST

START_TEST(a_vgpu_that_is_adopted_has_a_uuid_for_good) {
        g_autofree char *path = NULL, *xml = NULL;
        g_autoptr(GVariant) reply = NULL;
        const char *error, *adopted;

        if (is_host("plain"))
                return;
        carve_by_hand();
        path = find_any();
        reply = client_call(client, path, VGPU, "Adopt", &error, "a{sv}", 1, "uuid", "s", B);
        if (!is_host("l40s")) {
                ASSERT_ERROR(error, "NotSupported"); /* an mdev's is the kernel's */
                await(client, path, VGPU, "Origin", "foreign");
                reply = client_call(client, path, VGPU, "Adopt", NULL, "a{sv}", 0);
        }
        g_variant_get(reply, "(&o)", &adopted);
        await(client, adopted, VGPU, "Origin", "carved");
        await(client, adopted, VGPU, "Uuid", is_host("l40s") ? B : A);
        ck_assert_uint_eq(client_count(client, VGPU), 1);

        sim_reboot(client);
        await(client, adopted, VGPU, "State", "active");
        ck_assert_uint_eq(client_count(client, VGPU), 1);
        MUST(carve_destroy(client, is_host("l40s") ? B : A, &text_));
        ck_assert_uint_eq(host_count_vgpus(), 0);
}
END_TEST

/* ---- a start changes nothing ---- */

/* Writes only; what the kernel would say in dmesg is none, and what NVIDIA's library is only asked. */
static char *writes(void) {
        return shell(
                "carved-simctl log | grep -vE ' kernel: | nvml nvml(Init|Shutdown|[A-Za-z]+Get)' | head -5");
}

START_TEST(another_carved_touches_nothing_in_use_or_not) {
        g_autofree char *before = NULL, *after = NULL, *address = NULL, *path = NULL, *wrote = NULL;
        g_autoptr(GPtrArray) shown = NULL, again = NULL;

        carve();
        path = carve_find(client, A);
        address = client_get_string(client, path, VGPU, "Address");
        ck_assert_int_eq(simctl_do("hold", *address ? address : A), 0);
        before = host_summary();
        shown = describe_vgpus(client);
        ck_assert_int_eq(simctl_do("log", "clear"), 0);

        sim_restart(client);
        ck_assert_int_eq(simctl_do("daemon", "kill"), 0);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        client_settle(client, 300);
        wrote = writes();
        ck_assert_str_eq(wrote, "");
        after = host_summary();
        ck_assert_str_eq(before, after);
        again = describe_vgpus(client);
        assert_same_lines(again, shown);
        await_manager(client, "running");
}
END_TEST

static bool write_has_begun(Client *c, const void *unused) {
        g_autofree char *busy = shell("carved-simctl busy");

        return atoi(busy) > 0;
}

/* Before, or after, and nothing that nobody owns up to. */
static void assert_settled(const char *before, const char *after) {
        g_autofree char *now = NULL;
        g_autoptr(GPtrArray) lines = NULL;

        ck_assert(client_wait(client, 60000, all_is_quiet, NULL));
        ck_assert(client_wait(client, 5000, journal_is_empty, NULL));
        now = host_summary();
        ck_assert_msg(g_str_equal(now, before) || g_str_equal(now, after), "a part of it is there:\n%.2000s",
                      now);
        lines = describe_vgpus(client);
        for (unsigned i = 0; i < lines->len; i++)
                ck_assert_msg(strstr(lines->pdata[i], " carved active "), "%s", (char *) lines->pdata[i]);
        await_manager(client, "running");
}

static void delay_all(const char *time) {
        static const char *const writes_of_all[] = { "*/create", "*/current_vgpu_type", "*/drivers_probe" };

        for (size_t i = 0; i < G_N_ELEMENTS(writes_of_all); i++)
                simctl_do("delay", writes_of_all[i], time, "always");
}

START_TEST(told_to_stop_while_it_makes_a_vgpu_it_settles_that) {
        g_autofree char *before = NULL, *after = NULL;
        g_autoptr(GVariant) reply = NULL;

        carve();
        after = host_summary();
        MUST(carve_destroy(client, A, &text_));
        before = host_summary();
        delay_all("1s");
        reply = client_call(client, card->path, HOST, "CreateVgpu", NULL, "sa{sv}", card->type, 3, "no-block",
                            "b", true, "uuid", "s", A, "params", "s", card->has_params ? "x=1" : "");
        ck_assert(client_wait(client, 10000, write_has_begun, NULL));
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        simctl_do("forget");
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        assert_settled(before, after);
}
END_TEST

START_TEST(told_to_stop_while_it_enables_vfs_it_settles_that) {
        g_autofree char *before = host_summary(), *after = NULL;
        g_autoptr(GVariant) reply = NULL;

        if (card->vfs == 0)
                return;
        MUST(carve_enable(client, card, &text_));
        after = host_summary();
        MUST(carve_disable(client, card, false, &text_));
        simctl_do("delay", "*/sriov_numvfs", "1s", "op=write", "always");
        reply = client_call(client, card->path, SRIOV, "EnableVfs", NULL, "ua{sv}", 0, 1, "no-block", "b",
                            true);
        ck_assert(client_wait(client, 10000, write_has_begun, NULL));
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        simctl_do("forget");
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        assert_settled(before, after);
}
END_TEST

/* ---- what is stored ---- */

static void assert_stored(const char *expected) {
        g_autofree char *state = stored_state(client, card->address);

        ck_assert_msg(g_strcmp0(state, expected) == 0, "stored: %s, not %s", state ?: "nothing",
                      expected ?: "nothing");
}

START_TEST(what_is_stored_is_listed_and_forgotten_only_without_its_card) {
        g_autofree char *identity = client_get_string(client, card->path, GPU, "Identity");

        assert_stored(NULL);
        ASSERT_ERROR(call_forget(client, identity), "NoSuchGpu");
        ASSERT_ERROR(call_forget(client, ""), "NoSuchGpu");
        carve();
        assert_stored("synced");
        ASSERT_ERROR(call_forget(client, identity), "Conflict");

        ck_assert_int_eq(simctl_do("unplug", card->address), 0);
        await_gpu(client, card->path, "State", "lost");
        assert_stored("lost");
        sim_restart(client);
        assert_stored("lost");
        await_vgpu(client, A, "State", "defined");
        ck_assert_ptr_null(call_forget(client, identity));
        ck_assert(object_is_gone(client, card->path));
        assert_stored(NULL);
        ck_assert(!is_there(A));
        await_manager(client, "running");

        ck_assert_int_eq(simctl_do("plug", card->address), 0);
        await_gpu(client, card->path, "State", "ready");
        await_gpu(client, card->path, "SyncState", "unmanaged");
        sim_restart(client);
        assert_stored(NULL);
        ck_assert_uint_eq(host_count_vgpus(), 0);
}
END_TEST

START_TEST(nothing_is_stored_of_a_card_that_nothing_is_wanted_of) {
        g_autofree char *left = NULL;

        carve();
        MUST(carve_destroy_both(client, A, B, &text_));
        MUST(carve_disable(client, card, false, &text_));
        sim_restart(client);
        ck_assert(client_wait(client, 5000, journal_is_empty, NULL));
        left = shell("grep -l " A " -r /var/lib/carved /run/carved || true");
        ck_assert_str_eq(left, "");
        ck_assert_uint_eq(client_count(client, VGPU), 0);
        await_manager(client, "running");
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("keep");
        TCase *tcase = tcase_create("keep"), *last = tcase_create("last");

        card = card_find(argv[1]);
        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, what_is_not_to_persist_stays_over_a_restart_and_goes_with_a_reboot);
        tcase_add_test(tcase, vfs_that_are_not_to_persist_go_with_a_reboot);
        tcase_add_test(tcase, one_can_change_ones_mind_both_ways);
        tcase_add_test(tcase, a_vgpu_that_is_to_persist_keeps_its_vfs);
        tcase_add_test(tcase, labels_of_cards_and_vgpus_survive_a_reboot);
        tcase_add_test(tcase, what_others_made_is_shown_and_not_touched);
        tcase_add_test(tcase, a_card_that_is_adopted_is_the_same_after_a_reboot);
        tcase_add_test(tcase, a_vgpu_that_is_adopted_has_a_uuid_for_good);
        tcase_add_test(tcase, another_carved_touches_nothing_in_use_or_not);
        tcase_add_test(tcase, told_to_stop_while_it_makes_a_vgpu_it_settles_that);
        tcase_add_test(tcase, told_to_stop_while_it_enables_vfs_it_settles_that);
        tcase_add_test(tcase, what_is_stored_is_listed_and_forgotten_only_without_its_card);
        tcase_add_test(tcase, nothing_is_stored_of_a_card_that_nothing_is_wanted_of);
        suite_add_tcase(suite, tcase);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
