/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "../tap.h"
#include "mig-layout.h"
#include "mig-table.h"

/* The planner against brute force: one goes from what is asked for to a place for each, the other lists every
 * way in which the card can be cut at all, and knows nothing of what is asked for. */

static const MigTable *const tables[] = { &mig_a100, &mig_h100, &mig_a30, &mig_rtx_pro_6000 };

/* ---- brute force ---- */

typedef struct Force {
        const CarvedMig *mig;
        GHashTable *cuts; /* counts, a byte for each profile: all that can be */
        uint8_t now[16];
        unsigned media, compute, ways;
        unsigned compute_max;
} Force;

static unsigned hash_counts(const void *p) {
        const uint8_t *counts = p;
        unsigned hash = 5381;

        for (unsigned i = 0; i < 16; i++)
                hash = hash * 33 + counts[i];
        return hash;
}

static int equal_counts(const void *a, const void *b) {
        return memcmp(a, b, 16) == 0;
}

/* Every instance that could be there, in one order: it is, or it is not. */
static void force(Force *f, unsigned profile, unsigned place, unsigned taken) {
        const CarvedMigProfile *p;
        CarvedPlacement at;
        unsigned mask;
        bool media;

        while (profile < f->mig->profiles->len &&
               place == ((CarvedMigProfile *) f->mig->profiles->pdata[profile])->placements->len) {
                profile++;
                place = 0;
        }
        if (profile == f->mig->profiles->len) {
                f->ways++;
                if (!g_hash_table_contains(f->cuts, f->now))
                        g_hash_table_add(f->cuts, g_memdup2(f->now, sizeof f->now));
                return;
        }

        force(f, profile, place + 1, taken);

        p = f->mig->profiles->pdata[profile];
        at = g_array_index(p->placements, CarvedPlacement, place);
        mask = ((1U << at.size) - 1) << at.start;
        media = strchr(p->name, '+') && strncmp(strchr(p->name, '+'), "+me", 3) == 0;
        if ((taken & mask) != 0 || f->now[profile] == p->max || (media && f->media == 1) ||
            f->compute + p->slices > f->compute_max)
                return;
        f->now[profile]++;
        f->media += media;
        f->compute += p->slices;
        force(f, profile, place + 1, taken | mask);
        f->now[profile]--;
        f->media -= media;
        f->compute -= p->slices;
}

static Force *force_new(const CarvedMig *mig, const MigTable *table) {
        Force *f = g_new0(Force, 1);

        f->mig = mig;
        f->compute_max = table == &mig_a100 || table == &mig_h100 ? 7 : 4;
        f->cuts = g_hash_table_new_full(hash_counts, equal_counts, g_free, NULL);
        force(f, 0, 0, 0);
        return f;
}

static void force_free(Force *f) {
        g_hash_table_unref(f->cuts);
        g_free(f);
}

static bool can_be(const Force *f, const CarvedMigCounts *counts) {
        uint8_t key[16] = { 0 };

        for (unsigned i = 0; i < f->mig->profiles->len; i++)
                key[i] = (uint8_t) counts[i];
        return g_hash_table_contains(f->cuts, key);
}

/* ---- is a placement what was asked for, and can it be? ---- */

static void check_pieces(const CarvedMig *mig, const CarvedMigCounts *counts, const CarvedMigLayout *layout) {
        g_autofree CarvedMigCounts *left = g_memdup2(counts, mig->profiles->len * sizeof *counts);
        unsigned taken = 0;

        for (unsigned i = 0; i < layout->makes->len; i++) {
                const CarvedMigPiece *piece = &g_array_index(layout->makes, CarvedMigPiece, i);
                unsigned mask = ((1U << piece->placement.size) - 1) << piece->placement.start;
                bool listed = false;

                for (unsigned j = 0; j < mig->profiles->len; j++) {
                        const CarvedMigProfile *p = mig->profiles->pdata[j];

                        if (p->id != piece->profile)
                                continue;
                        ck_assert_uint_gt(left[j], 0);
                        left[j]--;
                        for (unsigned k = 0; k < p->placements->len; k++)
                                listed |= memcmp(&g_array_index(p->placements, CarvedPlacement, k),
                                                 &piece->placement, sizeof piece->placement) == 0;
                }
                ck_assert(listed);
                ck_assert_uint_eq(taken & mask, 0);
                taken |= mask;
        }
        for (unsigned i = 0; i < mig->profiles->len; i++)
                ck_assert_uint_eq(left[i], 0);
}

