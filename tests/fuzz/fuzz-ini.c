/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include <glib.h>

#include "fuzz.h"
#include "ini.h"

/* What people write into a configuration. What is understood must come back the same from its own printed
 * form. */

typedef struct Told {
        GString *text;
        unsigned line;
} Told;

static void tell(const CarvedIniItem *item, void *userdata) {
        Told *told = userdata;

        g_assert(item->line > told->line);
        told->line = item->line;
        if (!item->section) {
                g_assert(!item->key && *item->value);
                g_string_append_printf(told->text, "%s\n", item->value);
        } else if (!item->key) {
                g_assert(*item->section && !item->value);
                g_string_append_printf(told->text, "[%s]\n", item->section);
        } else {
                g_assert(*item->key && !strchr(item->key, '='));
                g_string_append_printf(told->text, "%s=%s\n", item->key, item->value);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);
        Told told = { first }, again = { second };
        g_autoptr(GError) error = NULL;
        unsigned line = 0;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        if (!carved_ini_parse((const char *) data, size, tell, &told, &line, &error)) {
                g_assert(error && line > 0 && line > told.line);
                g_assert(g_utf8_validate(error->message, -1, NULL));
        }

        g_assert(carved_ini_parse(first->str, first->len, tell, &again, &line, NULL));
        g_assert(g_str_equal(first->str, second->str));
        return 0;
}
