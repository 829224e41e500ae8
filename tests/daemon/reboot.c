/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "cards.h"
#include "keeping.h"
#include "simctl.h"

/* What was asked for is there again after a reboot, however the host has changed meanwhile. The arguments:
 * the host, `eight` cards with 16 vGPUs each or a `pair` with four; how many reboots in a row; how many
 * seconds a driver is late. */

#define TYPE  "A2-1Q"
#define SRIOV "org.carved1.Sriov"
#define HOST  "org.carved1.VgpuHost"
#define STORE "/var/lib/carved/gpus"

/* The one that things happen to. */
#define ADDRESS  "0000:03:00.0"
#define PATH     "/org/carved1/gpu/0000_03_00_0"
#define FILE_OF  STORE "/0000_03_00_0.json"
#define IDENTITY "10de:25b6:10de:157e@0000:03:00.0"

static Client *client;
static unsigned first_card, cards, per_card; /* cards are numbered as their buses are */
static unsigned reboots, late_seconds;

static void uuid_of(unsigned card, unsigned vf, char ret[static 37]) {
        g_snprintf(ret, 37, "%08x-0000-4000-8000-%012x", card, vf);
}

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

/* ---- the host as it was asked for ---- */

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *unused) {
        const sd_bus_error *error = sd_bus_message_get_error(m);

        if (error)
                ck_abort_msg("%s: %s", error->name, error->message);
        (*(unsigned *) userdata)--;
        return 0;
}

static bool is_zero(Client *c, const void *n) {
        return *(const unsigned *) n == 0;
}

static void enable_all(void) {
        unsigned waiting = cards;

        for (unsigned i = first_card; i < first_card + cards; i++) {
                g_autofree char *path = g_strdup_printf("/org/carved1/gpu/0000_%02u_00_0", i);

                ck_assert_int_ge(sd_bus_call_method_async(client->bus, NULL, "org.carved1", path, SRIOV,
                                                          "EnableVfs", on_reply, &waiting, "ua{sv}", 0, 0),
                                 0);
        }
        ck_assert(client_wait(client, 60000, is_zero, &waiting));
}

/* All cards at a time, and each VF its own: what is there already is not made again. */
static void create_all(void) {
        unsigned waiting = cards * per_card;

        for (unsigned i = 0; i < cards * per_card; i++) {
                unsigned card = i % cards + first_card, vf = i / cards;
                g_autofree char *path = g_strdup_printf("/org/carved1/gpu/0000_%02u_00_0/vf/%u", card, vf);
                char uuid[37];

                uuid_of(card, vf, uuid);
                ck_assert_int_ge(sd_bus_call_method_async(client->bus, NULL, "org.carved1", path, HOST,
                                                          "CreateVgpu", on_reply, &waiting, "sa{sv}", TYPE, 2,
                                                          "uuid", "s", uuid, "params", "s", "x=1"),
                                 0);
        }
        ck_assert(client_wait(client, 60000, is_zero, &waiting));
}

static void label(void) {
        char uuid[37];
        g_autofree char *vgpu = NULL;
        g_autoptr(GVariant) one = NULL, two = NULL;

        uuid_of(3, 2, uuid);
        vgpu = carve_find(client, uuid);
        one = client_call(client, vgpu, VGPU, "SetLabels", NULL, "a{ss}a{sv}", 1, "team", "ml", 0);
        two = client_call(client, PATH, GPU, "SetLabels", NULL, "a{ss}a{sv}", 1, "rack", "7", 0);
}

/* What a test before this one has left: the card out, another one in, a file that can't be read. */
static bool is_as_built(void) {
        g_autofree char *identity = client_get_string(client, PATH, GPU, "Identity");
        g_autofree char *state = client_get_string(client, PATH, GPU, "State"), *reason = NULL;

        if (g_strcmp0(identity, IDENTITY) != 0 || g_strcmp0(state, "ready") != 0)
                return false;
        reason = gpu_reason(client, PATH);
        return !g_str_equal(reason, "state-unreadable");
}

