/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "../tap.h"
#include "trial.h"

/* The daemon, or its worker, is killed before and after each call that changes something outside of it, and
 * started again. What was answered is there; what was not is there wholly, or not at all. And calls fail that
 * write what is to be kept. The arguments: the host's name; how many crashes, `all`, or `store`; a seed. */

/* So many crashes, one is followed by a reboot: what the kernel still knows does not help then. */
#define REBOOT_EVERY 4

/* Most calls are signals on the bus, one much like the other. */
#define BUS_SELDOM 4

static const char *const victims[] = { "daemon", "self", "all" };
static const char *const faults[] = { "ENOSPC", "EIO", "short", "ENOSPC always", "EIO always" };

static const char *host;
static unsigned count; /* 0: all */
static uint32_t seed;
static unsigned stride; /* of the faults of the store, so many are one */

typedef struct Point {
        char plan[64];
        bool is_bus;
} Point;

/* Each call, before and after it, whoever is killed. */
static GArray *list_points(const Trial *trial) {
        GArray *points = g_array_new(FALSE, FALSE, sizeof(Point));

        for (unsigned i = 0; trial->calls[i]; i++)
                for (unsigned j = 0; j < 2 * G_N_ELEMENTS(victims); j++) {
                        const char *victim = victims[j / 2];
                        Point point = { .is_bus = strstr(trial->calls[i], " bus ") != NULL };

                        /* The daemon's own calls: itself is the daemon. */
                        if (g_str_equal(victim, "self") && strstr(trial->calls[i], " daemon "))
                                continue;
                        snprintf(point.plan, sizeof point.plan, "at %u %s kill %s", i + 1,
                                 j % 2 == 0 ? "before" : "after", victim);
                        g_array_append_val(points, point);
                }
        return points;
}

/* Moves @n that are to be tried to the front. */
static unsigned choose(GArray *points, unsigned n, GRand *random) {
        n = MIN(n, points->len);
        for (unsigned i = 0; i < n;) {
                unsigned j = (unsigned) g_rand_int_range(random, (int) i, (int) points->len);
                Point point = g_array_index(points, Point, j);

                if (point.is_bus && g_rand_int_range(random, 0, BUS_SELDOM) != 0)
                        continue;
                g_array_index(points, Point, j) = g_array_index(points, Point, i);
                g_array_index(points, Point, i++) = point;
        }
        return n;
}

static unsigned count_operations(void) {
        const Card *card = g_str_equal(host, "mixed") ? card_find("a2") : card_find(host);

        return operations_count() - (card->vfs == 0 ? 2 : 0) - (card->has_params ? 0 : 1);
}

START_TEST(what_is_answered_survives_a_crash_and_nothing_is_half_done) {
        g_autoptr(Trial) trial = trial_new(host, (unsigned) _i);
        g_autoptr(GRand) random = g_rand_new_with_seed(seed + (uint32_t) _i);
        g_autoptr(GArray) points = NULL;
        unsigned n, answers[3] = { 0 }, missed = 0;
        int64_t begin;

        if (!trial)
                return;
        points = list_points(trial);
        n = count == 0 ? points->len
                       : choose(points, (count + count_operations() - 1) / count_operations(), random);
        begin = g_get_monotonic_time();
        for (unsigned i = 0; i < n; i++) {
                const char *plan = g_array_index(points, Point, i).plan;
                g_auto(Result) result = { 0 };

                trial_run(trial, plan, &result);
                trial_check(trial, plan, &result);
                if (i % REBOOT_EVERY == 0)
                        trial_check_reboot(trial, plan);
                answers[result.answer]++;
                missed += !result.fired;
        }
        printf("# %s %s: %u of %u crash points in %u calls: %u answered before, %u refused, %u not answered; "
               "%u not met; %u ms each\n",
               host, trial_name(trial), n - missed, points->len, g_strv_length(trial->calls),
               answers[ANSWER_DONE], answers[ANSWER_REFUSED], answers[ANSWER_NONE], missed,
               (unsigned) ((g_get_monotonic_time() - begin) / 1000 / MAX(n, 1)));
        fflush(stdout);
}
END_TEST

/* A short write is none of the caller's business; all else is told in words. */
static void check_refusal(const Trial *trial, const char *plan, const char *fault, const Result *result) {
        const char *word = g_str_has_prefix(fault, "EIO") ? "Input/output error" : "No space left on device";

        ck_assert_msg(result->answer != ANSWER_NONE, "%s, %s: no answer: %s", trial_name(trial), plan,
                      result->error);
        if (result->answer == ANSWER_REFUSED)
                ck_assert_msg(!g_str_equal(fault, "short") && result->text && strstr(result->text, word),
                              "%s, %s: %s: %s", trial_name(trial), plan, result->error, result->text);
}

/* False: it does not write so often. */
static bool try_fault(Trial *trial, const char *fault, unsigned nth) {
        g_autofree char *plan = g_strdup_printf("at %u fail %s below /var/lib/carved", nth, fault);
        g_auto(Result) result = { 0 };

        trial_run(trial, plan, &result);
        if (!result.fired)
                return false;

        check_refusal(trial, plan, fault, &result);
        trial_restart(trial); /* what could not be written down must not be remembered either */
        trial_check(trial, plan, &result);
        return true;
}

START_TEST(what_can_not_be_stored_is_refused_and_not_done) {
        g_autoptr(Trial) trial = trial_new(host, (unsigned) _i);
        unsigned tries = 0;

        if (!trial)
                return;
        for (unsigned i = 0; i < G_N_ELEMENTS(faults); i++)
                for (unsigned nth = 1 + (seed + i) % stride; try_fault(trial, faults[i], nth); nth += stride)
                        tries++;
        ck_assert_msg(tries > 0, "%s: nothing is stored", trial_name(trial));
        printf("# %s %s: %u faults of the store\n", host, trial_name(trial), tries);
        fflush(stdout);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("crash");
        TCase *tcase = tcase_create("crash"), *last = tcase_create("last");
        bool is_store = g_str_equal(argv[2], "store");

        host = argv[1];
        count = (unsigned) strtoul(argv[2], NULL, 10); /* `all` is no number */
        seed = argc > 3 ? (uint32_t) strtoul(argv[3], NULL, 10) : g_random_int();
        stride = argc > 4 ? (unsigned) strtoul(argv[4], NULL, 10) : 1;
        printf("# seed %u\n", seed);
        fflush(stdout);
        tcase_set_timeout(tcase, 1800);
        tcase_add_loop_test(tcase,
                            is_store ? what_can_not_be_stored_is_refused_and_not_done
                                     : what_is_answered_survives_a_crash_and_nothing_is_half_done,
                            0, (int) operations_count());
        suite_add_tcase(suite, tcase);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
