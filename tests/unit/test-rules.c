/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "rules.h"
#include "unit.h"

/* Rules and what they do to operations, without the files they are about. */

static Kernel *kernel;

static void setup(void) {
        kernel = kernel_new(&pace_fast);
        kernel->rules = rules_new();
        kernel_lock(kernel);
}

static void teardown(void) {
        rules_clear(kernel->rules);
        kernel_unlock(kernel);
}

/* Words as a shell would split them, but without its quotes. */
static Rule *parse(const char *text, char **ret_why) {
        g_auto(GStrv) words = g_strsplit(text, " ", -1);

        return rule_parse((const char *const *) (*text ? words : (char *[]){ NULL }), ret_why);
}

static unsigned add(const char *text) {
        g_autofree char *why = NULL;
        Rule *rule = parse(text, &why);

        ck_assert_msg(rule, "'%s': %s", text, why);
        return rules_add(kernel->rules, rule);
}

static const struct {
        const char *text, *printed;
} forms[] = {
        { "fail /sys/a EIO", "fail /sys/a EIO op=write nth=1 times=1" },
        { "fail /sys/a ENOSPC op=read", "fail /sys/a ENOSPC op=read nth=1 times=1" },
        { "fail /sys/a EPERM op=write", "fail /sys/a EPERM op=write nth=1 times=1" },
        { "fail /sys/* ignore", "fail /sys/* ignore op=write nth=1 times=1" },
        { "fail /sys/a EBUSY nth=3", "fail /sys/a EBUSY op=write nth=3 times=1" },
        { "fail /sys/a EBUSY times=4", "fail /sys/a EBUSY op=write nth=1 times=4" },
        { "fail /sys/a EBUSY always", "fail /sys/a EBUSY op=write nth=1 always" },
        { "fail /sys/a EBUSY always nth=2 op=read", "fail /sys/a EBUSY op=read nth=2 always" },
        { "fail /sys/a EBUSY times=4294967294 nth=4294967294",
          "fail /sys/a EBUSY op=write nth=4294967294 times=4294967294" },
        { "fail /sys/a EBUSY always times=2",
          "fail /sys/a EBUSY op=write nth=1 times=2" }, /* the last one counts */
        { "delay /sys/a 2s", "delay /sys/a 2000ms op=write nth=1 times=1" },
        { "delay /sys/a 3 op=read always", "delay /sys/a 3000ms op=read nth=1 always" },
        { "delay /driver/nvidia/probe/* 1min",
          "delay /driver/nvidia/probe/* 60000ms op=write nth=1 times=1" },
        { "delay /sys/a 0", "delay /sys/a 0ms op=write nth=1 times=1" },
        { "fail nvml/nvmlDeviceGetCount_v2 IN_USE",
          "fail nvml/nvmlDeviceGetCount_v2 IN_USE op=write nth=1 times=1" },
        { "fail nvml/nvml* 15 always", "fail nvml/nvml* GPU_IS_LOST op=write nth=1 always" },
        { "fail nvml/x ignore", "fail nvml/x ignore op=write nth=1 times=1" },
        { "fail nvml/x crash nth=2", "fail nvml/x crash op=write nth=2 times=1" },
        { "fail nvml/x crash-after", "fail nvml/x crash-after op=write nth=1 times=1" },
        { "delay nvml/x 2s", "delay nvml/x 2000ms op=write nth=1 times=1" },
        { "text /sys/a hello", "text /sys/a \"hello\" op=read nth=1 times=1" },
        { "text /sys/a  op=read", "text /sys/a \"\" op=read nth=1 times=1" },
        { "text /sys/a a\\nb\\t\\\"\\\\ always", "text /sys/a \"a\\nb\\t\\\"\\\\\" op=read nth=1 always" },
        { "text /sys/a \\303\\244\\001", "text /sys/a \"\\303\\244\\001\" op=read nth=1 times=1" },
};

START_TEST(every_form_of_a_rule_is_read) {
        g_autofree char *why = NULL, *printed = NULL;
        g_autoptr(Rule) rule = parse(forms[_i].text, &why);

        ck_assert_msg(rule, "%s", why);
        ck_assert_ptr_null(why);
        printed = rule_format(rule);
        ck_assert_str_eq(printed, forms[_i].printed);
}
END_TEST

