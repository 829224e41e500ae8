/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fnmatch.h>
#include <string.h>
#include <sys/utsname.h>

#include "vfio-driver.h"

#define PREFIX "alias vfio_pci:"

/* How much a pattern says: the fewer wildcards, the more. */
static unsigned weight(const char *pattern) {
        unsigned wildcards = 0;

        for (; *pattern; pattern++)
                wildcards += *pattern == '*';
        return 64U - MIN(wildcards, 63U);
}

/* "alias vfio_pci:v00008086d0000E20Bsv*sd*bc*sc*i* xe_vfio_pci" */
char *carved_vfio_module_find(const char *aliases, const char *modalias) {
        const char *function = g_str_has_prefix(modalias, "pci:") ? modalias + strlen("pci:") : modalias;
        g_auto(GStrv) lines = g_strsplit(aliases, "\n", -1);
        char *best = NULL;
        unsigned most = 0;

        for (char **line = lines; *line; line++) {
                char *pattern, *module;

                if (!g_str_has_prefix(*line, PREFIX))
                        continue;

                pattern = *line + strlen(PREFIX);
                module = strchr(pattern, ' ');
                if (!module)
                        continue;

                *module++ = '\0';
                g_strstrip(module);
                if (weight(pattern) > most && *module && fnmatch(pattern, function, 0) == 0) {
                        most = weight(pattern);
                        g_free(best);
                        best = g_strdup(module);
                }
        }
        return best;
}

bool carved_vfio_is_driver(const char *driver) {
        return driver && strstr(driver, "vfio");
}

char *carved_vfio_driver_name(const char *module) {
        return g_strdelimit(g_strdup(module), "_", '-');
}

char *carved_vfio_module_for(const char *modalias) {
        g_autofree char *path = NULL, *text = NULL;
        struct utsname name;

        if (uname(&name) < 0)
                return NULL;

        path = g_strdup_printf("/lib/modules/%s/modules.alias", name.release);
        if (!modalias || !g_file_get_contents(path, &text, NULL, NULL))
                return NULL;

        return carved_vfio_module_find(text, modalias);
}
