/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "mig-layout.h"
#include "sysfs.h"

/* Eight slices is what there is; a card with more than these is not planned for, but refused. */
#define SLICES_MAX 64U

/* ---- what is asked for ---- */

static unsigned index_of(const CarvedMig *mig, const CarvedMigProfile *profile) {
        unsigned i = 0;

        while (mig->profiles->pdata[i] != profile)
                i++;
        return i;
}

static const CarvedMigProfile *nth(const CarvedMig *mig, unsigned i) {
        return mig->profiles->pdata[i];
}

static void list_names(GString *list, const CarvedMig *mig) {
        for (unsigned i = 0; i < mig->profiles->len; i++)
                g_string_append_printf(list, "%s%s", i > 0 ? ", " : "", nth(mig, i)->name);
}

bool carved_mig_counts_parse(const CarvedMig *mig, GStrv pairs, CarvedMigCounts **ret, GError **error) {
        g_autofree CarvedMigCounts *counts = g_new0(CarvedMigCounts, mig->profiles->len + 1);

        for (char **pair = pairs; pair && pair[0]; pair += 2) {
                const CarvedMigProfile *profile = carved_mig_find_profile_by_text(mig, pair[0]);
                int64_t count = 0;

                if (!profile) {
                        g_autoptr(GString) names = g_string_new(NULL);
                        g_autofree char *quoted = carved_quote(pair[0]);

                        list_names(names, mig);
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_TYPE,
                                    "There is no MIG profile %s; there are %s", quoted, names->str);
                        return false;
                }
                carved_sysfs_parse_number(pair[1], 0, UINT32_MAX, &count);
                /* Far beyond any maximum it makes no difference how far. */
                counts[index_of(mig, profile)] = (uint32_t) MIN(
                        (uint64_t) counts[index_of(mig, profile)] + (uint64_t) count, UINT32_MAX);
        }
        *ret = g_steal_pointer(&counts);
        return true;
}

char *carved_mig_counts_to_text(const CarvedMig *mig, const CarvedMigCounts *counts) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < mig->profiles->len; i++)
                if (counts[i] > 0)
                        g_string_append_printf(text, "%s%u × %s", text->len > 0 ? ", " : "", counts[i],
                                               nth(mig, i)->name);
        if (text->len == 0)
                g_string_append(text, "nothing");
        return g_string_free(text, FALSE);
}

CarvedMigCounts *carved_mig_counts_present(const CarvedMig *mig) {
        CarvedMigCounts *counts = g_new0(CarvedMigCounts, mig->profiles->len + 1);

        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];
                const CarvedMigProfile *profile = carved_mig_find_profile(mig, instance->profile);

                if (profile)
                        counts[index_of(mig, profile)]++;
        }
        return counts;
}

/* ---- the rules ---- */

/* All of its compute slices: as many as the largest profile has. */
static uint32_t total_slices(const CarvedMig *mig) {
        uint32_t most = 0;

        for (unsigned i = 0; i < mig->profiles->len; i++)
                most = MAX(most, nth(mig, i)->slices);
        return most;
}

/* There is one set of media extensions, for one instance: `1g.5gb+me`, `2g.12gb+me`, `1g.24gb+me.all`. */
static bool has_media(const CarvedMigProfile *profile) {
        return strstr(profile->name, "+me") != NULL;
}

static uint64_t mask_of(CarvedPlacement placement) {
        if (placement.size == 0 || placement.start >= SLICES_MAX ||
            placement.size > SLICES_MAX - placement.start)
                return 0;

        return (placement.size == SLICES_MAX ? UINT64_MAX : (UINT64_C(1) << placement.size) - 1)
               << placement.start;
}

static uint64_t all_memory(const CarvedMig *mig) {
        uint64_t mask = 0;

        for (unsigned i = 0; i < mig->profiles->len; i++)
                for (unsigned j = 0; j < nth(mig, i)->placements->len; j++)
                        mask |= mask_of(g_array_index(nth(mig, i)->placements, CarvedPlacement, j));
        return mask;
}

