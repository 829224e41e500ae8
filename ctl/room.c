/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "room.h"
#include "style.h"

typedef struct Size {
        int64_t mib; /* -1: unknown; then the type stands for itself */
        const char *type;
        int64_t n;
} Size;

char *size_to_string(int64_t mib) {
        if (mib < 0)
                return g_strdup("");
        if (mib % 1024 == 0)
                return g_strdup_printf("%" G_GINT64_FORMAT " GB", mib / 1024);

        return g_strdup_printf("%" G_GINT64_FORMAT " MB", mib);
}

int64_t room_for(const Thing *gpu, const char *type_id) {
        return dict_number(thing_value(gpu, GPU, "Available"), type_id);
}

static void count(GArray *sizes, int64_t mib, const char *type, int64_t n) {
        Size size = { mib, type, n };

        for (unsigned i = 0; i < sizes->len; i++) {
                Size *old = &g_array_index(sizes, Size, i);

                if (mib >= 0 && old->mib == mib) {
                        old->n = MAX(old->n, n);
                        return;
                }
        }
        g_array_append_val(sizes, size);
}

static int compare_sizes(const void *a, const void *b) {
        const Size *x = a, *y = b;

        return (x->mib > y->mib) - (x->mib < y->mib);
}

char *room_of(const Thing *gpu) {
        g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(Size));
        GVariant *types = thing_value(gpu, GPU, "Types"), *facts;
        GString *text = g_string_new(NULL);
        const char *id;
        GVariantIter iter;

        if (!types)
                return g_string_free(text, FALSE);
        g_variant_iter_init(&iter, types);
        while (g_variant_iter_next(&iter, "{&s@a{sv}}", &id, &facts)) {
                if (room_for(gpu, id) > 0)
                        count(sizes, dict_number(facts, "FramebufferMiB"), id, room_for(gpu, id));
                g_variant_unref(facts);
        }
        g_array_sort(sizes, compare_sizes);
        for (unsigned i = 0; i < sizes->len; i++) {
                const Size *size = &g_array_index(sizes, Size, i);
                g_autofree char *name = size->mib >= 0 ? size_to_string(size->mib) : g_strdup(size->type);

                g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s %s", i > 0 ? ", " : "", size->n,
                                       glyph(GLYPH_TIMES), name);
        }
        return g_string_free(text, FALSE);
}

char *reason_of(const Thing *thing, const char *interface) {
        GVariant *reasons = thing_value(thing, interface, "Reasons");
        GString *text = g_string_new(NULL);
        const char *sentence;
        GVariantIter iter;

        if (!reasons)
                return g_string_free(text, FALSE);
        g_variant_iter_init(&iter, reasons);
        while (g_variant_iter_next(&iter, "(&s&s)", NULL, &sentence))
                g_string_append_printf(text, "%s%s", text->len > 0 ? "; " : "", sentence);
        return g_string_free(text, FALSE);
}

const char *reason_code_of(const Thing *thing, const char *interface) {
        GVariant *reasons = thing_value(thing, interface, "Reasons");
        const char *code = "";

        if (reasons && g_variant_n_children(reasons) > 0)
                g_variant_get_child(reasons, 0, "(&s&s)", &code, NULL);
        return code;
}

char *model_of(const Thing *gpu) {
        const char *model = thing_text(gpu, GPU, "Model"), *open = strchr(model, '['),
                   *close = open ? strrchr(model, ']') : NULL;

        if (close)
                return g_strndup(open + 1, (gsize) (close - open - 1));
        if (*model)
                return g_strdup(model);

        return g_strdup_printf("%04x:%04x", (unsigned) thing_number(gpu, GPU, "VendorId") & 0xffff,
                               (unsigned) thing_number(gpu, GPU, "DeviceId") & 0xffff);
}
