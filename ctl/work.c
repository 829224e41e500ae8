/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "fail.h"
#include "json.h"
#include "link.h"
#include "progress.h"
#include "text.h"
#include "variant.h"
#include "work.h"

#define TICK_USEC (100 * 1000)

struct Work {
        Ctl *ctl;
        Progress *progress;
        Ear ear;
        sd_bus_slot *call, *ping, *look;
        sd_event_source *ends[2], *tick, *silence;
        sd_bus_message *message; /* being prepared, its options open */
        int prepared;            /* first failure of that, or 0 */
        GHashTable *finished;    /* path → JobFinished's arguments: may come before the reply */

        /* of the call under way */
        bool makes_job;
        char *job; /* NULL: not known yet */
        const char *doing;
        GVariant *reply, *seen; /* seen: the job's properties, when it was first looked at */
        GError *error;
        bool over;
        int64_t heard; /* when carved last said anything */
};

static void end(Work *w) {
        w->over = true;
}

static void end_with(Work *w, GError *error) {
        if (w->error)
                g_error_free(error);
        else
                w->error = error;
        end(w);
}

static const char *job_name(const Work *w) {
        return w->job + strlen(CARVED_BUS_ROOT "/");
}

/* ---- what carved says ---- */

static void check_finished(Work *w) {
        GVariant *said = w->job ? g_hash_table_lookup(w->finished, w->job) : NULL;
        const char *result, *name, *message;
        GError *error = NULL;

        if (!said)
                return;

        g_variant_get(said, "(to&s&s&s)", NULL, NULL, &result, &name, &message);
        if (!g_str_equal(result, "done"))
                fail_from_name(&error, name, message);
        if (error)
                end_with(w, error);
        else
                end(w);
}

/* Step, State and Plan, from a{sv}: those that are there. */
static void take_job(Work *w, GVariant *properties) {
        g_autofree const char **plan = NULL;
        const char *state = dict_text(properties, "State");
        g_autoptr(GVariant) words = g_variant_lookup_value(properties, "Plan", G_VARIANT_TYPE("as"));
        int64_t step = dict_number(properties, "Step");
        GError *error = NULL;

        if (words)
                plan = g_variant_get_strv(words, NULL);
        progress_note(w->progress, g_str_equal(state, "waiting") ? "waits for other work on this GPU" : NULL);
        if (g_str_equal(state, "running") || g_str_equal(state, "stalled") || g_str_equal(state, "failed"))
                progress_step(w->progress, step > 0 ? (unsigned) step : 0, (char **) plan);
        else if (plan)
                progress_step(w->progress, 0, (char **) plan);
        if (!g_str_equal(state, "stalled"))
                return;

        fail_from_name(&error, dict_text(properties, "ErrorName"), dict_text(properties, "ErrorMessage"));
        end_with(w, error);
}

static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *ignored) {
        const char *path = sd_bus_message_get_path(m), *job;
        Work *w = userdata;

        w->heard = g_get_monotonic_time();
        if (sd_bus_message_is_signal(m, MANAGER, "JobFinished") > 0) {
                GVariant *args = variant_from_message(m);

                if (!args)
                        return 0;
                g_variant_get_child(args, 1, "&o", &job);
                g_hash_table_replace(w->finished, g_strdup(job), args);
                check_finished(w);
        } else if (w->job && g_strcmp0(path, w->job) == 0 &&
                   sd_bus_message_is_signal(m, PROPERTIES, "PropertiesChanged") > 0) {
                g_autoptr(GVariant) args = variant_from_message(m);
                g_autoptr(GVariant) properties = args ? g_variant_get_child_value(args, 1) : NULL;

                if (properties)
                        take_job(w, properties);
        }
        return 0;
}

