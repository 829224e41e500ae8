/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"
#include "style.h"

/* What is printed: lines of coloured pieces, tables of them; in one piece, through a pager where it is long.
 */

typedef struct Line Line;

Line *line_new(void);
void line_add(Line *line, Style style, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Appends it to @out and frees it. On a terminal it is cut to @columns; 0: it is not. */
void line_end(Line *line, GString *out, unsigned columns);

typedef struct Table Table;

/* Names of columns, NULL at the end. */
Table *table_new(const char *const *columns);
Table *table_free(Table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* Cells from left to right, row by row. An empty one is shown as "-". */
void table_add(Table *table, Style style, const char *format, ...) G_GNUC_PRINTF(3, 4);
unsigned table_n_rows(const Table *table);

/* Lines are cut to @columns; 0: they are not. */
void table_print(const Table *table, GString *out, bool legend, unsigned columns);

/* How wide a line may be: as the terminal, unless told otherwise; 0: as it is. */
unsigned text_columns(const Ctl *ctl);

/* On standard output, through a pager where it is longer than the terminal. */
void text_print(const Ctl *ctl, const char *text);

/* Columns that it takes. */
unsigned text_width(const char *text);
