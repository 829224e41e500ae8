/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "fuzz.h"
#include "program.h"
#include "step.h"

/* What sriov-manage may say: kept as one line of text that the bus takes. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_auto(CarvedOutcome) outcome = { 0 };
        g_autoptr(GVariant) variant = NULL;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
        outcome.output = carved_program_line(size > 0 ? (const char *) data : "", size);
        g_assert(g_utf8_validate(outcome.output, -1, NULL));
        /* Three bytes for each that is no text, two for each line's end. */
        g_assert(strlen(outcome.output) <= 3 * size);
        for (const char *c = outcome.output; *c; c++)
                g_assert(!g_ascii_iscntrl(*c));
        variant = g_variant_ref_sink(carved_outcome_to_variant(&outcome));
        g_assert(g_variant_is_normal_form(variant));
        return 0;
}
