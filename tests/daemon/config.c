/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "client.h"
#include "simctl.h"

/* The configuration of a daemon that runs: read again on SIGHUP, kept where it is broken, and checked without
 * one. On host a2; the argument is the program. */

#define DIRECTORY "/etc/carved"
#define CONFIG    DIRECTORY "/carved.conf"
#define LOG       "/run/carved-sim/carved.log"
#define NOTIFY    "/run/carved-sim/test-notify"
#define NUMVFS    "/sys/devices/*/0000:08:00.0/sriov_numvfs"

static Client *client;
static const char *program;

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

static void set_up(void) {
        run("rm -rf " DIRECTORY "/* /run/carved/carved.conf.d; carved-simctl forget");
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static void write_config(const char *text) {
        ck_assert(g_file_set_contents(CONFIG, text, -1, NULL));
}

static bool log_has(Client *c, const void *text) {
        g_autofree char *log = shell("cat " LOG);

        return strstr(log, text) != NULL;
}

/* Until its log says @text. */
static void reload(const char *text) {
        ck_assert_msg(!log_has(client, text), "the log has '%s' already", text);
        run("kill -HUP $(carved-simctl daemon pid)");
        ck_assert_msg(client_wait(client, 10000, log_has, text), "the log has no '%s'", text);
}

/* A write that takes three seconds: is that too long? */
static bool a_step_is_late(void) {
        static const Expect stalled = { GPU_A2, "org.carved1.Gpu", "State", "stalled" };
        static const Expect ready = { GPU_A2, "org.carved1.Gpu", "State", "ready" };
        g_autoptr(GVariant) reply = NULL;
        bool late;

        ck_assert(client_wait(client, 10000, property_is, &ready));
        ck_assert_int_eq(simctl_do("delay", NUMVFS, "3s", "op=write", "times=1"), 0);
        reply = client_call(client, GPU_A2, "org.carved1.Sriov", "EnableVfs", NULL, "ua{sv}", 0, 1,
                            "no-block", "b", true);
        late = client_wait(client, 2700, property_is, &stalled);
        ck_assert(client_wait(client, 30000, property_is, &ready));
        run("carved-simctl forget; /usr/lib/nvidia/sriov-manage -d 0000:08:00.0; carved-simctl settle");
        ck_assert(client_wait(client, 10000, object_is_gone, GPU_A2 "/vf/0"));
        return late;
}

/* ---- while it runs ---- */

START_TEST(sighup_reads_it_again_and_says_what_is_wrong_and_where) {
        write_config("[Manager]\nRestore=maybe\n");
        reload("carved: " CONFIG ":2: 'Restore=maybe' is neither yes nor no, ignoring\n");
        run("mkdir -p /run/carved/carved.conf.d && printf '\\n[Nonsense]\\n' "
            ">/run/carved/carved.conf.d/7.conf");
        reload("carved: /run/carved/carved.conf.d/7.conf:2: '[Nonsense]' is no section that carved knows");
        ck_assert(property_is(client, &(Expect){ "/org/carved1", MANAGER, "State", "running" }));
}
END_TEST

START_TEST(what_it_reads_holds_and_a_broken_file_changes_nothing) {
        ck_assert(!a_step_is_late());
        write_config("[Manager]\nStepTimeoutSec=1\nFirst=1\n");
        reload(CONFIG ":3: 'First' is no key of [Manager]");
        ck_assert(a_step_is_late());

        write_config("[Manager]\nStepTimeoutSec=100\nbroken\n");
        reload(CONFIG ":3: 'broken' is neither a section nor KEY=VALUE\n"
                      "carved: The configuration can't be read, keeping what held before\n");
        ck_assert(a_step_is_late());

        write_config("[Manager]\nSecond=1\n");
        reload(CONFIG ":2: 'Second' is no key of [Manager]");
        ck_assert(!a_step_is_late());
}
END_TEST

/* A worker that runs has its own copy; the next one has the new one. */
START_TEST(a_new_worker_runs_the_new_program) {
        const char *error = NULL;
        g_autoptr(GVariant) reply = NULL, again = NULL;

        write_config("[Manager]\nSriovManage=/bin/false\nThird=1\n");
        reload(CONFIG ":3: 'Third' is no key of [Manager]");
        run("pid=$(carved-simctl daemon pid); for i in $(seq 150); do pgrep -P $pid >&2 || exit 0; sleep "
            "0.1; done; "
            "exit 1");
        reply = client_call(client, GPU_A2, "org.carved1.Sriov", "EnableVfs", &error, "ua{sv}", 0, 0);
        ck_assert_ptr_null(reply);
        ck_assert_ptr_nonnull(error);
}
END_TEST

/* It is not killed, for that would leave a card half switched; but nobody waits for it. */
START_TEST(a_sriov_manage_that_never_ends_costs_its_caller_one_deadline) {
        const char *error = NULL;
        g_autoptr(GVariant) reply = NULL;

        run("mkfifo /run/never && printf '#!/bin/sh\\nread word </run/never\\nexit 1\\n' >/run/sriov-manage "
            "&& "
            "chmod +x /run/sriov-manage");
        write_config("[Manager]\nSriovManage=/run/sriov-manage\nStepTimeoutSec=1\nFourth=1\n");
        reload(CONFIG ":4: 'Fourth' is no key of [Manager]");
        run("pid=$(carved-simctl daemon pid); for i in $(seq 150); do pgrep -P $pid >&2 || exit 0; sleep "
            "0.1; done; "
            "exit 1");
        reply = client_call(client, GPU_A2, "org.carved1.Sriov", "EnableVfs", &error, "ua{sv}", 0, 0);
        ck_assert_str_eq(error, "org.carved1.Error.Stalled");
        ck_assert(property_is(client, &(Expect){ GPU_A2, "org.carved1.Gpu", "State", "stalled" }));
        run("echo now >/run/never");
        ck_assert(client_wait(client, 20000, property_is,
                              &(Expect){ GPU_A2, "org.carved1.Gpu", "State", "ready" }));
        run("rm /run/never /run/sriov-manage");
}
END_TEST

/* ---- what systemd hears ---- */

static char *hear(int fd) {
        char buf[4096];

        for (;;) {
                ssize_t n = recv(fd, buf, sizeof buf - 1, 0);

                ck_assert_int_gt(n, 0);
                buf[n] = '\0';
                if (!g_str_has_prefix(buf, "STATUS=") && !g_str_has_prefix(buf, "EXTEND_TIMEOUT_USEC="))
                        return g_strdup(buf);
        }
}

START_TEST(systemd_hears_of_it) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = NOTIFY };
        const char *argv[] = { program, NULL };
        g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "NOTIFY_SOCKET", NOTIFY, TRUE);
        g_autofree char *started = NULL, *reloading = NULL, *reloaded = NULL, *stopping = NULL;
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), status;
        struct timeval limit = { .tv_sec = 20 };
        GPid pid;

        unlink(NOTIFY);
        ck_assert_int_eq(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        ck_assert(
                g_spawn_async(NULL, (char **) argv, env, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, NULL));

        started = hear(fd);
        ck_assert_str_eq(started, "READY=1");
        kill(pid, SIGHUP);
        reloading = hear(fd);
        ck_assert(g_str_has_prefix(reloading, "RELOADING=1\nMONOTONIC_USEC="));
        ck_assert_int_le(g_ascii_strtoll(strrchr(reloading, '=') + 1, NULL, 10), g_get_monotonic_time());
        reloaded = hear(fd);
        ck_assert_str_eq(reloaded, "READY=1");

        kill(pid, SIGTERM);
        stopping = hear(fd);
        ck_assert_str_eq(stopping, "STOPPING=1");
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        close(fd);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
}
END_TEST

