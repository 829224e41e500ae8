/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"
#include "udev.h"

/* Who looks at one GPU: when something happened to it, when somebody asks, through its worker. */

Reader *reader_new(Manager *m, const CarvedFound *found);
Reader *reader_free(Reader *reader);

const CarvedFound *reader_found(const Reader *reader);

/* An event says that the GPU may have changed: look when it is quiet again. */
void reader_poke(Reader *reader);

/* Look now. */
void reader_look(Reader *reader);

/* Look for a client, at most once a second; the reply goes out when the model has what was seen. */
int reader_refresh(Reader *reader, sd_bus_message *message, sd_bus_error *error);

/* Those who wait are told that nothing comes any more. */
void reader_cancel(Reader *reader);

/* Is there anything to show of it: seen, failed, or found stalled? */
bool reader_has_looked(const Reader *reader);
