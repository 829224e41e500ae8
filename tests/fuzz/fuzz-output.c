/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "program.h"
#include "step.h"

/* What sriov-manage may say: kept as one line of text that the bus takes. A program of its own says it here.
 */

#define OUTPUT_MAX                                                                                           \
        (4U * 64 * 1024) /* what is kept, with a blank and a semicolon for each line and three bytes for     \
                            each that is none */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int fd = memfd_create("said", 0);
        g_autofree char *path = g_strdup_printf("/proc/%d/fd/%d", getpid(), fd), *said = NULL;
        const char *const argv[] = { "/bin/cat", path, NULL };
        g_auto(CarvedOutcome) outcome = { 0 };
        g_autoptr(GVariant) variant = NULL;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
        g_assert(fd >= 0 && write(fd, data, size) == (ssize_t) size);
        g_assert(carved_program_run(argv, &said) == 0);
        close(fd);
        g_assert(g_utf8_validate(said, -1, NULL) && strlen(said) <= OUTPUT_MAX);
        for (const char *c = said; *c; c++)
                g_assert(!g_ascii_iscntrl(*c));
        outcome.output = g_steal_pointer(&said);
        variant = g_variant_ref_sink(carved_outcome_to_variant(&outcome));
        g_assert(g_variant_is_normal_form(variant));
        return 0;
}
