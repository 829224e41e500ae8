/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"
#include "client.h"
#include "simctl.h"

/* The daemon as a process: how it starts, waits, and ends, and what a bus that goes away does to it. On host
 * a2; the argument is the program. */

static Client *client;
static const char *program;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

START_TEST(it_says_what_it_is) {
        g_autofree char *help = shell("%s --help", program), *version = shell("%s --version", program);
        g_autofree char *refused = shell("! %s --nonsense 2>&1", program),
                        *more = shell("! %s more 2>&1", program);

        ck_assert_ptr_nonnull(strstr(help, "--version"));
        ck_assert_str_eq(version, "carved " CARVED_VERSION "\n");
        ck_assert_ptr_nonnull(strstr(refused, "nonsense"));
        ck_assert_ptr_nonnull(strstr(more, "--help"));
}
END_TEST

START_TEST(a_second_one_ends_and_the_first_stays) {
        g_autofree char *pid = shell("carved-simctl daemon pid"),
                        *output = shell("! RUNTIME_DIRECTORY=/run/carved timeout 10 %s 2>&1", program),
                        *words = NULL;

        words = g_strdup_printf("Process %s is carved already", g_strstrip(pid));
        ck_assert_msg(strstr(output, words), "%s", output);
        ck_assert(property_is(client, &(Expect){ "/org/carved1", MANAGER, "State", "running" }));
}
END_TEST

/* Elsewhere it finds no lock; then the name is the last word. */
START_TEST(a_second_one_elsewhere_does_not_get_the_name) {
        g_autofree char *output = shell("mkdir -p /tmp/elsewhere; ! RUNTIME_DIRECTORY=/tmp/elsewhere "
                                        "STATE_DIRECTORY=/tmp/elsewhere timeout 20 %s 2>&1",
                                        program);

        ck_assert_msg(strstr(output, "Failed to become org.carved1: somebody else is"), "%s", output);
        ck_assert(property_is(client, &(Expect){ "/org/carved1", MANAGER, "State", "running" }));
}
END_TEST

/* Everyone may read. */
START_TEST(an_ordinary_user_may_read) {
        g_autofree char *output = NULL;

        if (geteuid() != 0 || access("/usr/bin/setpriv", X_OK) < 0)
                return;
        output = shell("cat /proc/self/uid_map");
        if (!strstr(output, "4294967295"))
                return; /* in a user name space nobody else exists */

        g_free(output);
        output = shell("setpriv --reuid=65534 --clear-groups busctl get-property org.carved1 " GPU_A2
                       " org.carved1.Gpu Driver");
        ck_assert_str_eq(output, "s \"nvidia\"\n");
        g_free(output);
        output = shell("! setpriv --reuid=65534 --clear-groups busctl set-property org.carved1 "
                       "/org/freedesktop/LogControl1 "
                       "org.freedesktop.LogControl1 LogLevel s debug 2>&1");
        ck_assert_ptr_nonnull(strstr(output, "ccess"));
}
END_TEST

static bool has_no_workers(Client *c, const void *pid) {
        g_autofree char *workers = shell("pgrep -P %s | wc -l", (const char *) pid);

        return *workers == '0';
}

/* How often it went to sleep: if that stands still, it slept all the time. */
static char *times_slept(const char *pid) {
        return shell("grep ctxt_switches /proc/%s/status", pid);
}

START_TEST(an_idle_daemon_is_never_woken) {
        g_autofree char *pid = shell("carved-simctl daemon pid"), *before = NULL, *after = NULL;

        g_strstrip(pid);
        /* The last worker goes three to four seconds after its work. */
        ck_assert(client_wait(client, 15000, has_no_workers, pid));
        client_settle(client, 200);
        before = times_slept(pid);
        client_settle(client, 5000);
        after = times_slept(pid);
        ck_assert_str_eq(before, after);
}
END_TEST

static bool is_running(Client *c, const void *data) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system(&bus);
        if (r >= 0)
                r = sd_bus_call_method(bus, "org.carved1", GPU_A2, "org.freedesktop.DBus.Properties", "Get",
                                       &error, &reply, "ss", "org.carved1.Gpu", "State");
        sd_bus_message_unref(reply);
        sd_bus_flush_close_unref(bus);
        return r >= 0;
}

START_TEST(a_bus_restart_is_survived) {
        g_autofree char *before = shell("carved-simctl daemon pid"), *after = NULL, *killed = NULL,
                        *started = NULL;
        int64_t end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

        killed = shell("pkill -KILL -x dbus-daemon; while pgrep -x dbus-daemon; do :; done >/dev/null; rm -f "
                       "/run/dbus/system_bus_socket");
        started = shell("setsid dbus-daemon --config-file=/run/carved-sim/bus.conf --nopidfile --nosyslog "
                        "--fork >/dev/null 2>&1");
        while (!is_running(NULL, NULL) && g_get_monotonic_time() < end)
                g_usleep(50 * 1000); /* between two questions, not instead of one */
        ck_assert(is_running(NULL, NULL));
        after = shell("carved-simctl daemon pid");
        ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(sigterm_ends_it_at_once_and_the_name_is_free) {
        int64_t start = g_get_monotonic_time();

        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        ck_assert_int_lt(g_get_monotonic_time() - start, 5 * G_USEC_PER_SEC);
        ck_assert(!is_running(NULL, NULL));
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        ck_assert(client_wait(client, 10000, is_running, NULL));
}
END_TEST

static unsigned count_waiting(sd_bus *bus) {
        g_auto(GStrv) owners = NULL;
        sd_bus_message *reply = NULL;

        ck_assert_int_ge(sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                            "org.freedesktop.DBus", "ListQueuedOwners", NULL, &reply, "s",
                                            "org.carved1"),
                         0);
        ck_assert_int_ge(sd_bus_message_read_strv(reply, &owners), 0);
        sd_bus_message_unref(reply);
        return g_strv_length(owners) - 1;
}

/* The bus may hear late of the end of the last one. */
START_TEST(a_name_that_is_taken_for_a_moment_is_waited_for) {
        int64_t end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
        g_autofree char *nothing = NULL;
        sd_bus *bus = NULL;

        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        ck_assert_int_ge(sd_bus_open_system(&bus), 0);
        ck_assert_int_ge(sd_bus_request_name(bus, "org.carved1", 0), 0);
        nothing = shell("carved-simctl daemon start >/dev/null 2>&1 &");
        while (count_waiting(bus) == 0 && g_get_monotonic_time() < end)
                g_usleep(20 * 1000); /* between two questions, not instead of one */
        ck_assert_uint_eq(count_waiting(bus), 1);
        sd_bus_flush_close_unref(bus);
        ck_assert(client_wait(client, 10000, is_running, NULL));
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("life");
        TCase *tcase = tcase_create("life");

        program = argv[1];
        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, it_says_what_it_is);
        tcase_add_test(tcase, a_second_one_ends_and_the_first_stays);
        tcase_add_test(tcase, a_second_one_elsewhere_does_not_get_the_name);
        tcase_add_test(tcase, an_ordinary_user_may_read);
        tcase_add_test(tcase, an_idle_daemon_is_never_woken);
        tcase_add_test(tcase, sigterm_ends_it_at_once_and_the_name_is_free);
        tcase_add_test(tcase, a_name_that_is_taken_for_a_moment_is_waited_for);
        tcase_add_test(tcase, a_bus_restart_is_survived);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
