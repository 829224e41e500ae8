/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include <glib.h>

/* A user who means harm: many connections, some of which never stop asking, each for something else that is
 * dear or wrong. */

typedef struct Flood {
        uint32_t uid;
        unsigned connections, flooding;
        unsigned seconds;
        unsigned pipeline; /* so many calls of one connection are on their way at any time */
} Flood;

/* The process, which ends by itself. It prints a line of how often it was answered what. */
pid_t flood_start(const Flood *flood);