/* Every multiset up to one more of each profile than there can be. */
static bool next_counts(const CarvedMig *mig, CarvedMigCounts *counts) {
        for (unsigned i = 0; i < mig->profiles->len; i++) {
                if (++counts[i] <= ((CarvedMigProfile *) mig->profiles->pdata[i])->max + 1)
                        return true;
                counts[i] = 0;
        }
        return false;
}

START_TEST(every_multiset_of_profiles_has_the_verdict_of_brute_force) {
        const MigTable *table = tables[_i];
        g_autoptr(CarvedMig) mig = mig_new(table);
        g_autofree CarvedMigCounts *counts = g_new0(CarvedMigCounts, mig->profiles->len);
        Force *f = force_new(mig, table);
        unsigned all = 0, fit = 0;

        do {
                g_auto(CarvedMigLayout) layout = { 0 };
                bool expected = can_be(f, counts);

                all++;
                fit += expected;
                if (carved_mig_layout_plan(mig, counts, NULL, NULL, &layout, NULL) != expected)
                        ck_abort_msg("%u of %s", all, table->name);
                if (expected)
                        check_pieces(mig, counts, &layout);
        } while (next_counts(mig, counts));

        ck_assert_uint_eq(fit, g_hash_table_size(f->cuts));
        printf("# %s: %u multisets, %u fit; %u ways to cut the card\n", table->name, all, fit, f->ways);
        force_free(f);
}
END_TEST

/* ---- what is there already ---- */

static bool any_may_go(const CarvedGpuInstance *instance, const void *userdata) {
        return true;
}

/* Those with a UUID are in use. */
static bool idle_may_go(const CarvedGpuInstance *instance, const void *userdata) {
        return instance->uuids[0] == NULL;
}

static void occupy(CarvedGpuInstance *instance) {
        g_strfreev(instance->uuids);
        instance->uuids = g_strsplit("MIG-1", ",", -1);
}

/* "1 × 3g.20gb"; both lists in words. */
static char *to_text(const CarvedMig *mig, GArray *pieces) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < pieces->len; i++) {
                const CarvedMigPiece *piece = &g_array_index(pieces, CarvedMigPiece, i);

                g_string_append_printf(text, "%s%s@%u", i > 0 ? " " : "",
                                       carved_mig_profile_name(mig, piece->profile), piece->placement.start);
        }
        return g_string_free(text, FALSE);
}

static char *plan_words(const CarvedMig *mig, CarvedMigMayGo may_go, GStrv asked) {
        g_auto(CarvedMigLayout) layout = { 0 };
        g_autofree CarvedMigCounts *counts = NULL;
        g_autofree char *makes = NULL, *drops = NULL;
        g_autoptr(GError) error = NULL;

        if (!carved_mig_counts_parse(mig, asked, &counts, &error) ||
            !carved_mig_layout_plan(mig, counts, may_go, NULL, &layout, &error))
                return g_strdup(error->message);
        makes = to_text(mig, layout.makes);
        drops = to_text(mig, layout.drops);
        return g_strdup_printf("-[%s] +[%s]", drops, makes);
}

#define EXPECT(mig, may_go, words, ...)                                                                      \
        do {                                                                                                 \
                const char *asked_[] = { __VA_ARGS__, NULL };                                                \
                g_autofree char *text_ = plan_words(mig, may_go, (GStrv) asked_);                            \
                ck_assert_str_eq(text_, words);                                                              \
        } while (0)

START_TEST(any_order_of_a_valid_request_gives_the_same) {
        g_autoptr(CarvedMig) mig = mig_new(&mig_a100);
        const char *words = "-[] +[3g.20gb@4 2g.10gb@0 1g.5gb@2 1g.5gb@3]";

        EXPECT(mig, NULL, words, "3g.20gb", "1", "2g.10gb", "1", "1g.5gb", "2");
        EXPECT(mig, NULL, words, "19", "2", "14", "1", "9", "1");
        EXPECT(mig, NULL, words, "1g.5gb", "1", "3G.20GB", "1", "MIG 1g.5gb", "1", "2g.10gb", "1");
}
END_TEST

