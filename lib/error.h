/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* What a client can act on. The names that these have on the bus are the daemon's business. */

#define CARVED_ERROR (carved_error_quark())

typedef enum CarvedError {
        CARVED_ERROR_FAILED,
        CARVED_ERROR_ABSENT, /* nothing there to read; never leaves the library */
        CARVED_ERROR_NO_SUCH_GPU,
        CARVED_ERROR_NO_SUCH_VF,
        CARVED_ERROR_NO_SUCH_VGPU,
        CARVED_ERROR_NO_SUCH_TYPE,
        CARVED_ERROR_TYPE_NOT_AVAILABLE,
        CARVED_ERROR_NO_CAPACITY,
        CARVED_ERROR_NOT_SUPPORTED,
        CARVED_ERROR_NOT_READY,
        CARVED_ERROR_NOT_OURS,
        CARVED_ERROR_IN_USE,
        CARVED_ERROR_EXISTS,
        CARVED_ERROR_CONFLICT,
        CARVED_ERROR_KERNEL_REFUSED,
        CARVED_ERROR_UNDO_FAILED,
        CARVED_ERROR_STALLED,
        CARVED_ERROR_MISMATCH,
        CARVED_ERROR_STATE_UNREADABLE,
        CARVED_ERROR_CANCELLED,
        CARVED_ERROR_ACCESS_DENIED,
        CARVED_ERROR_INVALID_ARGS,
        CARVED_ERROR_LIMITS_EXCEEDED,
        _CARVED_ERROR_MAX
} CarvedError;

GQuark carved_error_quark(void);

/* What somebody wrote, for a sentence: the beginning of it, where it is long. */
char *carved_quote(const char *text);

/* "What we tried: what errno means". Always false, so that callers can return it. */
bool carved_error_set_errno(GError **error, int errnum, const char *format, ...) G_GNUC_PRINTF(3, 4);
