/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "sysfs.h"
#include "vgpu-config.h"

/* The real one has about a megabyte. */
#define CONFIG_MAX (16 * 1024 * 1024)

typedef struct Parser {
        const CarvedGpu *card;
        GHashTable *types;     /* id as text → CarvedType: every one the file knows */
        GHashTable *supported; /* id as text → maximum, of the card; last match wins */
        CarvedType *type;      /* inside <vgpuType> */
        bool in_card;          /* inside a <pgpu> that is ours */
        char *vgpu_id;         /* inside its <supportedVgpu> */
        GString *text;
        uint64_t profile_size, framebuffer;
} Parser;

static const char *attribute(const char **names, const char **values, const char *name) {
        for (; *names; names++, values++)
                if (g_str_equal(*names, name))
                        return *values;

        return NULL;
}

static bool parse_id(const char *text, int64_t *ret) {
        return text && carved_sysfs_parse_number(text, 0, INT64_MAX, ret);
}

/* Subsystem 0 stands for any. */
static bool is_card(const CarvedGpu *card, const char **names, const char **values) {
        int64_t vendor, device, sub_vendor = 0, sub_device = 0;

        if (!parse_id(attribute(names, values, "vendorId"), &vendor) ||
            !parse_id(attribute(names, values, "deviceId"), &device))
                return false;

        parse_id(attribute(names, values, "subsystemVendorId"), &sub_vendor);
        parse_id(attribute(names, values, "subsystemId"), &sub_device);
        return vendor == card->vendor_id && device == card->device_id &&
               (sub_device == 0 ||
                (sub_vendor == card->subsystem_vendor_id && sub_device == card->subsystem_device_id));
}

static void start_type(Parser *p, const char **names, const char **values) {
        const char *id = attribute(names, values, "id"), *name = attribute(names, values, "name");
        g_autofree char *full = NULL;
        int64_t number;

        if (p->type || !parse_id(id, &number))
                return;

        full = g_strdup_printf("nvidia-%" G_GINT64_FORMAT, number);
        p->type = carved_type_new(full);
        p->type->name = g_strdup(name);
        p->profile_size = p->framebuffer = 0;
}

