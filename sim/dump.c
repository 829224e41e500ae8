/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "dump.h"

static void dump_file(Node *node, const char *path, GString *out) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *shown = NULL;
        int r;

        if (!node->attr->show || node->attr->unprivileged_max > 0) {
                g_string_append_printf(out, "%s\n", path);
                return;
        }

        r = node->attr->show(node->owner, node->attr, text);
        shown = g_strescape(text->str, NULL);
        if (r < 0)
                g_string_append_printf(out, "%s: %s\n", path, strerrorname_np(-r));
        else
                g_string_append_printf(out, "%s = \"%s\"\n", path, shown);
}

void dump_tree(Node *node, GString *out) {
        g_autofree char *path = node_path(node), *target = NULL;

        switch (node->kind) {
        case NODE_FILE:
                dump_file(node, path, out);
                break;
        case NODE_LINK:
                target = node_path(node->target);
                g_string_append_printf(out, "%s -> %s\n", path, target);
                break;
        case NODE_DIR:
                g_string_append_printf(out, "%s/\n", path);
                for (unsigned i = 0; node->children && i < node->children->len; i++)
                        dump_tree(node->children->pdata[i], out);
                break;
        }
}
