/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a table of operations and what must come of them, row by row, on the host it is started on: the
 * simulated one, or a real kernel. TABLE NAME=VALUE…: names given here win over the table's.
 *
 *   let NAME VALUE                      $NAME from here on
 *   before                              the lines that follow are run before each row
 *   row "promise" [sim-only|vm-only "why"]
 *                                       a row: the host is as after a boot, `before` is run, then its lines
 *     set NAME COMMAND                  $NAME is what a shell command says
 *     write PATH "TEXT" -> RESULT       one open, write, close; RESULT is ok or an errno
 *     read PATH -> "TEXT" | RESULT
 *     begin PATH "TEXT"                 a write that may take its time, in a thread …
 *     waits                             … is still under way (a read of an attribute came back meanwhile) …
 *     end -> RESULT                     … and now ends
 *     link PATH -> NAME                 a link, and the last part of where it leads
 *     is PATH / no PATH                 there is such a file, or not
 *     in PATH -> NAME NAME …            all that is in a directory
 *     run COMMAND -> CODE ["TEXT"]      a shell command, its exit code, and something it says
 *     host WORDS -> CODE                something done to the host, in carved-simctl's words
 *     events DEVICE -> LIST             all uevents of a device since the row began, in order, or none
 *     order ACTION DEVICE < ACTION DEVICE
 *     log "TEXT"                        the kernel has said so
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "events.h"
#include "table-host.h"

typedef struct Line {
        unsigned number;
        char **words;
} Line;

typedef struct Row {
        char *promise;
        GPtrArray *lines; /* of Line */
} Row;

typedef struct Table {
        const char *file;
        GHashTable *names;
        GHashTable *given; /* names of the command line */
        GPtrArray *before; /* of Line */
        GPtrArray *rows;   /* of Row */
        GPtrArray *others; /* of Row: for the other host only */

        Events *events;
        GThread *writer;
        char *writer_path, *writer_text;
        int writer_thread, writer_ended;
        GString *why; /* what went wrong in this row */
} Table;

static bool fail(Table *table, const Line *line, const char *format, ...) G_GNUC_PRINTF(3, 4);

static bool fail(Table *table, const Line *line, const char *format, ...) {
        va_list args;

        g_string_append_printf(table->why, "%s:%u: ", table->file, line->number);
        va_start(args, format);
        g_string_append_vprintf(table->why, format, args);
        va_end(args);
        g_string_append_c(table->why, '\n');
        return false;
}

static const char *result_name(int r) {
        return r < 0 ? strerrorname_np(-r) : "ok";
}

static int write_file(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        int r = 0;

        if (fd < 0)
                return -errno;
        if (write(fd, text, strlen(text)) < 0)
                r = -errno;
        if (close(fd) < 0 && r == 0)
                r = -errno;
        return r;
}

static int read_file(const char *path, char **ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        char text[65536];
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read(fd, text, sizeof text - 1);
        if (n < 0)
                return -errno;

        text[n] = '\0';
        *ret = g_strdup(text);
        return 0;
}

static bool expect(Table *table, const Line *line, const char *what, const char *got, const char *wanted) {
        if (g_str_equal(got, wanted))
                return true;
        return fail(table, line, "%s: wanted '%s', got '%s'", what, wanted, got);
}

static bool do_write(Table *table, const Line *line, char **w) {
        return expect(table, line, w[1], result_name(write_file(w[1], w[2])), w[4]);
}

static bool do_read(Table *table, const Line *line, char **w) {
        g_autofree char *text = NULL;
        int r = read_file(w[1], &text);

        return expect(table, line, w[1], r < 0 ? result_name(r) : text, w[3]);
}

static void *writer(void *data) {
        Table *table = data;
        int r;

        g_atomic_int_set(&table->writer_thread, gettid());
        r = write_file(table->writer_path, table->writer_text);
        g_atomic_int_set(&table->writer_ended, true);
        return GINT_TO_POINTER(r);
}

static bool do_begin(Table *table, const Line *line, char **w) {
        table->writer_path = g_strdup(w[1]);
        table->writer_text = g_strdup(w[2]);
        g_atomic_int_set(&table->writer_thread, 0);
        g_atomic_int_set(&table->writer_ended, false);
        table->writer = g_thread_new("writer", writer, table);

        while (!g_atomic_int_get(&table->writer_ended)) {
                int thread = g_atomic_int_get(&table->writer_thread);

                if (thread > 0 && host_in_hand(thread))
                        break;
        }
        return true;
}

