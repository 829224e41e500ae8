/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <unistd.h>

#include "config.h"
#include "fuzz.h"

/* What an operator may have written into carved.conf: complaints, or values that can be worked with. */

static char directory[] = "/dev/shm/carved-fuzz-XXXXXX";

static void remove_directory(void) {
        g_autofree char *file = g_strdup_printf("%s/carved.conf", directory);

        unlink(file);
        rmdir(directory);
}

static void take_warning(const char *sentence, void *userdata) {
        g_assert(*sentence && g_utf8_validate(sentence, -1, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static bool made;
        const char *const roots[] = { directory, NULL };
        g_autofree char *file = NULL;
        Config config;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
        if (!made) {
                g_assert(mkdtemp(directory));
                atexit(remove_directory);
                made = true;
        }
        file = g_strdup_printf("%s/carved.conf", directory);
        g_assert(g_file_set_contents_full(file, (const char *) data, (gssize) size, G_FILE_SET_CONTENTS_NONE,
                                          0600, NULL));
        if (!config_load(roots, take_warning, NULL, &config))
                return 0;

        g_assert(config.repair < _REPAIR_MAX && *config.sriov_manage == '/');
        g_assert(config.step_timeout_usec >= G_USEC_PER_SEC && config.restore_timeout_usec >= G_USEC_PER_SEC);
        config_manages(&config, &(CarvedPciAddress){ .bus = 8 }, 0x10de, 0x25b6);
        config_clear(&config);
        return 0;
}
