/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "../tap.h"
#include "carver.h"
#include "simctl.h"

/* What one create costs: every read and write of sysfs that it makes, counted. On a real card each may wait
 * for a lock of the driver, so more of them is a change to be wanted, and then to be written down here. The
 * argument is the host's name. */

#define A "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"

/* Longer than any look waits for a burst of events to be over. */
#define QUIET_MS 1000

/* Links that are followed on the way to a file are read by the kernel as often as it likes, so they are not
 * in these numbers: see is_followed(). */
typedef struct Cost {
        unsigned reads, lists, links, writes;
} Cost;

/* The step: the card's four ids, to see that it is still the same; a VF's modalias, for its driver; and what
 * is written. With it the glance that sees it, where there are VFs, at the vGPU's and at a free one: two ids of
 * the card, and then, in reads,
 *      a2       16 = 15 types of the free VF + 1 of the vGPU
 *      l40s      7 = 2 VFs * 2 + 3 of the vGPU
 *      plain     1 = 1 of the vGPU's VF
 * The look, in reads: seven files of the card, or five without SR-IOV, or eight where we switch its autoprobe;
 * three for each type; and then
 *      a2      293 = 7 + 15 * 3 + 16 VFs * 15 types + 1 of the vGPU
 *      l40s     74 = 7 + 32 VFs * 2 + 3 of the vGPU
 *      t4       74 = 5 + 17 * 3 + 17 types + 1 of the vGPU
 *      plain    16 = 8 + 8 VFs */
static const struct {
        const char *host;
        Cost step, look;
        bool is_told; /* by events: then it may be looked at more than once */
} golden[] = {
        { "a2", { 22, 3, 6, 1 }, { 293, 33, 36, 0 }, true },
        { "l40s", { 13, 2, 4, 1 }, { 74, 33, 66, 0 }, false },
        { "t4", { 4, 0, 0, 1 }, { 74, 2, 4, 0 }, true },
        { "plain", { 8, 1, 3, 2 }, { 16, 9, 11, 0 }, true },
};

static const Card *card;
static Client *client;
static unsigned row;
static GPtrArray *accesses; /* of one create, and of what follows it */

/* ---- what was done ---- */

typedef struct Access {
        int pid;
        char *how, *path;
} Access;

static void access_free(void *p) {
        Access *a = p;

        g_free(a->how);
        g_free(a->path);
        g_free(a);
}

/* "     1.606 9 read /sys/devices/… = ok", or what the kernel said, which is none. */
static Access *access_parse(char *line) {
        g_auto(GStrv) words = g_strsplit(g_strchug(line), " ", 5);
        Access *a;

        if (g_strv_length(words) < 5 || g_str_equal(words[1], "kernel:"))
                return NULL;

        a = g_new0(Access, 1);
        a->pid = atoi(words[1]);
        a->how = g_strdup(words[2]);
        a->path = g_strdup(words[3]);
        return a;
}

static GPtrArray *read_log(void) {
        GPtrArray *log = g_ptr_array_new_with_free_func(access_free);
        g_auto(GStrv) lines = NULL;
        char *text = NULL;

        ck_assert_int_eq(simctl((const char *const[]){ "log", NULL }, &text), 0);
        lines = g_strsplit(text, "\n", -1);
        free(text);
        for (char **line = lines; *line; line++) {
                Access *a = access_parse(*line);

                if (a)
                        g_ptr_array_add(log, a);
        }
        return log;
}

/* Until nobody has touched a file for so long. */
static void wait_quiet(void) {
        bool quiet;

        do {
                g_autofree char *before = shell("carved-simctl log counts"), *after = NULL;

                client_settle(client, QUIET_MS);
                after = shell("carved-simctl log counts");
                quiet = g_str_equal(before, after);
        } while (!quiet);
}

/* All that is done for one create, and after it, in order. Nobody but the daemon looks at the host meanwhile.
 */
static GPtrArray *create_one(void) {
        const char *error;

        wait_quiet();
        ck_assert_int_eq(simctl_do("log", "reads"), 0);
        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        error = carve_create(client, card->path, card->type, A, NULL, NULL);
        ck_assert_ptr_null(error);
        wait_quiet();
        ck_assert_int_eq(simctl_do("log", "no-reads"), 0);
        return read_log();
}

/* Once for all of them, in the process that they are forked from. */
static void set_up(void) {
        const char *error;

        client = client_new();
        error = carve_enable(client, card, NULL);
        ck_assert_ptr_null(error);
        accesses = create_one();
        ck_assert_uint_gt(accesses->len, 0);
}

static void tear_down(void) {
        g_clear_pointer(&accesses, g_ptr_array_unref);
        client = client_free(client);
}

/* ---- its parts ---- */

/* A look lists the card's directory once. Before that comes only the number of VFs, where there is one: it
 * waits for whoever changes it. */
