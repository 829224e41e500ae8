/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "intent.h"
#include "model.h"
#include "step.h"

/* From what is asked for and what is there to the steps that lead from one to the other, or a refusal. Pure.
 */

typedef enum CarvedOrderKind {
        CARVED_ORDER_ENABLE_VFS,
        CARVED_ORDER_DISABLE_VFS,
        CARVED_ORDER_CREATE_VGPU,
        CARVED_ORDER_DESTROY_VGPUS,
        CARVED_ORDER_SET_PARAMS,
        CARVED_ORDER_RESTORE, /* by ourselves: make the card as it is wanted, as far as it goes */
        CARVED_ORDER_RESYNC,  /* the same, asked for */
        CARVED_ORDER_ADOPT,   /* what is there is what is wanted */
        CARVED_ORDER_SET_MIG,
        CARVED_ORDER_APPLY_LAYOUT,
        CARVED_ORDER_CLEAR_MIG,
        CARVED_ORDER_DESTROY_INSTANCE,
        CARVED_ORDER_SET_MIXED_SIZE,
        _CARVED_ORDER_KIND_MAX
} CarvedOrderKind;

/* What somebody asks for. */
typedef struct CarvedOrder {
        CarvedOrderKind kind;
        CarvedPciAddress gpu; /* all but destroy */
        int32_t vf_index;     /* create: on this VF; -1: on the GPU, or on any VF of it */
        GStrv uuids;          /* create, set params: one; destroy: those */
        bool uuid_given;      /* create: by the caller, so that asking again is safe */
        char *type, *params;
        bool placed; /* create: at @placement_id in the card's memory; else the driver chooses */
        uint32_t placement_id;
        char *adopt_as; /* adopt: the UUID that it gets; NULL: its own */
        GStrv labels;
        uint32_t count; /* enable: how many; 0: all. Set MIG, mixed size: on. Destroy instance: its id */
        GStrv layout;   /* profile, how many, profile, how many … */
        bool replace, compute; /* layout: instances that are there may go; with compute instances */
        bool destroy_vgpus;    /* disable: ours go too */
        bool settle;           /* restore: only what was half made when we were interrupted goes */
        bool transient;        /* create, enable: not kept over a reboot */
} CarvedOrder;

const char *carved_order_kind_to_string(CarvedOrderKind kind);
void carved_order_free(CarvedOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedOrder, carved_order_free)

/* The same text for the same order: who asks twice means it once. */
char *carved_order_key(const CarvedOrder *order);

typedef struct CarvedPlan {
        GPtrArray *steps; /* CarvedStep */
        GArray *gpus;     /* CarvedPciAddress, whose queues it needs; by address, each once */

        /* What is wanted once all is done: of gpus[0], but for the removes, which are anybody's. */
        GPtrArray *adds; /* CarvedWanted */
        GStrv removes;   /* UUIDs; or NULL */
        bool set_vfs, vfs_transient;
        int32_t vfs;
        bool set_mig, set_layout, set_mixed_size;
        int32_t mig, mixed_size;
        GArray *layout; /* CarvedWantedInstance; or NULL */
        bool anew;      /* what was wanted until now is forgotten */
        GHashTable
                *failures; /* best effort: UUID, or "" for the card → why it can't be made as it is wanted */
} CarvedPlan;

/* NULL and an error: refused, nothing to be done. A plan without steps: it is so already. */
CarvedPlan *carved_plan_make(const CarvedModel *model, const CarvedOrder *order, GError **error);

/* What is left to do when the first plan is done, by best effort: vGPUs that are wanted on VFs that were not
 * there. NULL: nothing. */
CarvedPlan *carved_plan_continue(const CarvedModel *model, const CarvedOrder *order);

/* Is it about what changes without an event, so that a look comes first, and goes deep? */
bool carved_order_is_mig(const CarvedOrder *order);

/* Does a failed step cost only what depends on it? */
bool carved_order_is_best_effort(const CarvedOrder *order);

/* Is anything else wanted afterwards than before? */
bool carved_plan_changes_intent(const CarvedPlan *plan);

/* What becomes different for one of its GPUs. */
CarvedIntentChange carved_plan_change(const CarvedPlan *plan, const CarvedGpu *gpu);
void carved_plan_free(CarvedPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedPlan, carved_plan_free)

/* Step by step, in words. */
GStrv carved_plan_describe(const CarvedPlan *plan);
bool carved_plan_equal(const CarvedPlan *a, const CarvedPlan *b);

/* Has @step come true by what @gpu, a fresh look, shows? */
bool carved_step_is_done(const CarvedStep *step, const CarvedGpu *gpu);