START_TEST(what_is_free_is_taken_where_it_costs_others_least) {
        g_autoptr(CarvedMig) mig = mig_new(&mig_a100);

        EXPECT(mig, NULL, "-[] +[1g.5gb@6]", "1g.5gb", "1");   /* no 2g can be there */
        EXPECT(mig, NULL, "-[] +[3g.20gb@4]", "3g.20gb", "1"); /* no 4g can be there */
}
END_TEST

START_TEST(a_refusal_says_why_and_what_fits) {
        g_autoptr(CarvedMig) a100 = mig_new(&mig_a100), a30 = mig_new(&mig_a30);

        EXPECT(a100, NULL,
               "The card can't be cut into 3 × 3g.20gb: the card takes at most 2 of 3g.20gb, not 3; the "
               "nearest that fits is 2 × 3g.20gb",
               "3g.20gb", "3");
        EXPECT(a100, NULL,
               "The card can't be cut into 1 × 4g.20gb, 2 × 3g.20gb: that needs 10 compute slices, and the "
               "card has 7; the nearest that fits is 1 × 4g.20gb, 1 × 3g.20gb",
               "4g.20gb", "1", "3g.20gb", "2");
        EXPECT(a100, NULL,
               "The card can't be cut into 2 × 3g.20gb, 1 × 1g.5gb: that needs 9 memory slices, and the card "
               "has 8; the nearest that fits is 2 × 3g.20gb",
               "1g.5gb", "1", "3g.20gb", "2");
        EXPECT(a100, NULL,
               "The card can't be cut into 3 × 2g.10gb, 1 × 1g.5gb, 1 × 1g.5gb+me: that needs 8 compute "
               "slices, and the card has 7; the nearest that fits is 3 × 2g.10gb, 1 × 1g.5gb+me",
               "2g.10gb", "3", "1g.5gb", "1", "20", "1");
        EXPECT(a30, NULL,
               "The card can't be cut into 1 × 2g.12gb+me, 1 × 1g.6gb+me: only one instance can have the "
               "media extensions (+me); the nearest that fits is 1 × 2g.12gb+me",
               "1g.6gb+me", "1", "2g.12gb+me", "1");
        EXPECT(a100, NULL,
               "There is no MIG profile '2g.12gb'; there are 7g.40gb, 4g.20gb, 3g.20gb, 2g.10gb, 1g.10gb, "
               "1g.5gb, 1g.5gb+me",
               "2g.12gb", "1");
}
END_TEST

START_TEST(ids_need_not_be_in_order_of_size) {
        g_autoptr(CarvedMig) mig = mig_new(&mig_rtx_pro_6000);

        EXPECT(mig, NULL, "-[] +[2g.48gb+gfx@0 1g.24gb@2 1g.24gb+gfx@3]", "47", "1", "35", "1", "14", "1");
}
END_TEST

START_TEST(what_is_asked_for_and_there_stays) {
        g_autoptr(CarvedMig) mig = mig_new(&mig_a100);

        mig_cut(mig, "3g.20gb", 4);
        mig_cut(mig, "1g.5gb", 0);
        EXPECT(mig, NULL, "-[] +[]", "3g.20gb", "1", "1g.5gb", "1");
        EXPECT(mig, NULL, "-[] +[2g.10gb@2]", "3g.20gb", "1", "1g.5gb", "1", "2g.10gb", "1");
        EXPECT(mig, any_may_go, "-[1g.5gb@0] +[4g.20gb@0]", "3g.20gb", "1", "4g.20gb", "1");
        EXPECT(mig, any_may_go, "-[3g.20gb@4 1g.5gb@0] +[]", NULL);
}
END_TEST

START_TEST(what_is_in_use_stays_or_the_change_is_refused) {
        g_autoptr(CarvedMig) mig = mig_new(&mig_a100);

        mig_cut(mig, "1g.5gb", 5);
        occupy(mig_cut(mig, "1g.5gb", 0));
        EXPECT(mig, idle_may_go, "-[1g.5gb@5] +[3g.20gb@4]", "3g.20gb", "1", "1g.5gb", "1");
        EXPECT(mig, idle_may_go,
               "GPU instance 2, 1g.5gb at 0:1, is in use, and not part of what is asked for", "3g.20gb", "1");
        EXPECT(mig, idle_may_go,
               "The card can't be cut into 1 × 4g.20gb, 1 × 1g.5gb: beside the instances that stay there is "
               "no room for the rest; the nearest that fits is 1 × 1g.5gb",
               "4g.20gb", "1", "1g.5gb", "1");
}
END_TEST