static void build_anew(void) {
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        run("find /var/lib/carved -mindepth 1 -delete");
        simctl_do("unplug", ADDRESS);
        ck_assert_int_eq(simctl_do("plug", ADDRESS), 0);
        ck_assert_int_eq(simctl_do("reboot"), 0);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
}

static void set_up(void) {
        client = client_new();
        simctl_do("forget");
        if (!is_as_built())
                build_anew();
        enable_all();
        create_all();
        label();
        await_manager(client, "running");
}

static void tear_down(void) {
        simctl_do("forget");
        client = client_free(client);
}

/* Other cards than the one are as ever. */
static void assert_others_are_whole(void) {
        g_autoptr(GPtrArray) lines = describe_vgpus(client);
        unsigned n = 0;

        for (unsigned i = 0; i < lines->len; i++) {
                const char *line = lines->pdata[i];

                if (g_str_has_prefix(line, PATH))
                        continue;
                n++;
                ck_assert_msg(strstr(line, "/vf/") && strstr(line, " carved active 'x=1'"), "%s", line);
        }
        ck_assert_uint_eq(n, (cards - 1) * per_card);
}

static unsigned count_on_card(void) {
        g_autofree char *text =
                shell("ls /sys/bus/pci/devices/" ADDRESS
                      "/virtfn*/mdev_supported_types/*/devices 2>/dev/null | grep -c -- -0000-4000 || true");

        return (unsigned) atoi(text);
}

static void assert_restored(uint32_t expected_ok, uint32_t expected_failed) {
        uint32_t ok, failed;

        ck_assert_msg(heard_restored(client, &ok, &failed), "Restored was not heard");
        ck_assert_uint_eq(ok, expected_ok);
        ck_assert_uint_eq(failed, expected_failed);
}

/* ---- as it was ---- */

START_TEST(all_are_back_with_their_uuids_on_their_vfs_each_time) {
        g_autoptr(GPtrArray) before = describe_vgpus(client);
        g_autofree char *host = host_summary();

        ck_assert_uint_eq(before->len, cards * per_card);
        for (unsigned i = 0; i < reboots; i++) {
                int64_t then = g_get_monotonic_time();
                g_autoptr(GPtrArray) now = NULL;
                g_autofree char *summary = NULL, *rack = NULL;

                sim_reboot(client);
                printf("# reboot %u: ready after %.2f s\n", i + 1,
                       (double) (g_get_monotonic_time() - then) / 1e6);
                fflush(stdout);
                summary = host_summary();
                ck_assert_msg(g_str_equal(host, summary), "the host is another");
                now = describe_vgpus(client);
                assert_same_lines(now, before);
                assert_restored(cards * per_card, 0);
                await_manager(client, "running");
                rack = label_of(client, PATH, GPU, "rack");
                ck_assert_str_eq(rack, "7");
        }
        ck_assert(journal_is_empty(client, NULL));
}
END_TEST

/* ---- a card is gone ---- */

START_TEST(a_card_that_was_pulled_is_lost_and_comes_back_with_all) {
        g_autoptr(GPtrArray) before = describe_vgpus(client), now = NULL;
        g_autofree char *state = NULL, *parent = NULL, *path = NULL;
        char uuid[37];

        ck_assert_int_eq(simctl_do("unplug", ADDRESS), 0);
        sim_reboot(client);
        await_gpu(client, PATH, "State", "lost");
        assert_restored((cards - 1) * per_card, per_card);
        await_manager(client, "degraded");
        assert_others_are_whole();
        state = stored_state(client, ADDRESS);
        ck_assert_str_eq(state, "lost");
        uuid_of(3, 2, uuid);
        await_vgpu(client, uuid, "State", "defined");
        path = carve_find(client, uuid);
        parent = client_get_string(client, path, VGPU, "Parent");
        ck_assert_str_eq(parent, PATH);
        ASSERT_ERROR(call_plain(client, PATH, GPU, "Resync"), "NoSuchGpu");

        ck_assert_int_eq(simctl_do("plug", ADDRESS), 0);
        await_gpu(client, PATH, "SyncState", "synced");
        now = describe_vgpus(client);
        assert_same_lines(now, before);
        await_manager(client, "running");
}
END_TEST

/* ---- another card is in its place ---- */

