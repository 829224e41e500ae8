/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "frame.h"
#include "worker-process.h"

/* A process for work that may block, seen from the daemon. Forked when there is work, gone when there was
 * none for a few seconds. One request at a time: what is done to one GPU is done in order. */

typedef struct Worker Worker;

typedef enum WorkerEvent {
        WORKER_DONE,   /* @value is the answer */
        WORKER_FAILED, /* @text says why there is none: the worker said so, died, or spoke nonsense */
        WORKER_HELD,   /* another process has the GPU's lock; one of the first two follows some time */
        WORKER_LATE,   /* it takes longer than it should; one of the first two follows some time */
} WorkerEvent;

/* On the loop. */
typedef void (*WorkerNotify)(Worker *worker, WorkerEvent event, GVariant *value, const char *text,
                             void *userdata);

/* What the child does after fork; worker_process_run() but in tests. */
typedef void (*WorkerMain)(int fd, const WorkerContext *context);

Worker *worker_new(sd_event *event, WorkerMain main, const WorkerContext *context, WorkerNotify notify,
                   void *userdata);

/* The process, if any, ends by itself when it is through; it is never killed, and not waited for. */
Worker *worker_free(Worker *worker);

bool worker_is_busy(const Worker *worker);

/* Was the last failure its own end, so that nobody knows what it did? */
bool worker_has_died(const Worker *worker);

/* Takes a floating @request. 0 or -errno: could not even be asked. -EBUSY: has a request already. */
int worker_submit(Worker *worker, FrameKind kind, GVariant *request, uint64_t deadline_usec);
