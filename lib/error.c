/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"

/* clang-format off */
G_DEFINE_QUARK(carved-error-quark, carved_error)
/* clang-format on */

bool carved_error_set_errno(GError **error, int errnum, const char *format, ...) {
        g_autofree char *what = NULL;
        va_list args;

        va_start(args, format);
        what = g_strdup_vprintf(format, args);
        va_end(args);

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_KERNEL_REFUSED, "%s: %s", what, g_strerror(errnum));
        return false;
}

char *carved_quote(const char *text) {
        const size_t max = 80;
        const char *end = text + strlen(text);

        /* The bus takes no half characters. */
        if ((size_t) (end - text) > max)
                end = g_utf8_find_prev_char(text, text + max + 1) ?: text;
        return g_strdup_printf("'%.*s'", (int) (end - text), text);
}
