/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* Other people's programs, run as a person would. */

/* What it prints on both channels; @ret_code, if given, is its exit code, else anything but 0 fails
 * the test. */
char *shell(int *ret_code, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* How many lines of @text contain @part. */
unsigned lines_with(const char *text, const char *part);

/* Asks again until it is so, for half a minute: for what other processes do in their own time. */
bool comes_true(bool (*is_so)(void *data), void *data);
