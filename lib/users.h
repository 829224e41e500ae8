/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "step.h"

/* Who has a character device open: every descriptor of every process, by number of the device. Paths say
 * nothing: containers have others. Needs CAP_SYS_PTRACE. In a worker: processes are many. */

/* @devices: of dev_t, or NULL. An array of CarvedUser: each process once for each device that it has, without
 * ourselves. */
GArray *carved_users_scan(const GArray *devices);

/* Each process once, whatever it has. */
void carved_users_unique(GArray *users);
