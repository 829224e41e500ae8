/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>

#include <systemd/sd-login.h>

#include "caller.h"

Caller *caller_new(uint32_t uid, pid_t pid) {
        Caller *caller = g_rc_box_new0(Caller);
        char *unit = NULL;

        caller->uid = uid;
        caller->pid = pid;
        /* A short file in /proc. Who is gone already, or lives in no unit, has none. */
        if (pid > 0 && sd_pid_get_unit(pid, &unit) < 0)
                unit = NULL;
        caller->unit = g_strdup(unit ?: "");
        free(unit);
        return caller;
}

Caller *caller_ref(const Caller *caller) {
        return g_rc_box_acquire((Caller *) caller);
}

static void clear(void *p) {
        g_free(((Caller *) p)->unit);
}

void caller_unref(void *caller) {
        if (caller)
                g_rc_box_release_full(caller, clear);
}
