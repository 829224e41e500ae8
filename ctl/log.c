/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <syslog.h>

#include "fail.h"
#include "journal.h"
#include "json.h"
#include "link.h"
#include "resolve.h"
#include "text.h"
#include "verbs.h"

/* What carved did, to one object or to all. */

/* The names it goes by in messages. What is gone is looked for as it was typed. */
static bool names_of(Ctl *ctl, const char *text, GPtrArray *names, GError **error) {
        g_autoptr(Host) host = NULL;
        g_autoptr(GError) e = NULL;
        const Thing *thing = NULL;

        if (link_open(ctl, NULL))
                host = host_load(ctl, NULL);
        if (host)
                thing = resolve(host, text, WANT_ANY, &e);
        if (e && fail_exit_code(e) == EXIT_USAGE) {
                g_propagate_error(error, g_steal_pointer(&e));
                return false;
        }
        if (thing && thing->kind == KIND_JOB) /* "create-vgpu on GPU …, job 12, …" */
                g_ptr_array_add(names,
                                g_strdup_printf(", job %u,", (unsigned) thing_number(thing, JOB, "Id")));
        else
                g_ptr_array_add(names, g_strdup(thing ? thing_name(thing) : text));
        return true;
}

static Style style_of_priority(int priority) {
        return priority <= LOG_ERR       ? STYLE_BAD
               : priority <= LOG_WARNING ? STYLE_WARN
               : priority <= LOG_NOTICE  ? STYLE_STRONG
                                         : STYLE_PLAIN;
}

static void print_json(Ctl *ctl, GArray *lines) {
        g_autoptr(JsonArray) array = json_array_new();

        for (unsigned i = 0; i < lines->len; i++) {
                const JournalLine *line = &g_array_index(lines, JournalLine, i);
                JsonObject *object = json_object_new();

                json_object_set_int_member(object, "Time", (gint64) line->usec);
                json_object_set_int_member(object, "Priority", line->priority);
                json_object_set_string_member(object, "Message", line->message);
                json_array_add_object_element(array, object);
        }
        json_print(ctl, json_node_init_array(json_node_alloc(), array));
}

static void print_text(Ctl *ctl, GArray *lines) {
        g_autoptr(GString) out = g_string_new(NULL);

        for (unsigned i = 0; i < lines->len; i++) {
                const JournalLine *entry = &g_array_index(lines, JournalLine, i);
                g_autoptr(GDateTime) when =
                        g_date_time_new_from_unix_local((gint64) (entry->usec / G_USEC_PER_SEC));
                g_autofree char *time = when ? g_date_time_format(when, "%Y-%m-%d %H:%M:%S") : NULL;
                Line *line = line_new();

                line_add(line, STYLE_FAINT, "%s  ", time ?: "");
                line_add(line, style_of_priority(entry->priority), "%s", entry->message);
                line_end(line, out, text_columns(ctl));
        }
        if (lines->len == 0 && !ctl->no_legend)
                g_string_append(out, "Nothing is in the journal of it.\n");
        text_print(ctl, out->str);
}

bool verb_log(Ctl *ctl, char **args, GError **error) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GArray) lines = NULL;

        if (ctl->host) {
                g_set_error(error, CTL_ERROR, CTL_USAGE,
                            "The journal of another host can't be read over the bus\nAsk there: ssh "
                            "%s carvectl log",
                            ctl->host);
                return false;
        }
        if (args[0] && !names_of(ctl, args[0], names, error))
                return false;
        g_ptr_array_add(names, NULL);
        lines = journal_read((char **) names->pdata, LOG_DEBUG, ctl->number_given ? ctl->number : 0, error);
        if (!lines)
                return false;

        if (ctl->json != JSON_OFF)
                print_json(ctl, lines);
        else
                print_text(ctl, lines);
        return true;
}
