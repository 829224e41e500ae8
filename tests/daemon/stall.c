/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "client.h"
#include "simctl.h"

/* One GPU's worker sits in the kernel and can't be ended: what everybody else notices of it. On host mixed.
 */

#define HELD   "/org/carved1/gpu/0000_08_00_0"
#define OTHER  "/org/carved1/gpu/0000_26_00_0"
#define NUMVFS "/sys/devices/*/0000:08:00.0/sriov_numvfs"

static Client *client;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        simctl_do("forget");
        client = client_free(client);
}

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

/* A worker goes in, and stays for @time. */
static void hold(const char *time) {
        ck_assert_int_eq(simctl_do("delay", NUMVFS, time, "op=read", "times=1"), 0);
        run("echo change > /sys/bus/pci/devices/0000:08:00.0/uevent");
        ck_assert(client_wait(client, 15000, property_is,
                              &(Expect){ HELD, "org.carved1.Gpu", "State", "stalled" }));
}

static int compare_times(const void *a, const void *b) {
        int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

        return x < y ? -1 : x > y;
}

/* The 99th of a hundred reads, in milliseconds. */
static int64_t p99(void) {
        int64_t times[100];

        for (unsigned i = 0; i < 100; i++) {
                int64_t start = g_get_monotonic_time();
                g_autoptr(GVariant) value =
                        client_get(client, i % 2 ? HELD : OTHER, "org.carved1.Gpu", "State");

                ck_assert_ptr_nonnull(value);
                times[i] = g_get_monotonic_time() - start;
        }
        qsort(times, 100, sizeof times[0], compare_times);
        return times[98] / 1000;
}

START_TEST(reads_stay_fast_and_other_gpus_are_served) {
        g_autoptr(GVariant) reasons = NULL, done = NULL;
        const char *code, *error;

        hold("8s");
        ck_assert_int_lt(p99(), 50);
        reasons = client_get(client, HELD, "org.carved1.Gpu", "Reasons");
        g_variant_get_child(reasons, 0, "(&s&s)", &code, NULL);
        ck_assert_str_eq(code, "stalled");

        /* Another GPU is looked at now; this one can't be. */
        done = client_call(client, OTHER, "org.carved1.Gpu", "Refresh", NULL, "a{sv}", 0);
        ck_assert_ptr_null(client_call(client, HELD, "org.carved1.Gpu", "Refresh", &error, "a{sv}", 0));
        ck_assert_str_eq(error, "org.carved1.Error.Stalled");

        /* What was seen before is still shown. */
        ck_assert(property_is(client, &(Expect){ HELD, "org.carved1.Gpu", "Driver", "nvidia" }));

        ck_assert(client_wait(client, 20000, property_is,
                              &(Expect){ HELD, "org.carved1.Gpu", "State", "ready" }));
}
END_TEST

START_TEST(a_restarted_daemon_owns_its_name_and_knows_who_is_stalled) {
        int64_t start;

        hold("14s");
        ck_assert_int_eq(simctl_do("daemon", "kill"), 0);
        start = g_get_monotonic_time();
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        ck_assert(client_wait(client, 10000, property_is,
                              &(Expect){ "/org/carved1", MANAGER, "State", "running" }));
        ck_assert_int_lt(g_get_monotonic_time() - start, 8 * G_USEC_PER_SEC);

        ck_assert(property_is(client, &(Expect){ HELD, "org.carved1.Gpu", "State", "stalled" }));
        ck_assert(property_is(client, &(Expect){ HELD, "org.carved1.Gpu", "Model", "GA107GL [A2 / A16]" }));
        ck_assert(property_is(client, &(Expect){ OTHER, "org.carved1.Gpu", "State", "ready" }));

        /* The predecessor's worker lets go. */
        ck_assert(client_wait(client, 30000, property_is,
                              &(Expect){ HELD, "org.carved1.Gpu", "State", "ready" }));
        ck_assert(property_is(client, &(Expect){ HELD, "org.carved1.Gpu", "Driver", "nvidia" }));
}
END_TEST

START_TEST(a_worker_that_is_killed_is_its_gpus_error_only) {
        g_autofree char *error = NULL;

        hold("6s");
        run("kill -9 $(pgrep -P $(carved-simctl daemon pid))");
        /* The wait in the simulated kernel can't be ended either: it dies when that is over. */
        ck_assert(client_wait(client, 20000, property_is,
                              &(Expect){ HELD, "org.carved1.Gpu", "LastError",
                                         "The worker process was ended by signal 9" }));
        ck_assert(property_is(client, &(Expect){ OTHER, "org.carved1.Gpu", "LastError", "" }));

        /* The next look is a new worker's. */
        run("echo change > /sys/bus/pci/devices/0000:08:00.0/uevent");
        ck_assert(client_wait(client, 10000, property_is,
                              &(Expect){ HELD, "org.carved1.Gpu", "LastError", "" }));
        ck_assert(property_is(client, &(Expect){ HELD, "org.carved1.Gpu", "State", "ready" }));
}
END_TEST

/* Somebody else's write to sriov_numvfs that takes its time, as seen with real cards. */
START_TEST(a_write_that_blocks_stalls_its_gpu_until_it_returns) {
        ck_assert_int_eq(
                simctl_do("delay", "/sys/devices/*/0000:05:00.0/sriov_numvfs", "3s", "op=write", "times=1"),
                0);
        run("setsid bash -c 'echo 8 > /sys/bus/pci/devices/0000:05:00.0/sriov_numvfs' >/dev/null 2>&1 &");
        run("echo change > /sys/bus/pci/devices/0000:05:00.0/uevent");
        ck_assert_int_lt(p99(), 50);
        ck_assert(client_wait(client, 40000, object_is_there, "/org/carved1/gpu/0000_05_00_0/vf/7"));
        run("echo 0 > /sys/bus/pci/devices/0000:05:00.0/sriov_numvfs");
        ck_assert(client_wait(client, 10000, object_is_gone, "/org/carved1/gpu/0000_05_00_0/vf/7"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("stall");
        TCase *tcase = tcase_create("stall");

        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, reads_stay_fast_and_other_gpus_are_served);
        tcase_add_test(tcase, a_restarted_daemon_owns_its_name_and_knows_who_is_stalled);
        tcase_add_test(tcase, a_worker_that_is_killed_is_its_gpus_error_only);
        tcase_add_test(tcase, a_write_that_blocks_stalls_its_gpu_until_it_returns);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
