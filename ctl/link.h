/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"

/* The connection to carved, on this host or on another. */

bool link_open(Ctl *ctl, GError **error);
void link_close(Ctl *ctl);

/* A call that has not been sent. The root as @path is Manager's. */
bool link_prepare(Ctl *ctl, sd_bus_message **ret, const char *path, const char *interface, const char *member,
                  GError **error, const char *types, ...);

/* A call that tells something, and so is answered at once. Its arguments as a tuple. */
GVariant *link_ask(Ctl *ctl, const char *path, const char *interface, const char *member, GError **error,
                   const char *types, ...);

/* All properties of an interface, a{sv}. */
GVariant *link_get_all(Ctl *ctl, const char *path, const char *interface, GError **error);

/* What comes by itself: a signal of carved's, another owner of its name, the end of the bus (NULL: of no
 * interest). */
typedef struct Ear {
        sd_bus_slot *signals, *owner, *end;
} Ear;

bool link_listen(Ctl *ctl, Ear *ear, sd_bus_message_handler_t on_signal, sd_bus_message_handler_t on_owner,
                 sd_bus_message_handler_t on_end, void *userdata, GError **error);
void link_ear_clear(Ear *ear);

/* Ctrl-C and SIGTERM go to @handler instead of ending us. */
bool link_catch_ends(Ctl *ctl, sd_event_source *sources[static 2], sd_event_signal_handler_t handler,
                     void *userdata, GError **error);

/* How long an answer that needs no work may take. */
uint64_t link_patience_usec(Ctl *ctl);