/* It was there, and is not any more, or is another one. */
static int on_owner(sd_bus_message *m, void *userdata, sd_bus_error *ignored) {
        const char *old, *new;
        Work *w = userdata;

        if (sd_bus_message_read(m, "sss", NULL, &old, &new) < 0 || !*old || !(w->call || w->job))
                return 0;

        if (w->job)
                end_with(w, g_error_new(CTL_ERROR, CTL_GONE, "carved ended while %s was under way: %s",
                                        job_name(w), w->doing));
        else
                end_with(w,
                         g_error_new(CTL_ERROR, CTL_GONE, "carved ended before it answered: %s", w->doing));
        return 0;
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *ignored) {
        Work *w = userdata;

        if (w->doing)
                end_with(w, g_error_new(CTL_ERROR, CTL_BUS,
                                        "The bus went away. What carved was asked for goes on: "
                                        "%s\n'carvectl' shows what "
                                        "came of it, when the bus is back.",
                                        w->doing));
        return 0;
}

static int on_look(sd_bus_message *m, void *userdata, sd_bus_error *ignored) {
        Work *w = userdata;
        g_autoptr(GVariant) args = sd_bus_message_is_method_error(m, NULL) ? NULL : variant_from_message(m);
        g_autoptr(GVariant) properties = args ? g_variant_get_child_value(args, 0) : NULL;

        w->look = sd_bus_slot_unref(w->look);
        if (properties) {
                g_clear_pointer(&w->seen, g_variant_unref);
                w->seen = g_variant_ref(properties);
                take_job(w, properties);
        }
        check_finished(w); /* of one that was over already, too */
        return 0;
}

/* Where is it now? Signals tell only what comes. */
static void look_at_job(Work *w) {
        int r;

        r = sd_bus_call_method_async(w->ctl->bus, &w->look, CARVED_BUS_NAME, w->job, PROPERTIES, "GetAll",
                                     on_look, w, "s", JOB);
        if (r < 0) {
                GError *error = NULL;

                fail_from_bus(&error, NULL, r);
                end_with(w, error);
        }
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *ignored) {
        Work *w = userdata;
        const sd_bus_error *e = sd_bus_message_get_error(m);
        GError *error = NULL;
        gsize n;

        w->heard = g_get_monotonic_time();
        w->call = sd_bus_slot_unref(w->call);
        if (e) {
                /* There is no time limit: nobody is there to answer any more. */
                if (sd_bus_error_has_name(e, SD_BUS_ERROR_NO_REPLY))
                        error = g_error_new(CTL_ERROR, CTL_GONE, "carved ended before it answered: %s",
                                            w->doing);
                else
                        fail_from_bus(&error, e, 0);
                end_with(w, error);
                return 0;
        }

        w->reply = variant_from_message(m);
        n = w->reply ? g_variant_n_children(w->reply) : 0;
        if (!w->makes_job || n == 0) {
                end(w);
                return 0;
        }
        g_variant_get_child(w->reply, n - 1, "o", &w->job);
        look_at_job(w);
        return 0;
}

/* ---- time, and ends from outside ---- */

