/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "fuzz.h"
#include "sysfs.h"
#include "vgpu-config.h"
#include "vgpu-type.h"

/* What drivers and their packages write, given to every parser of it. */

static void check_creatable(const char *text) {
        g_autoptr(GArray) list = carved_creatable_parse(text);

        for (unsigned i = 0; i < list->len; i++) {
                const CarvedCreatable *c = &g_array_index(list, CarvedCreatable, i);

                g_assert(c->id > 0 && *c->name && !strchr(c->name, '\n'));
        }
}

static void check_description(const char *text) {
        CarvedType *type = carved_type_new("nvidia-1");

        carved_type_parse_description(type, text);
        g_assert(!type->max_resolution || strchr(type->max_resolution, 'x'));
        carved_type_free(type);
}

static void check_config(const char *text, size_t size) {
        g_autoptr(CarvedGpu) card = carved_gpu_new(&(CarvedPciAddress){ 0 });
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) list = NULL;

        card->vendor_id = 0x10de;
        card->device_id = 0x26b9;
        list = carved_vgpu_config_parse(text, size, card, &error);
        g_assert(!list == !!error);
        for (unsigned i = 0; list && i < list->len; i++)
                g_assert(g_str_has_prefix(((CarvedType *) list->pdata[i])->id, "nvidia-"));
}

static void check_number(const char *text) {
        int64_t value;

        if (carved_sysfs_parse_number(text, -1, 65535, &value))
                g_assert(value >= -1 && value <= 65535);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup(size > 0 ? (const char *) data : "", size);
        uint32_t number;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        check_creatable(text);
        check_description(text);
        check_config(text, strlen(text));
        check_number(text);
        carved_type_id_number(text, &number);
        g_assert(carved_type_id_compare(text, text) == 0);
        return 0;
}
