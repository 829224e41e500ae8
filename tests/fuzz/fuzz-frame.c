/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "frame.h"
#include "fuzz.h"
#include "mdevctl.h"
#include "snapshot.h"
#include "step.h"

/* What a worker that lost its mind might write to the daemon, or somebody else to a worker: taken apart frame
 * by frame, and each value tried as all that it could be. */

static void try_value(GVariant *value) {
        g_auto(CarvedOutcome) outcome = { 0 };
        g_autoptr(CarvedGpu) gpu = carved_snapshot_from_variant(value);
        CarvedStep *step = carved_step_from_variant(value);

        g_assert(!gpu || gpu->vfs);
        if (step) {
                g_autofree char *words = carved_step_describe(step);
                g_autoptr(GPtrArray) back = carved_step_inverse(step);

                g_assert(*words && back);
        }
        carved_step_free(step);
        if (carved_outcome_from_variant(value, &outcome)) {
                g_autofree char *users = carved_users_to_text(outcome.users);
                g_autoptr(GVariant) again = g_variant_ref_sink(carved_outcome_to_variant(&outcome));

                g_assert(g_variant_is_normal_form(again) && (!users || *users));
        }
        if (g_variant_is_of_type(value, G_VARIANT_TYPE(CARVED_MDEVCTL_TYPE))) {
                g_autoptr(GPtrArray) complaints = NULL,
                                     definitions = carved_mdevctl_from_variant(value, &complaints);

                g_assert(!definitions || complaints);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autoptr(GByteArray) buffer = g_byte_array_new();
        Frame frame;
        int r;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
        g_byte_array_append(buffer, data, (guint) size);
        do {
                guint before = buffer->len;

                r = frame_take(buffer, &frame);
                if (r > 0) {
                        g_assert(buffer->len < before);
                        try_value(frame.value);
                        frame_clear(&frame);
                }
        } while (r > 0);
        return 0;
}
