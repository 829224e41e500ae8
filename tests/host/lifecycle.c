/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* carved-sim from outside: how it starts, what it says when it can't, and that nothing of it stays. */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "shell.h"

static char *sim, *fake_daemon, *dir;

static void set_up(void) {
        dir = g_dir_make_tmp("carved-lifecycle-XXXXXX", NULL);
        ck_assert_ptr_nonnull(dir);
}

static void tear_down(void) {
        g_free(shell(NULL, "rm -rf %s", dir));
        g_clear_pointer(&dir, g_free);
}

START_TEST(the_exit_code_is_the_commands) {
        int code;

        g_free(shell(&code, "%s --no-daemon --host t4 -- sh -c 'exit 42'", sim));
        ck_assert_int_eq(code, 42);
        g_free(shell(&code, "%s --no-daemon --host t4 -- sh -c 'kill -9 $$'", sim));
        ck_assert_int_eq(code, 128 + SIGKILL);
        g_free(shell(&code, "%s --no-daemon --host t4 -- no-such-command", sim));
        ck_assert_int_eq(code, 127);
}
END_TEST

START_TEST(ctrl_c_is_for_the_command_and_not_for_the_bus) {
        g_autofree char *script = g_strdup_printf("%s/script", dir), *text = NULL;

        ck_assert(g_file_set_contents(script,
                                      "n=0; trap 'n=$((n + 1)); sleep 0.2' INT; echo listening; read -t 1; "
                                      "read -t 1; busctl list >/dev/null && echo got=$n\n",
                                      -1, NULL));
        text = shell(NULL,
                     "(until grep -q listening %s/out 2>/dev/null; do :; done; printf '\\003'; sleep 3) | "
                     "script -qefc '%s --no-daemon --host t4 -- bash %s' %s/out >/dev/null; grep -o 'got=.' "
                     "%s/out",
                     dir, sim, script, dir, dir);
        ck_assert_str_eq(text, "got=1\n");
}
END_TEST

START_TEST(the_command_keeps_directory_environment_and_files) {
        g_autofree char *text = shell(NULL,
                                      "cd %s && echo kept > file && WORD=kept %s --no-daemon --host t4 -- "
                                      "sh -c 'pwd; cat file; echo $WORD; cat <&5' 5<file",
                                      dir, sim);
        g_autofree char *wanted = g_strdup_printf("%s\nkept\nkept\nkept\n", dir);

        ck_assert_str_eq(text, wanted);
}
END_TEST

START_TEST(what_is_the_hosts_own_is_private) {
        g_autofree char *text = NULL;

        g_free(shell(NULL,
                     "%s --no-daemon --host t4 -- sh -c 'touch /run/x /etc/carved/x /etc/mdevctl.d/x "
                     "/var/lib/carved/x "
                     "/usr/lib/nvidia/x /usr/share/nvidia/x /dev/x'",
                     sim));
        text = shell(NULL, "ls /run/x /etc/carved/x /etc/mdevctl.d/x /var/lib/carved/x /usr/lib/nvidia/x "
                           "/usr/share/nvidia/x /dev/x 2>/dev/null || true");
        ck_assert_str_eq(text, "");
}
END_TEST

/* Processes of any name space that carry our mark in their command line. */
static bool nothing_lives(void *mark) {
        g_autofree char *text =
                shell(NULL, "pgrep -f '[c]%s' || true", (const char *) mark + 1); /* not itself */

        return g_str_equal(text, "");
}