static void swap_for(const char *board) {
        ck_assert_int_eq(simctl_do("unplug", ADDRESS), 0);
        ck_assert_int_eq(board ? simctl_do("plug", ADDRESS, board) : simctl_do("plug", ADDRESS), 0);
}

static void assert_mismatch(void) {
        g_autofree char *stored = NULL, *identity = NULL, *reason = NULL, *row = NULL;

        await_gpu(client, PATH, "State", "mismatch");
        stored = client_get_string(client, PATH, GPU, "StoredIdentity");
        ck_assert_str_eq(stored, IDENTITY);
        identity = client_get_string(client, PATH, GPU, "Identity");
        ck_assert_str_ne(identity, IDENTITY);
        reason = gpu_reason(client, PATH);
        ck_assert_str_eq(reason, "mismatch");
        row = stored_state(client, ADDRESS);
        ck_assert_str_eq(row, "mismatch");
        await_gpu(client, PATH, "SyncState", "out-of-sync");
        await_manager(client, "degraded");
}

/* Also labels: they would be another card's. */
static void assert_calls_refused(const char *expected) {
        const char *error;

        ck_assert_ptr_null(client_call(client, PATH, SRIOV, "EnableVfs", &error, "ua{sv}", 0, 0));
        ASSERT_ERROR(error, expected);
        ASSERT_ERROR(call_plain(client, PATH, SRIOV, "DisableVfs"), expected);
        ASSERT_ERROR(call_plain(client, PATH, GPU, "Resync"), expected);
        ck_assert_ptr_null(client_call(client, PATH, HOST, "CreateVgpu", &error, "sa{sv}", "L40S-8Q", 0));
        ASSERT_ERROR(error, expected);
        ck_assert_ptr_null(client_call(client, PATH, GPU, "SetLabels", &error, "a{ss}a{sv}", 1, "a", "b", 0));
        ASSERT_ERROR(error, expected);
}

static unsigned num_vfs(void) {
        g_autofree char *text = shell("cat /sys/bus/pci/devices/" ADDRESS "/sriov_numvfs");

        return (unsigned) atoi(text);
}

START_TEST(another_model_in_the_slot_is_left_alone_until_it_is_adopted) {
        g_autofree char *stored = NULL, *row = NULL, *file = NULL;

        swap_for("l40s");
        sim_reboot(client);
        assert_mismatch();
        assert_others_are_whole();
        assert_restored((cards - 1) * per_card, per_card);
        assert_calls_refused("Mismatch");
        ck_assert_uint_eq(num_vfs(), 0);

        /* With VFs, it has something to be remembered by. */
        run("/usr/lib/nvidia/sriov-manage -e " ADDRESS " && carved-simctl settle");
        ck_assert(client_wait(client, 10000, object_is_there, PATH "/vf/31"));
        ck_assert_ptr_null(call_plain(client, PATH, GPU, "Adopt"));
        await_gpu(client, PATH, "State", "ready");
        await_manager(client, "running");
        row = stored_state(client, ADDRESS);
        ck_assert_str_eq(row, "synced");
        sim_reboot(client);
        ck_assert(object_is_there(client, PATH "/vf/31"));
        file = shell("grep -c 10de:25b6 " FILE_OF " || true");
        ck_assert_str_eq(file, "0\n");

        /* And the first one back is the stranger now. */
        swap_for(NULL);
        sim_reboot(client);
        await_gpu(client, PATH, "State", "mismatch");
        stored = client_get_string(client, PATH, GPU, "StoredIdentity");
        ck_assert_str_ne(stored, IDENTITY);
        ck_assert_ptr_null(call_forget(client, stored));
        await_gpu(client, PATH, "SyncState", "unmanaged");
}
END_TEST

