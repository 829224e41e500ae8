/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "methods.h"

static const char *const kinds[] = {
        "org.carved1.Manager",         "org.carved1.Gpu",         "org.carved1.Sriov",    "org.carved1.Mig",
        "org.carved1.MixedSize",       "org.carved1.GpuInstance", "org.carved1.VgpuHost", "org.carved1.Vgpu",
        "org.carved1.VirtualFunction", "org.carved1.Job",
};

void call_free(void *p) {
        Call *call = p;

        g_free(call->path);
        g_free(call->interface);
        g_free(call->method);
        g_ptr_array_unref(call->args);
        g_free(call);
}

Call *call_new(const char *path, const char *interface, const char *method) {
        Call *call = g_new0(Call, 1);

        call->path = g_strdup(path);
        call->interface = g_strdup(interface);
        call->method = g_strdup(method);
        call->args = g_ptr_array_new_with_free_func(g_free);
        return call;
}

typedef struct Reading {
        const char *path;
        GPtrArray *calls;       /* Call */
        GPtrArray *children;    /* paths */
        GHashTable *interfaces; /* all that were seen */
        char *interface;        /* NULL: not one of ours */
        bool inside;            /* a method of ours */
} Reading;

static const char *attribute(const char **names, const char **values, const char *name) {
        for (; *names; names++, values++)
                if (g_str_equal(*names, name))
                        return *values;

        return "";
}

static void on_start(GMarkupParseContext *context, const char *element, const char **names,
                     const char **values, void *userdata, GError **error) {
        const char *name = attribute(names, values, "name");
        Reading *r = userdata;

        if (g_str_equal(element, "node") && *name)
                g_ptr_array_add(r->children, g_strdup_printf("%s/%s", r->path, name));
        if (g_str_equal(element, "interface")) {
                g_clear_pointer(&r->interface, g_free);
                if (g_str_has_prefix(name, "org.carved1.")) {
                        r->interface = g_strdup(name);
                        g_hash_table_add(r->interfaces, g_strdup(name));
                }
        }
        if (g_str_equal(element, "method") && r->interface) {
                r->inside = true;
                g_ptr_array_add(r->calls, call_new(r->path, r->interface, name));
        }
        if (g_str_equal(element, "arg") && r->inside &&
            g_str_equal(attribute(names, values, "direction"), "in")) {
                Call *call = r->calls->pdata[r->calls->len - 1];

                g_ptr_array_add(call->args, g_strdup_printf("%s %s", name, attribute(names, values, "type")));
        }
}

static void on_end(GMarkupParseContext *context, const char *element, void *userdata, GError **error) {
        if (g_str_equal(element, "method"))
                ((Reading *) userdata)->inside = false;
}

/* All methods of @path, and of what is below it. */
static void introspect(Client *client, const char *path, GPtrArray *calls, GHashTable *interfaces) {
        static const GMarkupParser callbacks = { .start_element = on_start, .end_element = on_end };
        g_autoptr(GPtrArray) children = g_ptr_array_new_with_free_func(g_free);
        Reading reading_of = { .path = path, .calls = calls, .children = children, .interfaces = interfaces };
        g_autoptr(GMarkupParseContext) context = NULL;
        g_autoptr(GVariant) reply = NULL;
        const char *text;

        reply = client_call(client, path, "org.freedesktop.DBus.Introspectable", "Introspect", NULL, "");
        g_variant_get(reply, "(&s)", &text);
        context = g_markup_parse_context_new(&callbacks, 0, &reading_of, NULL);
        ck_assert(g_markup_parse_context_parse(context, text, -1, NULL));
        g_free(reading_of.interface);
        for (unsigned i = 0; i < children->len; i++)
                introspect(client, children->pdata[i], calls, interfaces);
}

GPtrArray *all_calls(Client *client) {
        g_autoptr(GHashTable) interfaces = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        GPtrArray *calls = g_ptr_array_new_with_free_func(call_free);

        introspect(client, "/org/carved1", calls, interfaces);
        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
                ck_assert_msg(g_hash_table_contains(interfaces, kinds[i]), "no object has %s", kinds[i]);
        return calls;
}