static bool file_exists(void *path) {
        return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Starts a host that holds a vGPU, and returns when its command runs. */
static GPid start_long(const char *mark, char **ret_flag) {
        g_autofree char *flag = g_strdup_printf("%s/up", dir);
        g_autofree char *script = g_strdup_printf(
                "/usr/lib/nvidia/sriov-manage -e ALL; carved-simctl settle; "
                "echo aaaaaaaa-0000-4000-8000-000000000001 > "
                "/sys/bus/pci/devices/0000:08:00.4/mdev_supported_types/nvidia-746/create; "
                "carved-simctl hold aaaaaaaa-0000-4000-8000-000000000001; "
                "(echo 1 > /sys/bus/mdev/devices/aaaaaaaa-0000-4000-8000-000000000001/remove) & "
                "cp /proc/self/mountinfo %s/mounts; touch %s; exec -a %s sleep 1000",
                dir, flag, mark);
        const char *argv[] = { sim, "--no-daemon", "--host", "a2", "--", "bash", "-c", script, NULL };
        GPid pid;

        ck_assert(g_spawn_async(NULL, (char **) argv, NULL,
                                G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, &pid,
                                NULL));
        ck_assert(comes_true(file_exists, flag));
        *ret_flag = g_steal_pointer(&flag);
        return pid;
}

static void ends_without_trace(int signal) {
        g_autofree char *mark = g_strdup_printf("carved-mark-%d", getpid()), *flag = NULL, *before = NULL,
                        *after = NULL;
        GPid pid;
        int status;

        before = shell(NULL, "cat /proc/self/mountinfo; ls /run /dev/vfio 2>/dev/null; ls "
                             "/sys/fs/fuse/connections || true");
        pid = start_long(mark, &flag);
        kill(pid, signal);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(comes_true(nothing_lives, mark), "a process outlives the host");
        after = shell(NULL, "cat /proc/self/mountinfo; ls /run /dev/vfio 2>/dev/null; ls "
                            "/sys/fs/fuse/connections || true");
        ck_assert_str_eq(before, after);
}

START_TEST(nothing_stays_after_a_kill) {
        ends_without_trace(SIGKILL);
}
END_TEST

START_TEST(nothing_stays_after_a_polite_end) {
        ends_without_trace(SIGTERM);
}
END_TEST

START_TEST(what_the_command_left_behind_ends_with_it) {
        g_autofree char *mark = g_strdup_printf("carved-stray-%d", getpid());

        g_free(shell(NULL,
                     "%s --no-daemon --host t4 -- bash -c '(exec -a %s sleep 1000) & disown; setsid bash -c "
                     "\"exec -a %s "
                     "sleep 1000\" & true' </dev/null >/dev/null 2>&1",
                     sim, mark, mark));
        ck_assert(comes_true(nothing_lives, mark));
}
END_TEST

/* As somebody ordinary, on a machine whose /dev/fuse is open to all, as Debian's is. The programs are copied:
 * who can say that others may look where they were built. */
static char *as_nobody(int *ret_code, const char *arguments) {
        g_autofree char *from = g_path_get_dirname(sim);

        g_free(shell(NULL,
                     "chmod 755 %s && mkdir -p %s/b/sim %s/d && cp -r %s/../dbus %s/b && "
                     "cd %s && cp -r carved-sim carved-simctl hosts boards sriov-manage libnvidia-ml.so.1 "
                     "%s/b/sim && "
                     "mknod -m 666 %s/d/fuse c 10 229",
                     dir, dir, dir, from, dir, from, dir, dir));
        return shell(ret_code,
                     "unshare -m bash -c 'mount --bind %s/d/fuse /dev/fuse && cd / && PATH=%s/b/sim:$PATH "
                     "exec setpriv "
                     "--reuid=65534 --regid=65534 --clear-groups env HOME=/ %s/b/sim/carved-sim %s'",
                     dir, dir, dir, arguments);
}

START_TEST(an_ordinary_user_has_it_all) {
        g_autofree char *text = as_nobody(
                NULL,
                "--no-daemon --host a2 -- bash -c \""
                "id -u; /usr/lib/nvidia/sriov-manage -e ALL && carved-simctl settle && "
                "mdevctl start -u aaaaaaaa-0000-4000-8000-000000000001 -p 0000:08:00.4 --type nvidia-746 "
                "&& mdevctl list && carved-simctl hold aaaaaaaa-0000-4000-8000-000000000001 >/dev/null && "
                "ls /dev/vfio && touch /etc/carved/x /var/lib/carved/x && "
                "busctl --address=\\$DBUS_SYSTEM_BUS_ADDRESS call org.freedesktop.DBus / "
                "org.freedesktop.DBus GetId\"");

        ck_assert_msg(g_str_has_prefix(text, "0\n"), "it says: %s", text);
        ck_assert_ptr_nonnull(strstr(text, "aaaaaaaa-0000-4000-8000-000000000001 0000:08:00.4 nvidia-746"));
}
END_TEST

START_TEST(the_bus_is_open_to_every_user) {
        g_autofree char *text =
                shell(NULL,
                      "%s --no-daemon --host t4 -- setpriv --reuid=65534 --regid=65534 --clear-groups busctl "
                      "--address=unix:path=/run/dbus/system_bus_socket call org.freedesktop.DBus / "
                      "org.freedesktop.DBus GetId",
                      sim);
        g_autofree char *refused = NULL;
        int code;

        ck_assert(g_str_has_prefix(text, "s \""));
        refused = shell(
                &code,
                "%s --no-daemon --host t4 -- setpriv --reuid=65534 --regid=65534 --clear-groups busctl call "
                "org.freedesktop.DBus / org.freedesktop.DBus RequestName su org.carved1 0",
                sim);
        ck_assert_int_ne(code, 0);
        g_free(shell(NULL,
                     "%s --no-daemon --host t4 -- busctl call org.freedesktop.DBus / org.freedesktop.DBus "
                     "RequestName su "
                     "org.carved1 0",
                     sim));
}
END_TEST

START_TEST(others_than_root_read_only_the_start_of_config_space) {
        g_autofree char *text = shell(
                NULL,
                "%s --no-daemon --host t4 -- sh -c 'wc -c < /sys/bus/pci/devices/0000:3b:00.0/config; "
                "setpriv "
                "--reuid=65534 --regid=65534 --clear-groups wc -c /sys/bus/pci/devices/0000:3b:00.0/config'",
                sim);

        ck_assert(g_str_has_prefix(text, "4096\n64 "));
}
END_TEST

START_TEST(without_fuse_it_says_so) {
        g_autofree char *text = NULL;
        int code;

        text = shell(&code,
                     "unshare -m bash -c 'mount -t tmpfs none /dev && exec %s --no-daemon --host t4 -- true'",
                     sim);
        ck_assert_int_eq(code, 125);
        ck_assert_ptr_nonnull(strstr(text, "/dev/fuse can't be opened"));
}
END_TEST

START_TEST(without_name_spaces_it_says_which) {
        static const char *const kinds[][2] = { { "mnt", "A mount name space" },
                                                { "net", "A network name space" },
                                                { "pid", "A PID name space" } };

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                g_autofree char *text = NULL;
                int code;

                text = shell(
                        &code,
                        "unshare -Ur bash -c 'echo 0 > /proc/sys/user/max_%s_namespaces; exec %s --no-daemon "
                        "--host t4 -- true'",
                        kinds[i][0], sim);
                ck_assert_int_eq(code, 125);
                ck_assert_msg(strstr(text, kinds[i][1]) != NULL, "it says: %s", text);
        }
}
END_TEST

