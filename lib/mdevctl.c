/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "cleanup.h"
#include "error.h"
#include "file.h"
#include "mdevctl.h"

/* Deeper than any definition. */
#define DEPTH_MAX 16U

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DIR, closedir)

static void definition_free(void *p) {
        CarvedDefinition *d = p;

        g_free(d->parent);
        g_free(d->type);
        g_free(d);
}

static CarvedDefinition *definition_new(const char *parent, const char *uuid) {
        CarvedDefinition *d = g_new0(CarvedDefinition, 1);

        d->parent = g_strdup(parent);
        for (size_t i = 0; i < CARVED_UUID_LEN; i++)
                d->uuid[i] = g_ascii_tolower(uuid[i]);
        return d;
}

/* ---- one text ---- */

static bool refuse(const char *why, GError **error) {
        g_set_error_literal(error, CARVED_ERROR, CARVED_ERROR_FAILED, why);
        return false;
}

/* The parser calls itself for each level: a file of brackets would end us. It also takes comments and single
 * quotes, which are not JSON and would hide brackets from this count. */
static bool is_plain(const char *text, size_t len) {
        bool quoted = false;
        unsigned depth = 0;

        for (size_t i = 0; i < len; i++) {
                if (quoted && text[i] == '\\')
                        i++;
                else if (text[i] == '"')
                        quoted = !quoted;
                else if (!quoted && (text[i] == '/' || text[i] == '\''))
                        return false;
                else if (!quoted && (text[i] == '[' || text[i] == '{') && ++depth > DEPTH_MAX)
                        return false;
                else if (!quoted && (text[i] == ']' || text[i] == '}') && depth > 0)
                        depth--;
        }
        return true;
}

static const char *node_string(JsonNode *node) {
        const char *text =
                node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING
                        ? json_node_get_string(node)
                        : NULL;

        /* Escapes can spell what is no text; not every version of the parser refuses that. */
        return text && g_utf8_validate(text, -1, NULL) ? text : NULL;
}

static bool is_attribute(JsonNode *node) {
        g_autoptr(GList) values = NULL;

        if (!JSON_NODE_HOLDS_OBJECT(node))
                return false;
        values = json_object_get_values(json_node_get_object(node));
        return values && !values->next && node_string(values->data);
}

/* What is wrong here ends mdevctl; what is right does not matter to us. */
static bool check_attributes(JsonNode *node, GError **error) {
        JsonArray *list;

        if (!node)
                return true;
        if (!JSON_NODE_HOLDS_ARRAY(node))
                return refuse("\"attrs\" is no list", error);

        list = json_node_get_array(node);
        for (unsigned i = 0; i < json_array_get_length(list); i++)
                if (!is_attribute(json_array_get_element(list, i)))
                        return refuse("\"attrs\" has an entry that is not one name with one text", error);
        return true;
}

static bool take_object(JsonObject *object, char **ret_type, bool *ret_autostart, GError **error) {
        const char *type = node_string(json_object_get_member(object, "mdev_type"));
        const char *start = node_string(json_object_get_member(object, "start"));

        if (!type || !*type)
                return refuse("There is no \"mdev_type\"", error);
        if (!start)
                return refuse("There is no \"start\"", error);
        if (!check_attributes(json_object_get_member(object, "attrs"), error))
                return false;

        *ret_type = g_strdup(type);
        *ret_autostart = g_str_equal(start, "auto");
        return true;
}

bool carved_mdevctl_parse(const char *text, size_t len, char **ret_type, bool *ret_autostart,
                          GError **error) {
        g_autoptr(JsonParser) parser = json_parser_new();
        JsonNode *root;

        if (len == 0)
                return refuse("The file is empty", error);
        if (len > CARVED_MDEVCTL_FILE_MAX || !is_plain(text, len) ||
            !json_parser_load_from_data(parser, text, (gssize) len, NULL))
                return refuse("This is not JSON", error);

        root = json_parser_get_root(parser);
        if (!root || !JSON_NODE_HOLDS_OBJECT(root))
                return refuse("This is no JSON object", error);
        return take_object(json_node_get_object(root), ret_type, ret_autostart, error);
}

/* ---- the directory ---- */

typedef struct Reading {
        const char *directory;
        GPtrArray *list, *complaints;
} Reading;

static void complain(Reading *r, const char *parent, const char *name, const char *why) {
        g_autofree char *path = g_build_filename(r->directory, parent, name, NULL),
                        *shown = g_filename_display_name(path);

        if (r->complaints->len < CARVED_MDEVCTL_COMPLAIN_MAX)
                g_ptr_array_add(r->complaints, g_strdup_printf("%s: %s", shown, why));
        else if (r->complaints->len == CARVED_MDEVCTL_COMPLAIN_MAX)
                g_ptr_array_add(r->complaints,
                                g_strdup_printf("%s: There is more that is wrong", r->directory));
}

static void read_definition(Reading *r, int dir_fd, const char *parent, const char *name) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;
        CarvedDefinition *d;
        char *type;
        bool autostart;
        size_t len;

        if (!carved_file_read(dir_fd, name, CARVED_MDEVCTL_FILE_MAX, &text, &len, &error) ||
            !carved_mdevctl_parse(text, len, &type, &autostart, &error)) {
                complain(r, parent, name, error->message);
                return;
        }

        d = definition_new(parent, name);
        d->type = type;
        d->autostart = autostart;
        g_ptr_array_add(r->list, d);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Adds the names in it, sorted, without dots in front; no device has one that is not UTF-8. Returns it open,
 * or -errno. */