static bool is_first_of_look(unsigned i) {
        const Access *a = accesses->pdata[i];

        return card->vfs > 0 ? g_str_equal(a->how, "read") && g_str_has_suffix(a->path, "/sriov_numvfs")
                             : g_str_equal(a->how, "list") && g_str_has_suffix(a->path, card->address);
}

/* Where the part that begins there ends. The step, and the glance, are the first; then come the looks. Not by
 * the time of the reply: the look after it may begin before the test has read the log. */
static unsigned find_end(unsigned begin) {
        unsigned i = begin + 1;

        while (i < accesses->len && !is_first_of_look(i))
                i++;
        return i;
}

/* A link on the way to a directory: walking through it can't be told from reading it. */
static bool is_followed(const Access *a) {
        return g_str_equal(a->how, "link") &&
               (strstr(a->path, "/virtfn") || g_str_has_prefix(a->path, "/sys/bus/pci/devices/"));
}

static Cost count(unsigned begin, unsigned end) {
        Cost cost = { 0 };

        for (unsigned i = begin; i < end; i++) {
                const Access *a = accesses->pdata[i];

                cost.reads += g_str_equal(a->how, "read");
                cost.lists += g_str_equal(a->how, "list");
                cost.links += g_str_equal(a->how, "link") && !is_followed(a);
                cost.writes += g_str_equal(a->how, "write");
        }
        return cost;
}

static void assert_cost(unsigned begin, unsigned end, const Cost *golden_cost, const char *what) {
        Cost cost = count(begin, end);

        if (memcmp(&cost, golden_cost, sizeof cost) == 0)
                return;

        for (unsigned i = begin; i < end; i++) {
                const Access *a = accesses->pdata[i];

                printf("# %s %s\n", a->how, a->path);
        }
        fflush(stdout);
        ck_abort_msg("%s: { %u, %u, %u, %u } reads, lists, links and writes, not { %u, %u, %u, %u }", what,
                     cost.reads, cost.lists, cost.links, cost.writes, golden_cost->reads, golden_cost->lists,
                     golden_cost->links, golden_cost->writes);
}

/* ---- the promises ---- */

START_TEST(a_create_costs_what_it_did) {
        unsigned step = find_end(0), look = find_end(step);

        assert_cost(0, step, &golden[row].step, "the step, and the glance");
        assert_cost(step, look, &golden[row].look, "the first look");
}
END_TEST

START_TEST(no_look_reads_anything_twice) {
        unsigned begin = find_end(0);

        ck_assert_uint_lt(begin, accesses->len);
        while (begin < accesses->len) {
                g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
                unsigned end = find_end(begin);

                for (unsigned i = begin; i < end; i++) {
                        const Access *a = accesses->pdata[i];

                        ck_assert_msg(
                                is_followed(a) ||
                                        g_hash_table_add(seen, g_strdup_printf("%s %s", a->how, a->path)),
                                "twice: %s %s", a->how, a->path);
                }
                begin = end;
        }
}
END_TEST

/* Events come after the reply, or before the first look has begun, which then serves them too; they come
 * in one burst, or, on a machine that is busy, in two. So how many looks follow is not in the table: but each
 * costs what the first one did, and writes nothing. */
START_TEST(what_follows_is_looks_and_nothing_else) {
        unsigned begin = find_end(find_end(0)), looks = 0;

        for (; begin < accesses->len; looks++) {
                unsigned end = find_end(begin);

                assert_cost(begin, end, &golden[row].look, "a look that follows");
                begin = end;
        }
        printf("# %s: %u looks followed\n", card->host, looks);
        fflush(stdout);
        if (!golden[row].is_told)
                ck_assert_uint_eq(looks, 0);
        ck_assert_uint_le(looks, 3); /* one for each event of a create: add, bind, and that of its group */
}
END_TEST

/* All of it is done by the one worker of the card: what could wait in the kernel never holds up the bus. */
START_TEST(the_daemon_itself_touches_no_file) {
        g_autofree char *text = shell("carved-simctl daemon pid");
        const Access *first = accesses->pdata[0];

        ck_assert_int_ne(first->pid, atoi(text));
        for (unsigned i = 0; i < accesses->len; i++) {
                const Access *a = accesses->pdata[i];

                ck_assert_msg(a->pid == first->pid, "%s %s", a->how, a->path);
        }
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("cost");
        TCase *tcase = tcase_create("cost"), *last = tcase_create("last");

        card = card_find(argv[1]);
        while (!g_str_equal(golden[row].host, card->host))
                row++;
        tcase_set_timeout(tcase, 120);
        tcase_add_unchecked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, a_create_costs_what_it_did);
        tcase_add_test(tcase, no_look_reads_anything_twice);
        tcase_add_test(tcase, what_follows_is_looks_and_nothing_else);
        tcase_add_test(tcase, the_daemon_itself_touches_no_file);
        suite_add_tcase(suite, tcase);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
