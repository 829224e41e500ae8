/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <glib.h>

/* Sections in brackets, keys and values, comments in lines that begin with # or ;. No quotes, no continuation
 * lines: what a line says is all in it. Blanks around names and values do not count. */

#define CARVED_INI_MAX (1024U * 1024)

/* One line. Its texts are gone when the callback returns. */
typedef struct CarvedIniItem {
        unsigned line;       /* from 1 */
        const char *section; /* in which it is; NULL: before the first one, and @value is the whole line */
        const char *key;     /* NULL: here the section begins */
        const char *value;   /* may be empty */
} CarvedIniItem;

typedef void (*CarvedIniTake)(const CarvedIniItem *item, void *userdata);

/* What comes before a line that can't be understood is given to @take all the same. False: this is no such
 * text, because of what is in line @ret_line. */
bool carved_ini_parse(const char *text, size_t len, CarvedIniTake take, void *userdata, unsigned *ret_line,
                      GError **error);
