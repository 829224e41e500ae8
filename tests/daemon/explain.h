/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One refusal, and what must be told of it. */
typedef struct Row {
        const char *host;    /* the simulated host that it needs */
        const char *promise; /* the test's name */
        const char *given;   /* calls that succeed, "; " between them; or NULL */
        const char *shell;   /* what happens to the host then; or NULL */
        const char *call;    /* refused. Those before its last "; " succeed */
        const char *error;   /* without org.carved1.Error., where it has it */
        const char *text;    /* all of it; a '*' stands for what can't be known before, as a pid */
        const char
                *after; /* a shell command that succeeds; NULL: /sys and the objects are as before the call */
} Row;

extern const Row rows[];
extern const unsigned n_rows;
