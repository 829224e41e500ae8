/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* Where messages go and which: to the journal when the journal is what stderr leads to, else to stderr as
 * text. */
typedef struct Log {
        int level; /* syslog's numbers: the least urgent to be written */
        bool journal;
} Log;

/* From now on, for the whole process; @log must stay. */
void log_open(Log *log);

const char *log_level_to_string(int level);
int log_level_from_string(const char *text); /* -1: no such */
