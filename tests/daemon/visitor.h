/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include <glib.h>
#include <systemd/sd-bus.h>

/* Somebody who is not root and comes to the bus: a process of another uid, with a connection of its own. */

#define NOBODY 65534U

typedef struct Visitor {
        pid_t pid;
        int fd; /* what it says */
} Visitor;

/* What it does there, and says of it. */
typedef char *(*VisitorAct)(sd_bus *bus, const void *data);

/* It does it with each of @data. Nothing of root's may help it: not the connection, not a group, not a
 * capability. */
Visitor visitor_send(uint32_t uid, VisitorAct act, const void *const *data, unsigned n);

/* When it is through: what it said, a line each. */
GStrv visitor_hear(Visitor *visitor, unsigned n);

/* It leaves in the middle of it. */
void visitor_leave(Visitor *visitor);

/* "ERROR: MESSAGE", or "ok". */
char *visitor_result(int r, const sd_bus_error *error);
