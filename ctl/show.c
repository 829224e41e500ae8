/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "link.h"
#include "resolve.h"
#include "room.h"
#include "state.h"
#include "text.h"
#include "verbs.h"

/* Everything about an object. */

static char *time_to_string(uint64_t usec) {
        g_autoptr(GDateTime) when =
                usec > 0 ? g_date_time_new_from_unix_local((gint64) (usec / G_USEC_PER_SEC)) : NULL;

        return when ? g_date_time_format(when, "%Y-%m-%d %H:%M:%S") : g_strdup("");
}

/* Items of a list, one below the other. */
static char *join(GVariant *list, const char *(*item)(GVariant *child)) {
        GString *text = g_string_new(NULL);

        for (gsize i = 0; i < g_variant_n_children(list); i++) {
                g_autoptr(GVariant) child = g_variant_get_child_value(list, i);

                g_string_append_printf(text, "%s%s", i > 0 ? "\n" : "", item(child));
        }
        return g_string_free(text, FALSE);
}

static const char *plain_item(GVariant *child) {
        return g_variant_get_string(child, NULL);
}

static char *pairs(GVariant *list) {
        GString *text = g_string_new(NULL);
        const char *key, *value;
        GVariantIter iter;

        g_variant_iter_init(&iter, list);
        while (g_variant_iter_next(&iter,
                                   g_variant_is_of_type(list, G_VARIANT_TYPE("a{ss}")) ? "{&s&s}" : "(&s&s)",
                                   &key, &value))
                g_string_append_printf(text, "%s%s%s%s", text->len > 0 ? "\n" : "", key,
                                       g_variant_is_of_type(list, G_VARIANT_TYPE("a{ss}")) ? "=" : ": ",
                                       value);
        return g_string_free(text, FALSE);
}

static char *number_to_string(const char *name, GVariant *value) {
        bool is_time = g_str_equal(name, "Started") || g_str_equal(name, "LeaseExpires");

        switch (g_variant_classify(value)) {
        case G_VARIANT_CLASS_UINT16:
                return g_strdup_printf("%04x", g_variant_get_uint16(value));
        case G_VARIANT_CLASS_INT32:
                return g_variant_get_int32(value) < 0 ? g_strdup("")
                                                      : g_strdup_printf("%d", g_variant_get_int32(value));
        case G_VARIANT_CLASS_UINT32:
                return g_strdup_printf("%u", g_variant_get_uint32(value));
        case G_VARIANT_CLASS_UINT64:
                return is_time ? time_to_string(g_variant_get_uint64(value))
                               : g_strdup_printf("%" PRIu64, g_variant_get_uint64(value));
        case G_VARIANT_CLASS_BOOLEAN:
                return g_strdup(g_variant_get_boolean(value) ? "yes" : "no");
        default:
                return g_variant_print(value, /* type_annotate= */ FALSE);
        }
}

static char *value_to_string(const char *name, GVariant *value) {
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_STRING))
                return g_variant_dup_string(value, NULL);
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_OBJECT_PATH))
                return g_strdup(g_str_equal(g_variant_get_string(value, NULL), "/")
                                        ? ""
                                        : g_variant_get_string(value, NULL));
        if (g_variant_is_of_type(value, G_VARIANT_TYPE("as")) ||
            g_variant_is_of_type(value, G_VARIANT_TYPE("ao")))
                return join(value, plain_item);
        if (g_variant_is_of_type(value, G_VARIANT_TYPE("a(ss)")) ||
            g_variant_is_of_type(value, G_VARIANT_TYPE("a{ss}")) ||
            g_variant_is_of_type(value, G_VARIANT_TYPE("a(os)")))
                return pairs(value);

        return number_to_string(name, value);
}

/* Of a card's types there are dozens, and of its VFs: other verbs show them. */
static char *in_short(const Thing *thing, const Fact *fact) {
        if (g_str_equal(fact->name, "Types"))
                return g_strdup_printf("%u; carvectl types %s", (unsigned) g_variant_n_children(fact->value),
                                       thing_name(thing));
        if (g_str_equal(fact->name, "Available"))
                return room_of(thing);
        if (g_str_equal(fact->name, "CreatableTypes"))
                return pairs(fact->value);
        if (g_str_equal(fact->name, "Vfs"))
                return g_strdup_printf("%u; carvectl list vfs", (unsigned) g_variant_n_children(fact->value));

        return value_to_string(fact->name, fact->value);
}

static void add_fact(GString *out, const Ctl *ctl, const char *name, const char *value, unsigned width) {
        g_auto(GStrv) lines = g_strsplit(*value ? value : "-", "\n", -1);
        bool is_state = g_str_has_suffix(name, "State");

        for (unsigned i = 0; lines[i]; i++) {
                Line *line = line_new();

                if (i == 0)
                        line_add(line, STYLE_STRONG, "%*s: ", (int) width, name);
                else
                        line_add(line, STYLE_PLAIN, "%*s", (int) width + 2, "");
                line_add(line,
                         is_state ? style_of_state(value)
                         : *value ? STYLE_PLAIN
                                  : STYLE_FAINT,
                         "%s", lines[i]);
                line_end(line, out, text_columns(ctl));
        }
}

static void add_thing(GString *out, const Ctl *ctl, const Thing *thing) {
        unsigned width = 0;

        for (unsigned i = 0; i < thing->facts->len; i++)
                width = MAX(width, (unsigned) strlen(g_array_index(thing->facts, Fact, i).name));
        add_fact(out, ctl, "Path", thing->path, width);
        /* First what it is, then what it can. */
        for (unsigned pass = 0; pass < 2; pass++)
                for (unsigned i = 0; i < thing->facts->len; i++) {
                        const Fact *fact = &g_array_index(thing->facts, Fact, i);
                        g_autofree char *value = NULL;

                        if (thing_is(thing, fact->interface) != (pass == 0))
                                continue;
                        value = in_short(thing, fact);
                        add_fact(out, ctl, fact->name, value, width);
                }
}

static bool print_xml(Ctl *ctl, GPtrArray *things, GError **error) {
        g_autoptr(GString) out = g_string_new(NULL);

        for (unsigned i = 0; i < things->len; i++) {
                const Thing *thing = things->pdata[i];
                g_autoptr(GVariant) reply = NULL;
                const char *xml;

                reply = link_ask(ctl, thing->path, VGPU, "GetLibvirtXml", error, "a{sv}", 0);
                if (!reply)
                        return false;
                g_variant_get(reply, "(&s)", &xml);
                g_string_append_printf(out, "%s%s", xml, g_str_has_suffix(xml, "\n") ? "" : "\n");
        }
        text_print(ctl, out->str);
        return true;
}

bool verb_show(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GPtrArray) things = g_ptr_array_new();
        g_autoptr(GString) out = g_string_new(NULL);

        if (!host)
                return false;
        for (; *args; args++) {
                Thing *thing = resolve(host, *args, ctl->xml ? WANT_VGPU : WANT_ANY, error);

                if (!thing)
                        return false;
                g_ptr_array_add(things, thing);
        }
        if (ctl->xml)
                return print_xml(ctl, things, error);
        if (ctl->json != JSON_OFF) {
                json_print(ctl,
                           things->len == 1 ? json_from_thing(things->pdata[0]) : json_from_things(things));
                return true;
        }
        for (unsigned i = 0; i < things->len; i++) {
                g_string_append(out, i > 0 ? "\n" : "");
                add_thing(out, ctl, things->pdata[i]);
        }
        text_print(ctl, out->str);
        return true;
}
