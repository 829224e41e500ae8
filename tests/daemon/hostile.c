/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "carver.h"
#include "flood.h"
#include "visitor.h"

/* Several users who mean harm, and what everybody else notices of them. On host a2. Arguments: for how many
 * seconds, how many connections they have together, and how many of these flood. */

#define USERS    4U
#define POLITE   7U
#define PIPELINE 32U
/* The bus lets in whom the host knows: these are of every Debian. */
static const uint32_t uids[USERS] = { 1, 2, 3, 5 };

#define A "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"

/* The sanitizers keep what was freed for a while, and make a megabyte dear: with them it is seen that
 * everybody is served, and not how fast; ./check long measures without. */
#ifdef __SANITIZE_ADDRESS__
#define P99_MAX       (10 * 1000 * 1000)
#define ASKED_MIN     1
#define MEMORY_MAX_KB (640 * 1024)
#else
#define P99_MAX       (100 * 1000)
#define ASKED_MIN     10
#define MEMORY_MAX_KB (48 * 1024)
#endif

static unsigned seconds, connections, flooding;

typedef struct Times {
        GArray *usec; /* int64_t */
        GArray *bus;  /* the same of the bus itself, which is flooded too: what carved can't help */
        unsigned refused;
} Times;

static int compare(const void *a, const void *b) {
        int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

        return x < y ? -1 : x > y;
}

static int64_t ask(sd_bus *bus, const char *whom, const char *path, const char *interface, const char *member,
                   const char *about, unsigned *refused) {
        int64_t start = g_get_monotonic_time();
        int r;

        r = sd_bus_call_method(bus, whom, path, interface, member, NULL, NULL, about ? "s" : "", about);
        *refused += r < 0;
        return g_get_monotonic_time() - start;
}

/* Asks like a person with a tool, again and again, until @end. */
static void ask_politely(sd_bus *bus, int64_t end, Times *times) {
        times->usec = g_array_new(FALSE, FALSE, sizeof(int64_t));
        times->bus = g_array_new(FALSE, FALSE, sizeof(int64_t));
        while (g_get_monotonic_time() < end) {
                int64_t took = ask(bus, "org.carved1", "/org/carved1", "org.freedesktop.DBus.Properties",
                                   "GetAll", MANAGER, &times->refused);

                g_array_append_val(times->usec, took);
                took = ask(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                           "GetId", NULL, &times->refused);
                g_array_append_val(times->bus, took);
                g_usleep(10 * 1000); /* a person's pause, not a wait for anything */
        }
        qsort(times->usec->data, times->usec->len, sizeof(int64_t), compare);
        qsort(times->bus->data, times->bus->len, sizeof(int64_t), compare);
}

static int64_t p99_of(const GArray *usec) {
        return g_array_index(usec, int64_t, usec->len * 99 / 100);
}

/* There and back the bus has each call twice in its hands. */
static char *describe(const Times *times) {
        return g_strdup_printf("%u asked, %u refused, p99 %" G_GINT64_FORMAT
                               " us, the bus's %" G_GINT64_FORMAT " us",
                               times->usec->len, times->refused, p99_of(times->usec), 2 * p99_of(times->bus));
}

static char *act_politely(sd_bus *bus, const void *data) {
        Times times = { 0 };

        ask_politely(bus, *(const int64_t *) data, &times);
        return describe(&times);
}

/* Of carved itself; workers come and go. */
static unsigned memory_kb(void) {
        g_autofree char *text = shell("awk '/VmRSS/ { print $2 }' /proc/$(pgrep -o -x carved)/status");

        return (unsigned) atoi(text);
}

static void assert_served(const char *said) {
        unsigned asked, refused;
        long p99, bus;

        ck_assert_int_eq(sscanf(said, "%u asked, %u refused, p99 %ld us, the bus's %ld us", &asked, &refused,
                                &p99, &bus),
                         4);
        ck_assert_uint_eq(refused, 0);
        ck_assert_uint_ge(asked, ASKED_MIN);
        ck_assert_int_le(p99, bus + P99_MAX);
}

START_TEST(others_are_served_and_memory_stays_bounded) {
        g_autoptr(Client) client = client_new();
        g_autofree char *before = NULL, *after = NULL;
        pid_t floods[USERS];
        Flood flood[USERS];
        g_autofree char *root = NULL;
        unsigned memory;
        int64_t end;
        Times times = { 0 };
        g_auto(GStrv) said = NULL;
        Visitor polite;

        MUST(carve_enable(client, card_find("a2"), &text_));
        before = host_summary();
        memory = memory_kb();
        for (unsigned i = 0; i < USERS; i++) {
                flood[i] = (Flood){ uids[i], connections / USERS, flooding / USERS, seconds, PIPELINE };
                floods[i] = flood_start(&flood[i]);
        }
        end = g_get_monotonic_time() + (int64_t) seconds * G_USEC_PER_SEC;
        polite = visitor_send(POLITE, act_politely, (const void *const[]){ &end }, 1);
        ask_politely(client->bus, end, &times);
        said = visitor_hear(&polite, 1);
        for (unsigned i = 0; i < USERS; i++)
                ck_assert_int_eq(waitpid(floods[i], NULL, 0), floods[i]);

        root = describe(&times);
        printf("# root: %s\n# uid %u: %s\n# memory %u kB, then %u kB\n", root, POLITE, said[0], memory,
               memory_kb());
        fflush(stdout);
        assert_served(root);
        assert_served(said[0]);
        ck_assert_uint_le(memory_kb(), memory + MEMORY_MAX_KB);
        after = host_summary();
        ck_assert_str_eq(before, after);
        MUST(carve_create(client, GPU_A2, "A2-4Q", A, NULL, &text_));
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("hostile");
        TCase *tcase = tcase_create("hostile"), *last = tcase_create("last");

        seconds = argc > 1 ? (unsigned) atoi(argv[1]) : 4;
        connections = argc > 2 ? (unsigned) atoi(argv[2]) : 60;
        flooding = argc > 3 ? (unsigned) atoi(argv[3]) : 28;
        tcase_set_timeout(tcase, seconds + 60.0);
        tcase_add_test(tcase, others_are_served_and_memory_stays_bounded);
        suite_add_tcase(suite, tcase);
        tcase_set_timeout(last, 60);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