/* Printed for a shell, which takes the quotes around a text away and leaves alone what is between them. */
static char *without_quotes(const char *printed) {
        const char *first = strchr(printed, '"'), *last = strrchr(printed, '"');

        if (!first)
                return g_strdup(printed);
        return g_strdup_printf("%.*s%.*s%s", (int) (first - printed), printed, (int) (last - first - 1),
                               first + 1, last + 1);
}

START_TEST(a_printed_rule_reads_as_the_same_rule) {
        g_autofree char *text = without_quotes(forms[_i].printed), *why = NULL, *again = NULL;
        g_autoptr(Rule) rule = parse(text, &why);

        ck_assert_msg(rule, "%s", why);
        again = rule_format(rule);
        ck_assert_str_eq(again, forms[_i].printed);
}
END_TEST

#define BEGINS  "a rule begins with fail, delay or text"
#define OPTIONS " is not one of op=read, op=write, nth=N, times=N, always"
#define ERRORS  " is not the name of an error, such as EIO; or 'ignore'"
#define CODES   " is not an error of NVML, such as IN_USE or 19; or 'ignore', 'crash', 'crash-after'"
#define TIMES   " is not a time, such as 200ms, 30s or 2min"

static const struct {
        const char *text, *why;
} refusals[] = {
        { "", BEGINS },
        { "break /sys/a EIO", BEGINS },
        { "FAIL /sys/a EIO", BEGINS },
        { "failure /sys/a EIO", BEGINS },
        { "fail", "'fail' needs a file pattern and a value" },
        { "delay", "'delay' needs a file pattern and a value" },
        { "text /sys/a", "'text' needs a file pattern and a value" },
        { "fail /sys/a EWHAT", "'EWHAT'" ERRORS },
        { "fail /sys/a eio", "'eio'" ERRORS },
        { "fail /sys/a 5", "'5'" ERRORS },
        { "fail /sys/a -EIO", "'-EIO'" ERRORS },
        { "fail /sys/a ", "''" ERRORS },
        { "fail /sys/a Ignore", "'Ignore'" ERRORS },
        { "fail nvml/x EIO", "'EIO'" CODES },
        { "fail nvml/x 0", "'0'" CODES },
        { "fail nvml/x 5", "'5'" CODES },
        { "fail nvml/x SUCCESS", "'SUCCESS'" CODES },
        { "fail nvml/x in_use", "'in_use'" CODES },
        { "fail /nvml/x IN_USE", "'IN_USE'" ERRORS },
        { "fail nvml/x IN_USE op=read", "calls of NVML are neither texts nor op=read" },
        { "text nvml/x hello", "calls of NVML are neither texts nor op=read" },
        { "delay /sys/a soon", "'soon'" TIMES },
        { "delay /sys/a 25h", "'25h'" TIMES },
        { "delay /sys/a ", "''" TIMES },
        { "fail /sys/a EIO op=open", "'op=open'" OPTIONS },
        { "fail /sys/a EIO op=", "'op='" OPTIONS },
        { "fail /sys/a EIO nth=0", "'nth=0'" OPTIONS },
        { "fail /sys/a EIO nth=-1", "'nth=-1'" OPTIONS },
        { "fail /sys/a EIO nth=+1", "'nth=+1'" OPTIONS },
        { "fail /sys/a EIO nth=", "'nth='" OPTIONS },
        { "fail /sys/a EIO nth=1x", "'nth=1x'" OPTIONS },
        { "fail /sys/a EIO nth=4294967295", "'nth=4294967295'" OPTIONS },
        { "fail /sys/a EIO times=0", "'times=0'" OPTIONS },
        { "fail /sys/a EIO times=always", "'times=always'" OPTIONS },
        { "fail /sys/a EIO times=4294967295", "'times=4294967295'" OPTIONS },
        { "fail /sys/a EIO always=1", "'always=1'" OPTIONS },
        { "fail /sys/a EIO nth=1 often", "'often'" OPTIONS },
};

