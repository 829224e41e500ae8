/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "caller.h"
#include "jobs.h"

/* Every change is one line in the journal, with fields to look for it by, and an entry in the catalog that
 * says what it means. */

typedef struct AuditEntry {
        const char *verb;
        const GPtrArray *gpus, *vgpus; /* addresses; UUIDs */
        uint64_t job;                  /* 0: none, it was done at once */
        const Caller *caller;          /* NULL: carved itself */
        JobState result;               /* JOB_DONE, JOB_FAILED or JOB_CANCELLED */
        const char *why;               /* NULL: it is done, and all of it */
} AuditEntry;

void audit_log(const AuditEntry *entry);

/* A job that is over. */
void audit_job(const Job *job);
