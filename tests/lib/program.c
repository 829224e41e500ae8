/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "../tap.h"
#include "program.h"

/* Somebody else's program, which gets nothing of ours but its arguments. */

static int run(char **ret_said, const char *program, const char *a, const char *b) {
        const char *const argv[] = { program, a, b, NULL };

        return carved_program_run(argv, ret_said);
}

START_TEST(its_environment_is_clean) {
        g_autofree char *said = NULL;

        setenv("LD_PRELOAD_OF_OURS", "/tmp/x.so", 1);
        setenv("BASH_ENV", "/tmp/x.sh", 1);
        setenv("PATH", "/tmp:/home", 1);
        ck_assert_int_eq(run(&said, "/usr/bin/env", NULL, NULL), 0);
        ck_assert_str_eq(said, "PATH=/usr/sbin:/usr/bin:/sbin:/bin; LC_ALL=C.UTF-8");
}
END_TEST

/* The lock is the one file that is not closed: whoever dies under the program leaves it to it. */
START_TEST(it_has_no_files_of_ours_but_a_lock) {
        int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC), lock = open("/etc/group", O_RDONLY);
        g_autofree char *said = NULL;

        ck_assert_int_eq(run(&said, "/bin/sh", "-c", "readlink /proc/$$/fd/* || true"), 0);
        ck_assert(g_str_has_prefix(said, "/dev/null; "));
        ck_assert_ptr_null(strstr(said, "/etc/passwd"));
        ck_assert_ptr_nonnull(strstr(said, "/etc/group"));
        close(fd);
        close(lock);
}
END_TEST

START_TEST(nothing_in_its_arguments_is_for_a_shell) {
        g_autofree char *said = NULL;

        ck_assert_int_eq(run(&said, "/bin/echo", "$(id); *", NULL), 0);
        ck_assert_str_eq(said, "$(id); *");
}
END_TEST

START_TEST(all_that_it_says_is_one_line_of_text) {
        g_autofree char *said = NULL;

        ck_assert_int_eq(
                run(&said, "/bin/sh", "-c", "printf 'a\\nb\\000\\nc\\033[31m\\377' ; echo err >&2; exit 3"),
                3);
        ck_assert_str_eq(said, "a; b\357\277\275; c [31m\357\277\275err");
}
END_TEST

START_TEST(who_talks_without_end_is_heard_in_part) {
        g_autofree char *said = NULL;

        ck_assert_int_eq(run(&said, "/bin/sh", "-c", "yes | head -c 10000000"), 0);
        ck_assert_uint_le(strlen(said), 256 * 1024);
}
END_TEST

START_TEST(what_can_t_be_run_says_why) {
        g_autofree char *said = NULL;

        ck_assert_int_eq(run(&said, "/nonexistent", NULL, NULL), -ENOENT);
        ck_assert_int_eq(run(&said, "/bin/sh", "-c", "kill -9 $$"), 128 + 9);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("program");
        TCase *tcase = tcase_create("program");

        tcase_add_test(tcase, its_environment_is_clean);
        tcase_add_test(tcase, it_has_no_files_of_ours_but_a_lock);
        tcase_add_test(tcase, nothing_in_its_arguments_is_for_a_shell);
        tcase_add_test(tcase, all_that_it_says_is_one_line_of_text);
        tcase_add_test(tcase, who_talks_without_end_is_heard_in_part);
        tcase_add_test(tcase, what_can_t_be_run_says_why);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
