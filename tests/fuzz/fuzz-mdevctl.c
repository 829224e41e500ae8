/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fuzz.h"
#include "mdevctl.h"

/* One definition of mdevctl's, as somebody edited it. And, with the same bytes, what a worker that lost its
 * mind might send of all of them. */

static void check_text(const uint8_t *data, size_t size) {
        g_autoptr(GError) error = NULL;
        g_autofree char *type = NULL;
        bool autostart;

        if (!carved_mdevctl_parse((const char *) data, size, &type, &autostart, &error)) {
                g_assert(error && !type);
                return;
        }
        g_assert(!error && *type && g_utf8_validate(type, -1, NULL));
}

static void check_variant(const uint8_t *data, size_t size) {
        g_autoptr(GBytes) bytes = g_bytes_new(data, size);
        g_autoptr(GVariant) variant = g_variant_ref_sink(
                g_variant_new_from_bytes(G_VARIANT_TYPE(CARVED_MDEVCTL_TYPE), bytes, FALSE));
        g_autoptr(GPtrArray) list = NULL, complaints = NULL, again = NULL, complaints_again = NULL;
        g_autoptr(GVariant) back = NULL;

        list = carved_mdevctl_from_variant(variant, &complaints);
        if (!list)
                return;

        back = g_variant_ref_sink(carved_mdevctl_to_variant(list, complaints));
        again = carved_mdevctl_from_variant(back, &complaints_again);
        g_assert(again && again->len == list->len && complaints->len == complaints_again->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        check_text(data, size);
        check_variant(data, size);
        return 0;
}
