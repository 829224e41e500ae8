/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mig.h"

/* From "so many of each profile" to where each instance goes, or why that can't be. Every way to place them
 * is tried, so the order in which they are asked for makes no difference. Pure. */

/* One instance: of a profile, at a place. */
typedef struct CarvedMigPiece {
        uint32_t profile;
        CarvedPlacement placement;
} CarvedMigPiece;

/* How many of mig->profiles[i] are wanted, for each i: an array of mig->profiles->len. */
typedef uint32_t CarvedMigCounts;

/* @pairs: "3g.20gb", "1", "19", "4" …: profile id or name, and how many. One profile twice is added up.
 * False: NoSuchType, InvalidArgs. @ret is to be freed. */
bool carved_mig_counts_parse(const CarvedMig *mig, GStrv pairs, CarvedMigCounts **ret, GError **error);
/* "1 × 3g.20gb, 4 × 1g.5gb"; "nothing". */
char *carved_mig_counts_to_text(const CarvedMig *mig, const CarvedMigCounts *counts);
/* Of the instances that are there. */
CarvedMigCounts *carved_mig_counts_present(const CarvedMig *mig);

typedef struct CarvedMigLayout {
        GArray *makes; /* CarvedMigPiece, in the order in which to make them */
        GArray *drops; /* CarvedMigPiece: to be destroyed before */
} CarvedMigLayout;

void carved_mig_layout_clear(CarvedMigLayout *layout);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CarvedMigLayout, carved_mig_layout_clear)

/* May this instance be destroyed? */
typedef bool (*CarvedMigMayGo)(const CarvedGpuInstance *instance, const void *userdata);

/* The smallest change from the instances that are there to @counts: as many as can be stay as and where they
 * are, and one that may not go stays in any case. @may_go NULL: all stay. False: NoCapacity, and the sentence
 * says what is in the way and what the nearest is that fits; or InUse, where one is not asked for and may not
 * go. */
bool carved_mig_layout_plan(const CarvedMig *mig, const CarvedMigCounts *counts, CarvedMigMayGo may_go,
                            const void *userdata, CarvedMigLayout *ret, GError **error);
