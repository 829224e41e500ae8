/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "../tap.h"
#include "burst.h"

static sd_event *event;
static Burst *burst;
static unsigned times;
static int64_t last;

static void on_over(void *userdata) {
        times++;
        last = g_get_monotonic_time();
}

static void set_up(void) {
        ck_assert_int_ge(sd_event_new(&event), 0);
        burst = burst_new(event, on_over, NULL);
        times = 0;
}

static void tear_down(void) {
        burst_free(burst);
        sd_event_unref(event);
}

/* The loop for so long, or until it has reacted. */
static void run_until(int64_t end) {
        int64_t now;

        while (times == 0 && (now = g_get_monotonic_time()) < end)
                sd_event_run(event, (uint64_t) (end - now));
}

START_TEST(many_events_are_one_reaction_after_a_quiet_moment) {
        int64_t start = g_get_monotonic_time();

        for (unsigned i = 0; i < 1000; i++)
                burst_poke(burst);
        run_until(start + 10 * G_USEC_PER_SEC);
        ck_assert_uint_eq(times, 1);
        ck_assert_int_ge(last - start, 100 * 1000);

        /* And nothing more is armed. */
        times = 0;
        run_until(g_get_monotonic_time() + 400 * 1000);
        ck_assert_uint_eq(times, 0);
}
END_TEST

/* Events that never end must not put it off for ever. */
START_TEST(it_reacts_at_the_latest_after_300_ms) {
        int64_t start = g_get_monotonic_time();

        while (times == 0 && g_get_monotonic_time() < start + 10 * G_USEC_PER_SEC) {
                burst_poke(burst);
                sd_event_run(event, 20 * 1000);
        }
        ck_assert_uint_eq(times, 1);
        ck_assert_int_ge(last - start, 250 * 1000);
        ck_assert_int_lt(last - start, 5 * G_USEC_PER_SEC);
}
END_TEST

START_TEST(an_event_comes_before_an_appointment) {
        int64_t start = g_get_monotonic_time();

        burst_poke_at(burst, (uint64_t) start + 60 * G_USEC_PER_SEC);
        burst_poke(burst);
        run_until(start + 10 * G_USEC_PER_SEC);
        ck_assert_uint_eq(times, 1);
}
END_TEST

START_TEST(an_appointment_is_kept) {
        int64_t start = g_get_monotonic_time();

        burst_poke_at(burst, (uint64_t) start + 200 * 1000);
        run_until(start + 10 * G_USEC_PER_SEC);
        ck_assert_uint_eq(times, 1);
        ck_assert_int_ge(last - start, 200 * 1000);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("burst");
        TCase *tcase = tcase_create("burst");

        tcase_set_timeout(tcase, 30);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, many_events_are_one_reaction_after_a_quiet_moment);
        tcase_add_test(tcase, it_reacts_at_the_latest_after_300_ms);
        tcase_add_test(tcase, an_event_comes_before_an_appointment);
        tcase_add_test(tcase, an_appointment_is_kept);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
