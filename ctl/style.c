/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <glib.h>

#include "style.h"

static const char *const sequences[_STYLE_MAX] = {
        [STYLE_PLAIN] = "\033[0m", [STYLE_STRONG] = "\033[1m", [STYLE_FAINT] = "\033[90m",
        [STYLE_GOOD] = "\033[32m", [STYLE_WARN] = "\033[33m",  [STYLE_BAD] = "\033[1;31m",
};

static const char *const glyphs[_GLYPH_MAX][2] = {
        [GLYPH_BRANCH] = { "|-", "├─" }, [GLYPH_LAST] = { "`-", "└─" }, [GLYPH_DOWN] = { "| ", "│ " },
        [GLYPH_ARROW] = { "->", "→" },   [GLYPH_DONE] = { "ok", "✓" },  [GLYPH_FAILED] = { "failed:", "✗" },
        [GLYPH_TIMES] = { "x", "×" },    [GLYPH_DOTS] = { "...", "…" },
};

static const char *const turns[2][8] = {
        { "-", "\\", "|", "/", "-", "\\", "|", "/" },
        { "⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏" },
};

/* Options of the process, as read from its environment. */
static bool coloured[2];
static bool utf8;

bool is_terminal(Stream stream) {
        return isatty(stream == STDOUT ? STDOUT_FILENO : STDERR_FILENO);
}

static bool is_coloured(Stream stream) {
        const char *no = getenv("NO_COLOR"), *wanted = getenv("SYSTEMD_COLORS"), *term = getenv("TERM");

        if (wanted && *wanted)
                return !strchr("0nNfF", *wanted) && g_ascii_strcasecmp(wanted, "off") != 0;
        if (no && *no)
                return false;

        return is_terminal(stream) && g_strcmp0(term, "dumb") != 0;
}

void style_init(void) {
        setlocale(LC_ALL, "");
        utf8 = g_str_equal(nl_langinfo(CODESET), "UTF-8");
        coloured[STDOUT] = is_coloured(STDOUT);
        coloured[STDERR] = is_coloured(STDERR);
}

const char *style(Stream stream, Style s) {
        return coloured[stream] ? sequences[s] : "";
}

const char *glyph(Glyph g) {
        return glyphs[g][utf8];
}

const char *spinner(unsigned turn) {
        return turns[utf8][turn % G_N_ELEMENTS(turns[0])];
}

static bool measure(Stream stream, struct winsize *ret) {
        int fd = stream == STDOUT ? STDOUT_FILENO : STDERR_FILENO;

        return isatty(fd) && ioctl(fd, TIOCGWINSZ, ret) >= 0;
}

unsigned terminal_columns(Stream stream) {
        struct winsize size;

        if (!measure(stream, &size))
                return 0;

        return size.ws_col > 0 ? size.ws_col : 80;
}

unsigned terminal_rows(void) {
        struct winsize size;

        if (!measure(STDOUT, &size))
                return 0;

        return size.ws_row > 0 ? size.ws_row : 24;
}
