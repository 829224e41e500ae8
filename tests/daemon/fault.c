/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "carver.h"
#include "simctl.h"

/* The fault matrix: whatever is done, each of its writes fails once, in each way; each time the host is as
 * before, or the error says precisely what stayed. The arguments: the host's name; what happens to the write;
 * `short`: each write fails in one way, by the seed that is printed or given after it. */

#define A "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"

/* No operation writes more often. */
#define WRITES_MAX 64U

typedef enum Mode {
        MODE_FAIL,   /* refused, once */
        MODE_ALWAYS, /* and so is everything after it: the way back too */
        MODE_KILL,   /* the worker is killed while it is in the kernel */
        MODE_LATE,   /* it takes longer than a step may */
} Mode;

static const char *const mode_names[] = { "fail", "always", "kill", "late" };
static const char *const errnos[] = { "EIO", "EPERM", "EBUSY", "ENODEV", "EINVAL", "ENOENT" };

static const Card *card;
static Mode mode;
static bool is_short;
static GRand *chosen; /* short: which of the ways to fail is tried */
static Client *client;
static Quiet quiet;

typedef struct Operation {
        const char *name;
        bool vgpus; /* two are there before */
        const char *(*run)(char **ret_text);
} Operation;

static const char *run_enable(char **ret_text) {
        return carve_enable(client, card, ret_text);
}

static const char *run_disable(char **ret_text) {
        return carve_disable(client, card, true, ret_text);
}

static const char *run_create(char **ret_text) {
        return carve_create(client, card->path, card->type, A, card->has_params ? "x=1" : NULL, ret_text);
}

static const char *run_destroy(char **ret_text) {
        return carve_destroy(client, A, ret_text);
}

static const char *run_destroy_both(char **ret_text) {
        return carve_destroy_both(client, A, B, ret_text);
}

static const char *run_params(char **ret_text) {
        return card->has_params ? carve_params(client, A, "y=2", ret_text) : NULL;
}

static const Operation operations[] = {
        { "enable", false, run_enable },  { "create", false, run_create },
        { "destroy", true, run_destroy }, { "destroy both", true, run_destroy_both },
        { "params", true, run_params },   { "disable", true, run_disable },
};

static void must(const char *error, const char *text) {
        ck_assert_msg(!error, "%s: %s", error, text);
}

static void prepare(const Operation *op) {
        g_autofree char *one = NULL, *two = NULL, *three = NULL;

        if (op->run == run_enable)
                return;
        must(carve_enable(client, card, &one), one);
        if (!op->vgpus)
                return;
        must(carve_create(client, card->path, card->type, A, card->has_params ? "x=1" : NULL, &two), two);
        must(carve_create(client, card->path, card->more, B, NULL, &three), three);
}

static void arm(unsigned nth, const char *name) {
        g_autofree char *place = g_strdup_printf("nth=%u", nth);

        switch (mode) {
        case MODE_FAIL:
                simctl_do("fail", "/sys/*", name, place);
                break;
        case MODE_ALWAYS:
                simctl_do("fail", "/sys/*", name, place, "always");
                break;
        case MODE_KILL:
                simctl_do("delay", "/sys/*", "300ms", place);
                break;
        case MODE_LATE:
                simctl_do("delay", "/sys/*", "1700ms", place);
                break;
        }
}

/* "1: fail … (matched 7 times)": so many writes were met. */
static unsigned matched(void) {
        g_autofree char *text = NULL;
        const char *found;
        char *raw = NULL;

        ck_assert_int_eq(simctl((const char *const[]){ "rules", NULL }, &raw), 0);
        text = g_strdup(raw);
        free(raw);
        found = strstr(text, "(matched ");
        return found ? (unsigned) atoi(found + strlen("(matched ")) : 0;
}

/* Waits until somebody is in the kernel, and ends him there. */
static void *killer(void *data) {
        g_autofree char *text = shell("for i in $(seq 100); do [ \"$(carved-simctl busy)\" -gt 0 ] && "
                                      "{ pkill -9 -x carved-worker; break; }; sleep 0.01; done; true");

        return NULL;
}