static bool do_waits(Table *table, const Line *line, char **w) {
        g_usleep(50000); /* not to wait for something, but to give it the time to be wrong */
        return !g_atomic_int_get(&table->writer_ended) || fail(table, line, "the write has ended already");
}

static bool do_end(Table *table, const Line *line, char **w) {
        int r = GPOINTER_TO_INT(g_thread_join(g_steal_pointer(&table->writer)));

        return expect(table, line, table->writer_path, result_name(r), w[2]);
}

static bool do_link(Table *table, const Line *line, char **w) {
        g_autofree char *target = g_file_read_link(w[1], NULL);
        g_autofree char *name = target ? g_path_get_basename(target) : NULL;

        return expect(table, line, w[1], name ?: "no link", w[3]);
}

static bool do_is(Table *table, const Line *line, char **w) {
        return g_file_test(w[1], G_FILE_TEST_EXISTS) || fail(table, line, "there is no '%s'", w[1]);
}

static bool do_no(Table *table, const Line *line, char **w) {
        return !g_file_test(w[1], G_FILE_TEST_EXISTS) || fail(table, line, "there is a '%s'", w[1]);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static bool do_in(Table *table, const Line *line, char **w) {
        g_autoptr(GDir) dir = g_dir_open(w[1], 0, NULL);
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *got = NULL, *wanted = g_strjoinv(" ", w + 3);
        const char *name;

        while (dir && (name = g_dir_read_name(dir)))
                g_ptr_array_add(names, g_strdup(name));
        g_ptr_array_sort(names, compare_names);
        g_ptr_array_add(names, NULL);
        got = g_strjoinv(" ", (char **) names->pdata);
        return expect(table, line, w[1], got, wanted);
}

/* What it says, on both channels, and its exit code; NULL if there is no shell. */
static char *shell(const char *command, int *ret_code) {
        const char *argv[] = { "sh", "-c", command, NULL };
        g_autofree char *out = NULL, *err = NULL;
        int status = -1;

        if (!g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, &status,
                          NULL))
                return NULL;

        *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return g_strconcat(out, err, NULL);
}

static bool do_run(Table *table, const Line *line, char **w) {
        g_autofree char *all = NULL, *code = NULL;
        int r = -1;

        all = shell(w[1], &r);
        code = g_strdup_printf("%d", r);
        if (!all || !g_str_equal(code, w[3]))
                return fail(table, line, "'%s' exits with %s: %s", w[1], code, all ?: "no shell");
        return !w[4] || strstr(all, w[4]) ||
               fail(table, line, "'%s' does not say '%s' but '%s'", w[1], w[4], all);
}

static bool do_set(Table *table, const Line *line, char **w) {
        int r = -1;
        char *all = shell(w[2], &r);

        if (r != 0) {
                g_free(all);
                return fail(table, line, "'%s' exits with %d", w[2], r);
        }
        g_hash_table_insert(table->names, g_strdup(w[1]), g_strchomp(all));
        return true;
}

static bool do_host(Table *table, const Line *line, char **w) {
        unsigned n = g_strv_length(w);
        g_auto(GStrv) words = g_strdupv(w + 1);
        g_autofree char *code = NULL, *said = NULL;
        char *text = NULL;

        /* All between `host` and the arrow. */
        g_clear_pointer(&words[n - 2], g_free);
        g_clear_pointer(&words[n - 3], g_free);
        code = g_strdup_printf("%d", host_ask((const char *const *) words, &text));
        said = g_strdup(text);
        free(text);
        return g_str_equal(code, w[n - 1]) ||
               fail(table, line, "host %s: exit code %s, '%s'", words[0], code, said ?: "");
}

static bool do_events(Table *table, const Line *line, char **w) {
        g_autofree char *got = NULL, *wanted = g_strjoinv(" ", w + 3);

        events_drain(table->events);
        got = events_of(table->events, w[1]);
        return expect(table, line, w[1], got, wanted);
}