START_TEST(a_bad_host_file_is_refused_with_file_place_and_reason) {
        g_autofree char *file = g_strdup_printf("%s/bad.json", dir), *text = NULL, *wanted = NULL;
        int code;

        ck_assert(g_file_set_contents(
                file, "{ \"format\": 1, \"gpus\": [ { \"address\": \"nowhere\", \"board\": \"a2\" } ] }", -1,
                NULL));
        text = shell(&code, "%s --no-daemon --host %s -- true", sim, file);
        wanted = g_strdup_printf(
                "carved-sim: %s: gpus[0].address: 'nowhere' is not a PCI address, such as 0000:08:00.0\n",
                file);
        ck_assert_int_eq(code, 2);
        ck_assert_str_eq(text, wanted);
}
END_TEST

START_TEST(every_shipped_host_is_listed_and_starts) {
        g_autofree char *list = shell(NULL, "%s --list-hosts", sim);
        g_auto(GStrv) lines = g_strsplit(g_strchomp(list), "\n", -1);

        ck_assert_uint_ge(g_strv_length(lines), 6);
        for (char **line = lines; *line; line++) {
                g_autofree char *name = g_strndup(*line, strcspn(*line, " "));

                g_free(shell(NULL, "%s --no-daemon --host %s -- ls /sys/bus/pci/devices", sim, name));
        }
}
END_TEST

