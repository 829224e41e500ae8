/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>
#include <unistd.h>

#include <glib.h>

/* Ownership is visible in the declaration: everything owned carries one of these, or a g_auto*. */
#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void closep(int *fd) {
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

#define _cleanup_close_ _cleanup_(closep)

static inline int steal_fd(int *fd) {
        int taken = *fd;

        *fd = -1;
        return taken;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FILE, fclose)
