/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include <systemd/sd-journal.h>

#include "fail.h"
#include "journal.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_journal, sd_journal_close)

static void line_clear(void *p) {
        g_free(((JournalLine *) p)->message);
}

/* A field's value; NULL: it has none. */
static char *get_field(sd_journal *j, const char *field) {
        size_t len, skip = strlen(field) + 1;
        const void *data;

        if (sd_journal_get_data(j, field, &data, &len) < 0 || len < skip)
                return NULL;

        return g_strndup((const char *) data + skip, len - skip);
}

/* One entry may be about several: each has a field of its own. */
static bool has_field(sd_journal *j, const char *field, const char *value) {
        g_autofree char *wanted = g_strdup_printf("%s=%s", field, value);
        const void *data;
        size_t len;

        SD_JOURNAL_FOREACH_DATA(j, data, len)
        if (len == strlen(wanted) && memcmp(data, wanted, len) == 0)
                return true;

        return false;
}

static bool is_about(sd_journal *j, const char *message, char **words) {
        for (char **word = words; word && *word; word++)
                if (strstr(message, *word) || has_field(j, "CARVED_GPU", *word) ||
                    has_field(j, "CARVED_VGPU", *word))
                        return true;

        return !words || !*words;
}

static void take(sd_journal *j, char **words, int priority, GArray *lines) {
        g_autofree char *message = get_field(j, "MESSAGE"), *level = get_field(j, "PRIORITY");
        JournalLine line = { .priority = level ? atoi(level) : LOG_INFO };

        if (!message || line.priority > priority || !is_about(j, message, words) ||
            sd_journal_get_realtime_usec(j, &line.usec) < 0)
                return;

        line.message = g_steal_pointer(&message);
        g_array_append_val(lines, line);
}

GArray *journal_read(char **words, int priority, unsigned max, GError **error) {
        g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(JournalLine));
        g_autoptr(sd_journal) j = NULL;
        int r;

        g_array_set_clear_func(lines, line_clear);
        r = sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY);
        if (r >= 0)
                r = sd_journal_add_match(j, "_SYSTEMD_UNIT=carved.service", 0);
        if (r >= 0)
                r = sd_journal_seek_tail(j);
        if (r < 0) {
                g_set_error(error, CTL_ERROR, CTL_FAILED, "The journal can't be read: %s", g_strerror(-r));
                return NULL;
        }
        while ((max == 0 || lines->len < max) && sd_journal_previous(j) > 0)
                take(j, words, priority, lines);

        for (unsigned i = 0; i < lines->len / 2; i++) {
                JournalLine *a = &g_array_index(lines, JournalLine, i),
                            *b = &g_array_index(lines, JournalLine, lines->len - 1 - i), swap = *a;

                *a = *b;
                *b = swap;
        }
        return g_steal_pointer(&lines);
}