/* ---- without one ---- */

static const struct {
        const char *prepare, *output;
        int status;
} checks[] = {
        { "true", "", 0 },
        { "echo '[Manager]' >" CONFIG, CONFIG ": ok\n", 0 },
        { "echo '[Manager]' >" CONFIG "; mkdir " CONFIG ".d; touch " CONFIG ".d/a.conf",
          CONFIG ": ok\n" CONFIG ".d/a.conf: ok\n", 0 },
        { "printf '[Manager]\\nTypo=1\\n' >" CONFIG, CONFIG ":2: 'Typo' is no key of [Manager], ignoring\n",
          1 },
        { "printf 'words' >" CONFIG, CONFIG ":1: 'words' is outside of any section, ignoring\n", 1 },
        { "printf '[words' >" CONFIG, CONFIG ":1: '[words' is a section without its closing bracket\n", 1 },
        { "mkdir " CONFIG, CONFIG ": Failed to read: Not a regular file\n", 1 },
};

START_TEST(check_config_says_what_is_wrong_and_ends_in_its_code) {
        g_autofree char *output = NULL,
                        *expected = g_strdup_printf("%s%d\n", checks[_i].output, checks[_i].status);

        run(checks[_i].prepare);
        output = shell("%s --check-config 2>&1; echo $?", program);
        ck_assert_str_eq(output, expected);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("config");
        TCase *tcase = tcase_create("config");

        program = argv[1];
        tcase_set_timeout(tcase, 90);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, sighup_reads_it_again_and_says_what_is_wrong_and_where);
        tcase_add_test(tcase, what_it_reads_holds_and_a_broken_file_changes_nothing);
        tcase_add_test(tcase, a_new_worker_runs_the_new_program);
        tcase_add_test(tcase, a_sriov_manage_that_never_ends_costs_its_caller_one_deadline);
        tcase_add_test(tcase, systemd_hears_of_it);
        tcase_add_loop_test(tcase, check_config_says_what_is_wrong_and_ends_in_its_code, 0,
                            G_N_ELEMENTS(checks));
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
