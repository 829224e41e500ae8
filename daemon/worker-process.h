/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "snapshot.h"

/* The life of a worker process, from fork to end. It may hang in the kernel for ever; so nothing here belongs
 * to the daemon: no bus, no loop, no model. */

typedef struct WorkerContext {
        const CarvedHost *host;
        const char *lock_path; /* NULL: works on no GPU */
} WorkerContext;

/* Serves requests from @fd until the daemon closes its end. */
void worker_process_run(int fd, const WorkerContext *context) G_GNUC_NORETURN;
