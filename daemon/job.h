/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "caller.h"
#include "manager.h"
#include "plan.h"

/* Work on one or more GPUs, from the call that asks for it to the answer: its steps one by one in the GPUs'
 * workers, and back again when one fails. */

typedef struct Job Job;

typedef enum JobState {
        JOB_WAITING,
        JOB_RUNNING,
        JOB_STALLED,
        JOB_DONE,
        JOB_FAILED,
        JOB_CANCELLED,
        _JOB_STATE_MAX
} JobState;

const char *job_state_to_string(JobState state);

/* What of a job is shown, and may be read by job-bus.c; only job.c writes it. */
struct Job {
        Manager *manager;
        uint64_t id;
        uint32_t uid;
        Caller *caller; /* NULL: nobody, carved itself */
        char *key;      /* of its order; NULL: can't be joined */
        CarvedOrder *order;
        CarvedPlan *plan; /* NULL: made when it is its turn */
        GStrv words;      /* the plan's; never NULL */
        JobState state;
        bool dry_run;         /* nothing was done, and so nothing is logged */
        unsigned step;        /* the one that runs, from 0; = all: none does any more */
        GError *error;        /* NULL: none so far */
        uint64_t started;     /* µs, real time */
        GHashTable *failures; /* of a best effort: UUID, or "" for the card → why; NULL: none yet */
        GPtrArray *callers;   /* sd_bus_message: those who wait for the end */
        struct JobRun *run;   /* while it waits or runs; else NULL */
};

/* Takes @order and @plan. */
Job *job_new(Manager *m, uint64_t id, uint32_t uid, CarvedOrder *order, CarvedPlan *plan);
Job *job_free(Job *job);

bool job_is_over(const Job *job);

/* Into the queues of its GPUs. jobs_over() follows, perhaps at once. */
void job_start(Job *job);

/* For what is so already, and for dry runs: over, and nothing was done. */
void job_finish_at_once(Job *job);

/* Between steps; what was done is undone. */
void job_cancel(Job *job, const char *why);
