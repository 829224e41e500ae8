/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.h"

typedef struct Piece {
        Style style;
        char *text;
} Piece;

struct Line {
        GArray *pieces;
};

struct Table {
        GPtrArray *columns; /* names */
        GArray *cells;      /* Piece */
};

static void piece_clear(void *p) {
        g_free(((Piece *) p)->text);
}

static GArray *pieces_new(void) {
        GArray *pieces = g_array_new(FALSE, FALSE, sizeof(Piece));

        g_array_set_clear_func(pieces, piece_clear);
        return pieces;
}

static Piece *add_piece(GArray *pieces, Style style, char *text) {
        Piece piece = { style, text };

        g_array_append_val(pieces, piece);
        return &g_array_index(pieces, Piece, pieces->len - 1);
}

/* Nearly all of them are one text, and there may be thousands. */
#define FORMAT(format, args)                                                                                 \
        (g_str_equal(format, "%s") ? g_strdup(va_arg(args, const char *)) : g_strdup_vprintf(format, args))

/* Most of what there is to say is ASCII, and there may be thousands of lines of it. */
static size_t plain_length(const char *text) {
        size_t n = 0;

        while (text[n] >= ' ' && text[n] < 0x7f)
                n++;
        return n;
}

unsigned text_width(const char *text) {
        unsigned width = (unsigned) plain_length(text);

        text += width;

        for (; *text; text = g_utf8_next_char(text)) {
                gunichar c = g_utf8_get_char_validated(text, -1);

                width += (c & 0x80000000) == 0 && g_unichar_iswide(c) ? 2 : 1;
        }
        return width;
}

/* As much of it as fits into @width, with dots at its end. */
static char *cut(const char *text, unsigned width) {
        unsigned dots = text_width(glyph(GLYPH_DOTS)), n = 0;
        const char *p = text;

        if (text_width(text) <= width)
                return g_strdup(text);
        while (*p && n + dots < width) {
                p = g_utf8_next_char(p);
                n++;
        }
        return g_strdup_printf("%.*s%s", (int) (p - text), text, glyph(GLYPH_DOTS));
}

/* What others wrote may hold anything: a label must not drive the terminal. */
static void append_clean(GString *out, const char *text) {
        size_t plain = plain_length(text);
        g_autofree char *valid = NULL;

        g_string_append_len(out, text, (gssize) plain);
        if (!text[plain])
                return;
        valid = g_utf8_make_valid(text + plain, -1);

        for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
                gunichar c = g_utf8_get_char(p);

                if (g_unichar_iscntrl(c))
                        g_string_append_c(out, ' ');
                else
                        g_string_append_unichar(out, c);
        }
}

static void append_styled(GString *out, Style s, const char *text) {
        g_string_append(out, s == STYLE_PLAIN ? "" : style(STDOUT, s));
        append_clean(out, text);
        g_string_append(out, s == STYLE_PLAIN ? "" : style(STDOUT, STYLE_PLAIN));
}

Line *line_new(void) {
        Line *line = g_new0(Line, 1);

        line->pieces = pieces_new();
        return line;
}

void line_add(Line *line, Style style, const char *format, ...) {
        va_list args;

        va_start(args, format);
        add_piece(line->pieces, style, FORMAT(format, args));
        va_end(args);
}

void line_end(Line *line, GString *out, unsigned columns) {
        unsigned total = 0, used = 0;

        for (unsigned i = 0; i < line->pieces->len; i++)
                total += text_width(g_array_index(line->pieces, Piece, i).text);
        for (unsigned i = 0; i < line->pieces->len; i++) {
                const Piece *piece = &g_array_index(line->pieces, Piece, i);
                unsigned width = text_width(piece->text), rest = columns - used;

                if (columns > 0 && total > columns && width + text_width(glyph(GLYPH_DOTS)) > rest) {
                        g_autofree char *some = cut(piece->text, rest);

                        append_styled(out, piece->style, some);
                        break;
                }
                append_styled(out, piece->style, piece->text);
                used += width;
        }
        g_string_append_c(out, '\n');
        g_array_unref(line->pieces);
        g_free(line);
}

/* ---- tables ---- */

