/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* Which GPUs there are: a scan at the start, then udev's events. Events only mark; a worker looks. */

int discovery_new(Manager *m, Discovery **ret);
Discovery *discovery_free(Discovery *discovery);

/* GPUs may have come or gone: scan when it is quiet again. */
void discovery_poke(Discovery *discovery);

/* Has the host been scanned once? */
bool discovery_is_done(const Discovery *discovery);