static bool do_order(Table *table, const Line *line, char **w) {
        int first, second;

        events_drain(table->events);
        first = events_index(table->events, w[1], w[2]);
        second = events_index(table->events, w[4], w[5]);
        return (first >= 0 && second > first) ||
               fail(table, line, "'%s' of %s is event %d, '%s' of %s event %d", w[1], w[2], first, w[4], w[5],
                    second);
}

static bool do_log(Table *table, const Line *line, char **w) {
        char *text = host_log();
        bool found = text && strstr(text, w[1]);

        free(text);
        return found || fail(table, line, "the kernel has not said '%s'", w[1]);
}

static const struct {
        const char *name;
        unsigned min; /* words, itself included */
        bool (*run)(Table *table, const Line *line, char **words);
} verbs[] = {
        { "write", 5, do_write }, { "read", 4, do_read }, { "begin", 3, do_begin },
        { "waits", 1, do_waits }, { "end", 3, do_end },   { "link", 4, do_link },
        { "is", 2, do_is },       { "no", 2, do_no },     { "in", 3, do_in },
        { "run", 4, do_run },     { "host", 4, do_host }, { "events", 4, do_events },
        { "order", 6, do_order }, { "log", 2, do_log },   { "set", 3, do_set },
};

/* "$NAME" anywhere in a word. */
static char *expand(Table *table, const char *word) {
        GString *text = g_string_new(NULL);

        while (*word) {
                size_t len = 1;
                const char *value;
                g_autofree char *name = NULL;

                if (*word != '$') {
                        g_string_append_c(text, *word++);
                        continue;
                }
                while (g_ascii_isalnum(word[len]))
                        len++;
                name = g_strndup(word + 1, len - 1);
                value = g_hash_table_lookup(table->names, name);
                g_string_append(text, value ?: "");
                if (!value)
                        g_string_append_printf(text, "$%s", name);
                word += len;
        }

        return g_string_free(text, FALSE);
}

static void line_free(Line *line) {
        g_strfreev(line->words);
        g_free(line);
}

static void row_free(Row *row) {
        g_free(row->promise);
        g_ptr_array_unref(row->lines);
        g_free(row);
}

/* Words, with "…" and C escapes. */
static char **split(const char *text) {
        GPtrArray *words = g_ptr_array_new();

        for (;;) {
                g_autofree char *raw = NULL;
                size_t len;

                text += strspn(text, " \t");
                if (!*text || *text == '#')
                        break;
                if (*text == '"') {
                        for (len = 1; text[len] && text[len] != '"'; len++)
                                len += text[len] == '\\' && text[len + 1];
                        raw = g_strndup(text + 1, len - 1);
                        g_ptr_array_add(words, g_strcompress(raw));
                        len += text[len] == '"';
                } else {
                        len = strcspn(text, " \t");
                        g_ptr_array_add(words, g_strndup(text, len));
                }
                text += len;
        }

        g_ptr_array_add(words, NULL);
        return (char **) g_ptr_array_free(words, FALSE);
}

/* A row that can't be had on this host is explained in the table, and is none of ours. */
static bool is_for_us(Table *table, unsigned number, char **words) {
        g_autofree char *only = g_strconcat(host_kind, "-only", NULL);

        if (!words[2])
                return true;
        if ((!g_str_equal(words[2], "sim-only") && !g_str_equal(words[2], "vm-only")) || !words[3] ||
            words[4])
                g_error("%s:%u: a row is sim-only or vm-only, and says why", table->file, number);
        return g_str_equal(words[2], only);
}

static void parse_line(Table *table, GPtrArray **lines, unsigned number, char **words) {
        if (g_str_equal(words[0], "let") && words[1] && words[2]) {
                if (!g_hash_table_contains(table->given, words[1]))
                        g_hash_table_insert(table->names, g_strdup(words[1]), expand(table, words[2]));
        } else if (g_str_equal(words[0], "before")) {
                *lines = table->before;
        } else if (g_str_equal(words[0], "row") && words[1]) {
                Row *row = g_new(Row, 1);

                *row = (Row){ g_strdup(words[1]),
                              g_ptr_array_new_with_free_func((GDestroyNotify) line_free) };
                g_ptr_array_add(is_for_us(table, number, words) ? table->rows : table->others, row);
                *lines = row->lines;
        } else if (*lines) {
                Line *line = g_new(Line, 1);

                *line = (Line){ number, g_strdupv(words) };
                g_ptr_array_add(*lines, line);
        } else {
                g_error("%s:%u: '%s' stands before the first row", table->file, number, words[0]);
        }
}