/* ---- the search ---- */

/* One way to place one profile. */
typedef struct Slot {
        unsigned profile;
        CarvedPlacement placement;
        uint64_t mask;
        unsigned rivals; /* so many other ways need a slice of it */
} Slot;

typedef struct Search {
        const CarvedMig *mig;
        GArray *slots;  /* Slot: by profile, the largest first; of one, those that cost others least first */
        uint32_t *left; /* of each profile, how many are still to be placed */
        GArray *chosen; /* Slot */
} Search;

static int compare_slots(const void *a, const void *b) {
        const Slot *x = a, *y = b;

        if (x->profile != y->profile && x->placement.size != y->placement.size)
                return x->placement.size > y->placement.size ? -1 : 1;
        if (x->profile != y->profile)
                return x->profile < y->profile ? -1 : 1;
        if (x->rivals != y->rivals)
                return x->rivals < y->rivals ? -1 : 1;
        return x->placement.start < y->placement.start ? -1 : x->placement.start > y->placement.start;
}

static GArray *list_slots(const CarvedMig *mig) {
        GArray *slots = g_array_new(FALSE, FALSE, sizeof(Slot));

        for (unsigned i = 0; i < mig->profiles->len; i++)
                for (unsigned j = 0; j < nth(mig, i)->placements->len; j++) {
                        CarvedPlacement p = g_array_index(nth(mig, i)->placements, CarvedPlacement, j);
                        Slot slot = { i, p, mask_of(p), 0 };

                        if (slot.mask != 0)
                                g_array_append_val(slots, slot);
                }
        for (unsigned i = 0; i < slots->len; i++)
                for (unsigned j = 0; j < slots->len; j++)
                        g_array_index(slots, Slot, i).rivals += (g_array_index(slots, Slot, i).mask &
                                                                 g_array_index(slots, Slot, j).mask) != 0;
        g_array_sort(slots, compare_slots);
        return slots;
}

/* From slot number @from on: those of one profile are taken in one order only. */
static bool place(Search *search, unsigned from, uint64_t taken, unsigned to_place) {
        if (to_place == 0)
                return true;

        for (unsigned i = from; i < search->slots->len; i++) {
                const Slot *slot = &g_array_index(search->slots, Slot, i);

                if (search->left[slot->profile] == 0 || (slot->mask & taken) != 0)
                        continue;

                search->left[slot->profile]--;
                g_array_append_val(search->chosen, *slot);
                if (place(search, i + 1, taken | slot->mask, to_place - 1))
                        return true;
                g_array_set_size(search->chosen, search->chosen->len - 1);
                search->left[slot->profile]++;
        }
        return false;
}

/* What must be so wherever the instances go; @why: the first that is not. */
static bool check_numbers(const CarvedMig *mig, const CarvedMigCounts *counts, char **ret_why) {
        uint64_t compute = 0, memory = 0, media = 0;
        unsigned memory_slices = (unsigned) __builtin_popcountll(all_memory(mig));

        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const CarvedMigProfile *p = nth(mig, i);

                if (counts[i] > MIN(p->max, p->placements->len)) {
                        if (ret_why)
                                *ret_why =
                                        g_strdup_printf("the card takes at most %u of %s, not %u",
                                                        MIN(p->max, p->placements->len), p->name, counts[i]);
                        return false;
                }
                compute += (uint64_t) counts[i] * p->slices;
                if (counts[i] > 0)
                        memory +=
                                (uint64_t) counts[i] * g_array_index(p->placements, CarvedPlacement, 0).size;
                media += has_media(p) ? counts[i] : 0;
        }
        if (compute <= total_slices(mig) && memory <= memory_slices && media <= 1)
                return true;

        if (ret_why && media > 1)
                *ret_why = g_strdup("only one instance can have the media extensions (+me)");
        else if (ret_why && compute > total_slices(mig))
                *ret_why = g_strdup_printf("that needs %u compute slices, and the card has %u",
                                           (unsigned) compute, total_slices(mig));
        else if (ret_why)
                *ret_why = g_strdup_printf("that needs %u memory slices, and the card has %u",
                                           (unsigned) memory, memory_slices);
        return false;
}

