/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* The connection to the system bus, and all that is published on it. A bus that goes away is waited for. */

int bus_new(Manager *m, Bus **ret);
Bus *bus_free(Bus *bus); /* says what is left to say, and hangs up */

/* There is enough to show: be org.carved1. Again does nothing. */
void bus_own_name(Bus *bus);

/* systemd was told that we are: once, however often the bus goes. */
bool bus_was_ready(const Bus *bus);

/* The connection, while there is somebody to speak to; else NULL. */
sd_bus *bus_get(Bus *bus);

/* Says what became different, in the order given. @changes is an array of CarvedChange. */
void bus_emit(Bus *bus, GArray *changes);

/* Manager.State is another. */
void bus_emit_state(Bus *bus);

/* All has been made that can be made now; said as soon as somebody can hear it. */
void bus_emit_restored(Bus *bus, uint32_t ok, uint32_t failed);