START_TEST(what_is_not_a_rule_is_refused_with_the_reason) {
        g_autofree char *why = NULL;

        ck_assert_ptr_null(parse(refusals[_i].text, &why));
        ck_assert_str_eq(why, refusals[_i].why);
}
END_TEST

START_TEST(a_text_is_for_readers_only) {
        g_autofree char *why = NULL;

        ck_assert_ptr_null(parse("text /sys/a hello op=write", &why));
        ck_assert(g_str_has_prefix(why, "'op=write' "));
}
END_TEST

static const char *const half_escapes[] = { "text /sys/a \\", "text /sys/a abc\\", "text /sys/a a\\\\\\" };

START_TEST(a_text_does_not_end_within_an_escape) {
        g_autofree char *why = NULL;

        ck_assert_ptr_null(parse(half_escapes[_i], &why));
        ck_assert_ptr_nonnull(why);
}
END_TEST

static const struct {
        const char *text;
        unsigned ms;
} times[] = {
        { "0", 0 },
        { "3", 3000 },
        { "03", 3000 },
        { "0ms", 0 },
        { "150ms", 150 },
        { "2s", 2000 },
        { "1min", 60000 },
        { "86400", 86400000 },
        { "86400s", 86400000 },
        { "1440min", 86400000 },
        { "86400000ms", 86400000 },
};

START_TEST(a_time_has_a_unit_or_is_in_seconds) {
        unsigned ms = 1;

        ck_assert(rule_parse_time(times[_i].text, &ms));
        ck_assert_uint_eq(ms, times[_i].ms);
}
END_TEST

static const char *const bad_times[] = {
        "",
        " ",
        "s",
        "ms",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1 s",
        "1h",
        "1sec",
        "1m",
        "1MS",
        "1.5s",
        "0x10",
        "1s1",
        "86401",
        "1441min",
        "86400001ms",
        "4294967296",
        "4294967297ms",
        "18446744073709551616",
        "99999999999999999999999ms",
        "1\n",
};

START_TEST(what_is_not_a_time_up_to_a_day_is_refused) {
        unsigned ms = 77;

        ck_assert(!rule_parse_time(bad_times[_i], &ms));
        ck_assert_uint_eq(ms, 77);
}
END_TEST

START_TEST(every_error_of_the_system_has_its_name) {
        ck_assert_int_eq(errno_from_name("EIO"), EIO);
        ck_assert_int_eq(errno_from_name("EPERM"), EPERM);
        ck_assert_int_eq(errno_from_name("EHWPOISON"), EHWPOISON);
        for (int e = 1; e < 4096; e++)
                if (strerrorname_np(e))
                        ck_assert_int_eq(errno_from_name(strerrorname_np(e)), e);
        ck_assert_int_eq(errno_from_name(""), 0);
        ck_assert_int_eq(errno_from_name("0"), 0);
        ck_assert_int_eq(errno_from_name("EI"), 0);
}
END_TEST

/* What five writes to /sys/a get: 'x' fails, '-' goes through. */
static const struct {
        const char *rule, *verdicts;
} series[] = {
        { "fail /sys/a EIO", "x----" },
        { "fail /sys/a EIO nth=1 times=1", "x----" },
        { "fail /sys/a EIO nth=2", "-x---" },
        { "fail /sys/a EIO nth=5", "----x" },
        { "fail /sys/a EIO nth=6", "-----" },
        { "fail /sys/a EIO times=2", "xx---" },
        { "fail /sys/a EIO nth=2 times=3", "-xxx-" },
        { "fail /sys/a EIO nth=4 times=4294967294", "---xx" },
        { "fail /sys/a EIO always", "xxxxx" },
        { "fail /sys/a EIO always nth=3", "--xxx" },
        { "fail /sys/a EIO op=read always", "-----" },
        { "text /sys/a hello always", "-----" },
        { "delay /sys/a 0 always", "-----" },
};

