/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"

/* What carved wrote into the journal. */

typedef struct JournalLine {
        uint64_t usec; /* since 1970 */
        int priority;
        char *message;
} JournalLine;

/* The last @max lines, oldest first (0: all), not less important than @priority, that name one of @words in
 * the message or in the fields CARVED_GPU and CARVED_VGPU; NULL: whatever they name. An array of JournalLine;
 * NULL: why not. */
GArray *journal_read(char **words, int priority, unsigned max, GError **error);
