/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "jobs.h"
#include "reader.h"

/* The inside of a job at work, for job*.c alone: job.c is its life, job-step.c the steps there and back,
 * job-look.c what is seen on the way and what follows from it, job-store.c what is written down of it. */

typedef enum Phase {
        PHASE_QUEUED,
        PHASE_SURVEY,  /* what is taken away must be as it is shown: a look at each GPU that may have changed
                          unseen */
        PHASE_PREPARE, /* what may be made is being written down */
        PHASE_STEPS,   /* there: one after the other */
        PHASE_EXPLAIN, /* one failed: a look, to say why */
        PHASE_VERIFY,  /* all done: a look at each GPU, to see it */
        PHASE_COMMIT,  /* what is wanted from now on is being written down */
        PHASE_UNDO,    /* back, one after the other */
        PHASE_REST,    /* back: a look at each GPU, to see what stayed */
} Phase;

/* One of the GPUs. */
typedef struct Place {
        Reader *reader; /* NULL: gone */
        CarvedPciAddress address;
        bool ready;
        CarvedGpu *glance; /* at some of its VFs, when the last step was done; NULL: none */
        bool glanced;      /* what is seen is known by it, and needs a look some time */
        CarvedGpu *seen;
} Place;

typedef struct JobRun {
        Phase phase;
        GArray *places;   /* Place */
        unsigned reached; /* so many steps were begun */
        unsigned look;    /* VERIFY, REST: which place */
        GPtrArray *undo;  /* CarvedStep */
        unsigned undone;
        bool waiting; /* the step is a wait, and it is between two looks */
        bool looking; /* … or in one */
        bool poked;   /* … and something happened meanwhile */
        bool asked;   /* the worker has a request of ours */
        bool late, cancel, replanned;
        bool undo_failed;     /* the last step of the way back: what waits for it need not */
        uint64_t entry;       /* its number in the journal */
        bool prepared;        /* the journal has it */
        bool transient;       /* … the one that goes with a reboot: nothing becomes different for longer */
        bool best_effort;     /* what fails costs only what depends on it, and nothing is undone */
        bool continued;       /* the second part of the plan is under way */
        GHashTable *failures; /* best effort: UUID, or "" for the card → why */
        unsigned retries, deaths, relooks;
        CarvedOutcome outcome; /* of the step that failed */
        GString *stayed;       /* what could not be undone */
        sd_event_source *timer, *deadline;
} JobRun;

/* job.c */
void job_set_state(Job *job, JobState state);
void job_set_error(Job *job, GError *error); /* taken; the first thing that went wrong is the one to tell */
void job_finish(Job *job, JobState state);
void job_describe(Job *job); /* the plan is another */
void job_finish_with_error(Job *job);
Place *job_find_place(Job *job, const CarvedPciAddress *address);
CarvedStep *job_current_step(Job *job); /* there or back; NULL: none is under way */

/* job-step.c */
bool job_is_wait(const CarvedStep *step);
bool job_is_stopping(const Job *job);
void job_run_step(Job *job);
void job_next_step(Job *job);
void job_stop_here(Job *job);
void job_take_outcome(Job *job, CarvedOutcome *outcome);
void job_worker_failed(Job *job, const char *text); /* nobody knows what it did */
bool job_ask_look(Job *job, Place *place);
void job_clear_wait(JobRun *run);
void job_look_while_waiting(Job *job);
void job_seen_while_waiting(Job *job, Place *place);

void job_note_failure(Job *job, const char *uuid, GError *error); /* taken */
bool job_is_passed_over(Job *job, const CarvedStep *step);
/* What failed is noted, what depends on it passed over; then the next. Takes @error. */
void job_pass_over(Job *job, GError *error);

/* job-store.c */
void job_prepare(Job *job);     /* then the steps begin */
void job_commit(Job *job);      /* then job_committed() */
void job_close_entry(Job *job); /* it ends badly: what was written down of it goes, unless something stayed */

/* job-look.c */
void job_committed(Job *job);
bool job_may_have_acted(Job *job, const CarvedStep *step);
void job_note_stayed(Job *job, const CarvedStep *step, const char *why);
void job_go_back(Job *job); /* with job->error set */
void job_next_undo(Job *job);
/* VFs to glance at when @step is done: au, empty where that does not tell. */
GVariant *job_choose_glance(Job *job, const CarvedStep *step);
void job_survey(Job *job); /* then begins, with a plan of what was seen */
void job_look_at_all(Job *job, Phase phase);
void job_take_look(Job *job, Place *place);
