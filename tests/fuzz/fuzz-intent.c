/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "fuzz.h"
#include "store.h"

/* A GPU's file of any content: refused with a sentence, or the same again after it was written. */

static void check(const char *text, bool transient) {
        g_autoptr(CarvedIntent) intent = carved_intent_new(), again = carved_intent_new();
        g_autofree char *first = NULL, *second = NULL;
        g_autoptr(GError) error = NULL;

        if (!carved_store_parse_intent(text, transient, intent, &error)) {
                g_assert(error && error->domain == CARVED_ERROR && *error->message);
                g_assert(error->code == CARVED_ERROR_STATE_UNREADABLE ||
                         error->code == CARVED_ERROR_NOT_SUPPORTED);
                g_assert(g_utf8_validate(error->message, -1, NULL));
                g_assert(!intent->identity && intent->vfs == -1 && intent->vgpus->len == 0 && !intent->rest);
                return;
        }

        g_assert(!error && intent->identity);
        first = carved_store_format_intent(intent, transient);
        if (!first)
                return;
        g_assert(carved_store_parse_intent(first, transient, again, &error));
        second = carved_store_format_intent(again, transient);
        g_assert(second && strcmp(first, second) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup(size > 0 ? (const char *) data : "", size);

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        check(text, false);
        check(text, true);
        return 0;
}
