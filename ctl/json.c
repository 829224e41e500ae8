/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "text.h"

static JsonObject *member_for(JsonObject *object, const char *interface) {
        const char *name = strrchr(interface, '.') + 1;

        if (!json_object_has_member(object, name))
                json_object_set_object_member(object, name, json_object_new());
        return json_object_get_object_member(object, name);
}

JsonNode *json_node_of(JsonObject *object) {
        JsonNode *node = json_node_new(JSON_NODE_OBJECT);

        json_node_take_object(node, object);
        return node;
}

JsonNode *json_from_thing(const Thing *thing) {
        JsonObject *object = json_object_new();

        json_object_set_string_member(object, "Path", thing->path);
        /* First what it is, then what it can. */
        for (unsigned pass = 0; pass < 2; pass++)
                for (unsigned i = 0; i < thing->facts->len; i++) {
                        const Fact *fact = &g_array_index(thing->facts, Fact, i);
                        bool main = thing_is(thing, fact->interface);

                        if (main == (pass == 0))
                                json_object_set_member(main ? object : member_for(object, fact->interface),
                                                       fact->name, json_gvariant_serialize(fact->value));
                }
        return json_node_of(object);
}

JsonNode *json_from_things(GPtrArray *things) {
        JsonNode *node = json_node_new(JSON_NODE_ARRAY);
        JsonArray *array = json_array_new();

        for (unsigned i = 0; i < things->len; i++)
                json_array_add_element(array, json_from_thing(things->pdata[i]));
        json_node_take_array(node, array);
        return node;
}

JsonNode *json_from_dict(GVariant *dict) {
        return json_gvariant_serialize(dict);
}

void json_print(const Ctl *ctl, JsonNode *node) {
        g_autofree char *text = json_to_string(node, ctl->json == JSON_PRETTY);
        g_autofree char *line = g_strconcat(text, "\n", NULL);

        text_print(ctl, line);
        json_node_unref(node);
}
