/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "progress.h"
#include "style.h"
#include "text.h"

struct Progress {
        bool quiet, live;
        char *words;
        const char *note;
        char **plan; /* NULL: not known yet */
        unsigned step, told;
        int64_t began; /* the step */
        unsigned turn;
};

Progress *progress_new(const Ctl *ctl) {
        Progress *p = g_new0(Progress, 1);

        p->quiet = ctl->quiet || ctl->dry_run;
        p->live = !p->quiet && is_terminal(STDERR);
        return p;
}

Progress *progress_free(Progress *p) {
        if (!p)
                return NULL;

        g_free(p->words);
        g_strfreev(p->plan);
        g_free(p);
        return NULL;
}

static void wipe(Progress *p) {
        if (p->live)
                fputs("\r\033[K", stderr);
}

static double seconds_since(int64_t began) {
        return (double) (g_get_monotonic_time() - began) / G_USEC_PER_SEC;
}

/* The one that moves is cut to the terminal: a line that wraps can't be wiped. */
static void print_line(Style s, const char *mark, const char *text, double seconds, bool moves) {
        unsigned columns = moves ? terminal_columns(STDERR) : 0, width;
        g_autofree char *end = g_strdup_printf("  %.1f s", seconds);
        g_autoptr(GString) out = g_string_new(NULL);
        Line *line = line_new();

        width = text_width(mark) + 1 + text_width(end) + 1;
        line_add(line, STYLE_PLAIN, "%s", text);
        line_end(line, out, columns > width ? columns - width : columns);
        g_string_truncate(out, out->len - 1); /* its newline */
        fprintf(stderr, "%s%s%s %s%s%s%s", style(STDERR, s), mark, style(STDERR, STYLE_PLAIN), out->str,
                style(STDERR, STYLE_FAINT), end, style(STDERR, STYLE_PLAIN));
}

static char *words_of(const Progress *p, unsigned step) {
        unsigned n = p->plan ? g_strv_length(p->plan) : 0;

        if (step >= 1 && step <= n)
                return g_strdup_printf("step %u of %u: %s", step, n, p->plan[step - 1]);

        return g_strdup(p->words);
}

static void draw(Progress *p) {
        g_autofree char *words = words_of(p, p->step), *text = NULL;

        if (!p->live)
                return;
        text = p->note ? g_strdup_printf("%s (%s)", words, p->note) : g_strdup(words);
        wipe(p);
        print_line(p->note ? STYLE_WARN : STYLE_PLAIN, spinner(p->turn), text, seconds_since(p->began),
                   /* moves= */ true);
        fflush(stderr);
}

/* What is behind us is told as done, and the one at hand as begun. */
static void tell(Progress *p, unsigned done) {
        while (p->told < done) {
                g_autofree char *words = words_of(p, ++p->told);

                if (p->live) {
                        wipe(p);
                        print_line(STYLE_GOOD, glyph(GLYPH_DONE), words, seconds_since(p->began), false);
                        fputc('\n', stderr);
                }
                p->began = g_get_monotonic_time();
        }
}

static void tell_plain(Progress *p, unsigned begun) {
        while (!p->live && !p->quiet && p->told < begun) {
                g_autofree char *words = words_of(p, ++p->told);

                fprintf(stderr, "%s\n", words);
        }
}

void progress_begin(Progress *p, const char *words) {
        g_free(p->words);
        p->words = g_strdup(words);
        g_clear_pointer(&p->plan, g_strfreev);
        p->step = p->told = 0;
        p->note = NULL;
        p->began = g_get_monotonic_time();
        draw(p);
}

void progress_step(Progress *p, unsigned step, char **plan) {
        if (plan) {
                g_strfreev(p->plan);
                p->plan = g_strdupv(plan);
        }
        if (p->quiet || !p->plan || step < p->step) /* on its way back */
                return;

        p->step = step;
        if (p->live)
                tell(p, step > 0 ? step - 1 : 0);
        else
                tell_plain(p, step);
        draw(p);
}

void progress_note(Progress *p, const char *note) {
        if (g_strcmp0(p->note, note) == 0)
                return;

        p->note = note;
        draw(p);
}

void progress_tick(Progress *p) {
        p->turn++;
        draw(p);
}

void progress_end(Progress *p, ProgressEnd how) {
        unsigned n = p->plan ? g_strv_length(p->plan) : 0;
        bool done = how == PROGRESS_DONE;
        g_autofree char *words = NULL;

        if (p->quiet)
                return;
        if (done && p->live)
                tell(p, n);
        else if (done)
                tell_plain(p, n);
        wipe(p);
        if (done && n == 0)
                fprintf(stderr, "%s: done\n", p->words);
        if (how == PROGRESS_FAILED && p->live && p->step > 0) {
                words = words_of(p, p->step);
                print_line(STYLE_BAD, glyph(GLYPH_FAILED), words, seconds_since(p->began), false);
                fputc('\n', stderr);
        }
        fflush(stderr);
}
