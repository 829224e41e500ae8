/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "../tap.h"
#include "cutting.h"
#include "simctl.h"

/* Every call of NVIDIA's library that an operation makes fails once, with every code that there is: then all
 * is as before, or all is done, and carved goes on. On host h100. The argument: `short`, a code for each
 * call, or `long`, all. */

static const char *const codes[] = {
        "UNINITIALIZED",
        "INVALID_ARGUMENT",
        "NOT_SUPPORTED",
        "NO_PERMISSION",
        "NOT_FOUND",
        "INSUFFICIENT_SIZE",
        "DRIVER_NOT_LOADED",
        "TIMEOUT",
        "LIBRARY_NOT_FOUND",
        "FUNCTION_NOT_FOUND",
        "GPU_IS_LOST",
        "RESET_REQUIRED",
        "OPERATING_SYSTEM",
        "LIB_RM_VERSION_MISMATCH",
        "IN_USE",
        "MEMORY",
        "NO_DATA",
        "VGPU_ECC_NOT_SUPPORTED",
        "INSUFFICIENT_RESOURCES",
        "ARGUMENT_VERSION_MISMATCH",
        "DEPRECATED",
        "NOT_READY",
        "GPU_NOT_FOUND",
        "INVALID_STATE",
        "UNKNOWN",
        "crash",
        "crash-after",
};

static const Cut *cut;
static Client *client;
static bool is_long;

/* ---- operations, each with its way back ---- */

static char *layout(void) {
        return g_strdup_printf("%s 1 %s 1", cut->three, cut->one);
}

static const char *mode_on(char **text) {
        return cut_mode(client, H100, true, text);
}

static const char *mode_off(char **text) {
        return cut_mode(client, H100, false, text);
}

static const char *apply(char **text) {
        g_autofree char *asked = layout();

        return cut_apply(client, H100, asked, "", text);
}

static const char *clear(char **text) {
        return cut_clear(client, H100, text);
}

static const char *replace(char **text) {
        g_autofree char *asked = g_strdup_printf("%s 2 %s 1", cut->two, cut->one);

        return cut_apply(client, H100, asked, "replace", text);
}

static const char *put_back(char **text) {
        g_autofree char *asked = layout();

        return cut_apply(client, H100, asked, "replace", text);
}

static const char *enable(char **text) {
        return carve_enable(client, &cut->card, text);
}

static const char *disable(char **text) {
        return carve_disable(client, &cut->card, false, text);
}

static const char *mixed_on(char **text) {
        return cut_mixed(client, H100, true, text);
}

static const char *mixed_off(char **text) {
        return cut_mixed(client, H100, false, text);
}

typedef const char *(*Operation)(char **text);

static const struct {
        const char *name;
        Operation prepare[3]; /* to where it starts */
        Operation act, back;
        bool always; /* also in the short form */
} operations[] = {
        { "SetMode", { NULL }, mode_on, mode_off, true },
        { "ApplyLayout", { mode_on }, apply, clear, true },
        { "Clear", { mode_on, apply }, clear, apply, false },
        { "replace", { mode_on, apply }, replace, put_back, false },
        { "EnableVfs", { mode_on, apply }, enable, disable, false },
        { "SetEnabled", { enable }, mixed_on, mixed_off, false },
};

/* ---- the host ---- */

