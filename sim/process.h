/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <glib.h>

/* Starting programs from a process with many threads: all is prepared before fork(). */

typedef struct Process {
        const char *const *argv;
        char **env;   /* NULL: ours */
        int output;   /* stdout and stderr; -1: inherited */
        bool service; /* leaves the terminal: its Ctrl-C is meant for the command only */
        int pass;     /* arrives as fd 3; -1: none */
} Process;

/* The pid, or -errno. The program is looked up in PATH. */
pid_t process_spawn(const Process *process);
