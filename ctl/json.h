/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "host.h"

/* JSON is the interface for programs: keys are the D-Bus property names. An object has `Path` and the
 * properties of what it is; those of each further interface it has stand below that one's name: `Sriov`,
 * `VgpuHost`. */

JsonNode *json_from_thing(const Thing *thing);
JsonNode *json_from_things(GPtrArray *things);

/* Of an a{sv}, as an object. */
JsonNode *json_from_dict(GVariant *dict);

JsonNode *json_node_of(JsonObject *object);

/* As asked for, and a newline. Takes @node. */
void json_print(const Ctl *ctl, JsonNode *node);
