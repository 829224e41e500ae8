/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* What is measured: programs that are started, and how long it takes. Nothing here goes on after a mistake: a
 * number that is not what it says is worse than none. */

void die(const char *what, int error) __attribute__((noreturn));
double now_ms(void);

/* Without its output; what it says on standard error is shown by die(). */
pid_t spawn(const char *const *argv);

/* Runs it; it must end with 0. Returns milliseconds. */
double time_of(const char *const *argv);

/* The daemon, from exec until it says READY=1. */
pid_t start_carved(const char *program, double *ret_ms);

void stop_carved(pid_t daemon);