START_TEST(another_model_in_the_slot_can_be_had_by_forgetting_the_first) {
        g_autofree char *row = NULL;

        swap_for("t4");
        sim_reboot(client);
        assert_mismatch();
        ASSERT_ERROR(call_forget(client, "10de:25b6:10de:157e@0000:99:00.0"), "NoSuchGpu");
        ck_assert_ptr_null(call_forget(client, IDENTITY));
        await_gpu(client, PATH, "State", "ready");
        await_gpu(client, PATH, "SyncState", "unmanaged");
        await_manager(client, "running");
        row = stored_state(client, ADDRESS);
        ck_assert_ptr_null(row);
        ck_assert(client_wait(client, 5000, journal_is_empty, NULL)); /* files follow the answer */
        ck_assert(!g_file_test(FILE_OF, G_FILE_TEST_EXISTS));

        sim_reboot(client);
        await_gpu(client, PATH, "State", "ready");
        swap_for(NULL);
        await_gpu(client, PATH, "SyncState", "unmanaged");
}
END_TEST

/* Plugged while carved runs, it is no other. */
START_TEST(the_right_card_back_in_its_slot_has_all_as_before) {
        g_autoptr(GPtrArray) before = describe_vgpus(client), now = NULL;

        swap_for("l40s");
        assert_mismatch();
        ck_assert_uint_eq(num_vfs(), 0);
        swap_for(NULL);
        await_gpu(client, PATH, "SyncState", "synced");
        now = describe_vgpus(client);
        assert_same_lines(now, before);
}
END_TEST

/* ---- a file is damaged ---- */

static void reboot_with(const char *command) {
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        run(command);
        ck_assert_int_eq(simctl_do("reboot"), 0);
        client_forget(client);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
}

static void assert_unreadable(void) {
        g_autofree char *reason = gpu_reason(client, PATH), *row = stored_state(client, ADDRESS);

        ck_assert_str_eq(reason, "state-unreadable");
        ck_assert_str_eq(row, "unreadable");
        await_gpu(client, PATH, "SyncState", "out-of-sync");
        await_manager(client, "degraded");
        assert_others_are_whole();
        assert_calls_refused("StateUnreadable");
        ck_assert_uint_eq(num_vfs(), 0);
}

START_TEST(a_truncated_file_is_kept_and_costs_no_other_card_anything) {
        g_autofree char *kept = NULL;

        reboot_with("truncate -s 100 " FILE_OF "; cp " FILE_OF " /run/truncated");
        assert_unreadable();
        assert_restored((cards - 1) * per_card, 0);
        run("cmp /run/truncated " FILE_OF ".corrupt");
        ck_assert(!g_file_test(FILE_OF, G_FILE_TEST_EXISTS));

        sim_restart(client);
        assert_unreadable(); /* until somebody says what shall be */
        ck_assert_ptr_null(call_forget(client, ADDRESS));
        await_gpu(client, PATH, "SyncState", "unmanaged");
        await_manager(client, "running");
        kept = gpu_reason(client, PATH);
        ck_assert_str_eq(kept, "vfs-off");
        sim_restart(client);
        await_gpu(client, PATH, "SyncState", "unmanaged");
        run("cmp /run/truncated " FILE_OF ".forgotten && rm " FILE_OF ".forgotten");
}
END_TEST

START_TEST(what_is_there_can_be_adopted_in_place_of_what_cant_be_read) {
        g_autofree char *row = NULL;

        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        run(": >" FILE_OF);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        await_gpu(client, PATH, "SyncState", "out-of-sync");
        ck_assert_uint_eq(count_on_card(), per_card); /* not ours any more, so nobody's to take away */
        ck_assert_ptr_null(call_plain(client, PATH, GPU, "Adopt"));
        await_gpu(client, PATH, "SyncState", "synced");
        row = stored_state(client, ADDRESS);
        ck_assert_str_eq(row, "synced");
        sim_reboot(client);
        assert_restored(cards * per_card, 0);
        ck_assert_uint_eq(count_on_card(), per_card);
        await_manager(client, "running");
        run("rm " FILE_OF ".forgotten");
}
END_TEST

START_TEST(a_newer_file_is_neither_read_nor_written) {
        reboot_with("sed -i 's/\"format\" *: *1/\"format\" : 2/' " FILE_OF
                    " && grep -q '\"format\" : 2' " FILE_OF " && cp " FILE_OF " /run/newer");
        assert_unreadable();
        run("cmp /run/newer " FILE_OF);
        sim_restart(client);
        assert_unreadable();
        run("cmp /run/newer " FILE_OF "; ! ls " STORE "/*.corrupt 2>/dev/null");

        /* The one who can read it is back. */
        reboot_with("sed -i 's/\"format\" : 2/\"format\" : 1/' " FILE_OF);
        assert_restored(cards * per_card, 0);
        await_manager(client, "running");
}
END_TEST