START_TEST(hosts_can_be_put_together) {
        g_autofree char *text = shell(
                NULL,
                "%s --no-daemon --host a2 --host t4 --host mtty -- sh -c 'lspci -n; ls /sys/class/mdev_bus'",
                sim);
        g_autofree char *clash = NULL;
        int code;

        ck_assert(strstr(text, "10de:25b6") && strstr(text, "10de:1eb8") && strstr(text, "mtty"));
        clash = shell(&code, "%s --no-daemon --host a2 --host a2 -- true", sim);
        ck_assert_int_eq(code, 2);
        ck_assert_ptr_nonnull(strstr(clash, "two GPUs at 0000:08:00.0"));
}
END_TEST

/* All names, links and contents that a reader can get; sizes differ, for tmpfs knows the true ones. */
static const char list_tree[] = "cd /sys && find . -printf \"%%P %%y %%l\\n\" | sort && find . -type f -perm "
                                "-400 ! -name config | sort | "
                                "while read f; do echo \"$f: $(cat \"$f\" 2>/dev/null)\"; done";

START_TEST(a_frozen_host_is_the_same_tree_where_nothing_reacts) {
        g_autofree char *script = g_strdup_printf(list_tree);
        g_autofree char *living = shell(NULL, "%s --no-daemon --host scale:2x4x3 -- sh -c '%s'", sim, script);
        g_autofree char *frozen =
                shell(NULL, "%s --no-daemon --frozen --host scale:2x4x3 -- sh -c '%s'", sim, script);
        g_autofree char *after = NULL;

        ck_assert_uint_gt(strlen(living), 10000);
        ck_assert_str_eq(living, frozen);
        after = shell(NULL,
                      "%s --no-daemon --frozen --host a2 -- sh -c 'echo 99 > "
                      "/sys/bus/pci/devices/0000:08:00.0/sriov_numvfs; "
                      "cat /sys/bus/pci/devices/0000:08:00.0/sriov_numvfs; lspci | wc -l'",
                      sim);
        ck_assert_str_eq(after, "99\n2\n");
}
END_TEST

START_TEST(a_scale_host_has_its_vfs_on) {
        g_autofree char *text = shell(
                NULL,
                "%s --no-daemon --host scale:2x4x3 -- sh -c 'cat /sys/bus/pci/devices/*/sriov_numvfs; "
                "ls /sys/class/mdev_bus | wc -l; ls /sys/class/mdev_bus/0000:01:00.4/mdev_supported_types'",
                sim);

        ck_assert_str_eq(text, "4\n4\n8\nnvidia-1000\nnvidia-1001\nnvidia-1002\n");
}
END_TEST

START_TEST(a_state_directory_keeps_what_survives) {
        g_autofree char *text = NULL;

        g_free(shell(NULL,
                     "%s --no-daemon --host t4 --state %s/s -- sh -c 'echo kept > /var/lib/carved/x; echo "
                     "kept > /etc/carved/x; "
                     "echo kept > /etc/mdevctl.d/x; echo lost > /usr/lib/nvidia/x'",
                     sim, dir));
        text = shell(NULL,
                     "%s --no-daemon --host t4 --state %s/s -- sh -c 'cat /var/lib/carved/x /etc/carved/x "
                     "/etc/mdevctl.d/x; "
                     "test ! -e /usr/lib/nvidia/x'",
                     sim, dir);
        ck_assert_str_eq(text, "kept\nkept\nkept\n");
}
END_TEST

