/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <check.h>

#include "mig-table.h"

const MigTable mig_a100 = { "A100",
                            { { 19, "1g.5gb", 7, 1, 1, "0123456" },
                              { 20, "1g.5gb+me", 1, 1, 1, "0123456" },
                              { 15, "1g.10gb", 4, 1, 2, "0246" },
                              { 14, "2g.10gb", 3, 2, 2, "024" },
                              { 9, "3g.20gb", 2, 3, 4, "04" },
                              { 5, "4g.20gb", 1, 4, 4, "0" },
                              { 0, "7g.40gb", 1, 7, 8, "0" } } };

const MigTable mig_h100 = { "H100",
                            { { 19, "1g.10gb", 7, 1, 1, "0123456" },
                              { 20, "1g.10gb+me", 1, 1, 1, "0123456" },
                              { 15, "1g.20gb", 4, 1, 2, "0246" },
                              { 14, "2g.20gb", 3, 2, 2, "024" },
                              { 9, "3g.40gb", 2, 3, 4, "04" },
                              { 5, "4g.40gb", 1, 4, 4, "0" },
                              { 0, "7g.80gb", 1, 7, 8, "0" } } };

const MigTable mig_a30 = { "A30",
                           { { 14, "1g.6gb", 4, 1, 1, "0123" },
                             { 21, "1g.6gb+me", 1, 1, 1, "0123" },
                             { 5, "2g.12gb", 2, 2, 2, "02" },
                             { 6, "2g.12gb+me", 1, 2, 2, "02" },
                             { 0, "4g.24gb", 1, 4, 4, "0" } } };

/* Where its larger ones may be is told by no table: taken to be as on the A30, whose slices it has. */
const MigTable mig_rtx_pro_6000 = { "RTX PRO 6000",
                                    { { 14, "1g.24gb", 4, 1, 1, "0123" },
                                      { 21, "1g.24gb+me", 1, 1, 1, "0123" },
                                      { 47, "1g.24gb+gfx", 4, 1, 1, "0123" },
                                      { 65, "1g.24gb+me.all", 1, 1, 1, "0123" },
                                      { 67, "1g.24gb-me", 4, 1, 1, "0123" },
                                      { 5, "2g.48gb", 2, 2, 2, "02" },
                                      { 35, "2g.48gb+gfx", 2, 2, 2, "02" },
                                      { 64, "2g.48gb+me.all", 1, 2, 2, "02" },
                                      { 66, "2g.48gb-me", 2, 2, 2, "02" },
                                      { 0, "4g.96gb", 1, 4, 4, "0" },
                                      { 32, "4g.96gb+gfx", 1, 4, 4, "0" } } };

CarvedMig *mig_new(const MigTable *table) {
        CarvedMig *mig = carved_mig_new();

        for (const struct MigRow *row = table->rows; row->name; row++) {
                CarvedMigProfile *profile = carved_mig_add_profile(mig, row->id, row->name);

                profile->max = row->max;
                profile->slices = row->slices;
                for (const char *start = row->starts; *start; start++)
                        carved_mig_profile_place(profile, (uint32_t) (*start - '0'), row->size);
        }
        mig->enabled = mig->pending = true;
        carved_mig_finish(mig);
        return mig;
}

CarvedGpuInstance *mig_cut(CarvedMig *mig, const char *name, uint32_t start) {
        const CarvedMigProfile *profile = carved_mig_find_profile_by_text(mig, name);
        CarvedPlacement placement = { start, 0 };

        ck_assert_ptr_nonnull(profile);
        placement.size = g_array_index(profile->placements, CarvedPlacement, 0).size;
        return carved_mig_add_instance(mig, mig->instances->len + 1, profile->id, placement);
}