/* @counts in all, where @taken is taken by @kept of them. The pieces to make, or NULL. */
static GArray *solve(const CarvedMig *mig, const CarvedMigCounts *counts, const CarvedMigCounts *kept,
                     uint64_t taken) {
        g_autofree uint32_t *left = g_new0(uint32_t, mig->profiles->len + 1);
        g_autoptr(GArray) slots = NULL, chosen = NULL;
        Search search = { .mig = mig };
        unsigned n = 0;
        GArray *pieces;

        if (!check_numbers(mig, counts, NULL))
                return NULL;
        for (unsigned i = 0; i < mig->profiles->len; i++) {
                left[i] = counts[i] - kept[i];
                n += left[i];
        }

        search.left = left;
        search.slots = slots = list_slots(mig);
        search.chosen = chosen = g_array_new(FALSE, FALSE, sizeof(Slot));
        if (!place(&search, 0, taken, n))
                return NULL;

        pieces = g_array_new(FALSE, FALSE, sizeof(CarvedMigPiece));
        for (unsigned i = 0; i < chosen->len; i++) {
                const Slot *slot = &g_array_index(chosen, Slot, i);
                CarvedMigPiece piece = { nth(mig, slot->profile)->id, slot->placement };

                g_array_append_val(pieces, piece);
        }
        return pieces;
}

/* ---- what stays ---- */

/* Of the instances, those in @keep stay. NULL: that leads nowhere. */
static GArray *try_keeping(const CarvedMig *mig, const CarvedMigCounts *counts, uint32_t keep) {
        g_autofree CarvedMigCounts *kept = g_new0(CarvedMigCounts, mig->profiles->len + 1);
        uint64_t taken = 0;

        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];
                const CarvedMigProfile *profile = carved_mig_find_profile(mig, instance->profile);

                if (!(keep & (1U << i)))
                        continue;
                if (!profile || ++kept[index_of(mig, profile)] > counts[index_of(mig, profile)])
                        return NULL;
                taken |= mask_of(instance->placement);
        }
        return solve(mig, counts, kept, taken);
}

static void take(const CarvedMig *mig, uint32_t keep, GArray *makes, CarvedMigLayout *ret) {
        ret->makes = makes;
        ret->drops = g_array_new(FALSE, FALSE, sizeof(CarvedMigPiece));
        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];
                CarvedMigPiece piece = { instance->profile, instance->placement };

                if (!(keep & (1U << i)))
                        g_array_append_val(ret->drops, piece);
        }
}

/* As many as can be, and @must in any case. */
static bool keep_most(const CarvedMig *mig, const CarvedMigCounts *counts, uint32_t must,
                      CarvedMigLayout *ret) {
        uint32_t all = (1U << mig->instances->len) - 1;

        for (int n = (int) mig->instances->len; n >= 0; n--)
                for (uint32_t keep = all;; keep--) {
                        GArray *makes = NULL;

                        if (__builtin_popcount(keep) == n && (keep & must) == must)
                                makes = try_keeping(mig, counts, keep);
                        if (makes) {
                                if (ret)
                                        take(mig, keep, makes, ret);
                                else
                                        g_array_unref(makes);
                                return true;
                        }
                        if (keep == 0)
                                break;
                }
        return false;
}

/* ---- what fits instead ---- */

typedef struct Nearest {
        const CarvedMig *mig;
        const CarvedMigCounts *counts;
        uint32_t must;
        CarvedMigCounts *now, *best;
        uint64_t best_worth;
        bool found;
} Nearest;

/* What is left of what was asked for: compute first, then memory. */
static uint64_t worth(const CarvedMig *mig, const CarvedMigCounts *counts) {
        uint64_t sum = 0;

        for (unsigned i = 0; i < mig->profiles->len; i++)
                if (counts[i] > 0)
                        sum += counts[i] *
                               (nth(mig, i)->slices * 1024ULL +
                                16ULL * g_array_index(nth(mig, i)->placements, CarvedPlacement, 0).size + 1);
        return sum;
}