START_TEST(a_rule_strikes_from_its_nth_match_so_many_times) {
        add(series[_i].rule);

        for (const char *verdict = series[_i].verdicts; *verdict; verdict++) {
                /* Another file in between does not count. */
                ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/b", NULL), 0);
                ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/a", NULL), *verdict == 'x' ? -EIO : 0);
        }
}
END_TEST

static const struct {
        const char *pattern, *path;
        bool matches;
} patterns[] = {
        { "/sys/a", "/sys/a", true },
        { "/sys/a", "/sys/ab", false },
        { "/sys/a", "/sys/a/b", false },
        { "sys/a", "/sys/a", false },
        { "*", "/sys/a/b", true },
        { "*/create", "/sys/a/b/create", true },
        { "/sys/*/create", "/sys/a/b/create", true },
        { "/sys/?/create", "/sys/a/create", true },
        { "/sys/[ab]/create", "/sys/b/create", true },
        { "/sys/[!ab]/create", "/sys/b/create", false },
        { "/sys/a\\*", "/sys/a*", true },
        { "/sys/a\\*", "/sys/ab", false },
        { "*/0000:08:00.[4-7]/*", "/sys/devices/pci0000:00/0000:08:00.5/nvidia/current_vgpu_type", true },
        { "/driver/nvidia/probe/*", "/driver/nvidia/probe/0000:08:00.0", true },
};

START_TEST(a_pattern_is_a_glob_over_the_whole_path) {
        g_autofree char *rule = g_strdup_printf("fail %s EIO", patterns[_i].pattern);

        add(rule);
        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, patterns[_i].path, NULL),
                         patterns[_i].matches ? -EIO : 0);
}
END_TEST

START_TEST(reads_and_writes_are_counted_apart) {
        add("fail /sys/a EIO op=read nth=2");

        ck_assert_int_eq(rules_apply(kernel, RULE_READ, "/sys/a", NULL), 0);
        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/a", NULL), 0);
        ck_assert_int_eq(rules_apply(kernel, RULE_READ, "/sys/a", NULL), -EIO);
}
END_TEST

START_TEST(an_ignored_write_looks_done) {
        add("fail /sys/a ignore");

        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/a", NULL), RULE_IGNORE);
        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/a", NULL), 0);
}
END_TEST

START_TEST(a_text_stands_for_what_would_be_read) {
        g_autoptr(GString) out = g_string_new("left over");

        add("text /sys/a one\\ntwo\\n");
        ck_assert_int_eq(rules_apply(kernel, RULE_READ, "/sys/a", out), RULE_IGNORE);
        ck_assert_str_eq(out->str, "one\ntwo\n");

        g_string_assign(out, "own");
        ck_assert_int_eq(rules_apply(kernel, RULE_READ, "/sys/a", out), 0);
        ck_assert_str_eq(out->str, "own");
}
END_TEST

START_TEST(the_first_rule_that_strikes_decides_and_all_count) {
        g_autoptr(GString) out = g_string_new(NULL), printed = g_string_new(NULL);

        add("fail /sys/a EPERM op=read nth=2");
        add("fail /sys/* EIO op=read times=2");
        add("text /sys/a hello always");

        ck_assert_int_eq(rules_apply(kernel, RULE_READ, "/sys/a", out), -EIO);
        ck_assert_int_eq(rules_apply(kernel, RULE_READ, "/sys/a", out), -EPERM);
        ck_assert_str_eq(out->str, "");
        ck_assert_int_eq(rules_apply(kernel, RULE_READ, "/sys/a", out), RULE_IGNORE);
        ck_assert_str_eq(out->str, "hello");

        rules_print(kernel->rules, printed);
        ck_assert_str_eq(printed->str, "1: fail /sys/a EPERM op=read nth=2 times=1 (matched 3 times)\n"
                                       "2: fail /sys/* EIO op=read nth=1 times=2 (matched 3 times)\n"
                                       "3: text /sys/a \"hello\" op=read nth=1 always (matched 3 times)\n");
}
END_TEST

START_TEST(delays_add_up_and_leave_the_verdict) {
        int64_t start = g_get_monotonic_time();

        add("delay /sys/a 3ms");
        add("fail /sys/a EIO");
        add("delay /sys/* 4ms");
        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/a", NULL), -EIO);
        ck_assert_int_ge(g_get_monotonic_time() - start, 7000);
}
END_TEST

