/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* What a table asks of the host it runs on, beside what files say. There are two: the simulated host, and a real
 * kernel with the test module. That both give the same answers is what the tables are for. */

/* "sim" or "vm": the word before -only that leaves a row out on the other one. */
extern const char *const host_kind;

/* Before the first row. @names are the command line's NAME=VALUE. */
void host_open(GHashTable *names);
void host_close(void);

/* As after a boot: nothing held, nothing carved, no fault, an empty log. */
bool host_reset(void);

/* A line `host WORDS`: its exit code, and in @ret_text what it had to say; to be freed. */
int host_ask(const char *const *words, char **ret_text);

/* Whether the kernel has the write of this thread of ours in hand, and lets it wait. */
bool host_in_hand(int thread);

/* What the kernel has said since the last reset; to be freed. */
char *host_log(void);
