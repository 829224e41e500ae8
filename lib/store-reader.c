/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "json-text.h"
#include "store-reader.h"
#include "store.h"

/* The second is for what we do not know, at any level: it is the same in a GPU's file and in the journal,
 * where the object that has it lies deeper. */
#define DEPTH_MAX      32U
#define DEPTH_REST_MAX 16U

#define LINE_MAX_BYTES 255U

void carved_reader_clear(CarvedReader *at) {
        if (at->path)
                g_string_free(at->path, TRUE);
        at->path = NULL;
}

bool carved_reader_refuse(CarvedReader *at, const char *format, ...) {
        g_autofree char *reason = NULL;
        va_list args;

        va_start(args, format);
        reason = g_strdup_vprintf(format, args);
        va_end(args);

        g_set_error(at->error, CARVED_ERROR, CARVED_ERROR_STATE_UNREADABLE, "%s%s%s", at->path->str,
                    at->path->len > 0 ? ": " : "", reason);
        return false;
}

bool carved_reader_refuse_key(CarvedReader *at, const char *key, const char *format, ...) {
        g_autofree char *reason = NULL;
        va_list args;

        va_start(args, format);
        reason = g_strdup_vprintf(format, args);
        va_end(args);

        carved_reader_enter(at, key);
        return carved_reader_refuse(at, "%s", reason);
}

size_t carved_reader_enter(CarvedReader *at, const char *key) {
        size_t before = at->path->len;

        if (before > 0)
                g_string_append_c(at->path, '.');
        g_string_append(at->path, key);
        return before;
}

void carved_reader_leave(CarvedReader *at, size_t before) {
        g_string_truncate(at->path, before);
}

JsonNode *carved_reader_open(CarvedReader *at, const char *text) {
        g_autoptr(JsonNode) root = NULL;
        g_autoptr(GError) e = NULL;
        int64_t format = 0;

        at->path = g_string_new(NULL);
        root = carved_json_parse(text, strlen(text), DEPTH_MAX, &e);
        if (!root) {
                carved_reader_refuse(at, "%s", e->message);
                return NULL;
        }
        if (!carved_reader_number(at, json_node_get_object(root), "format", INT64_MAX, &format))
                return NULL;
        if (format < 1) {
                carved_reader_refuse_key(at, "format", "missing, or less than 1");
                return NULL;
        }
        if (format > CARVED_STORE_FORMAT) {
                g_set_error(at->error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                            "What is stored has format %" G_GINT64_FORMAT ", this carved knows %d", format,
                            CARVED_STORE_FORMAT);
                return NULL;
        }
        return g_steal_pointer(&root);
}

/* The value of @key, if it is there; false: it is, and of another type. */
static bool get_value(JsonObject *object, const char *key, GType type, JsonNode **ret) {
        JsonNode *node = json_object_get_member(object, key);

        *ret = node;
        return !node || (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type);
}

bool carved_reader_number(CarvedReader *at, JsonObject *object, const char *key, int64_t max, int64_t *ret) {
        JsonNode *node;

        if (!get_value(object, key, G_TYPE_INT64, &node) ||
            (node && (json_node_get_int(node) < 0 || json_node_get_int(node) > max)))
                return carved_reader_refuse_key(at, key, "must be a number from 0 to %" G_GINT64_FORMAT, max);
        if (node)
                *ret = json_node_get_int(node);
        return true;
}

bool carved_reader_flag(CarvedReader *at, JsonObject *object, const char *key, bool *ret) {
        JsonNode *node;

        if (!get_value(object, key, G_TYPE_BOOLEAN, &node))
                return carved_reader_refuse_key(at, key, "must be true or false");
        if (node)
                *ret = json_node_get_boolean(node);
        return true;
}

bool carved_reader_text(CarvedReader *at, JsonObject *object, const char *key, const char **ret) {
        JsonNode *node;

        if (!get_value(object, key, G_TYPE_STRING, &node))
                return carved_reader_refuse_key(at, key, "must be a text in quotes");
        if (node)
                *ret = json_node_get_string(node);
        return true;
}

bool carved_reader_line(CarvedReader *at, JsonObject *object, const char *key, char **ret) {
        const char *text = NULL;

        if (!carved_reader_text(at, object, key, &text))
                return false;
        if (!text)
                return true;
        if (strlen(text) > LINE_MAX_BYTES)
                return carved_reader_refuse_key(at, key, "%zu bytes are too many: at most %u", strlen(text),
                                                LINE_MAX_BYTES);
        for (const char *p = text; *p; p++)
                if (g_ascii_iscntrl(*p))
                        return carved_reader_refuse_key(at, key, "must not have control characters");

        g_free(*ret);
        *ret = g_strdup(text);
        return true;
}

bool carved_reader_object(CarvedReader *at, JsonObject *object, const char *key, JsonObject **ret) {
        JsonNode *node = json_object_get_member(object, key);

        if (node && !JSON_NODE_HOLDS_OBJECT(node))
                return carved_reader_refuse_key(at, key, "must be an object");
        if (node)
                *ret = json_node_get_object(node);
        return true;
}

bool carved_reader_list(CarvedReader *at, JsonObject *object, const char *key, CarvedReaderEach each,
                        void *userdata) {
        JsonNode *node = json_object_get_member(object, key);
        size_t before;

        if (!node)
                return true;
        if (!JSON_NODE_HOLDS_ARRAY(node))
                return carved_reader_refuse_key(at, key, "must be a list");

        before = carved_reader_enter(at, key);
        for (unsigned i = 0; i < json_array_get_length(json_node_get_array(node)); i++) {
                JsonNode *element = json_array_get_element(json_node_get_array(node), i);
                size_t list = at->path->len;

                g_string_append_printf(at->path, "[%u]", i);
                if (!JSON_NODE_HOLDS_OBJECT(element))
                        return carved_reader_refuse(at, "must be an object");
                if (!each(at, json_node_get_object(element), userdata))
                        return false;
                carved_reader_leave(at, list);
        }
        carved_reader_leave(at, before);
        return true;
}

static unsigned depth_of(JsonNode *node) {
        unsigned deepest = 0;

        if (JSON_NODE_HOLDS_ARRAY(node)) {
                JsonArray *list = json_node_get_array(node);

                for (unsigned i = 0; i < json_array_get_length(list); i++)
                        deepest = MAX(deepest, depth_of(json_array_get_element(list, i)));
                return deepest + 1;
        }
        if (JSON_NODE_HOLDS_OBJECT(node)) {
                JsonObjectIter iter;
                JsonNode *member;

                json_object_iter_init(&iter, json_node_get_object(node));
                while (json_object_iter_next(&iter, NULL, &member))
                        deepest = MAX(deepest, depth_of(member));
                return deepest + 1;
        }
        return 0;
}

bool carved_reader_rest(CarvedReader *at, JsonObject *object, const char *const *ours, JsonObject **ret) {
        g_autoptr(JsonObject) rest = json_object_new();
        JsonObjectIter iter;
        const char *name;
        JsonNode *member;

        json_object_iter_init_ordered(&iter, object);
        while (json_object_iter_next_ordered(&iter, &name, &member)) {
                if (g_strv_contains(ours, name))
                        continue;
                if (depth_of(member) > DEPTH_REST_MAX) {
                        g_autofree char *quoted = carved_quote(name);

                        return carved_reader_refuse(at, "%s is nested more than %u deep", quoted,
                                                    DEPTH_REST_MAX);
                }
                json_object_set_member(rest, name, json_node_copy(member));
        }

        if (json_object_get_size(rest) > 0)
                *ret = g_steal_pointer(&rest);
        return true;
}