static int open_and_list(int dir_fd, const char *name, GPtrArray *names) {
        _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy = -1;
        g_autoptr(DIR) dir = NULL;
        struct dirent *entry;

        if (fd < 0)
                return -errno;
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (copy < 0)
                return -errno;
        dir = fdopendir(copy);
        if (!dir)
                return -errno;

        steal_fd(&copy);
        while ((errno = 0, entry = readdir(dir)))
                if (entry->d_name[0] != '.' && g_utf8_validate(entry->d_name, -1, NULL))
                        g_ptr_array_add(names, g_strdup(entry->d_name));
        if (errno != 0)
                return -errno;

        g_ptr_array_sort(names, compare_names);
        return steal_fd(&fd);
}

static void read_parent(Reading *r, int dir_fd, const char *parent) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        _cleanup_close_ int fd = open_and_list(dir_fd, parent, names);

        if (fd < 0) {
                /* A file here is none of mdevctl's. */
                if (fd != -ENOTDIR && fd != -ENOENT)
                        complain(r, parent, NULL, g_strerror(-fd));
                return;
        }

        for (unsigned i = 0; i < names->len; i++) {
                if (!carved_uuid_is_valid(names->pdata[i]))
                        continue;
                if (r->list->len >= CARVED_MDEVCTL_MAX) {
                        complain(r, parent, names->pdata[i], "There are too many definitions before it");
                        return;
                }
                read_definition(r, fd, parent, names->pdata[i]);
        }
}

static int compare_definitions(const void *a, const void *b) {
        const CarvedDefinition *x = *(const CarvedDefinition *const *) a,
                               *y = *(const CarvedDefinition *const *) b;

        return strcmp(x->parent, y->parent) ?: strcmp(x->uuid, y->uuid);
}

/* mdevctl can't know which is meant; only one can be there at a time. */
static void find_twins(Reading *r) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

        for (unsigned i = 0; i < r->list->len; i++) {
                CarvedDefinition *d = r->list->pdata[i];
                const CarvedDefinition *first = g_hash_table_lookup(seen, d->uuid);
                g_autofree char *why = NULL;

                if (!first) {
                        g_hash_table_insert(seen, d->uuid, d);
                        continue;
                }
                why = g_strdup_printf("The same UUID is defined on %s too", first->parent);
                complain(r, d->parent, d->uuid, why);
        }
}

GPtrArray *carved_mdevctl_read(const char *directory, GPtrArray **ret_complaints) {
        Reading r = { directory, g_ptr_array_new_with_free_func(definition_free),
                      g_ptr_array_new_with_free_func(g_free) };
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        _cleanup_close_ int fd = open_and_list(AT_FDCWD, directory, names);

        if (fd < 0 && fd != -ENOENT)
                complain(&r, NULL, NULL, g_strerror(-fd));
        for (unsigned i = 0; fd >= 0 && i < names->len; i++)
                if (!g_str_equal(names->pdata[i], "scripts.d"))
                        read_parent(&r, fd, names->pdata[i]);

        g_ptr_array_sort(r.list, compare_definitions);
        find_twins(&r);
        *ret_complaints = r.complaints;
        return r.list;
}

/* ---- what it says ---- */

const CarvedDefinition *carved_mdevctl_find(const GPtrArray *list, const char *uuid) {
        const CarvedDefinition *found = NULL;

        for (unsigned i = 0; i < list->len; i++) {
                const CarvedDefinition *d = list->pdata[i];

                if (g_ascii_strcasecmp(d->uuid, uuid) == 0 && (!found || (d->autostart && !found->autostart)))
                        found = d;
        }
        return found;
}

const CarvedDefinition *carved_mdevctl_find_autostart(const GPtrArray *list, const char *parent) {
        for (unsigned i = 0; i < list->len; i++) {
                const CarvedDefinition *d = list->pdata[i];

                if (d->autostart && g_str_equal(d->parent, parent))
                        return d;
        }
        return NULL;
}

/* ---- from process to process ---- */

GVariant *carved_mdevctl_to_variant(const GPtrArray *list, const GPtrArray *complaints) {
        GVariantBuilder definitions, sentences;

        g_variant_builder_init(&definitions, G_VARIANT_TYPE("a(sssb)"));
        for (unsigned i = 0; i < list->len; i++) {
                const CarvedDefinition *d = list->pdata[i];

                g_variant_builder_add(&definitions, "(sssb)", d->parent, d->uuid, d->type, d->autostart);
        }
        g_variant_builder_init(&sentences, G_VARIANT_TYPE("as"));
        for (unsigned i = 0; i < complaints->len; i++)
                g_variant_builder_add(&sentences, "s", complaints->pdata[i]);
        return g_variant_new(CARVED_MDEVCTL_TYPE, &definitions, &sentences);
}

GPtrArray *carved_mdevctl_from_variant(GVariant *variant, GPtrArray **ret_complaints) {
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(definition_free);
        g_autoptr(GVariantIter) definitions = NULL, sentences = NULL;
        const char *parent, *uuid, *type, *sentence;
        gboolean autostart;

        if (!g_variant_is_of_type(variant, G_VARIANT_TYPE(CARVED_MDEVCTL_TYPE)))
                return NULL;

        g_variant_get(variant, CARVED_MDEVCTL_TYPE, &definitions, &sentences);
        while (g_variant_iter_next(definitions, "(&s&s&sb)", &parent, &uuid, &type, &autostart)) {
                CarvedDefinition *d;

                if (!*parent || !*type || !carved_uuid_is_valid(uuid))
                        return NULL;
                d = definition_new(parent, uuid);
                d->type = g_strdup(type);
                d->autostart = autostart;
                g_ptr_array_add(list, d);
        }

        *ret_complaints = g_ptr_array_new_with_free_func(g_free);
        while (g_variant_iter_next(sentences, "&s", &sentence))
                g_ptr_array_add(*ret_complaints, g_strdup(sentence));
        return g_steal_pointer(&list);
}
