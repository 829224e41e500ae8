/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include <glib.h>

/* What happened on the host: every write with its result, and the kernel's own lines. For `carved-simctl
 * log`. */

typedef struct Trace Trace;

Trace *trace_new(void);

void trace_write(Trace *trace, int pid, const char *path, const char *text, int result, int64_t usec);
void trace_kernel(Trace *trace, const char *text);
void trace_clear(Trace *trace);

/* Oldest first, a line each. */
void trace_print(Trace *trace, GString *out);

/* How many reads and writes of attributes there were so far. */
typedef struct TraceCounts {
        uint64_t opens, reads, writes, lookups;
} TraceCounts;

TraceCounts *trace_counts(Trace *trace);