static void *reboot_thread(void *data) {
        kernel_lock(kernel);
        kernel->rebooting = true;
        kernel_wake(kernel);
        kernel_unlock(kernel);
        return NULL;
}

START_TEST(a_delay_holds_nobody_else_up_and_ends_with_a_reboot) {
        GThread *thread = g_thread_new("reboot", reboot_thread, NULL);

        /* The thread gets the lock only while this one sleeps; the test's time is over long before the day
         * is. */
        add("delay /sys/a 1440min");
        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/a", NULL), 0);
        ck_assert(kernel->rebooting);
        g_thread_join(thread);
}
END_TEST

START_TEST(a_kernel_without_rules_lets_all_through) {
        Kernel *bare = kernel_new(&pace_fast);

        ck_assert_int_eq(rules_apply(bare, RULE_WRITE, "/sys/a", NULL), 0);
        tree_free(bare->tree);
        g_free(bare);
}
END_TEST

START_TEST(a_rule_has_a_number_that_is_never_used_again) {
        g_autoptr(GString) out = g_string_new(NULL);

        ck_assert_uint_eq(add("fail /sys/a EIO"), 1);
        ck_assert_uint_eq(add("fail /sys/b EIO"), 2);
        ck_assert(rules_remove(kernel->rules, 1));
        ck_assert(!rules_remove(kernel->rules, 1));
        ck_assert(!rules_remove(kernel->rules, 0));
        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/a", NULL), 0);
        ck_assert_int_eq(rules_apply(kernel, RULE_WRITE, "/sys/b", NULL), -EIO);

        rules_clear(kernel->rules);
        ck_assert_uint_eq(add("fail /sys/a EIO"), 3);
        rules_clear(kernel->rules);
        rules_print(kernel->rules, out);
        ck_assert_str_eq(out->str, "");
}
END_TEST

START_TEST(there_are_never_more_than_1024_rules) {
        for (unsigned i = 1; i <= 1024; i++)
                ck_assert_uint_eq(add("fail /sys/a EIO"), i);

        ck_assert_uint_eq(add("fail /sys/a EIO"), 0);
        ck_assert(rules_remove(kernel->rules, 500));
        ck_assert_uint_eq(add("fail /sys/a EIO"), 1025);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("rules");

        tcase_add_checked_fixture(tests, setup, teardown);
        add_table_test(tests, every_form_of_a_rule_is_read, forms);
        add_table_test(tests, a_printed_rule_reads_as_the_same_rule, forms);
        add_table_test(tests, what_is_not_a_rule_is_refused_with_the_reason, refusals);
        tcase_add_test(tests, a_text_is_for_readers_only);
        add_table_test(tests, a_text_does_not_end_within_an_escape, half_escapes);
        add_table_test(tests, a_time_has_a_unit_or_is_in_seconds, times);
        add_table_test(tests, what_is_not_a_time_up_to_a_day_is_refused, bad_times);
        tcase_add_test(tests, every_error_of_the_system_has_its_name);
        add_table_test(tests, a_rule_strikes_from_its_nth_match_so_many_times, series);
        add_table_test(tests, a_pattern_is_a_glob_over_the_whole_path, patterns);
        tcase_add_test(tests, reads_and_writes_are_counted_apart);
        tcase_add_test(tests, an_ignored_write_looks_done);
        tcase_add_test(tests, a_text_stands_for_what_would_be_read);
        tcase_add_test(tests, the_first_rule_that_strikes_decides_and_all_count);
        tcase_add_test(tests, delays_add_up_and_leave_the_verdict);
        tcase_add_test(tests, a_delay_holds_nobody_else_up_and_ends_with_a_reboot);
        tcase_add_test(tests, a_kernel_without_rules_lets_all_through);
        tcase_add_test(tests, a_rule_has_a_number_that_is_never_used_again);
        tcase_add_test(tests, there_are_never_more_than_1024_rules);
        return unit_run(tests, "rules");
}
