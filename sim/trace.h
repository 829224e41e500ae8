/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* What happened on the host: every write with its result, every read if asked for, and the kernel's own
 * lines. For `carved-simctl log`. */

typedef struct Trace Trace;

Trace *trace_new(void);

void trace_write(Trace *trace, int pid, const char *path, const char *text, int result, int64_t usec);

/* @how: read, list or link. There are too many of them to log unasked. */
void trace_read(Trace *trace, int pid, const char *how, const char *path, int result);
bool trace_logs_reads(const Trace *trace);
void trace_log_reads(Trace *trace, bool on);

/* @what: the call, its card and its numbers. */
void trace_nvml(Trace *trace, int pid, const char *what, const char *result, int64_t usec);

void trace_kernel(Trace *trace, const char *text);
void trace_clear(Trace *trace);

/* Oldest first, a line each. */
void trace_print(Trace *trace, GString *out);

/* How many reads and writes of attributes there were so far. */
typedef struct TraceCounts {
        uint64_t opens, reads, writes, lookups;
} TraceCounts;

TraceCounts *trace_counts(Trace *trace);
