/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* What the terminal can show: colours on it, characters in it. */

typedef enum Stream {
        STDOUT,
        STDERR,
} Stream;

typedef enum Style {
        STYLE_PLAIN,
        STYLE_STRONG,
        STYLE_FAINT,
        STYLE_GOOD,
        STYLE_WARN,
        STYLE_BAD,
        _STYLE_MAX,
} Style;

typedef enum Glyph {
        GLYPH_BRANCH,
        GLYPH_LAST,
        GLYPH_DOWN,
        GLYPH_ARROW,
        GLYPH_DONE,
        GLYPH_FAILED,
        GLYPH_TIMES,
        GLYPH_DOTS,
        _GLYPH_MAX,
} Glyph;

/* Reads the environment: LC_*, NO_COLOR, SYSTEMD_COLORS, TERM. */
void style_init(void);

/* "" where there is no colour. */
const char *style(Stream stream, Style style);

/* As the locale has them, or in ASCII. */
const char *glyph(Glyph glyph);
const char *spinner(unsigned turn);

bool is_terminal(Stream stream);

/* Of the terminal on standard output, or standard error; 0: it is none. */
unsigned terminal_columns(Stream stream);
unsigned terminal_rows(void);
