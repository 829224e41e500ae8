/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"

/* How far work is, on standard error: on a terminal a line per step, with a spinner and seconds; else a plain
 * line when a step begins. Each step is told once, and none is left out, however fast they go. */

typedef struct Progress Progress;

Progress *progress_new(const Ctl *ctl);
Progress *progress_free(Progress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Progress, progress_free)

/* A new piece of work begins; @words: what is shown until its steps are known. */
void progress_begin(Progress *progress, const char *words);

/* It is at @step of @plan, counted from one. */
void progress_step(Progress *progress, unsigned step, char **plan);

/* It is not at work: waits for its turn, or hangs. NULL: it is. Shown on a terminal only. */
void progress_note(Progress *progress, const char *note);

/* Moves what moves. */
void progress_tick(Progress *progress);

typedef enum ProgressEnd {
        PROGRESS_DONE,   /* all steps: those not told yet are */
        PROGRESS_FAILED, /* the one at hand */
        PROGRESS_LEFT,   /* it goes on without us */
} ProgressEnd;

void progress_end(Progress *progress, ProgressEnd how);
