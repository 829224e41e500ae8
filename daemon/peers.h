/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* Others who make vGPUs on this host: what mdevctl is told to make by itself is left to it. Its directory is
 * watched. */

int peers_new(Manager *m, Peers **ret);
Peers *peers_free(Peers *peers);

/* Looks for the first time; manager_knows_peers() follows. */
void peers_begin(Peers *peers);

/* Somebody keeps removing what is ours on this card: says in its LastError who might be asked. */
void peers_name_rivals(Peers *peers, const CarvedPciAddress *gpu);
