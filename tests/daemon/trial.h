/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "carver.h"

/* One operation, done again and again on a daemon that runs under carved-killer; and what must hold whatever
 * happens to it. */

typedef struct Operation Operation;

typedef struct Trial {
        const Operation *op;
        const Card *card, *second; /* the second GPU of operations on two; the same where there is one */
        Client *client;
        char *path;           /* of the vGPU whose parameters are set */
        char *before, *after; /* the host, as the operation finds it, and as it leaves it */
        char **calls;         /* what it does in between: carved-killer's log */
        unsigned runs;
} Trial;

typedef enum Answer {
        ANSWER_NONE,    /* the daemon was gone before */
        ANSWER_REFUSED, /* it said that it did nothing */
        ANSWER_DONE,
} Answer;

/* What became of a run. */
typedef struct Result {
        Answer answer;
        const char *error;
        char *text;
        bool fired; /* the plan came to its end */
} Result;

void result_clear(Result *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Result, result_clear)

unsigned operations_count(void);
const char *trial_name(const Trial *trial);

/* Operation number @i on @host, a2 and so on, or `mixed`. A clean run says what it does. NULL: there is no
 * such operation on such a card. */
Trial *trial_new(const char *host, unsigned i);
Trial *trial_free(Trial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trial, trial_free)

/* Does the operation while carved-killer follows @plan. Where the daemon did not live through it, it is
 * started again. When this returns, all is quiet. */
void trial_run(Trial *trial, const char *plan, Result *ret);

/* Ends the daemon as one should, and starts it. */
void trial_restart(Trial *trial);

/* What was answered is so; else all of it is, or nothing. Every vGPU has a record, every record a vGPU. */
void trial_check(Trial *trial, const char *plan, const Result *result);

/* The records say the same as the host does: they alone bring it back. */
void trial_check_reboot(Trial *trial, const char *plan);