static void search_nearest(Nearest *n, unsigned i) {
        if (i < n->mig->profiles->len) {
                const CarvedMigProfile *p = nth(n->mig, i);
                uint32_t most = MIN(n->counts[i], MIN(p->max, p->placements->len));

                for (uint32_t c = 0; c <= most; c++) {
                        n->now[i] = c;
                        search_nearest(n, i + 1);
                }
                n->now[i] = 0;
                return;
        }
        if ((n->found && worth(n->mig, n->now) <= n->best_worth) || !check_numbers(n->mig, n->now, NULL) ||
            !keep_most(n->mig, n->now, n->must, NULL))
                return;

        n->found = true;
        n->best_worth = worth(n->mig, n->now);
        memcpy(n->best, n->now, n->mig->profiles->len * sizeof *n->best);
}

/* The most of what was asked for that can be had; NULL: none of it. */
static char *nearest(const CarvedMig *mig, const CarvedMigCounts *counts, uint32_t must) {
        g_autofree CarvedMigCounts *now = g_new0(CarvedMigCounts, mig->profiles->len + 1);
        g_autofree CarvedMigCounts *best = g_new0(CarvedMigCounts, mig->profiles->len + 1);
        Nearest n = { .mig = mig, .counts = counts, .must = must, .now = now, .best = best };

        search_nearest(&n, 0);
        return n.found ? carved_mig_counts_to_text(mig, best) : NULL;
}

/* ---- all together ---- */

/* One that may not go, and is not asked for. */
static bool check_unwanted(const CarvedMig *mig, const CarvedMigCounts *counts, uint32_t must,
                           GError **error) {
        g_autofree CarvedMigCounts *kept = g_new0(CarvedMigCounts, mig->profiles->len + 1);

        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];
                const CarvedMigProfile *profile = carved_mig_find_profile(mig, instance->profile);

                if (!(must & (1U << i)) ||
                    (profile && ++kept[index_of(mig, profile)] <= counts[index_of(mig, profile)]))
                        continue;
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_IN_USE,
                            "GPU instance %u, %s at %u:%u, is in use, and not part of what is asked for",
                            instance->id, carved_mig_profile_name(mig, instance->profile),
                            instance->placement.start, instance->placement.size);
                return false;
        }
        return true;
}

static bool refuse(const CarvedMig *mig, const CarvedMigCounts *counts, uint32_t must, GError **error) {
        g_autofree char *asked = NULL, *why = NULL, *fits = NULL;

        if (!error) /* only whether, not why */
                return false;

        asked = carved_mig_counts_to_text(mig, counts);
        if (check_numbers(mig, counts, &why))
                why = g_strdup(must ? "beside the instances that stay there is no room for the rest"
                                    : "there are slices enough, but no way to place all of them");
        fits = nearest(mig, counts, must);
        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_CAPACITY,
                    "The card can't be cut into %s: %s; the nearest that fits is %s", asked, why,
                    fits ?: "nothing");
        return false;
}

bool carved_mig_layout_plan(const CarvedMig *mig, const CarvedMigCounts *counts, CarvedMigMayGo may_go,
                            const void *userdata, CarvedMigLayout *ret, GError **error) {
        uint32_t must = 0;

        if (mig->instances->len >= 16) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                            "%u GPU instances are more than any known card can have", mig->instances->len);
                return false;
        }
        for (unsigned i = 0; i < mig->instances->len; i++)
                if (!may_go || !may_go(mig->instances->pdata[i], userdata))
                        must |= 1U << i;
        if (!check_unwanted(mig, counts, must, error))
                return false;

        return (check_numbers(mig, counts, NULL) && keep_most(mig, counts, must, ret)) ||
               refuse(mig, counts, must, error);
}

void carved_mig_layout_clear(CarvedMigLayout *layout) {
        g_clear_pointer(&layout->makes, g_array_unref);
        g_clear_pointer(&layout->drops, g_array_unref);
}
