/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "variant.h"

static GVariant *read_value(sd_bus_message *m, char type, const char *contents);

/* Values up to the end of the container that was entered. */
static void read_all(sd_bus_message *m, GVariantBuilder *builder) {
        const char *contents;
        char type;

        while (sd_bus_message_peek_type(m, &type, &contents) > 0)
                g_variant_builder_add_value(builder, read_value(m, type, contents));
}

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

static GVariant *read_variant(sd_bus_message *m) {
        const char *contents;
        char type;

        ck_assert_int_gt(sd_bus_message_peek_type(m, &type, &contents), 0);
        return g_variant_new_variant(read_value(m, type, contents));
}

static GVariant *read_container(sd_bus_message *m, char type, const char *contents) {
        g_autofree char *full = type_string(type, contents);
        GVariantBuilder builder;
        GVariant *value;

        ck_assert_int_gt(sd_bus_message_enter_container(m, type, contents), 0);
        if (type == 'v')
                value = read_variant(m);
        else {
                g_variant_builder_init(&builder, G_VARIANT_TYPE(full));
                read_all(m, &builder);
                value = g_variant_builder_end(&builder);
        }
        ck_assert_int_ge(sd_bus_message_exit_container(m), 0);
        return value;
}

static GVariant *read_value(sd_bus_message *m, char type, const char *contents) {
        union {
                const char *s;
                uint64_t t;
                uint32_t u;
                int32_t i;
                uint16_t q;
                uint8_t y;
                double d;
        } value;

        if (strchr("arev", type))
                return read_container(m, type, contents);

        ck_assert_int_gt(sd_bus_message_read_basic(m, type, &value), 0);
        switch (type) {
        case 's':
                return g_variant_new_string(value.s);
        case 'o':
                return g_variant_new_object_path(value.s);
        case 't':
                return g_variant_new_uint64(value.t);
        case 'u':
                return g_variant_new_uint32(value.u);
        case 'i':
                return g_variant_new_int32(value.i);
        case 'q':
                return g_variant_new_uint16(value.q);
        case 'b':
                return g_variant_new_boolean(value.i != 0);
        default:
                ck_abort_msg("carved sends no '%c'", type);
        }
}

GVariant *variant_from_message(sd_bus_message *m) {
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE_TUPLE);
        ck_assert_int_ge(sd_bus_message_rewind(m, true), 0);
        read_all(m, &builder);
        return g_variant_ref_sink(g_variant_builder_end(&builder));
}
