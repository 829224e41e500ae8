/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <glib.h>

/* Files that people write: small, regular, and never waited for. */

/* The whole of @name below @dir_fd, with a NUL behind it that @ret_len does not count. False where it is not
 * there (CARVED_ERROR_ABSENT), is no regular file, is longer than @max, or can't be read; the error does not
 * name it. */
bool carved_file_read(int dir_fd, const char *name, size_t max, char **ret_text, size_t *ret_len,
                      GError **error);