static int on_tick(sd_event_source *s, uint64_t usec, void *userdata) {
        Work *w = userdata;

        progress_tick(w->progress);
        sd_event_source_set_time_relative(s, TICK_USEC);
        return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int on_pong(sd_bus_message *m, void *userdata, sd_bus_error *ignored) {
        Work *w = userdata;

        w->ping = sd_bus_slot_unref(w->ping);
        w->heard = g_get_monotonic_time();
        if (sd_bus_message_is_method_error(m, NULL))
                end_with(w,
                         g_error_new(CTL_ERROR, CTL_SILENT, "carved does not answer any more: %s", w->doing));
        return 0;
}

/* Work may take minutes; an answer to "are you there" may not. */
static int on_silence(sd_event_source *s, uint64_t usec, void *userdata) {
        Work *w = userdata;
        uint64_t patience = link_patience_usec(w->ctl);

        if (!w->ping && g_get_monotonic_time() - w->heard >= (int64_t) patience / 2)
                (void) sd_bus_call_method_async(w->ctl->bus, &w->ping, CARVED_BUS_NAME, CARVED_BUS_ROOT,
                                                "org.freedesktop.DBus.Peer", "Ping", on_pong, w, "");
        sd_event_source_set_time_relative(s, patience);
        return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int on_end(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata) {
        Work *w = userdata;

        w->ctl->interrupted = (int) si->ssi_signo;
        if (w->job)
                end_with(w,
                         g_error_new(
                                 CTL_ERROR, CTL_FAILED,
                                 "Interrupted. %s goes on without carvectl: %s\nFollow it: carvectl wait %s; "
                                 "stop it: carvectl cancel %s",
                                 job_name(w), w->doing, job_name(w), job_name(w)));
        else
                end_with(w, g_error_new(
                                    CTL_ERROR, CTL_FAILED,
                                    "Interrupted, before carved answered. It may go on without carvectl: %s\n"
                                    "'carvectl list jobs' shows it, if it does.",
                                    w->doing));
        return 0;
}

/* ---- life ---- */

static int open_timers(Work *w) {
        uint64_t patience = link_patience_usec(w->ctl);
        sd_event *event = w->ctl->event;
        int r;

        r = sd_event_add_time_relative(event, &w->tick, CLOCK_MONOTONIC, TICK_USEC, 0, on_tick, w);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &w->silence, CLOCK_MONOTONIC, patience, 0, on_silence,
                                               w);
        return r;
}

Work *work_new(Ctl *ctl, GError **error) {
        g_autoptr(Work) w = g_new0(Work, 1);
        int r;

        w->ctl = ctl;
        w->progress = progress_new(ctl);
        w->finished =
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_variant_unref);
        if (!link_listen(ctl, &w->ear, on_signal, on_owner, on_disconnected, w, error) ||
            !link_catch_ends(ctl, w->ends, on_end, w, error))
                return NULL;
        r = open_timers(w);
        if (r < 0) {
                fail_from_bus(error, NULL, r);
                return NULL;
        }
        if (!ctl->dry_run)
                agent_open(ctl);
        return g_steal_pointer(&w);
}

static void forget_call(Work *w) {
        w->call = sd_bus_slot_unref(w->call);
        w->ping = sd_bus_slot_unref(w->ping);
        w->look = sd_bus_slot_unref(w->look);
        w->message = sd_bus_message_unref(w->message);
        g_clear_pointer(&w->job, g_free);
        g_clear_pointer(&w->reply, g_variant_unref);
        g_clear_pointer(&w->seen, g_variant_unref);
        g_clear_error(&w->error);
        w->over = false;
}

Work *work_free(Work *w) {
        if (!w)
                return NULL;

        forget_call(w);
        link_ear_clear(&w->ear);
        for (unsigned i = 0; i < G_N_ELEMENTS(w->ends); i++)
                sd_event_source_disable_unref(w->ends[i]);
        sd_event_source_disable_unref(w->tick);
        sd_event_source_disable_unref(w->silence);
        g_hash_table_unref(w->finished);
        progress_free(w->progress);
        g_free(w);
        return NULL;
}

/* ---- a call ---- */

static void keep(Work *w, int r) {
        if (r < 0 && w->prepared >= 0)
                w->prepared = r;
}

sd_bus_message *work_call(Work *w, const char *path, const char *interface, const char *member) {
        forget_call(w);
        w->prepared = 0;
        keep(w, sd_bus_message_new_method_call(w->ctl->bus, &w->message, CARVED_BUS_NAME, path, interface,
                                               member));
        keep(w, sd_bus_message_set_allow_interactive_authorization(w->message, !w->ctl->no_ask_password));
        return w->message;
}

void work_append(Work *w, const char *types, ...) {
        va_list args;

        va_start(args, types);
        keep(w, sd_bus_message_appendv(w->message, types, args));
        va_end(args);
}

void work_append_list(Work *w, const char *const *texts) {
        keep(w, sd_bus_message_append_strv(w->message, (char **) texts));
}

void work_open(Work *w, const char *contents) {
        keep(w, sd_bus_message_open_container(w->message, 'a', contents));
}

void work_close(Work *w) {
        keep(w, sd_bus_message_close_container(w->message));
}

void work_options(Work *w) {
        work_open(w, "{sv}");
}

void work_option(Work *w, const char *key, const char *type, const void *value) {
        keep(w, sd_bus_message_append(w->message, "{sv}", key, type, value));
}

