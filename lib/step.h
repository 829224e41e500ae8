/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* The smallest thing that is done to a card, and undone: a value that goes to the worker, and what came of
 * it, a value that comes back. Pure; carve.h has the deed. */

typedef enum CarvedStepKind {
        CARVED_STEP_SRIOV_MANAGE, /* VFs on or off by NVIDIA's program: @number of them */
        CARVED_STEP_REBIND,       /* the card is its driver's again, where NVIDIA's program was interrupted */
        CARVED_STEP_NUMVFS,       /* by the kernel: @number of them */
        CARVED_STEP_AUTOPROBE,    /* new VFs are given to drivers: @number */
        CARVED_STEP_WAIT,         /* until @number VFs are there, usable; nothing is written */
        CARVED_STEP_IDLE,         /* nobody has vGPU @uuid open; nothing is written */
        CARVED_STEP_CREATE,       /* vGPU @uuid of @type */
        CARVED_STEP_REMOVE,
        CARVED_STEP_PARAMS,        /* @text */
        CARVED_STEP_MIG,           /* MIG on or off: @number */
        CARVED_STEP_MAKE_INSTANCE, /* a GPU instance of @profile, named @text, at @placement */
        CARVED_STEP_DROP_INSTANCE, /* @number: for now; a switch of VFs would lose it without a word */
        CARVED_STEP_MIXED_SIZE,    /* vGPUs of several sizes: @number */
        _CARVED_STEP_KIND_MAX
} CarvedStepKind;

typedef struct CarvedStep {
        CarvedStepKind kind;
        CarvedPciAddress gpu;
        uint16_t vendor, device, subsystem_vendor, subsystem_device; /* whose card it must be */
        CarvedFramework framework;
        int32_t vf_index; /* -1: the GPU itself */
        CarvedPciAddress vf;
        char uuid[CARVED_UUID_LEN + 1]; /* of a vGPU; else a word that no UUID is, for what it is about, or ""
                                           for the card */
        char *type;
        char *text,
                *old_text; /* never NULL: parameters, and before; of a whole VF, old_text is its override */
        uint32_t number, old_number;
        bool undo;        /* what it undoes may not have happened: what is so already is success */
        uint32_t profile; /* of GPU instances, the rest as well */
        CarvedPlacement placement;
        bool compute; /* make: with a compute instance; drop: it has one */
} CarvedStep;

CarvedStep *carved_step_new(CarvedStepKind kind, const CarvedGpu *gpu);
void carved_step_free(CarvedStep *step);

/* Does it need NVIDIA's library? Then so does whoever wants to see that it was done. */
bool carved_step_is_nvml(const CarvedStep *step);

/* The word for a GPU instance in @uuid of a step, and in what failed. */
#define CARVED_STEP_INSTANCE "instance "

/* The steps that lead back, in their order. Empty: nothing to undo. */
GPtrArray *carved_step_inverse(const CarvedStep *step);

/* In words, for people. */
char *carved_step_describe(const CarvedStep *step);

GVariant *carved_step_to_variant(const CarvedStep *step);
CarvedStep *carved_step_from_variant(GVariant *variant); /* NULL: it is none */

typedef struct CarvedUser {
        uint32_t pid;
        char command[16]; /* as the kernel keeps it */
        uint32_t device;  /* of those looked for: its place in their list */
} CarvedUser;

/* How a step went, without judgement: what it means is for explain.h. */
typedef struct CarvedOutcome {
        int errnum;    /* 0: it went well, so far as the kernel says */
        bool in_use;   /* the gate found it open, or the kernel said so: nothing was written */
        bool again;    /* may pass by itself in a second */
        char *file;    /* what refused; NULL: nothing did */
        char *value;   /* what was written to it */
        char *output;  /* of a program, or a sentence of our own; NULL: none */
        int status;    /* a program's exit code */
        GArray *users; /* CarvedUser */
} CarvedOutcome;

void carved_outcome_clear(CarvedOutcome *outcome);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CarvedOutcome, carved_outcome_clear)

GVariant *carved_outcome_to_variant(const CarvedOutcome *outcome);
bool carved_outcome_from_variant(GVariant *variant, CarvedOutcome *ret);

/* "4711 (qemu-system-x86), 4712 (…)"; NULL: nobody. */
char *carved_users_to_text(const GArray *users);