static void start_display(Parser *p, const char **names, const char **values) {
        int64_t width, height;

        if (p->type && !p->type->max_resolution && parse_id(attribute(names, values, "width"), &width) &&
            parse_id(attribute(names, values, "height"), &height) && width > 0 && height > 0)
                p->type->max_resolution =
                        g_strdup_printf("%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, width, height);
}

static void on_start(GMarkupParseContext *context, const char *element, const char **names,
                     const char **values, void *userdata, GError **error) {
        Parser *p = userdata;

        g_string_truncate(p->text, 0);
        if (g_str_equal(element, "vgpuType"))
                start_type(p, names, values);
        else if (g_str_equal(element, "display"))
                start_display(p, names, values);
        else if (g_str_equal(element, "pgpu"))
                p->in_card = false;
        else if (g_str_equal(element, "devId") && !p->type)
                p->in_card = is_card(p->card, names, values);
        else if (g_str_equal(element, "supportedVgpu") && p->in_card) {
                int64_t number;

                g_clear_pointer(&p->vgpu_id, g_free);
                if (parse_id(attribute(names, values, "vgpuId"), &number))
                        p->vgpu_id = g_strdup_printf("nvidia-%" G_GINT64_FORMAT, number);
        }
}

/* The nominal size if it is told: what is left of it for the guest differs by a few percent from card to
 * card. */
static void end_type(Parser *p) {
        uint64_t bytes = p->profile_size ? p->profile_size : p->framebuffer;

        if (bytes > 0) {
                p->type->framebuffer_mib = bytes >> 20;
                p->type->known |= CARVED_TYPE_FRAMEBUFFER;
        }
        g_hash_table_replace(p->types, p->type->id, p->type);
        p->type = NULL;
}

static void on_end(GMarkupParseContext *context, const char *element, void *userdata, GError **error) {
        Parser *p = userdata;
        int64_t value;

        if (g_str_equal(element, "vgpuType") && p->type)
                end_type(p);
        else if (g_str_equal(element, "pgpu"))
                p->in_card = false;
        else if (g_str_equal(element, "supportedVgpu") && p->vgpu_id) {
                /* Supported, its maximum not told. */
                if (!g_hash_table_contains(p->supported, p->vgpu_id))
                        g_hash_table_insert(p->supported, g_steal_pointer(&p->vgpu_id), GUINT_TO_POINTER(0));
                g_clear_pointer(&p->vgpu_id, g_free);
        }

        if (!parse_id(g_strstrip(p->text->str), &value))
                return;
        if (p->type && g_str_equal(element, "profileSize"))
                p->profile_size = (uint64_t) value;
        else if (p->type && g_str_equal(element, "framebuffer"))
                p->framebuffer = (uint64_t) value;
        else if (p->type && g_str_equal(element, "numHeads") && value <= UINT32_MAX) {
                p->type->heads = (uint32_t) value;
                p->type->known |= CARVED_TYPE_HEADS;
        } else if (p->type && g_str_equal(element, "frlConfig") && value <= UINT32_MAX) {
                p->type->frame_rate_limit = (uint32_t) value;
                p->type->known |= CARVED_TYPE_FRAME_RATE_LIMIT;
        } else if (p->vgpu_id && g_str_equal(element, "maxVgpus") && value <= UINT32_MAX)
                g_hash_table_insert(p->supported, g_strdup(p->vgpu_id), GUINT_TO_POINTER((unsigned) value));
        g_string_truncate(p->text, 0);
}

static void on_text(GMarkupParseContext *context, const char *text, gsize len, void *userdata,
                    GError **error) {
        Parser *p = userdata;

        /* Only numbers matter. */
        if (len < 64)
                g_string_append_len(p->text, text, (gssize) len);
}

static GPtrArray *collect(Parser *p) {
        GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify) carved_type_free);
        GHashTableIter iter;
        void *id, *max;

        g_hash_table_iter_init(&iter, p->supported);
        while (g_hash_table_iter_next(&iter, &id, &max)) {
                CarvedType *type = NULL;

                if (!g_hash_table_steal_extended(p->types, id, NULL, (void **) &type))
                        type = carved_type_new(id);
                if (GPOINTER_TO_UINT(max) > 0) {
                        type->max_instances = GPOINTER_TO_UINT(max);
                        type->known |= CARVED_TYPE_MAX_INSTANCES;
                }
                g_ptr_array_add(list, type);
        }
        return list;
}

GPtrArray *carved_vgpu_config_parse(const char *text, size_t len, const CarvedGpu *card, GError **error) {
        static const GMarkupParser callbacks = { on_start, on_end, on_text, NULL, NULL };
        g_autoptr(GMarkupParseContext) context = NULL;
        g_autoptr(GHashTable) types =
                g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify) carved_type_free);
        g_autoptr(GHashTable) supported = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GString) buffer = g_string_new(NULL);
        Parser parser = { .card = card, .types = types, .supported = supported, .text = buffer };
        bool ok;

        context = g_markup_parse_context_new(&callbacks, 0, &parser, NULL);
        ok = g_markup_parse_context_parse(context, text, (gssize) len, error) &&
             g_markup_parse_context_end_parse(context, error);
        carved_type_free(parser.type);
        g_free(parser.vgpu_id);
        return ok ? collect(&parser) : NULL;
}

GPtrArray *carved_vgpu_config_read(const char *path, const CarvedGpu *card, GError **error) {
        g_autoptr(GError) e = NULL;
        g_autofree char *text = NULL;
        GPtrArray *list;
        gsize len;

        if (!g_file_get_contents(path, &text, &len, &e)) {
                if (!g_error_matches(e, G_FILE_ERROR, G_FILE_ERROR_NOENT))
                        g_propagate_error(error, g_steal_pointer(&e));
                return NULL;
        }
        if (len > CONFIG_MAX) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "'%s' is longer than any such file",
                            path);
                return NULL;
        }

        list = carved_vgpu_config_parse(text, len, card, &e);
        if (!list)
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "Failed to parse '%s': %s", path,
                            e->message);
        return list;
}
