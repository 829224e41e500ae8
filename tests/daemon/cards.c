/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "cards.h"

int compare_lines(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* From where they differ: a line can be longer than what check takes as a message. */
static void assert_same_line(const char *now, const char *then) {
        size_t same = 0, from;

        while (now[same] && now[same] == then[same])
                same++;
        from = same > 80 ? same - 80 : 0;
        ck_assert_msg(now[same] == then[same], "%.60s: '%.160s' was '%.160s'", now, now + from, then + from);
}

void assert_same_lines(GPtrArray *now, GPtrArray *then) {
        for (unsigned i = 0; i < MIN(now->len, then->len); i++)
                assert_same_line(now->pdata[i], then->pdata[i]);
        ck_assert_uint_eq(now->len, then->len);
}

GPtrArray *describe_cards(Client *client) {
        g_autoptr(GVariant) objects = client_objects(client);
        GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
        GVariant *interfaces;
        GVariantIter iter;
        const char *path;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &interfaces)) {
                g_autofree char *text = g_variant_print(interfaces, FALSE);

                if (g_str_has_prefix(path, "/org/carved1/gpu/"))
                        g_ptr_array_add(lines, g_strdup_printf("%s %s", path, text));
        }
        g_ptr_array_sort(lines, compare_lines);
        return lines;
}
