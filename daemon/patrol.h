/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* Not all that others do sends an event. Where something is wanted of a card, or its framework is silent, it
 * is looked at every five minutes: the one clock that runs in an idle daemon, and only then. */

Patrol *patrol_new(Manager *m);
Patrol *patrol_free(Patrol *patrol);

/* The cards are others now, or are wanted otherwise. */
void patrol_check(Patrol *patrol);
