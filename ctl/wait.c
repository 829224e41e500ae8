/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "fail.h"
#include "host.h"
#include "link.h"
#include "resolve.h"
#include "verbs.h"

/* Until something is so. carved need not be there yet: it may be starting, or starting again. */

typedef enum Verdict {
        NOT_YET,
        IS_SO,
        NEVER, /* waiting longer is of no use */
} Verdict;

typedef struct Wait {
        Ctl *ctl;
        Ear ear;
        const char *object; /* NULL: all of it */
        bool stale;         /* something has changed: look again */
        bool late;
        char *how; /* it is now, in words */
        bool found;
} Wait;

static void say(Wait *w, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void say(Wait *w, const char *format, ...) {
        va_list args;

        g_free(w->how);
        va_start(args, format);
        w->how = g_strdup_vprintf(format, args);
        va_end(args);
}

static bool is_settled(const char *state) {
        return g_str_equal(state, "running") || g_str_equal(state, "degraded");
}

static Verdict judge_vgpu(Wait *w, const Thing *vgpu, const char *manager) {
        const char *state = thing_text(vgpu, VGPU, "State"), *trouble = thing_text(vgpu, VGPU, "LastError");

        say(w, "vGPU %s is %s%s%s", thing_name(vgpu), state, *trouble ? ": " : "", trouble);
        if (g_str_equal(state, "active"))
                return IS_SO;
        /* While it starts, what failed may be tried again. */
        return g_str_equal(state, "failed") && is_settled(manager) ? NEVER : NOT_YET;
}

static Verdict judge_job(Wait *w, const Thing *job) {
        const char *state = thing_text(job, JOB, "State");

        say(w, "%s %s%s%s", thing_name(job), state, *thing_text(job, JOB, "ErrorMessage") ? ": " : "",
            thing_text(job, JOB, "ErrorMessage"));
        if (g_str_equal(state, "done"))
                return IS_SO;
        return g_str_equal(state, "failed") || g_str_equal(state, "cancelled") ? NEVER : NOT_YET;
}

static Verdict judge_all(Wait *w, const char *state) {
        say(w, "carved is %s", state);
        if (g_str_equal(state, "running"))
                return IS_SO;
        if (g_str_equal(state, "degraded")) {
                say(w, "All that could be made is made, and something that is wanted is not there");
                return NEVER;
        }
        return NOT_YET;
}

static Verdict judge_thing(Wait *w, const Thing *thing, const char *manager) {
        switch (thing->kind) {
        case KIND_VGPU:
                return judge_vgpu(w, thing, manager);
        case KIND_JOB:
                return judge_job(w, thing);
        case KIND_GPU:
                say(w, "GPU %s is %s", thing_name(thing), thing_text(thing, GPU, "State"));
                return g_str_equal(thing_text(thing, GPU, "State"), "ready") ? IS_SO : NOT_YET;
        default:
                return IS_SO; /* a VF is there, or is not */
        }
}

/* What can't be asked for is waited for, too: carved may just be starting. */
static Verdict look(Wait *w, GError **error) {
        g_autoptr(GVariant) manager = NULL;
        g_autoptr(Host) host = NULL;
        g_autoptr(GError) e = NULL;
        const Thing *thing;

        w->stale = false;
        manager = link_get_all(w->ctl, CARVED_BUS_ROOT, MANAGER, &e);
        host = manager && w->object ? host_load(w->ctl, &e) : NULL;
        if (e) {
                say(w, "%s", e->message);
                *strchrnul(w->how, '\n') = '\0';
                w->stale =
                        g_error_matches(e, CTL_ERROR, CTL_SILENT); /* when it answers again, nothing tells */
                return NOT_YET;
        }
        if (!w->object)
                return judge_all(w, dict_text(manager, "State"));

        thing = resolve(host, w->object, WANT_ANY, &e);
        w->found = thing;
        if (thing)
                return judge_thing(w, thing, dict_text(manager, "State"));
        if (fail_exit_code(e) == EXIT_USAGE) {
                g_propagate_error(error, g_steal_pointer(&e));
                return NEVER;
        }
        say(w, "%s", e->message);
        return NOT_YET;
}

static int on_change(sd_bus_message *m, void *userdata, sd_bus_error *ignored) {
        ((Wait *) userdata)->stale = true;
        return 0;
}

static int on_late(sd_event_source *s, uint64_t usec, void *userdata) {
        ((Wait *) userdata)->late = true;
        return 0;
}

static bool conclude(Wait *w, Verdict verdict, int r, GError **error) {
        if (verdict == IS_SO)
                return true;
        if (error && *error)
                return false;

        if (r < 0)
                fail_from_bus(error, NULL, r);
        else if (verdict == NEVER)
                g_set_error(error, CTL_ERROR, CTL_FAILED, "%s\nSee: carvectl", w->how);
        else
                g_set_error(error, CTL_ERROR, w->object && !w->found ? CTL_NOT_FOUND : CTL_TIMEOUT,
                            "It did not come to pass within %.3g seconds: %s",
                            (double) w->ctl->timeout_usec / G_USEC_PER_SEC, w->how);
        return false;
}

bool verb_wait(Ctl *ctl, char **args, GError **error) {
        Wait w = { .ctl = ctl, .object = args[0] };
        Verdict verdict = NOT_YET;
        bool ok;
        int r;

        if (ctl->timeout_usec > 0) /* nobody waits longer than that, not even for an answer */
                (void) sd_bus_set_method_call_timeout(ctl->bus,
                                                      MIN(link_patience_usec(ctl), ctl->timeout_usec));
        if (!link_listen(ctl, &w.ear, on_change, on_change, NULL, &w, error))
                return false;
        r = 0;
        if (ctl->timeout_usec > 0)
                r = sd_event_add_time_relative(ctl->event, NULL, CLOCK_MONOTONIC, ctl->timeout_usec, 0,
                                               on_late, &w);
        if (r >= 0)
                verdict = look(&w, error);
        while (r >= 0 && verdict == NOT_YET && !w.late) {
                r = sd_event_run(ctl->event, w.stale ? 0 : UINT64_MAX);
                /* All that is there to be heard, then one look. */
                if (r >= 0 && w.stale && !w.late && sd_event_run(ctl->event, 0) == 0)
                        verdict = look(&w, error);
        }
        ok = conclude(&w, verdict, r, error);
        link_ear_clear(&w.ear);
        g_free(w.how);
        return ok;
}