/* ---- one can't be made ---- */

/* VF 2 of the card; all that is written there to make one fails. */
static void reboot_with_one_that_fails(char uuid[static 37]) {
        g_autofree char *error = NULL, *path = NULL;

        uuid_of(3, 2, uuid);
        ck_assert_int_eq(simctl_do("fail", "*/0000:03:00.6/*/create", "EIO", "always"), 0);
        sim_reboot(client);
        await_vgpu(client, uuid, "State", "failed");
        path = carve_find(client, uuid);
        error = client_get_string(client, path, VGPU, "LastError");
        ck_assert_msg(strstr(error, "create"), "'%s'", error);
        assert_restored(cards * per_card - 1, 1);
        await_manager(client, "degraded");
        assert_others_are_whole();
        ck_assert_uint_eq(count_on_card(), per_card - 1);
}

START_TEST(one_that_cant_be_made_is_failed_and_tried_again_when_the_driver_is_new) {
        g_autoptr(GPtrArray) before = describe_vgpus(client), now = NULL;
        char uuid[37];

        reboot_with_one_that_fails(uuid);
        simctl_do("forget");
        ck_assert_int_eq(simctl_do("reload-driver"), 0);
        await_vgpu(client, uuid, "State", "active");
        await_manager(client, "running");
        now = describe_vgpus(client);
        assert_same_lines(now, before);
}
END_TEST

START_TEST(one_that_cant_be_made_is_made_by_resync) {
        g_autofree char *path = NULL, *error = NULL;
        char uuid[37];

        reboot_with_one_that_fails(uuid);
        ASSERT_ERROR(call_plain(client, PATH, GPU, "Resync"), "Failed");
        simctl_do("forget");
        ck_assert_ptr_null(call_plain(client, PATH, GPU, "Resync"));
        await_vgpu(client, uuid, "State", "active");
        path = carve_find(client, uuid);
        error = client_get_string(client, path, VGPU, "LastError");
        ck_assert_str_eq(error, "");
        await_manager(client, "running");
}
END_TEST

/* ---- a driver is late ---- */

START_TEST(nobody_waits_for_a_driver_that_is_late_and_its_card_is_restored_when_it_comes) {
        g_autoptr(GPtrArray) before = describe_vgpus(client), now = NULL;
        int64_t then;

        ck_assert_int_eq(simctl_do("fail", "/driver/nvidia/probe/" ADDRESS, "ENODEV", "times=1"), 0);
        then = g_get_monotonic_time();
        sim_reboot(client);
        ck_assert_double_lt((double) (g_get_monotonic_time() - then) / 1e6, 10);
        await_gpu(client, PATH, "State", "no-driver");
        await_manager(client, "degraded");
        assert_restored((cards - 1) * per_card, per_card);
        assert_others_are_whole();

        client_settle(client, late_seconds * 1000);
        await_gpu(client, PATH, "State", "no-driver");
        run("echo " ADDRESS " >/sys/bus/pci/drivers/nvidia/bind");
        await_gpu(client, PATH, "SyncState", "synced");
        await_manager(client, "running");
        now = describe_vgpus(client);
        assert_same_lines(now, before);
}
END_TEST

/* ---- all of it at once ---- */

#define SWAPPED   "/org/carved1/gpu/0000_04_00_0"
#define TRUNCATED "/org/carved1/gpu/0000_05_00_0"
#define LATE      "/org/carved1/gpu/0000_06_00_0"

/* The third is out, the fourth another model, the file of the fifth is cut off, the driver of the sixth late.
 */
static void reboot_after_a_bad_night(void) {
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        ck_assert_int_eq(simctl_do("unplug", ADDRESS), 0);
        ck_assert_int_eq(simctl_do("unplug", "0000:04:00.0"), 0);
        ck_assert_int_eq(simctl_do("plug", "0000:04:00.0", "l40s"), 0);
        run("truncate -s 100 " STORE "/0000_05_00_0.json");
        ck_assert_int_eq(simctl_do("fail", "/driver/nvidia/probe/0000:06:00.0", "ENODEV", "times=1"), 0);
        ck_assert_int_eq(simctl_do("reboot"), 0);
        client_forget(client);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
}

