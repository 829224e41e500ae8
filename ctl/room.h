/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "host.h"

/* How much more can be had of a card. */

/* "3 × 4 GB, 6 × 2 GB": per size, not per type, for as a rule types of one size share their room. Empty where
 * there is none. */
char *room_of(const Thing *gpu);

/* How many more of a type; -1: the driver does not tell. */
int64_t room_for(const Thing *gpu, const char *type_id);

/* "4 GB" */
char *size_to_string(int64_t mib);

/* Why nothing can be had here, as one sentence; "": something can. */
char *reason_of(const Thing *thing, const char *interface);
const char *reason_code_of(const Thing *thing, const char *interface);

/* What people call the card: "A2 / A16" of "GA107GL [A2 / A16]". */
char *model_of(const Thing *gpu);
