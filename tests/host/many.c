/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Many at once, on a host of 33 cards: what sleeps on one delays nothing on another. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "cleanup.h"
#include "shell.h"
#include "simctl.h"

#define BLOCKED 32

static char *attribute(unsigned card, const char *name) {
        return g_strdup_printf("/sys/bus/pci/devices/0000:%02x:00.0/%s", card + 1, name);
}

static int put(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd >= 0 && write(fd, text, strlen(text)) >= 0 ? 0 : -errno;
}

static int64_t read_usec(const char *path) {
        int64_t start = g_get_monotonic_time();
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        char text[64];

        ck_assert_int_ge(fd, 0);
        ck_assert_int_gt(read(fd, text, sizeof text), 0);
        return g_get_monotonic_time() - start;
}

static void *blocked_write(void *data) {
        g_autofree char *path = attribute(GPOINTER_TO_UINT(data), "sriov_numvfs");

        /* The number that is set already: success, after the delay. */
        return GINT_TO_POINTER(put(path, "1"));
}

static unsigned busy(void) {
        char *text = NULL;
        unsigned n;

        ck_assert_int_eq(simctl((const char *const[]){ "busy", NULL }, &text), 0);
        n = (unsigned) atoi(text);
        free(text);
        return n;
}

START_TEST(thirty_two_blocked_writes_delay_nobody_else) {
        g_autofree char *dynamic = attribute(BLOCKED, "sriov_numvfs"),
                        *other = attribute(BLOCKED, "sriov_drivers_autoprobe");
        g_autofree char *held = attribute(0, "sriov_drivers_autoprobe");
        GThread *threads[BLOCKED];
        int64_t worst = 0, end;

        simctl_do("delay", "*/sriov_numvfs", "40s", "times=32");
        for (unsigned i = 0; i < BLOCKED; i++)
                threads[i] = g_thread_new("blocked", blocked_write, GUINT_TO_POINTER(i));

        end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
        while (busy() < BLOCKED && g_get_monotonic_time() < end)
                ;
        ck_assert_uint_eq(busy(), BLOCKED);

        /* Another card, and other files of a blocked one. */
        for (unsigned i = 0; i < 100; i++) {
                worst = MAX(worst, read_usec(dynamic));
                worst = MAX(worst, read_usec(held));
                ck_assert_int_eq(put(other, "1"), 0);
        }
        ck_assert_uint_eq(busy(), BLOCKED);
        printf("# slowest read beside %d blocked writes: %.1f ms\n", BLOCKED, (double) worst / 1000);
        ck_assert_int_lt(worst, 5 * G_USEC_PER_SEC); /* not by the clock: by what would be if they waited */

        /* A reboot lets nobody sleep on. */
        ck_assert_int_eq(simctl_do("reboot"), 0);
        for (unsigned i = 0; i < BLOCKED; i++)
                ck_assert_int_eq(GPOINTER_TO_INT(g_thread_join(threads[i])), 0);
}
END_TEST

START_TEST(a_blocked_write_can_not_be_killed_and_ends_by_itself) {
        g_autofree char *text = NULL;

        simctl_do("delay", "*/0000:01:00.0/sriov_numvfs", "5s");
        text = shell(NULL, "f=/sys/bus/pci/devices/0000:01:00.0/sriov_numvfs; sh -c \"echo 1 > $f\" & p=$!; "
                           "until [ \"$(carved-simctl busy)\" = 1 ]; do :; done; kill -9 $p; "
                           "until [ \"$(cut -d' ' -f3 /proc/$p/stat)\" != R ]; do :; done; "
                           "cut -d' ' -f3 /proc/$p/stat; wait $p; echo $?");
        ck_assert_msg(strstr(text, "D\n") && strstr(text, "137\n"), "it says: %s", text);
}
END_TEST

static double cost(const char *path) {
        const unsigned rounds = 2000;
        int64_t sum = 0;

        read_usec(path);
        for (unsigned i = 0; i < rounds; i++)
                sum += read_usec(path);
        return (double) sum / rounds;
}

START_TEST(what_never_changes_is_read_from_the_cache) {
        g_autofree char *constant = attribute(0, "vendor"), *living = attribute(0, "sriov_totalvfs");
        char *counts = NULL;

        simctl_do("log", "clear");
        printf("# open, read, close: a constant attribute %.1f us, a living one %.1f us\n", cost(constant),
               cost(living));
        ck_assert_int_eq(simctl((const char *const[]){ "log", "counts", NULL }, &counts), 0);
        ck_assert_msg(strstr(counts, " reads=2001 ") || strstr(counts, " reads=2002 "), "%s", counts);
        free(counts);
}
END_TEST

/* How many lines of the log have this. */
static unsigned logged(const char *what) {
        char *text = NULL;
        unsigned n;

        ck_assert_int_eq(simctl((const char *const[]){ "log", NULL }, &text), 0);
        n = lines_with(text, what);
        free(text);
        return n;
}

START_TEST(reads_are_logged_when_told_to_and_then_all_of_them) {
        g_autofree char *constant = attribute(0, "vendor"), *listed = NULL;

        read_usec(constant); /* it is in the cache now */
        simctl_do("log", "clear");
        read_usec(constant);
        ck_assert_uint_eq(logged("/vendor = ok"), 0);

        ck_assert_int_eq(simctl_do("log", "reads"), 0);
        read_usec(constant);
        read_usec(constant);
        listed = shell(NULL, "cd /sys/bus/pci/devices; ls . >/run/x; readlink 0000:02:00.0/driver");
        ck_assert_uint_eq(logged("/0000:01:00.0/vendor = ok"), 2);
        ck_assert_uint_eq(logged(" list /sys/bus/pci/devices = ok"), 1);
        ck_assert_uint_eq(logged("/0000:02:00.0/driver = ok"), 1);

        ck_assert_int_eq(simctl_do("log", "no-reads"), 0);
        simctl_do("log", "clear");
        read_usec(constant);
        ck_assert_uint_eq(logged("/vendor = ok"), 0);
        ck_assert_int_eq(simctl_do("log", "everything"), 2);
}
END_TEST

int main(int argc, char *argv[]) {
        Suite *suite = suite_create("many");
        TCase *tcase = tcase_create("many");
        SRunner *runner = srunner_create(suite);
        int failed;

        tcase_set_timeout(tcase, 60);
        tcase_add_test(tcase, thirty_two_blocked_writes_delay_nobody_else);
        tcase_add_test(tcase, a_blocked_write_can_not_be_killed_and_ends_by_itself);
        tcase_add_test(tcase, what_never_changes_is_read_from_the_cache);
        tcase_add_test(tcase, reads_are_logged_when_told_to_and_then_all_of_them);
        suite_add_tcase(suite, tcase);

        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return failed > 0;
}
