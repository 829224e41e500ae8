/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "inforom.h"

static bool has_line(char **lines, const char *text) {
        for (; *lines; lines++)
                if (g_str_equal(*lines, text))
                        return true;

        return false;
}

/* Cards that are elsewhere now keep their lines. */
static void save(Kernel *kernel, const GpuSpec *gpu) {
        g_autofree char *before = NULL;
        g_auto(GStrv) lines = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GError) error = NULL;

        if (!g_file_get_contents(kernel->inforom, &before, NULL, NULL))
                before = g_strdup("");
        lines = g_strsplit(before, "\n", -1);
        for (char **line = lines; *line; line++)
                if (**line && !g_str_equal(*line, gpu->uuid))
                        g_string_append_printf(text, "%s\n", *line);
        if (gpu->inforom_mig)
                g_string_append_printf(text, "%s\n", gpu->uuid);

        if (!g_file_set_contents(kernel->inforom, text->str, (gssize) text->len, &error))
                g_warning("Failed to keep what %s remembers, ignoring: %s", gpu->uuid, error->message);
}

bool inforom_load(Kernel *kernel, HostSpec *host, const char *state_dir, GError **error) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        kernel->inforom = g_build_filename(state_dir, "inforom", NULL);
        kernel->save_inforom = save;
        if (!g_file_test(kernel->inforom, G_FILE_TEST_EXISTS))
                return true;
        if (!g_file_get_contents(kernel->inforom, &text, NULL, error))
                return false;

        lines = g_strsplit(text, "\n", -1);
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = host->gpus->pdata[i];

                gpu->inforom_mig = has_line(lines, gpu->uuid);
        }
        return true;
}
