/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "killer-plan.h"

static const char *const who_names[] = { "daemon", "worker", "other", NULL };
static const char *const victim_names[] = { "nobody", "daemon", "self", "all", NULL };

const char *who_name(Who who) {
        return who_names[who];
}

void plan_clear(Plan *plan) {
        g_strfreev(plan->in);
        g_strfreev(plan->calls);
        g_free(plan->below);
        *plan = (Plan){ 0 };
}

/* -1: not among them. */
static int find_name(const char *const *names, const char *name) {
        for (int i = 0; name && names[i]; i++)
                if (g_str_equal(names[i], name))
                        return i;

        return -1;
}

/* 0: no such. */
static int parse_error(const char *name) {
        if (g_strcmp0(name, "EIO") == 0)
                return EIO;
        if (g_strcmp0(name, "ENOSPC") == 0)
                return ENOSPC;
        return g_strcmp0(name, "short") == 0 ? -1 : 0;
}

/* "before kill daemon", "fail EIO": how many words, 0: none of these. */
static unsigned parse_deed(char **words, Plan *plan) {
        unsigned n = g_strv_length(words);

        if (n >= 2 && g_str_equal(words[0], "fail")) {
                plan->error = parse_error(words[1]);
                plan->always = g_strcmp0(words[2], "always") == 0;
                return plan->error == 0 ? 0 : plan->always ? 3 : 2;
        }
        if (n < 3 || !g_str_equal(words[1], "kill"))
                return 0;

        plan->after = g_str_equal(words[0], "after");
        if (!plan->after && !g_str_equal(words[0], "before"))
                return 0;
        plan->victim = (Victim) MAX(find_name(victim_names, words[2]), 0);
        return plan->victim == VICTIM_NONE ? 0 : 3;
}

static bool parse_choice(const char *word, const char *value, Plan *plan) {
        if (g_str_equal(word, "by")) {
                plan->by = find_name(who_names, value);
                return plan->by == WHO_DAEMON || plan->by == WHO_WORKER;
        }
        if (g_str_equal(word, "in") && !plan->in)
                plan->in = g_strsplit(value, ",", -1);
        else if (g_str_equal(word, "calls") && !plan->calls)
                plan->calls = g_strsplit(value, ",", -1);
        else if (g_str_equal(word, "below") && !plan->below)
                plan->below = g_strdup(value);
        else
                return false;
        return true;
}

static bool parse(char **words, Plan *plan) {
        unsigned skip, n = g_strv_length(words);

        plan->by = -1;
        if (n >= 1 && g_str_equal(words[0], "count")) {
                words++;
        } else if (n >= 2 && g_str_equal(words[0], "at")) {
                plan->nth = (unsigned) g_ascii_strtoull(words[1], NULL, 10);
                skip = parse_deed(words + 2, plan);
                if (plan->nth == 0 || skip == 0)
                        return false;
                words += 2 + skip;
        } else {
                return false;
        }

        for (; words[0]; words += 2)
                if (!words[1] || !parse_choice(words[0], words[1], plan))
                        return false;
        return true;
}

bool plan_parse(const char *text, Plan *ret) {
        g_autofree char *line = g_strstrip(g_strdup(text));
        g_auto(GStrv) words = g_strsplit(line, " ", -1);
        Plan plan = { 0 };

        if (!parse(words, &plan)) {
                plan_clear(&plan);
                return false;
        }

        *ret = plan;
        return true;
}

bool plan_counts(const Plan *plan, Who who, const Call *call) {
        if (who == WHO_OTHER || (plan->by >= 0 && plan->by != (int) who))
                return false;
        if (plan->in && !g_strv_contains((const char *const *) plan->in, call_class_name(call->class)))
                return false;
        if (plan->calls && !g_strv_contains((const char *const *) plan->calls, call->name))
                return false;
        if (plan->error < 0 && !call->writes)
                return false;
        return !plan->below || (g_str_has_prefix(call->path, plan->below) &&
                                (call->path[strlen(plan->below)] == '/' || !call->path[strlen(plan->below)]));
}
