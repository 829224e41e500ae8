/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "fail.h"
#include "json.h"
#include "link.h"
#include "options.h"
#include "style.h"

static bool print_version(Ctl *ctl) {
        g_autoptr(GVariant) manager = NULL;
        JsonObject *object;

        /* Of a carved that can't be asked nothing is said: this is no place to fail. */
        if (link_open(ctl, NULL))
                manager = link_get_all(ctl, CARVED_BUS_ROOT, MANAGER, NULL);
        if (ctl->json == JSON_OFF) {
                printf("carvectl %s\n", CARVED_VERSION);
                if (manager)
                        printf("carved %s\n", dict_text(manager, "Version"));
                return true;
        }
        object = json_object_new();
        json_object_set_string_member(object, "carvectl", CARVED_VERSION);
        if (manager)
                json_object_set_string_member(object, "carved", dict_text(manager, "Version"));
        json_print(ctl, json_node_of(object));
        return true;
}

static bool run(Ctl *ctl, char **args, Asked asked, GError **error) {
        const Verb *verb = verb_find(ctl->verb);
        char *about[] = { (char *) ctl->verb, NULL };

        if (asked == ASKED_VERSION)
                return print_version(ctl);
        if (asked == ASKED_HELP)
                return verb_help(ctl, verb && !g_str_equal(ctl->verb, "tree") ? about : about + 1, error);
        if (!verb->alone && !link_open(ctl, error))
                return false;

        return verb->run(ctl, args, error);
}

/* As if it had not been caught: a shell's loop ends then, too. */
static void end_by(int sig) {
        sigset_t set;

        signal(sig, SIG_DFL);
        raise(sig);
        sigemptyset(&set);
        sigaddset(&set, sig);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int main(int argc, char *argv[]) {
        g_autoptr(GError) error = NULL;
        Ctl ctl = { 0 };
        Asked asked = ASKED_VERB;
        char **args = NULL;
        int code = 0;

        style_init();
        if (!options_parse(&ctl, argc, argv, &args, &asked, &error) || !run(&ctl, args, asked, &error))
                code = fail_report(error);

        agent_close(&ctl);
        link_close(&ctl);
        options_clear(&ctl);
        if (fflush(stdout) != 0 && code == 0)
                code = EXIT_OTHER;
        if (ctl.interrupted)
                end_by(ctl.interrupted);
        return code;
}
