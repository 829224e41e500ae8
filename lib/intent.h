/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* What was asked for: how many VFs, which vGPUs of a card are ours, and what people wrote on them. The
 * hardware knows nothing of it. */

typedef struct CarvedWanted {
        char uuid[CARVED_UUID_LEN + 1];
        int32_t vf_index; /* -1: straight on the GPU */
        CarvedFramework framework;
        char *type;         /* its id, as of the day it was made */
        char *type_name;    /* decides at restore: a driver may number anew; NULL: none was told */
        char *params;       /* NULL: none were set */
        GStrv labels;       /* NULL: none */
        char *old_override; /* vf-passthrough: the VF's driver_override before us; NULL: none */
        bool transient;     /* not kept over a reboot */
        bool leftover;      /* ours, and not wanted: half made when we were interrupted */
        struct _JsonObject
                *rest; /* stored with it by a carved that knows more; never edited; NULL: nothing */

        /* how it goes with it; not stored */
        bool missing; /* it was there, and somebody removed it */
        char *error;  /* we tried, and this is why it is not there */
} CarvedWanted;

typedef struct CarvedIntent {
        char *identity; /* vvvv:dddd:ssss:ssss@address of the card that it is for; NULL: nobody asked for
                           anything yet */
        char *serial, *gpu_uuid;  /* of that card; NULL: nobody told */
        uint64_t generation;      /* grows with each change: what is older has no say */
        int32_t vfs;              /* how many are wanted; -1: nobody asked */
        bool vfs_transient;       /* not kept over a reboot */
        int32_t mig;              /* MIG: on or off; -1: nobody asked */
        GArray *layout;           /* CarvedWantedInstance: how it is to be cut; NULL: nobody asked */
        int32_t mixed_size;       /* vGPUs of several sizes at once: on or off; -1: nobody asked */
        GStrv labels;             /* of the card; NULL: none */
        GPtrArray *vgpus;         /* CarvedWanted */
        struct _JsonObject *rest; /* as in CarvedWanted */
        struct _JsonObject *rest_transient; /* the same, of what is not kept over a reboot */

        /* not stored */
        char *unreadable;      /* what is stored can't be read, and why: nothing is done; NULL: it can */
        bool leftover_vfs;     /* the VFs are ours and not wanted, as in CarvedWanted */
        bool leftover_quiet;   /* we keep drivers from new VFs, and are through with them */
        bool leftover_unbound; /* the card may still be with the driver that it was only lent to, or locked */
        GArray *leftover_instances; /* CarvedWantedInstance: ours, and not wanted, as in CarvedWanted; or NULL
                                     */
        int32_t leftover_mig;       /* MIG was so before we were interrupted; -1: it was not touched */
        int32_t leftover_mixed_size; /* the same */
        char *mig_error;             /* we tried to cut the card as it is wanted, and this is why it is not */
        char *error;         /* we tried to make the card as it is wanted, and this is why it is not */
        uint64_t deleted[3]; /* when somebody else last removed something of ours; µs, the latest last */
        bool contested;      /* three times in ten minutes */
} CarvedIntent;

/* What becomes different of it. */
typedef struct CarvedIntentChange {
        bool anew;       /* all that was asked for until now is forgotten first */
        GPtrArray *adds; /* CarvedWanted, copied: in place of what has the same UUID; or NULL */
        GStrv removes;   /* UUIDs; or NULL */
        bool set_vfs;    /* to @vfs, @vfs_transient */
        int32_t vfs;
        bool vfs_transient;
        bool set_labels; /* of @label, a UUID, or "" for the card */
        const char *label;
        GStrv labels;
        bool set_mig;
        int32_t mig;
        bool set_layout;
        GArray *layout; /* CarvedWantedInstance, copied; or NULL */
        bool set_mixed_size;
        int32_t mixed_size;
        const char *serial, *gpu_uuid; /* as @identity; or NULL */
        const char *identity;          /* of the card, where nothing was asked of it so far */
} CarvedIntentChange;

CarvedWanted *carved_wanted_new(const char *uuid, int32_t vf_index, CarvedFramework framework,
                                const char *type);
CarvedWanted *carved_wanted_copy(const CarvedWanted *wanted);
void carved_wanted_free(CarvedWanted *wanted);

CarvedIntent *carved_intent_new(void);
CarvedIntent *carved_intent_copy(const CarvedIntent *intent);
void carved_intent_free(CarvedIntent *intent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedIntent, carved_intent_free)

/* Nothing is asked for, and nothing is written on it. */
bool carved_intent_is_void(const CarvedIntent *intent);

/* Does it leave what is kept over a reboot as it is? */
bool carved_intent_change_is_transient(const CarvedIntent *intent, const CarvedIntentChange *change);

/* Counts as one change: the generation grows. */
void carved_intent_change(CarvedIntent *intent, const CarvedIntentChange *change);

CarvedWanted *carved_intent_find(const CarvedIntent *intent, const char *uuid);
void carved_intent_remove(CarvedIntent *intent, const char *uuid);

/* Is @gpu the card that it is for? By what both sides know. */
bool carved_intent_is_for(const CarvedIntent *intent, const CarvedGpu *gpu);

/* How the card is cut, and how it should be, into @gpu. False: that is not the same. */
bool carved_intent_apply_mig(const CarvedIntent *intent, CarvedGpu *gpu);
/* What a look shows of what we were cutting when we were interrupted. */
void carved_intent_note_mig(CarvedIntent *intent, const CarvedGpu *gpu);

/* Marks in @gpu what is ours, by UUID or, where the kernel has none, by VF and type: there the vGPU takes our
 * UUID; and lists what is wanted and not there. carved_gpu_finish() must follow. */
void carved_intent_apply(const CarvedIntent *intent, CarvedGpu *gpu);

/* What a look shows of what is wanted: @gpu, with @intent applied, after @old (NULL: nothing was seen
 * before).
 * @now: µs; @ours: we are at work on it ourselves. */
void carved_intent_note(CarvedIntent *intent, const CarvedGpu *old, const CarvedGpu *gpu, uint64_t now,
                        bool ours);

/* Labels travel as key, value, key, value …, sorted by key. NULL and an error where a text can't be one, or
 * there are too many. Takes pairs in any order; a key twice is an error. */
GStrv carved_labels_new(const char *const *pairs, GError **error);
