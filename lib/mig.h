/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* Multi-Instance GPU as plain values: the shapes that a card can be cut into, and the instances that it is
 * cut into now. */

/* Memory slices [start, start + size). */
typedef struct CarvedPlacement {
        uint32_t start, size;
} CarvedPlacement;

typedef struct CarvedMigProfile {
        uint32_t id;          /* as nvidia-smi prints it; not in order of size, and not NVML's enum */
        char *name;           /* `3g.20gb` */
        uint32_t slices;      /* of compute */
        uint32_t max;         /* so many of it, if there is nothing else */
        uint64_t memory_mib;  /* moves a little with driver, firmware and ECC: to be shown only */
        GArray *placements;   /* CarvedPlacement, where it may be */
        bool knows_available; /* the driver tells @available: with MIG on only */
        uint32_t available;   /* so many more */
} CarvedMigProfile;

typedef struct CarvedGpuInstance {
        uint32_t id; /* reused after it is destroyed */
        uint32_t profile;
        CarvedPlacement placement;
        bool has_compute; /* a compute instance is in it */
        GStrv uuids;      /* of its MIG devices, which only compute instances make; never NULL */
} CarvedGpuInstance;

/* One that is asked for: by profile and place, which outlive it. */
typedef struct CarvedWantedInstance {
        uint32_t profile;
        char name[32]; /* of the profile: it decides, as a driver may number anew; "": not known */
        CarvedPlacement placement;
        bool compute; /* with a compute instance that has all of it */
} CarvedWantedInstance;

typedef struct CarvedMig {
        bool enabled;
        bool pending;        /* the mode that it has after the next reset: another means that one is needed */
        GPtrArray *profiles; /* CarvedMigProfile, by id */
        GPtrArray *instances; /* CarvedGpuInstance, by id */
} CarvedMig;

CarvedMig *carved_mig_new(void);
void carved_mig_free(CarvedMig *mig);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedMig, carved_mig_free)

CarvedMigProfile *carved_mig_add_profile(CarvedMig *mig, uint32_t id, const char *name);
void carved_mig_profile_place(CarvedMigProfile *profile, uint32_t start, uint32_t size);
CarvedGpuInstance *carved_mig_add_instance(CarvedMig *mig, uint32_t id, uint32_t profile,
                                           CarvedPlacement placement);

/* Sorts. Once, when all is in. */
void carved_mig_finish(CarvedMig *mig);

/* NULL: none. */
const CarvedMigProfile *carved_mig_find_profile(const CarvedMig *mig, uint32_t id);
/* `9`, `3g.20gb` or `MIG 3g.20gb`, any case. */
const CarvedMigProfile *carved_mig_find_profile_by_text(const CarvedMig *mig, const char *text);
const CarvedGpuInstance *carved_mig_find_instance(const CarvedMig *mig, uint32_t id);
const CarvedGpuInstance *carved_mig_find_placed(const CarvedMig *mig, uint32_t profile,
                                                CarvedPlacement placement);

/* The one that is meant; NULL: it is not there. */
const CarvedGpuInstance *carved_mig_find_wanted(const CarvedMig *mig, const CarvedWantedInstance *wanted);
/* The number that its profile has on this card, by name if it has one. */
uint32_t carved_mig_wanted_profile(const CarvedMig *mig, const CarvedWantedInstance *wanted);
CarvedWantedInstance carved_mig_want(const CarvedMig *mig, uint32_t profile, CarvedPlacement placement,
                                     bool compute);
/* Is it one of those? NULL is an empty list. */
bool carved_mig_is_wanted(const CarvedMig *mig, const GArray *layout, const CarvedGpuInstance *instance);

/* What people call it: its name, or its number where it has none. As long as @mig. */
const char *carved_mig_profile_name(const CarvedMig *mig, uint32_t profile);

bool carved_mig_equal(const CarvedMig *a, const CarvedMig *b); /* both, or neither, may be NULL */

/* As it travels from the worker to the daemon. */
#define CARVED_MIG_TYPE "(bba(usuutmua(uu))a(uu(uu)bas))"
GVariant *carved_mig_to_variant(const CarvedMig *mig);
CarvedMig *carved_mig_from_variant(GVariant *variant); /* of CARVED_MIG_TYPE */