Table *table_new(const char *const *columns) {
        Table *table = g_new0(Table, 1);

        table->columns = g_ptr_array_new();
        for (; *columns; columns++)
                g_ptr_array_add(table->columns, (char *) *columns);
        table->cells = pieces_new();
        return table;
}

Table *table_free(Table *table) {
        if (!table)
                return NULL;

        g_ptr_array_unref(table->columns);
        g_array_unref(table->cells);
        g_free(table);
        return NULL;
}

void table_add(Table *table, Style style, const char *format, ...) {
        Piece *piece;
        va_list args;

        va_start(args, format);
        piece = add_piece(table->cells, style, FORMAT(format, args));
        va_end(args);
        if (!*piece->text) {
                g_free(piece->text);
                *piece = (Piece){ STYLE_FAINT, g_strdup("-") };
        }
}

unsigned table_n_rows(const Table *table) {
        return table->cells->len / table->columns->len;
}

static void add_blanks(GString *out, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                g_string_append_c(out, ' ');
}

/* @cells: a row of them. What does not fit into @columns is cut. */
static void add_row(GString *out, const Piece *cells, const unsigned *widths, unsigned n, unsigned columns) {
        unsigned used = 0;

        for (unsigned i = 0; i < n; i++) {
                unsigned width = text_width(cells[i].text), end = used + (i + 1 < n ? widths[i] : width);

                if (columns > 0 && end > columns) {
                        g_autofree char *some = cut(cells[i].text, columns - used);

                        append_styled(out, cells[i].style, some);
                        break;
                }
                append_styled(out, cells[i].style, cells[i].text);
                used = end + 2;
                if (i + 1 == n)
                        break;
                if (columns > 0 && used >= columns) { /* there is more, and it is said if that fits */
                        add_blanks(out, widths[i] - width);
                        g_string_append(
                                out, end + text_width(glyph(GLYPH_DOTS)) <= columns ? glyph(GLYPH_DOTS) : "");
                        break;
                }
                add_blanks(out, widths[i] - width + 2);
        }
        g_string_append_c(out, '\n');
}

void table_print(const Table *table, GString *out, bool legend, unsigned columns) {
        unsigned n = table->columns->len;
        g_autofree unsigned *widths = g_new0(unsigned, n);
        g_autofree Piece *head = g_new0(Piece, n);

        for (unsigned i = 0; i < n && legend; i++) {
                head[i] = (Piece){ STYLE_STRONG, table->columns->pdata[i] };
                widths[i] = text_width(head[i].text);
        }
        for (unsigned i = 0; i < table->cells->len; i++)
                widths[i % n] = MAX(widths[i % n], text_width(g_array_index(table->cells, Piece, i).text));

        if (legend && table->cells->len > 0)
                add_row(out, head, widths, n, columns);
        for (unsigned row = 0; row < table_n_rows(table); row++)
                add_row(out, &g_array_index(table->cells, Piece, row * n), widths, n, columns);
}

/* ---- the pager ---- */

unsigned text_columns(const Ctl *ctl) {
        return ctl->full ? 0 : terminal_columns(STDOUT);
}

static const char *choose_pager(void) {
        static const char *const names[] = { "SYSTEMD_PAGER", "PAGER" };

        for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
                if (getenv(names[i]))
                        return getenv(names[i]);

        return "less";
}

static unsigned count_lines(const char *text) {
        unsigned n = 0;

        for (; *text; text++)
                n += *text == '\n';
        return n;
}

static bool print_paged(const char *text) {
        const char *pager = choose_pager();
        FILE *pipe;
        int status;

        if (!*pager || g_str_equal(pager, "cat"))
                return false;

        setenv("LESS", "FRSXMK", /* overwrite= */ false);
        setenv("LESSSECURE", "1", /* overwrite= */ true); /* under sudo nobody gets a shell from it */
        fflush(stdout);
        signal(SIGPIPE, SIG_IGN);
        pipe = popen(pager, "we");
        if (!pipe)
                return false;
        fputs(text, pipe);
        status = pclose(pipe);
        return !WIFEXITED(status) || WEXITSTATUS(status) != 127; /* there is none */
}

void text_print(const Ctl *ctl, const char *text) {
        bool is_long = is_terminal(STDOUT) && count_lines(text) >= terminal_rows();

        if (is_long && !ctl->no_pager && print_paged(text))
                return;
        fputs(text, stdout);
}
