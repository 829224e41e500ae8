/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <syslog.h>

#include "log.h"

static const char *const level_names[] = {
        [LOG_EMERG] = "emerg",     [LOG_ALERT] = "alert",   [LOG_CRIT] = "crit", [LOG_ERR] = "err",
        [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice", [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};

const char *log_level_to_string(int level) {
        return level_names[level];
}

int log_level_from_string(const char *text) {
        for (int i = 0; i < (int) G_N_ELEMENTS(level_names); i++)
                if (g_str_equal(level_names[i], text))
                        return i;

        return -1;
}

/* GLib's "critical" is the daemon's "error"; "message" is what an administrator may want to know. */
static int to_syslog(GLogLevelFlags flags) {
        if (flags & G_LOG_LEVEL_ERROR)
                return LOG_CRIT;
        if (flags & G_LOG_LEVEL_CRITICAL)
                return LOG_ERR;
        if (flags & G_LOG_LEVEL_WARNING)
                return LOG_WARNING;
        if (flags & G_LOG_LEVEL_MESSAGE)
                return LOG_NOTICE;
        if (flags & G_LOG_LEVEL_INFO)
                return LOG_INFO;

        return LOG_DEBUG;
}

static GLogWriterOutput write_log(GLogLevelFlags flags, const GLogField *fields, gsize n, void *userdata) {
        const Log *log = userdata;

        if (to_syslog(flags) > log->level)
                return G_LOG_WRITER_HANDLED;
        if (log->journal)
                return g_log_writer_journald(flags, fields, n, NULL);

        for (gsize i = 0; i < n; i++)
                if (g_str_equal(fields[i].key, "MESSAGE"))
                        fprintf(stderr, "carved: %s\n", (const char *) fields[i].value);
        return G_LOG_WRITER_HANDLED;
}

void log_open(Log *log) {
        log->level = LOG_INFO;
        log->journal = g_log_writer_is_journald(fileno(stderr));
        g_log_set_writer_func(write_log, log, NULL);
}
