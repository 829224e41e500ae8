/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "caller.h"
#include "job.h"

/* All jobs: those at work, and for a while those that are over. */

Jobs *jobs_new(Manager *m);
Jobs *jobs_free(Jobs *jobs);

/* What a call asks for, apart from the order itself. */
typedef struct JobCall {
        sd_bus_message *message;
        Caller *caller;
        bool dry_run, no_block;
} JobCall;

/* Takes @order. The answer goes to the caller when the work is done, or at once, as he asked. For handlers to
 * return. */
int jobs_order(Jobs *jobs, CarvedOrder *order, const JobCall *call, sd_bus_error *error);

/* By ourselves, for nobody who waits: makes the card as it is wanted; or @settle, only ends what was
 * interrupted. */
void jobs_restore(Jobs *jobs, const CarvedPciAddress *gpu, bool settle);

Job *jobs_find(Jobs *jobs, uint64_t id); /* NULL: there is none */

/* Of all, for listing. */
unsigned jobs_n(const Jobs *jobs);
Job *jobs_nth(const Jobs *jobs, unsigned i);

/* Job.c says: this one is over. */
void jobs_over(Jobs *jobs, Job *job);

/* No new ones, and those at work come to an end; manager_check_stopped() follows when the last one has. */
void jobs_stop(Jobs *jobs);
bool jobs_are_over(const Jobs *jobs);

/* Whoever still waits is told that nothing comes any more. While the loop runs: with it, the bus ends. */
void jobs_dismiss(Jobs *jobs);

/* The answer to one caller, from how the job went. */
void job_reply(Job *job, sd_bus_message *message);

/* job-bus.c: what is said of a job. */
extern const sd_bus_vtable job_vtable[];
void job_emit_added(Job *job);
void job_emit_removed(Job *job);
void job_emit_changed(Job *job);
void job_emit_finished(Job *job);

#define JOB_INTERFACE   "org.carved1.Job"
#define CARVED_BUS_JOBS "/org/carved1/job"
#define JOB_PATH_MAX    48

const char *job_path(const Job *job, char buf[static JOB_PATH_MAX]);