START_TEST(real_pace_takes_the_fields_time) {
        g_autofree char *text =
                shell(NULL,
                      "%s --no-daemon --pace real --host a2 -- bash -c 'SECONDS=0; "
                      "/usr/lib/nvidia/sriov-manage -e ALL >/dev/null; echo $((SECONDS >= 3)); "
                      "ls /sys/class/mdev_bus | wc -l; carved-simctl settle; ls /sys/class/mdev_bus | wc -l'",
                      sim);

        ck_assert_str_eq(text, "1\n0\n16\n");
}
END_TEST

START_TEST(a_daemon_is_started_waited_for_and_can_be_stopped_and_killed) {
        g_autofree char *text =
                shell(NULL,
                      "%s --daemon %s --host t4 -- sh -c 'carved-simctl daemon status; "
                      "carved-simctl daemon stop; carved-simctl daemon status; carved-simctl daemon start; "
                      "carved-simctl daemon kill; carved-simctl daemon start; carved-simctl daemon status; "
                      "touch /run/carved/volatile; carved-simctl reboot; carved-simctl daemon status; "
                      "ls /run/carved' 2>&1",
                      sim, fake_daemon);

        ck_assert_str_eq(text, "ready: serving\nstopped\nready: serving\nready: serving\n");
}
END_TEST

START_TEST(a_daemon_that_dies_at_once_is_told_of) {
        g_autofree char *text = NULL;
        int code;

        text = shell(&code, "%s --daemon /bin/false --host t4 -- true", sim);
        ck_assert_int_ne(code, 0);
        ck_assert_ptr_nonnull(strstr(text, "carved ended before it was ready"));
        g_free(shell(NULL, "%s --no-wait --daemon /bin/false --host t4 -- true", sim));
}
END_TEST

START_TEST(wrong_calls_are_refused) {
        static const char *const calls[] = { "--pace slow",         "--nonsense",         "--host",
                                             "--host no-such-host", "--host scale:0x1x1", "--state /run/x" };

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                int code;

                g_free(shell(&code, "%s --no-daemon %s -- true", sim, calls[i]));
                ck_assert_msg(code == 2, "'%s' exits with %d", calls[i], code);
        }
}
END_TEST

START_TEST(simctl_outside_of_a_host_says_so) {
        g_autofree char *text = NULL;
        int code;

        text = shell(&code, "env -u CARVED_SIM_CONTROL carved-simctl rules");
        ck_assert_int_eq(code, 3);
        ck_assert_ptr_nonnull(strstr(text, "no simulated host answers"));
}
END_TEST

int main(int argc, char *argv[]) {
        const TTest *const tests[] = {
                the_exit_code_is_the_commands,
                ctrl_c_is_for_the_command_and_not_for_the_bus,
                the_command_keeps_directory_environment_and_files,
                what_is_the_hosts_own_is_private,
                nothing_stays_after_a_kill,
                nothing_stays_after_a_polite_end,
                what_the_command_left_behind_ends_with_it,
                an_ordinary_user_has_it_all,
                the_bus_is_open_to_every_user,
                others_than_root_read_only_the_start_of_config_space,
                without_fuse_it_says_so,
                without_name_spaces_it_says_which,
                a_bad_host_file_is_refused_with_file_place_and_reason,
                every_shipped_host_is_listed_and_starts,
                hosts_can_be_put_together,
                a_frozen_host_is_the_same_tree_where_nothing_reacts,
                a_scale_host_has_its_vfs_on,
                a_state_directory_keeps_what_survives,
                real_pace_takes_the_fields_time,
                a_daemon_is_started_waited_for_and_can_be_stopped_and_killed,
                a_daemon_that_dies_at_once_is_told_of,
                wrong_calls_are_refused,
                simctl_outside_of_a_host_says_so,
        };
        Suite *suite = suite_create("lifecycle");
        TCase *tcase = tcase_create("lifecycle");
        SRunner *runner = srunner_create(suite);
        int failed;

        sim = g_canonicalize_filename(argv[1], NULL);
        fake_daemon = g_canonicalize_filename(argv[2], NULL);
        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                tcase_add_test(tcase, tests[i]);
        suite_add_tcase(suite, tcase);

        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        g_free(sim);
        g_free(fake_daemon);
        return failed > 0;
}
