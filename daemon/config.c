/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "config.h"
#include "sriov.h"

#define SECTION          "Manager"
#define STEP_TIMEOUT_SEC 120U
#define STEP_TIMEOUT_MAX 86400U

static void load_timeout(Config *config, GKeyFile *file, const char *path) {
        g_autofree char *text = g_key_file_get_string(file, SECTION, "StepTimeoutSec", NULL);
        guint64 seconds;

        if (!text)
                return;
        if (!g_ascii_string_to_unsigned(text, 10, 1, STEP_TIMEOUT_MAX, &seconds, NULL)) {
                g_warning("%s: StepTimeoutSec=%s is not a number of seconds from 1 to %u, ignoring", path,
                          text, STEP_TIMEOUT_MAX);
                return;
        }
        config->step_timeout_usec = seconds * G_USEC_PER_SEC;
}

static void load_program(Config *config, GKeyFile *file, const char *path) {
        g_autofree char *text = g_key_file_get_string(file, SECTION, "SriovManage", NULL);

        if (!text)
                return;
        if (!g_path_is_absolute(text)) {
                g_warning("%s: SriovManage=%s is not an absolute path, ignoring", path, text);
                return;
        }
        g_free(config->sriov_manage);
        config->sriov_manage = g_steal_pointer(&text);
}

void config_load(Config *config, const char *path) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autoptr(GError) error = NULL;

        *config = (Config){ .sriov_manage = g_strdup(CARVED_SRIOV_MANAGE_PATH),
                            .step_timeout_usec = STEP_TIMEOUT_SEC * G_USEC_PER_SEC };
        if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &error)) {
                if (!g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
                        g_warning("Failed to read '%s', ignoring: %s", path, error->message);
                return;
        }

        load_timeout(config, file, path);
        load_program(config, file, path);
}

void config_clear(Config *config) {
        g_free(config->sriov_manage);
}
