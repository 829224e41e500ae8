/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* A card that was put into another slot is known by its serial number, or its UUID, and keeps what is wanted
 * of it. Only where it is not in the old slot any more, and nothing is wanted of what was in the new one; or
 * where two cards have changed places. What nobody told the number of stays where it is. */

Moved *moved_new(Manager *m);
Moved *moved_free(Moved *moved);

/* The cards are others now. */
void moved_consider(Moved *moved);

/* What is wanted is on its way from one slot to another. */
bool moved_is_busy(const Moved *moved);
