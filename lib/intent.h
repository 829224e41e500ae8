/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* What was asked for: which vGPUs of a card are ours, and what people wrote on them. The hardware knows
 * nothing of it. */

typedef struct CarvedWanted {
        char uuid[CARVED_UUID_LEN + 1];
        int32_t vf_index; /* -1: straight on the GPU */
        CarvedFramework framework;
        char *type;
        GStrv labels;
        char *old_override; /* vf-passthrough: the VF's driver_override before us; NULL: none */
} CarvedWanted;

typedef struct CarvedIntent {
        GStrv labels;     /* of the card */
        GPtrArray *vgpus; /* CarvedWanted */
} CarvedIntent;

CarvedWanted *carved_wanted_new(const char *uuid, int32_t vf_index, CarvedFramework framework,
                                const char *type);
CarvedWanted *carved_wanted_copy(const CarvedWanted *wanted);
void carved_wanted_free(CarvedWanted *wanted);

CarvedIntent *carved_intent_new(void);
void carved_intent_free(CarvedIntent *intent);

CarvedWanted *carved_intent_find(const CarvedIntent *intent, const char *uuid);
void carved_intent_remove(CarvedIntent *intent, const char *uuid);

/* Marks in @gpu what is ours, by UUID or, where the kernel has none, by VF and type: there the vGPU takes our
 * UUID. carved_gpu_finish() must follow. */
void carved_intent_apply(const CarvedIntent *intent, CarvedGpu *gpu);

/* Forgets what is no longer there. */
void carved_intent_prune(CarvedIntent *intent, const CarvedGpu *gpu);

/* Labels travel as key, value, key, value …, sorted by key. NULL and an error where a text can't be one, or
 * there are too many. Takes pairs in any order; a key twice is an error. */
GStrv carved_labels_new(const char *const *pairs, GError **error);
