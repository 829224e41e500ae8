/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fuzz.h"
#include "snapshot.h"

/* What a worker that lost its mind might send. What is accepted must come back the same. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autoptr(CarvedGpu) empty = carved_gpu_new(&(CarvedPciAddress){ 0 }), gpu = NULL, again = NULL;
        g_autoptr(GVariant) model = g_variant_ref_sink(carved_snapshot_to_variant(empty)), variant = NULL,
                            back = NULL;
        g_autoptr(GBytes) bytes = g_bytes_new(data, size);

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        variant = g_variant_ref_sink(g_variant_new_from_bytes(g_variant_get_type(model), bytes, FALSE));
        gpu = carved_snapshot_from_variant(variant);
        if (!gpu)
                return 0;

        back = g_variant_ref_sink(carved_snapshot_to_variant(gpu));
        again = carved_snapshot_from_variant(back);
        g_assert(again);
        return 0;
}
