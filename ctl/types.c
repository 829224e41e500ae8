/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "json.h"
#include "link.h"
#include "resolve.h"
#include "room.h"
#include "text.h"
#include "types.h"
#include "verbs.h"

GVariant *types_load(Ctl *ctl, GError **error) {
        g_autoptr(GVariant) reply = link_ask(ctl, CARVED_BUS_ROOT, MANAGER, "GetInventory", error, "");

        return reply ? g_variant_get_child_value(reply, 0) : NULL;
}

GVariant *types_find(GVariant *rows, const Thing *gpu, const char *id) {
        for (gsize i = 0; i < g_variant_n_children(rows); i++) {
                g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);

                if (g_str_equal(dict_text(row, "Gpu"), gpu->path) && g_str_equal(dict_text(row, "Type"), id))
                        return g_steal_pointer(&row);
        }
        return NULL;
}

static GVariant *facts_of(const Host *host, GVariant *row) {
        const Thing *gpu = host_find(host, dict_text(row, "Gpu"));
        GVariant *types = gpu ? thing_value(gpu, GPU, "Types") : NULL;

        return types ? g_variant_lookup_value(types, dict_text(row, "Type"), G_VARIANT_TYPE("a{sv}")) : NULL;
}

static GVariant *merge(const Host *host, GVariant *row) {
        g_autoptr(GVariant) facts = facts_of(host, row);
        GVariantDict dict;
        GVariantIter iter;
        const char *key;
        GVariant *value;

        g_variant_dict_init(&dict, row);
        if (facts) {
                g_variant_iter_init(&iter, facts);
                while (g_variant_iter_next(&iter, "{&sv}", &key, &value)) {
                        g_variant_dict_insert_value(&dict, key, value);
                        g_variant_unref(value);
                }
        }
        return g_variant_dict_end(&dict);
}

static bool is_among(GPtrArray *gpus, const char *path) {
        for (unsigned i = 0; gpus && i < gpus->len; i++)
                if (g_str_equal(((const Thing *) gpus->pdata[i])->path, path))
                        return true;

        return !gpus || gpus->len == 0;
}

/* The dictionary has no order of its own. */
JsonNode *types_row_to_json(const Host *host, GVariant *row) {
        static const char *const keys[] = {
                "Gpu",          "Address",        "NumaNode",   "Type",           "Name",
                "Resource",     "FramebufferMiB", "Heads",      "FrameRateLimit", "MaxResolution",
                "MaxInstances", "DeviceApi",      "MigProfile", "Total",          "Used",
                "Available",    "ReasonCode",     "Reason",
        };
        g_autoptr(GVariant) merged = g_variant_ref_sink(merge(host, row));
        JsonObject *object = json_object_new();

        for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
                g_autoptr(GVariant) value = g_variant_lookup_value(merged, keys[i], NULL);

                if (value)
                        json_object_set_member(object, keys[i], json_gvariant_serialize(value));
        }
        return json_node_of(object);
}

static void print_json(Ctl *ctl, const Host *host, GVariant *rows, GPtrArray *gpus) {
        JsonNode *node = json_node_new(JSON_NODE_ARRAY);
        JsonArray *array = json_array_new();
        GVariantIter iter;
        GVariant *row;

        g_variant_iter_init(&iter, rows);
        while ((row = g_variant_iter_next_value(&iter))) {
                if (is_among(gpus, dict_text(row, "Gpu")))
                        json_array_add_element(array, types_row_to_json(host, row));
                g_variant_unref(row);
        }
        json_node_take_array(node, array);
        json_print(ctl, node);
}

static void add_number(Table *table, Style style, int64_t n) {
        if (n < 0)
                table_add(table, style, "%s", "");
        else
                table_add(table, style, "%" G_GINT64_FORMAT, n);
}

static void add_row(Table *table, const Host *host, GVariant *row) {
        g_autoptr(GVariant) facts = facts_of(host, row);
        g_autofree char *size = size_to_string(dict_number(facts, "FramebufferMiB"));
        int64_t available = dict_number(row, "Available");

        table_add(table, STYLE_PLAIN, "%s", dict_text(row, "Address"));
        table_add(table, STYLE_STRONG, "%s", dict_text(row, "Name"));
        table_add(table, STYLE_PLAIN, "%s", dict_text(row, "Type"));
        table_add(table, STYLE_PLAIN, "%s", size);
        add_number(table, STYLE_PLAIN, dict_number(row, "Total"));
        add_number(table, STYLE_PLAIN, dict_number(row, "Used"));
        add_number(table, available > 0 ? STYLE_GOOD : STYLE_FAINT, available);
        table_add(table, STYLE_FAINT, "%s", dict_text(row, "Reason"));
}

void types_print(Ctl *ctl, const Host *host, GVariant *rows, GPtrArray *gpus) {
        static const char *const columns[] = { "GPU",  "NAME",      "TYPE",    "SIZE", "TOTAL",
                                               "USED", "CREATABLE", "WHY NOT", NULL };
        g_autoptr(Table) table = table_new(columns);
        g_autoptr(GString) out = g_string_new(NULL);
        GVariantIter iter;
        GVariant *row;

        if (ctl->json != JSON_OFF) {
                print_json(ctl, host, rows, gpus);
                return;
        }
        g_variant_iter_init(&iter, rows);
        while ((row = g_variant_iter_next_value(&iter))) {
                if (is_among(gpus, dict_text(row, "Gpu")))
                        add_row(table, host, row);
                g_variant_unref(row);
        }
        table_print(table, out, !ctl->no_legend, text_columns(ctl));
        if (!ctl->no_legend)
                g_string_append_printf(out, "%s%u type%s listed.\n", table_n_rows(table) > 0 ? "\n" : "",
                                       table_n_rows(table), table_n_rows(table) == 1 ? "" : "s");
        text_print(ctl, out->str);
}

bool verb_types(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GVariant) rows = host ? types_load(ctl, error) : NULL;
        g_autoptr(GPtrArray) gpus = g_ptr_array_new();

        if (!rows)
                return false;
        for (; *args; args++) {
                Thing *gpu = resolve(host, *args, WANT_GPU, error);

                if (!gpu)
                        return false;
                g_ptr_array_add(gpus, gpu);
        }
        types_print(ctl, host, rows, gpus);
        return true;
}
