/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* Listens to the kernel's uevents through libudev, and remembers them in order. Not to udev's: it handles several
 * devices at a time, so that only those of one device would be in order. */

typedef struct Events Events;

typedef struct Event {
        char *action;
        char *subsystem;
        char *device;     /* last part of DEVPATH */
        char *mdev_state; /* or NULL */
} Event;

Events *events_new(void);
Events *events_free(Events *events);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Events, events_free)

/* Takes in what has arrived so far. The simulated host and the kernel both queue an event before the write
 * that caused it returns, so nothing is to be waited for. */
void events_drain(Events *events);
void events_forget(Events *events);

/* "add, change, bind", of one device; "none". */
char *events_of(Events *events, const char *device);

/* Where the first such event stands, or -1. */
int events_index(Events *events, const char *action, const char *device);
