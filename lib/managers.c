/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "managers.h"

/* As the kernel keeps them: fifteen bytes. */
static const char *const names[] = { "virt-handler", "nova-compute",    "vdsmd", "libvirtd",
                                     "virtnodedevd", "pcidevices-cont", NULL };

GStrv carved_managers_running(void) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
        const char *pid;

        while (proc && (pid = g_dir_read_name(proc))) {
                g_autofree char *path = g_strdup_printf("/proc/%s/comm", pid), *text = NULL;

                if (!g_ascii_isdigit(*pid) || !g_file_get_contents(path, &text, NULL, NULL))
                        continue;
                g_strchomp(text);
                if (g_strv_contains(names, text) && g_hash_table_add(seen, g_strdup(text)))
                        g_strv_builder_add(builder, text);
        }
        return g_strv_builder_end(builder);
}
