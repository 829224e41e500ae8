/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>

#include "cleanup.h"
#include "solitude.h"

static void tell_who(const char *path, int fd) {
        struct flock who = { .l_type = F_WRLCK };

        if (fcntl(fd, F_GETLK, &who) >= 0 && who.l_type != F_UNLCK && who.l_pid > 0)
                g_critical("Process %d is carved already: it has '%s'", (int) who.l_pid, path);
        else
                g_critical("Another carved runs already: it has '%s'", path);
}

int solitude_take(const char *directory) {
        g_autofree char *path = g_build_filename(directory, "carved.lock", NULL);
        struct flock lock = { .l_type = F_WRLCK };
        _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
        int r = fd < 0 ? -errno : 0;

        /* Of the process, not of the file: a worker that is just being forked does not keep it for us. */
        if (r >= 0 && fcntl(fd, F_SETLK, &lock) < 0)
                r = -errno;
        if (r == -EACCES || r == -EAGAIN)
                tell_who(path, fd);
        else if (r < 0)
                g_critical("Failed to lock '%s': %s", path, g_strerror(-r));
        if (r >= 0)
                steal_fd(&fd); /* closed, it would be free */
        return r;
}
