/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "../daemon/client.h"
#include "../tap.h"

/* carvectl on a host with a thousand VFs, beside one plain call that gets the same. */

#define TURNS_MIN 4
#define TURNS_MAX 20

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

/* Nothing but the call, and what came of it passed over. */
static int64_t time_raw(sd_bus *bus) {
        g_autoptr(sd_bus_message) reply = NULL;
        int64_t began = g_get_monotonic_time();

        ck_assert_int_ge(sd_bus_call_method(bus, "org.carved1", "/org/carved1",
                                            "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL,
                                            &reply, ""),
                         0);
        ck_assert_int_ge(sd_bus_message_skip(reply, "a{oa{sa{sv}}}"), 0);
        return g_get_monotonic_time() - began;
}

static int64_t time_carvectl(const char *verb, const char *what) {
        const char *argv[] = { "carvectl", verb, what, NULL };
        int64_t began = g_get_monotonic_time();
        g_autofree char *output = NULL;
        int status;

        ck_assert(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, NULL,
                               &status, NULL));
        ck_assert_int_eq(status, 0);
        if (g_strcmp0(what, "vfs") == 0)
                ck_assert_ptr_nonnull(strstr(output, "1024 VFs listed"));
        return g_get_monotonic_time() - began;
}

/* With sanitizers a program takes longer to begin than this one to end. That is not the list's. */
static int64_t time_to_begin(void) {
#ifdef __SANITIZE_ADDRESS__
        return time_carvectl("help", NULL);
#else
        return 0;
#endif
}

/* The best of some turns, one of each after the other; of more, where others work on this machine, too. */
START_TEST(a_list_takes_at_most_twice_as_long_as_the_call_itself) {
        static const char *const kinds[] = { "gpus", "vfs", "vgpus" };
        const char *what = kinds[_i];
        int64_t raw = INT64_MAX, list = INT64_MAX, begin = INT64_MAX;
        sd_bus *bus = NULL;

        ck_assert_int_ge(sd_bus_open_system(&bus), 0);
        for (unsigned i = 0; i < TURNS_MIN || (i < TURNS_MAX && list - begin > 2 * raw); i++) {
                int64_t one = time_raw(bus), other = time_carvectl("list", what), third = time_to_begin();

                raw = MIN(raw, one);
                list = MIN(list, other);
                begin = MIN(begin, third);
        }
        sd_bus_flush_close_unref(bus);
        printf("# list %s: %.1f ms, GetManagedObjects: %.1f ms\n", what, (double) list / 1000,
               (double) raw / 1000);
        list -= begin;
        ck_assert_msg(list <= 2 * raw,
                      "list %s takes %" G_GINT64_FORMAT " us, the call %" G_GINT64_FORMAT " us", what, list,
                      raw);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("ctl-scale");
        TCase *tcase = tcase_create("scale");

        tcase_set_timeout(tcase, 60);
        tcase_add_loop_test(tcase, a_list_takes_at_most_twice_as_long_as_the_call_itself, 0, 3);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