void work_option_flag(Work *w, const char *key, bool value) {
        keep(w, sd_bus_message_append(w->message, "{sv}", key, "b", (int) value));
}

void work_option_labels(Work *w, const char *key, char *const *labels, unsigned n) {
        keep(w, sd_bus_message_open_container(w->message, 'e', "sv"));
        keep(w, sd_bus_message_append(w->message, "s", key));
        keep(w, sd_bus_message_open_container(w->message, 'v', "a{ss}"));
        keep(w, sd_bus_message_open_container(w->message, 'a', "{ss}"));
        for (unsigned i = 0; i < n; i++) {
                const char *equals = strchr(labels[i], '=');
                g_autofree char *name = g_strndup(labels[i], (gsize) (equals - labels[i]));

                keep(w, sd_bus_message_append(w->message, "{ss}", name, equals + 1));
        }
        for (unsigned i = 0; i < 3; i++)
                keep(w, sd_bus_message_close_container(w->message));
}

/* The loop, until the call is answered, and the job over. */
static bool run(Work *w, const char *doing, bool makes_job, GError **error) {
        int r;

        w->doing = doing;
        w->makes_job = makes_job;
        w->heard = g_get_monotonic_time();
        progress_begin(w->progress, doing);
        keep(w, sd_bus_message_close_container(w->message));
        keep(w, sd_bus_call_async(w->ctl->bus, &w->call, w->message, on_reply, w, UINT64_MAX));
        r = w->prepared;
        while (r >= 0 && !w->over)
                r = sd_event_run(w->ctl->event, UINT64_MAX);
        if (r < 0 && !w->error)
                fail_from_bus(&w->error, NULL, r);
        progress_end(w->progress, !w->error             ? PROGRESS_DONE
                                  : w->ctl->interrupted ? PROGRESS_LEFT
                                                        : PROGRESS_FAILED);
        if (!w->error)
                return true;

        g_propagate_error(error, g_steal_pointer(&w->error));
        return false;
}

Thing *work_run(Work *w, const char *doing, GError **error) {
        g_autoptr(GVariant) properties = NULL, interfaces = NULL;
        GVariantBuilder builder;
        bool dry = w->ctl->dry_run;

        work_option_flag(w, dry ? "dry-run" : "no-block", true);
        if (!run(w, doing, !dry, error))
                return NULL;
        if (dry)
                g_variant_get_child(w->reply, g_variant_n_children(w->reply) - 1, "o", &w->job);

        /* Where many work at once, it may be forgotten already; then as it was last seen. */
        properties = link_get_all(w->ctl, w->job, JOB, NULL);
        if (!properties)
                properties =
                        w->seen ? g_variant_ref(w->seen) : g_variant_ref_sink(g_variant_new("a{sv}", NULL));
        g_variant_builder_init(&builder, G_VARIANT_TYPE("a{sa{sv}}"));
        g_variant_builder_add(&builder, "{s@a{sv}}", JOB, properties);
        interfaces = g_variant_ref_sink(g_variant_builder_end(&builder));
        return thing_new(w->job, interfaces);
}

GVariant *work_run_plain(Work *w, const char *doing, GError **error) {
        return run(w, doing, /* makes_job= */ false, error) ? g_variant_ref(w->reply) : NULL;
}

/* ---- what came of it ---- */

void work_print(Ctl *ctl, GPtrArray *jobs) {
        g_autoptr(GString) out = g_string_new(NULL);
        unsigned n = 0;

        if (ctl->json != JSON_OFF) {
                json_print(ctl, json_from_things(jobs));
                return;
        }
        if (!ctl->dry_run)
                return;
        for (unsigned i = 0; i < jobs->len; i++) {
                g_autofree const char **plan =
                        g_variant_get_strv(thing_value(jobs->pdata[i], JOB, "Plan"), NULL);

                for (unsigned k = 0; plan[k]; k++)
                        g_string_append_printf(out, "%u. %s\n", ++n, plan[k]);
        }
        if (n == 0)
                g_string_append(out, "Nothing is to be done.\n");
        text_print(ctl, out->str);
}
