/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "error.h"
#include "json-text.h"

static bool refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool refuse(GError **error, const char *format, ...) {
        va_list args;

        va_start(args, format);
        g_propagate_error(error, g_error_new_valist(CARVED_ERROR, CARVED_ERROR_INVALID_ARGS, format, args));
        va_end(args);
        return false;
}

typedef struct Scan {
        bool too_deep;
        bool lenient;  /* what the parser takes, and JSON does not have */
        bool nul;      /* a text would end there */
        bool escape;   /* a backslash before what JSON does not have */
        bool trailing; /* the parser takes the last of several */
} Scan;

/* The parser knows C's octal numbers too, and takes any four bytes for hexadecimal digits. */
static void scan_escape(const char *text, size_t len, Scan *s) {
        if (len < 2 || !strchr("\"\\/bfnrtu", text[1]) || text[1] == '\0')
                s->escape = true;
        else if (text[1] == 'u' && len >= 6) {
                for (unsigned i = 2; i < 6; i++)
                        s->escape = s->escape || !g_ascii_isxdigit(text[i]);
                s->nul = s->nul || memcmp(text + 2, "0000", 4) == 0;
        }
}

/* The JSON parser calls itself for each level: a file of a million brackets would end us. It also takes
 * comments and single quotes, which would hide brackets, or quotes, from this count. */
static Scan scan(const char *text, size_t len, unsigned depth_max) {
        bool quoted = false, ended = false;
        unsigned depth = 0;
        Scan s = { 0 };

        for (size_t i = 0; i < len && !s.too_deep; i++) {
                char c = text[i];

                if (ended && !g_ascii_isspace(c))
                        s.trailing = true;
                if (quoted && c == '\\') {
                        scan_escape(text + i, len - i, &s);
                        i++;
                } else if (c == '"')
                        quoted = !quoted;
                else if (quoted)
                        continue;
                else if (c == '/' || c == '\'')
                        s.lenient = true;
                else if (c == '[' || c == '{')
                        s.too_deep = ++depth > depth_max;
                else if ((c == ']' || c == '}') && depth > 0)
                        ended = --depth == 0;
        }
        return s;
}

/* A half surrogate pair is no text, and what is larger than any number no number: the parser takes both. */
static bool can_be_written(JsonNode *node) {
        JsonObjectIter iter;
        const char *name;
        JsonNode *member;

        if (JSON_NODE_HOLDS_ARRAY(node)) {
                JsonArray *list = json_node_get_array(node);

                for (unsigned i = 0; i < json_array_get_length(list); i++)
                        if (!can_be_written(json_array_get_element(list, i)))
                                return false;
                return true;
        }
        if (JSON_NODE_HOLDS_OBJECT(node)) {
                json_object_iter_init(&iter, json_node_get_object(node));
                while (json_object_iter_next(&iter, &name, &member))
                        if (!g_utf8_validate(name, -1, NULL) || !can_be_written(member))
                                return false;
                return true;
        }
        if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING)
                return g_utf8_validate(json_node_get_string(node), -1, NULL);
        if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_DOUBLE)
                return isfinite(json_node_get_double(node));
        return true;
}

static bool check_scan(const Scan *s, unsigned depth_max, GError **error) {
        if (s->too_deep)
                return refuse(error, "nested more than %u deep", depth_max);
        if (s->lenient)
                return refuse(error, "not JSON: it has no comments and no single quotes");
        if (s->escape)
                return refuse(
                        error,
                        "not JSON: a backslash stands before \", \\, /, b, f, n, r, t or u and four digits");
        if (s->nul)
                return refuse(error, "a text has a NUL in it");
        return true;
}

JsonNode *carved_json_parse(const char *text, size_t len, unsigned depth_max, GError **error) {
        g_autoptr(JsonParser) parser = json_parser_new_immutable();
        g_autoptr(GError) e = NULL;
        Scan s = scan(text, len, depth_max);
        JsonNode *root;

        if (!check_scan(&s, depth_max, error))
                return NULL;
        if (!json_parser_load_from_data(parser, text, (gssize) len, &e)) {
                /* It quotes what it did not understand, which may be half a character. */
                g_autofree char *message = g_utf8_make_valid(e->message, -1);

                refuse(error, "not JSON: %s", message);
                return NULL;
        }
        root = json_parser_get_root(parser);
        if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
                refuse(error, "must be a JSON object");
                return NULL;
        }
        if (s.trailing) {
                refuse(error, "not JSON: something follows the object");
                return NULL;
        }
        if (!can_be_written(root)) {
                refuse(error, "not JSON: half a character, or a number without end");
                return NULL;
        }
        return json_node_ref(root);
}
