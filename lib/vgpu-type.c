/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs.h"
#include "vgpu-type.h"

static bool parse_u32(const char *text, uint32_t *ret) {
        int64_t value;

        if (!carved_sysfs_parse_number(text, 0, UINT32_MAX, &value))
                return false;

        *ret = (uint32_t) value;
        return true;
}

/* "WIDTHxHEIGHT", both at least one. */
static bool is_resolution(const char *text) {
        g_auto(GStrv) parts = g_strsplit(text, "x", 3);
        uint32_t width, height;

        return g_strv_length(parts) == 2 && parse_u32(parts[0], &width) && parse_u32(parts[1], &height) &&
               width > 0 && height > 0 && g_ascii_isdigit(text[strlen(text) - 1]);
}

/* "4096M": without its unit it could be anything. */
static bool parse_mib(const char *text, uint64_t *ret) {
        size_t len = strlen(text);
        g_autofree char *digits = NULL;
        uint32_t value;

        if (len < 2 || text[len - 1] != 'M')
                return false;

        digits = g_strndup(text, len - 1);
        if (!parse_u32(digits, &value))
                return false;

        *ret = value;
        return true;
}

static void set_number(CarvedType *type, CarvedTypeFact fact, uint32_t *field, const char *text) {
        if (parse_u32(text, field))
                type->known |= fact;
}

static void set_fact(CarvedType *type, const char *key, const char *value) {
        if (g_str_equal(key, "num_heads"))
                set_number(type, CARVED_TYPE_HEADS, &type->heads, value);
        else if (g_str_equal(key, "frl_config"))
                set_number(type, CARVED_TYPE_FRAME_RATE_LIMIT, &type->frame_rate_limit, value);
        else if (g_str_equal(key, "max_instance"))
                set_number(type, CARVED_TYPE_MAX_INSTANCES, &type->max_instances, value);
        else if (g_str_equal(key, "framebuffer")) {
                if (parse_mib(value, &type->framebuffer_mib))
                        type->known |= CARVED_TYPE_FRAMEBUFFER;
        } else if (g_str_equal(key, "max_resolution") || g_str_equal(key, "resolution")) {
                if (is_resolution(value)) {
                        g_free(type->max_resolution);
                        type->max_resolution = g_strdup(value);
                }
        }
}

void carved_type_parse_description(CarvedType *type, const char *text) {
        g_auto(GStrv) parts = g_strsplit_set(text, ",\n", 64);

        for (char **part = parts; *part; part++) {
                char *separator = strpbrk(*part, "=:");

                if (!separator)
                        continue;

                *separator = '\0';
                set_fact(type, g_strstrip(*part), g_strstrip(separator + 1));
        }
}

void carved_creatable_clear(CarvedCreatable *creatable) {
        g_clear_pointer(&creatable->name, g_free);
}

static void clear_creatable(void *p) {
        carved_creatable_clear(p);
}

/* "1145  : NVIDIA L40S-1B" */
static bool parse_id_first(const char *line, CarvedCreatable *ret) {
        const char *colon = strchr(line, ':');
        g_autofree char *id = colon ? g_strndup(line, (gsize) (colon - line)) : NULL;
        g_autofree char *name = colon ? g_strdup(colon + 1) : NULL;
        uint32_t number;

        if (!colon || !parse_u32(id, &number) || number == 0 || !*g_strstrip(name))
                return false;

        *ret = (CarvedCreatable){ number, g_steal_pointer(&name) };
        return true;
}

/* "NVIDIA A40-1Q   557", as NVIDIA's guide prints it. */
static bool parse_name_first(const char *line, CarvedCreatable *ret) {
        const char *last = strrchr(line, ' ');
        g_autofree char *name = last ? g_strndup(line, (gsize) (last - line)) : NULL;
        uint32_t number;

        if (!last || strchr(line, ':') || !parse_u32(last + 1, &number) || number == 0 || !*g_strstrip(name))
                return false;

        *ret = (CarvedCreatable){ number, g_steal_pointer(&name) };
        return true;
}

GArray *carved_creatable_parse(const char *text) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        GArray *list = g_array_new(FALSE, FALSE, sizeof(CarvedCreatable));

        g_array_set_clear_func(list, clear_creatable);
        for (char **line = lines; *line; line++) {
                CarvedCreatable one;

                g_strdelimit(*line, "\t", ' ');
                g_strstrip(*line);
                if (parse_id_first(*line, &one) || parse_name_first(*line, &one))
                        g_array_append_val(list, one);
        }
        return list;
}

bool carved_type_id_number(const char *id, uint32_t *ret) {
        const char *dash = strrchr(id, '-');

        return dash && dash != id && parse_u32(dash + 1, ret);
}