/* ---- the smallest change, against brute force ---- */

/* How many of the instances can stay at most, by trying all ways to cut the card into @counts. */
typedef struct Stay {
        const CarvedMig *mig;
        CarvedMigCounts *left;
        int best;
} Stay;

static void try_ways(Stay *s, unsigned profile, unsigned place, unsigned taken, int kept) {
        const CarvedMigProfile *p;
        CarvedPlacement at;
        unsigned mask;

        while (profile < s->mig->profiles->len &&
               place == ((CarvedMigProfile *) s->mig->profiles->pdata[profile])->placements->len) {
                if (s->left[profile] > 0)
                        return;
                profile++;
                place = 0;
        }
        if (profile == s->mig->profiles->len) {
                s->best = MAX(s->best, kept);
                return;
        }
        try_ways(s, profile, place + 1, taken, kept);
        p = s->mig->profiles->pdata[profile];
        at = g_array_index(p->placements, CarvedPlacement, place);
        mask = ((1U << at.size) - 1) << at.start;
        if (s->left[profile] == 0 || (taken & mask) != 0)
                return;
        s->left[profile]--;
        try_ways(s, profile, place + 1, taken | mask,
                 kept + (carved_mig_find_placed(s->mig, p->id, at) != NULL));
        s->left[profile]++;
}

/* Some cut that can be, by chance. */
static void cut_somehow(CarvedMig *mig, GRand *rand) {
        unsigned taken = 0, compute = 0;

        for (unsigned n = 0; n < 12; n++) {
                const CarvedMigProfile *p =
                        mig->profiles->pdata[g_rand_int_range(rand, 0, (int) mig->profiles->len)];
                CarvedPlacement at =
                        g_array_index(p->placements, CarvedPlacement,
                                      (unsigned) g_rand_int_range(rand, 0, (int) p->placements->len));
                unsigned mask = ((1U << at.size) - 1) << at.start;

                if ((taken & mask) != 0 || compute + p->slices > 7 || strstr(p->name, "+me"))
                        continue;
                taken |= mask;
                compute += p->slices;
                carved_mig_add_instance(mig, n + 1, p->id, at);
        }
}

START_TEST(a_replacement_changes_as_little_as_can_be) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(7);
        unsigned tried = 0, changed = 0;

        while (tried < 2000) {
                g_autoptr(CarvedMig) mig = mig_new(&mig_a100), other = mig_new(&mig_a100);
                g_autofree CarvedMigCounts *counts = NULL, *left = NULL;
                g_auto(CarvedMigLayout) layout = { 0 };
                Stay stay = { .mig = mig, .best = -1 };

                cut_somehow(mig, rand);
                cut_somehow(other, rand);
                counts = carved_mig_counts_present(other);
                stay.left = left = g_memdup2(counts, mig->profiles->len * sizeof *counts);
                try_ways(&stay, 0, 0, 0, 0);
                ck_assert(carved_mig_layout_plan(mig, counts, any_may_go, NULL, &layout, NULL));
                ck_assert_int_eq((int) (mig->instances->len - layout.drops->len), stay.best);
                ck_assert_uint_eq(layout.makes->len + (unsigned) stay.best, other->instances->len);
                tried++;
                changed += layout.drops->len > 0;
        }
        printf("# %u replacements, %u of them had to take something away\n", tried, changed);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("mig-layout");
        TCase *tcase = tcase_create("mig-layout");

        tcase_set_timeout(tcase, 60);
        tcase_add_loop_test(tcase, every_multiset_of_profiles_has_the_verdict_of_brute_force, 0,
                            G_N_ELEMENTS(tables));
        tcase_add_test(tcase, any_order_of_a_valid_request_gives_the_same);
        tcase_add_test(tcase, what_is_free_is_taken_where_it_costs_others_least);
        tcase_add_test(tcase, a_refusal_says_why_and_what_fits);
        tcase_add_test(tcase, ids_need_not_be_in_order_of_size);
        tcase_add_test(tcase, what_is_asked_for_and_there_stays);
        tcase_add_test(tcase, what_is_in_use_stays_or_the_change_is_refused);
        tcase_add_test(tcase, a_replacement_changes_as_little_as_can_be);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
