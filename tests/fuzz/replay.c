/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>

#include <glib.h>

#include "fuzz.h"

/* Runs a fuzzer's target over its corpus, with any compiler: what was found once stays found. TAP on stdout.
 */

static void replay(const char *dir, const char *name, unsigned number) {
        g_autofree char *path = g_build_filename(dir, name, NULL), *text = NULL;
        g_autofree uint8_t *exact = NULL;
        g_autoptr(GError) error = NULL;
        size_t len;

        if (!g_file_get_contents(path, &text, &len, &error)) {
                printf("not ok %u - %s: %s\n", number, name, error->message);
                exit(EXIT_FAILURE);
        }

        /* Without the NUL that GLib puts behind it: a sanitizer then sees a read too far. */
        exact = g_memdup2(text, len);
        LLVMFuzzerTestOneInput(exact, len);
        printf("ok %u - %s\n", number, name);
}

int main(int argc, char *argv[]) {
        g_autoptr(GDir) dir = NULL;
        g_autoptr(GError) error = NULL;
        const char *name;
        unsigned n = 0;

        if (argc != 2) {
                fprintf(stderr, "Usage: %s CORPUS\n", argv[0]);
                return EXIT_FAILURE;
        }
        dir = g_dir_open(argv[1], 0, &error);
        if (!dir) {
                fprintf(stderr, "%s\n", error->message);
                return EXIT_FAILURE;
        }

        while ((name = g_dir_read_name(dir)))
                replay(argv[1], name, ++n);
        printf("1..%u\n", n);
        return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
