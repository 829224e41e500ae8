/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "simctl.h"
#include "table-host.h"

/* A table on the simulated host. */

const char *const host_kind = "sim";

void host_open(GHashTable *names) {
}

void host_close(void) {
}

bool host_reset(void) {
        return simctl_do("forget") == 0 && simctl_do("reboot") == 0 && simctl_do("log", "clear") == 0;
}

int host_ask(const char *const *words, char **ret_text) {
        return simctl(words, ret_text);
}

bool host_in_hand(int thread) {
        char *text = NULL;
        bool busy = simctl((const char *const[]){ "busy", NULL }, &text) == 0 && atoi(text) > 0;

        free(text);
        return busy;
}

char *host_log(void) {
        char *text = NULL;

        simctl((const char *const[]){ "log", NULL }, &text);
        return text;
}
