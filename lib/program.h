/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Runs somebody else's program: own argv, no shell, a clean environment, and all it says kept. Waits for it
 * as long as it takes: in a worker. */

/* Its exit code, 128 and the number of the signal that ended it, or -errno: it could not be started.
 * @ret_output: both channels, text, at most 64 KiB of it, its lines joined to one by "; ". */
int carved_program_run(const char *const *argv, char **ret_output);

/* Any bytes as one line of text, without control characters. */
char *carved_program_line(const char *said, size_t len);