static void set_up(void) {
        simctl_do("daemon", "stop");
        simctl_do("forget");
        g_free(shell("find /var/lib/carved -mindepth 1 -delete"));
        simctl_do("reboot");
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static char *state(void) {
        g_autofree char *cuts = host_cuts(), *rest = host_summary();

        return g_strconcat(cuts, rest, NULL);
}

static void must(Operation operation) {
        MUST(operation(&text_));
}

/* The functions that were called since the log was cleared. */
static GStrv called(void) {
        g_autofree char *text =
                shell("carved-simctl log | grep -o ' nvml nvml[A-Za-z0-9_]*' | sort -u | cut -d' ' -f3");

        return g_strsplit(g_strchomp(text), "\n", -1);
}

static void try_one(unsigned o, const char *function, const char *code, const char *before,
                    const char *after) {
        g_autofree char *rule = g_strconcat("nvml/", function, NULL), *now = NULL, *text = NULL,
                        *error = NULL;
        const char *name;

        ck_assert_int_eq(simctl_do("fail", rule, code), 0);
        name = operations[o].act(&text);
        simctl_do("forget");
        now = state();
        if (name) {
                ck_assert_msg(g_str_has_prefix(name, "org.carved1.Error.") && !strstr(name, "UndoFailed"),
                              "%s, %s %s: %s: %s", operations[o].name, function, code, name, text);
                ck_assert_msg(*text, "%s, %s %s: nothing is said", operations[o].name, function, code);
                ck_assert_msg(g_str_equal(now, before), "%s, %s %s (%s: %s):\n%s instead of\n%s",
                              operations[o].name, function, code, name, text, now, before);
        } else {
                ck_assert_msg(g_str_equal(now, after), "%s, %s %s:\n%s instead of\n%s", operations[o].name,
                              function, code, now, after);
                must(operations[o].back);
        }

        /* And nothing of it stays. */
        name = call_plain(client, H100, GPU, "Refresh");
        ck_assert_msg(!name, "%s", name);
        error = client_get_string(client, H100, GPU, "LastError");
        ck_assert_msg(g_str_equal(error, ""), "%s, %s %s: %s", operations[o].name, function, code, error);
}

/* All codes where most calls are made; elsewhere each call has other ones. */
static bool is_due(unsigned function, unsigned code, unsigned operation) {
        unsigned turn = (code + 7 * function + operation) % G_N_ELEMENTS(codes);

        if (is_long && operations[operation].act == apply)
                return true;
        return turn == 0 || (is_long && turn % 9 == 0);
}

START_TEST(every_call_of_the_library_can_fail) {
        g_autofree char *before = NULL, *after = NULL;
        g_auto(GStrv) functions = NULL;
        unsigned tried = 0;

        for (unsigned i = 0; operations[_i].prepare[i]; i++)
                must(operations[_i].prepare[i]);
        before = state();
        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        must(operations[_i].act);
        functions = called();
        after = state();
        must(operations[_i].back);
        ck_assert_uint_gt(g_strv_length(functions), 10);

        for (unsigned f = 0; functions[f]; f++)
                for (unsigned c = 0; c < G_N_ELEMENTS(codes); c++) {
                        if (!is_due(f, c, (unsigned) _i))
                                continue;
                        try_one((unsigned) _i, functions[f], codes[c], before, after);
                        tried++;
                }
        printf("# %s: %u functions, %u failures\n", operations[_i].name, g_strv_length(functions), tried);
}
END_TEST

/* The worker goes on for a while after the daemon: its work is undone as well. */
START_TEST(what_was_half_cut_when_carved_was_killed_is_undone) {
        g_autofree char *asked = layout(), *before = NULL, *now = NULL;
        g_autoptr(GVariant) job = NULL;

        must(mode_on);
        before = state();
        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        ck_assert_int_eq(simctl_do("delay", "nvml/nvmlDeviceCreateGpuInstanceWithPlacement", "1s", "nth=2"),
                         0);
        job = client_call(client, H100, MIG, "ApplyLayout", NULL, "a{su}a{sv}", 2, cut->three, 1, cut->one, 1,
                          1, "no-block", "b", true);
        g_free(shell("timeout 20 bash -c 'until carved-simctl log | grep -q "
                     "\"CreateComputeInstance.*SUCCESS\"; do "
                     "sleep 0.02; done'"));
        client = client_free(client);
        ck_assert_int_eq(simctl_do("daemon", "kill"), 0);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        client = client_new();
        await_manager(client, "running");
        await_gpu(client, H100, "SyncState", "synced");
        now = state();
        ck_assert_str_eq(before, now);
        ck_assert(client_wait(client, 10000, journal_is_empty, NULL));
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("mig-fault");
        TCase *tcase = tcase_create("mig-fault");

        cut = cut_find("h100");
        is_long = argc > 1 && g_str_equal(argv[1], "long");
        tcase_set_timeout(tcase, is_long ? 900 : 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        for (int i = 0; i < (int) G_N_ELEMENTS(operations); i++)
                if (is_long || operations[i].always)
                        tcase_add_loop_test(tcase, every_call_of_the_library_can_fail, i, i + 1);
        tcase_add_test(tcase, what_was_half_cut_when_carved_was_killed_is_undone);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