/* False: the operation has no write of that number. */
static bool try_one(const Operation *op, unsigned nth, const char *name) {
        g_autofree char *before = NULL, *after = NULL, *text = NULL;
        GThread *thread = NULL;
        const char *error;
        bool met;

        prepare(op);
        ck_assert(client_wait(client, 60000, all_is_quiet, &quiet));
        before = host_summary();
        arm(nth, name);
        if (mode == MODE_KILL)
                thread = g_thread_new("killer", killer, NULL);
        error = op->run(&text);
        if (thread)
                g_thread_join(thread);
        ck_assert_msg(client_wait(client, 60000, all_is_quiet, &quiet),
                      "%s, write %u: it does not come to rest", op->name, nth);
        met = matched() >= nth;
        simctl_do("forget");

        after = host_summary();
        if (error && g_str_has_suffix(error, ".UndoFailed"))
                ck_assert_msg(mode == MODE_ALWAYS && text && strstr(text, "Not undone: "),
                              "%s, write %u %s: %s: %s", op->name, nth, name, error, text);
        else if (error)
                ck_assert_msg(g_str_equal(before, after), "%s, write %u %s: %s: %s\nbefore:\n%s\nafter:\n%s",
                              op->name, nth, name, error, text, before, after);
        return met;
}

/* What could not be undone is left to us. */
static void clean_up(void) {
        g_autofree char *text = NULL;

        if (mode != MODE_ALWAYS) {
                host_clear(client, card);
                return;
        }
        simctl_do("reboot");
        client_free(client);
        client = client_new();
        ck_assert(client_wait(client, 60000, all_is_quiet, &quiet));
}

START_TEST(every_write_can_go_wrong) {
        const Operation *op = &operations[_i];
        unsigned nth, tries = 0;

        client = client_new();
        for (nth = 1; nth <= WRITES_MAX; nth++) {
                unsigned one = (unsigned) g_rand_int_range(chosen, 0, G_N_ELEMENTS(errnos));
                bool met = false;

                for (unsigned i = 0; i < (mode == MODE_FAIL ? G_N_ELEMENTS(errnos) : 1); i++) {
                        if (is_short && mode == MODE_FAIL && i != one)
                                continue;
                        met |= try_one(op, nth, errnos[i]);
                        tries++;
                        clean_up();
                }
                if (!met)
                        break;
        }
        ck_assert_uint_le(nth, WRITES_MAX);
        printf("# %s: %u writes, %u times %s\n", op->name, nth - 1, tries, mode_names[mode]);
        client = client_free(client);
}
END_TEST

static void set_deadline(void) {
        if (mode != MODE_LATE)
                return;

        if (!g_file_set_contents("/etc/carved/carved.conf", "[Manager]\nStepTimeoutSec=1\n", -1, NULL) ||
            simctl_do("daemon", "stop") != 0 || simctl_do("daemon", "start") != 0)
                g_error("the daemon can't be told its deadline");
}

int main(int argc, char **argv) {
        Suite *suite = suite_create("fault");
        TCase *tcase = tcase_create("fault"), *last = tcase_create("last");
        uint32_t seed;

        card = card_find(argv[1]);
        while (!g_str_equal(argv[2], mode_names[mode]))
                mode++;
        is_short = argc > 3;
        seed = argc > 4 ? (uint32_t) strtoul(argv[4], NULL, 10) : g_random_int();
        chosen = g_rand_new_with_seed(seed);
        printf("# seed %u\n", seed);
        fflush(stdout);
        quiet.any_gpu = mode == MODE_ALWAYS;
        set_deadline();
        tcase_set_timeout(tcase, 900);
        tcase_add_loop_test(tcase, every_write_can_go_wrong, 0, G_N_ELEMENTS(operations));
        suite_add_tcase(suite, tcase);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
