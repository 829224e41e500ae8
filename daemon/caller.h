/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <glib.h>

/* Who is behind a connection to the bus, as the bus says. */
typedef struct Caller {
        uint32_t uid;
        pid_t pid;  /* 0: the bus did not say */
        char *unit; /* systemd's, that it ran in when it first asked; "": none is known */
} Caller;

Caller *caller_new(uint32_t uid, pid_t pid);
Caller *caller_ref(const Caller *caller);
void caller_unref(void *caller); /* or NULL */
