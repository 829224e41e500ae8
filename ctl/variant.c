/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdbool.h>
#include <string.h>

#include "variant.h"

static char *type_string(char type, const char *contents) {
        switch (type) {
        case 'a':
                return g_strdup_printf("a%s", contents);
        case 'r':
                return g_strdup_printf("(%s)", contents);
        default:
                return g_strdup_printf("{%s}", contents);
        }
}

/* Values up to the end of the container that was entered. */
static bool read_all(sd_bus_message *m, GVariantBuilder *builder) {
        while (sd_bus_message_at_end(m, /* complete= */ false) == 0) {
                GVariant *value = variant_read(m);

                if (!value)
                        return false;
                g_variant_builder_add_value(builder, value);
        }
        return true;
}

static GVariant *read_entered(sd_bus_message *m, char type, const char *contents) {
        g_autofree char *full = NULL;
        GVariantBuilder builder;

        if (type == 'v') {
                GVariant *value = variant_read(m);

                return value ? g_variant_new_variant(value) : NULL;
        }

        full = type_string(type, contents);
        g_variant_builder_init(&builder, G_VARIANT_TYPE(full));
        if (read_all(m, &builder))
                return g_variant_builder_end(&builder);

        g_variant_builder_clear(&builder);
        return NULL;
}

static GVariant *read_container(sd_bus_message *m, char type, const char *contents) {
        GVariant *value;

        if (sd_bus_message_enter_container(m, type, contents) <= 0)
                return NULL;
        value = read_entered(m, type, contents);
        if (value && sd_bus_message_exit_container(m) < 0)
                g_clear_pointer(&value, g_variant_unref);
        return value;
}

GVariant *variant_read(sd_bus_message *m) {
        union {
                const char *s;
                uint64_t t;
                int64_t x;
                uint32_t u;
                int32_t i;
                uint16_t q;
                int16_t n;
                uint8_t y;
                double d;
        } value;
        const char *contents;
        char type;

        if (sd_bus_message_peek_type(m, &type, &contents) <= 0)
                return NULL;
        if (strchr("arev", type))
                return read_container(m, type, contents);
        if (sd_bus_message_read_basic(m, type, &value) <= 0)
                return NULL;

        switch (type) {
        case 's':
                return g_variant_new_string(value.s);
        case 'o':
                return g_variant_new_object_path(value.s);
        case 'g':
                return g_variant_new_signature(value.s);
        case 't':
                return g_variant_new_uint64(value.t);
        case 'x':
                return g_variant_new_int64(value.x);
        case 'u':
                return g_variant_new_uint32(value.u);
        case 'i':
                return g_variant_new_int32(value.i);
        case 'q':
                return g_variant_new_uint16(value.q);
        case 'n':
                return g_variant_new_int16(value.n);
        case 'y':
                return g_variant_new_byte(value.y);
        case 'd':
                return g_variant_new_double(value.d);
        case 'b':
                return g_variant_new_boolean(value.i != 0);
        default:
                return NULL; /* a file: nobody sends one */
        }
}

GVariant *variant_from_message(sd_bus_message *m) {
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE_TUPLE);
        if (sd_bus_message_rewind(m, /* complete= */ true) >= 0 && read_all(m, &builder))
                return g_variant_ref_sink(g_variant_builder_end(&builder));

        g_variant_builder_clear(&builder);
        return NULL;
}
