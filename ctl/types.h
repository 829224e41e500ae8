/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "host.h"

/* What can be had where: GetInventory's rows, and what else is known of each type. */

/* aa{sv}; NULL: carved could not be asked. */
GVariant *types_load(Ctl *ctl, GError **error);

/* The row of a card's type, by its id; NULL: there is none. */
GVariant *types_find(GVariant *rows, const Thing *gpu, const char *id);

/* Those of @gpu, or, NULL, of all. */
void types_print(Ctl *ctl, const Host *host, GVariant *rows, GPtrArray *gpus);

/* One row, with the facts of the card's type in it. */
JsonNode *types_row_to_json(const Host *host, GVariant *row);
