/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "trace.h"

/* A soak test writes for hours: the log keeps the last so many lines. */
#define TRACE_LINES_MAX 20000

struct Trace {
        GQueue lines;
        uint64_t forgotten;
        int64_t start;
        bool reads;
        TraceCounts counts;
};

Trace *trace_new(void) {
        Trace *trace = g_new0(Trace, 1);

        g_queue_init(&trace->lines);
        trace->start = g_get_monotonic_time();
        return trace;
}

static void add(Trace *trace, char *line) {
        g_queue_push_tail(&trace->lines, line);
        if (trace->lines.length > TRACE_LINES_MAX) {
                g_free(g_queue_pop_head(&trace->lines));
                trace->forgotten++;
        }
}

static double seconds(Trace *trace) {
        return (double) (g_get_monotonic_time() - trace->start) / G_USEC_PER_SEC;
}

void trace_write(Trace *trace, int pid, const char *path, const char *text, int result, int64_t usec) {
        g_autofree char *shown = g_strescape(text, NULL);

        add(trace, g_strdup_printf("%10.3f %d write %s \"%s\" = %s (%.1f ms)", seconds(trace), pid, path,
                                   shown, result < 0 ? g_strerror(-result) : "ok", (double) usec / 1000));
}

void trace_read(Trace *trace, int pid, const char *how, const char *path, int result) {
        add(trace, g_strdup_printf("%10.3f %d %s %s = %s", seconds(trace), pid, how, path,
                                   result < 0 ? g_strerror(-result) : "ok"));
}

bool trace_logs_reads(const Trace *trace) {
        return trace->reads;
}

void trace_log_reads(Trace *trace, bool on) {
        trace->reads = on;
}

void trace_nvml(Trace *trace, int pid, const char *what, const char *result, int64_t usec) {
        add(trace, g_strdup_printf("%10.3f %d nvml %s = %s (%.1f ms)", seconds(trace), pid, what, result,
                                   (double) usec / 1000));
}

void trace_kernel(Trace *trace, const char *text) {
        if (trace)
                add(trace, g_strdup_printf("%10.3f kernel: %s", seconds(trace), text));
}

void trace_clear(Trace *trace) {
        g_queue_clear_full(&trace->lines, g_free);
        trace->forgotten = 0;
        memset(&trace->counts, 0, sizeof trace->counts);
}

void trace_print(Trace *trace, GString *out) {
        if (trace->forgotten > 0)
                g_string_append_printf(out, "(%" G_GUINT64_FORMAT " earlier lines are gone)\n",
                                       trace->forgotten);
        for (GList *l = trace->lines.head; l; l = l->next)
                g_string_append_printf(out, "%s\n", (const char *) l->data);
}

TraceCounts *trace_counts(Trace *trace) {
        return &trace->counts;
}