static void parse(Table *table) {
        g_autofree char *text = NULL;
        g_auto(GStrv) texts = NULL;
        GPtrArray *lines = NULL;

        if (!g_file_get_contents(table->file, &text, NULL, NULL))
                g_error("%s: can't be read", table->file);

        texts = g_strsplit(text, "\n", -1);
        for (unsigned i = 0; texts[i]; i++) {
                g_auto(GStrv) words = split(texts[i]);

                if (words[0])
                        parse_line(table, &lines, i + 1, words);
        }
}

static bool run_line(Table *table, const Line *line) {
        unsigned n = g_strv_length(line->words);
        g_auto(GStrv) words = g_new0(char *, n + 1);
        size_t v = 0;

        while (v < G_N_ELEMENTS(verbs) && !g_str_equal(verbs[v].name, line->words[0]))
                v++;
        if (v == G_N_ELEMENTS(verbs) || n < verbs[v].min)
                return fail(table, line, "'%s' is not understood", line->words[0]);

        for (unsigned i = 0; i < n; i++)
                words[i] = expand(table, line->words[i]);
        return verbs[v].run(table, line, words);
}

static bool run_lines(Table *table, GPtrArray *lines) {
        for (unsigned i = 0; i < lines->len; i++)
                if (!run_line(table, lines->pdata[i]))
                        return false;
        return true;
}

static bool run_row(Table *table, Row *row) {
        bool ok;

        g_string_truncate(table->why, 0);
        if (!host_reset()) {
                g_string_append(table->why, "the host can't be had as after a boot\n");
                return false;
        }

        events_forget(table->events);
        ok = run_lines(table, table->before);
        events_forget(table->events);
        ok = ok && run_lines(table, row->lines);

        /* A write that still waits must not outlive its row. */
        if (table->writer) {
                host_reset();
                g_thread_join(g_steal_pointer(&table->writer));
        }
        g_clear_pointer(&table->writer_path, g_free);
        g_clear_pointer(&table->writer_text, g_free);
        return ok;
}

static void table_init(Table *table, char **arguments) {
        table->file = arguments[0];
        table->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        table->given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        table->before = g_ptr_array_new_with_free_func((GDestroyNotify) line_free);
        table->rows = g_ptr_array_new_with_free_func((GDestroyNotify) row_free);
        table->others = g_ptr_array_new_with_free_func((GDestroyNotify) row_free);
        table->why = g_string_new(NULL);
        table->events = events_new();

        for (char **argument = arguments + 1; *argument; argument++) {
                const char *equals = strchr(*argument, '=');

                g_assert(equals);
                g_hash_table_insert(table->given, g_strndup(*argument, equals - *argument),
                                    g_strdup(equals + 1));
                g_hash_table_insert(table->names, g_strndup(*argument, equals - *argument),
                                    g_strdup(equals + 1));
        }
}

static void table_clear(Table *table) {
        events_free(table->events);
        g_hash_table_unref(table->names);
        g_hash_table_unref(table->given);
        g_ptr_array_unref(table->before);
        g_ptr_array_unref(table->rows);
        g_ptr_array_unref(table->others);
        g_string_free(table->why, TRUE);
}

int main(int argc, char *argv[]) {
        Table table = {};
        unsigned failed = 0;

        g_assert(argc >= 2);
        table_init(&table, argv + 1);
        parse(&table);
        host_open(table.given);

        printf("1..%u\n", table.rows->len);
        for (unsigned i = 0; i < table.rows->len; i++) {
                Row *row = table.rows->pdata[i];
                bool ok = run_row(&table, row);

                failed += !ok;
                printf("%s %u - %s\n", ok ? "ok" : "not ok", i + 1, row->promise);
                if (!ok)
                        fprintf(stderr, "%s", table.why->str);
                fflush(NULL);
        }

        host_close();
        table_clear(&table);
        return failed > 0;
}