static void assert_all_is_seen(void) {
        g_autofree char *reason = gpu_reason(client, TRUNCATED);

        await_gpu(client, PATH, "State", "lost");
        await_gpu(client, SWAPPED, "State", "mismatch");
        ck_assert_str_eq(reason, "state-unreadable");
        await_gpu(client, LATE, "State", "no-driver");
        await_manager(client, "degraded");
        assert_restored(4 * per_card, 3 * per_card);
        for (const char *good = "1278"; *good; good++) {
                g_autofree char *path = g_strdup_printf("/org/carved1/gpu/0000_0%c_00_0", *good);

                await_gpu(client, path, "SyncState", "synced");
        }
}

START_TEST(a_card_out_one_swapped_one_file_cut_off_one_driver_late_and_four_cards_are_as_ever) {
        g_autoptr(GPtrArray) before = describe_vgpus(client), now = NULL;

        reboot_after_a_bad_night();
        assert_all_is_seen();
        client_settle(client, late_seconds * 1000);
        assert_all_is_seen();

        run("echo 0000:06:00.0 >/sys/bus/pci/drivers/nvidia/bind");
        await_gpu(client, LATE, "SyncState", "synced");
        ck_assert_int_eq(simctl_do("plug", ADDRESS), 0);
        await_gpu(client, PATH, "SyncState", "synced");
        ck_assert_int_eq(simctl_do("unplug", "0000:04:00.0"), 0);
        ck_assert_int_eq(simctl_do("plug", "0000:04:00.0"), 0);
        await_gpu(client, SWAPPED, "SyncState", "synced");
        ck_assert_ptr_null(call_forget(client, "0000:05:00.0"));
        await_manager(client, "running");
        enable_all();
        create_all();
        now = describe_vgpus(client);
        assert_same_lines(now, before);
}
END_TEST

static void add_tests_of_pair(TCase *tcase) {
        tcase_add_test(tcase, a_card_that_was_pulled_is_lost_and_comes_back_with_all);
        tcase_add_test(tcase, another_model_in_the_slot_is_left_alone_until_it_is_adopted);
        tcase_add_test(tcase, another_model_in_the_slot_can_be_had_by_forgetting_the_first);
        tcase_add_test(tcase, the_right_card_back_in_its_slot_has_all_as_before);
        tcase_add_test(tcase, a_truncated_file_is_kept_and_costs_no_other_card_anything);
        tcase_add_test(tcase, what_is_there_can_be_adopted_in_place_of_what_cant_be_read);
        tcase_add_test(tcase, a_newer_file_is_neither_read_nor_written);
        tcase_add_test(tcase, one_that_cant_be_made_is_failed_and_tried_again_when_the_driver_is_new);
        tcase_add_test(tcase, one_that_cant_be_made_is_made_by_resync);
        tcase_add_test(tcase, nobody_waits_for_a_driver_that_is_late_and_its_card_is_restored_when_it_comes);
}

int main(int argc, char **argv) {
        Suite *suite = suite_create("reboot");
        TCase *tcase = tcase_create("reboot"), *last = tcase_create("last");
        bool pair = g_str_equal(argv[1], "pair");

        first_card = pair ? 3 : 1;
        cards = pair ? 2 : 8;
        per_card = pair ? 4 : 16;
        reboots = argc > 2 ? (unsigned) atoi(argv[2]) : 3;
        late_seconds = argc > 3 ? (unsigned) atoi(argv[3]) : 1;
        tcase_set_timeout(tcase, 180);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, all_are_back_with_their_uuids_on_their_vfs_each_time);
        if (pair)
                add_tests_of_pair(tcase);
        else
                tcase_add_test(
                        tcase,
                        a_card_out_one_swapped_one_file_cut_off_one_driver_late_and_four_cards_are_as_ever);
        suite_add_tcase(suite, tcase);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
