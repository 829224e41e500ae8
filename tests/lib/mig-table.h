/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mig.h"

/* Cards as they are cut, by the tables that their makers print. */

typedef struct MigTable {
        const char *name;
        struct MigRow {
                uint32_t id;
                const char *name;
                uint32_t max, slices, size;
                const char *starts; /* "024": one digit each */
        } rows[12];
} MigTable;

extern const MigTable mig_a100, mig_h100, mig_a30, mig_rtx_pro_6000;

/* Nothing is on it, MIG is on. */
CarvedMig *mig_new(const MigTable *table);

CarvedGpuInstance *mig_cut(CarvedMig *mig, const char *profile, uint32_t start);
