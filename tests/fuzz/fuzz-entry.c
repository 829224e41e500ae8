/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "fuzz.h"
#include "store.h"

/* A journal entry of any content: refused with a sentence, or the same again after it was written; and what
 * it says of a GPU can be read from that GPU's files. */

static void check_files(const CarvedIntent *intent) {
        g_autofree char *persistent = carved_store_format_intent(intent, false);
        g_autofree char *transient = carved_store_format_intent(intent, true);
        g_autoptr(CarvedIntent) back = carved_intent_new();
        g_autoptr(GError) error = NULL;

        g_assert(persistent && carved_store_parse_intent(persistent, false, back, &error));
        g_assert(!transient || carved_store_parse_intent(transient, true, back, &error));
        g_assert(back->generation == intent->generation && back->vfs == intent->vfs);
        g_assert(back->vfs_transient == intent->vfs_transient);
        g_assert(back->vgpus->len == intent->vgpus->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup(size > 0 ? (const char *) data : "", size), *first = NULL,
                        *second = NULL;
        g_autoptr(CarvedEntry) entry = NULL, again = NULL;
        g_autoptr(GError) error = NULL;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        entry = carved_entry_parse(text, &error);
        if (!entry) {
                g_assert(error && error->domain == CARVED_ERROR && *error->message);
                g_assert(g_utf8_validate(error->message, -1, NULL));
                return 0;
        }

        first = carved_entry_format(entry);
        again = carved_entry_parse(first, &error);
        g_assert(again && again->committed == entry->committed && again->gpus->len == entry->gpus->len);
        second = carved_entry_format(again);
        g_assert(strcmp(first, second) == 0);
        for (unsigned i = 0; i < entry->gpus->len; i++)
                check_files(((CarvedEntryGpu *) entry->gpus->pdata[i])->intent);
        return 0;
}
