/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <glib.h>

#include "cleanup.h"
#include "nvml-lock.h"

/* -1: not had. What can't be made can't be waited for either. */
static int take(const char *directory, const char *name, int how, int flags) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_NOCTTY | O_NOFOLLOW | flags, 0600);

        if (fd < 0)
                return -1;
        while (flock(fd, how) < 0)
                if (errno != EINTR)
                        return -1;
        return steal_fd(&fd);
}

bool carved_nvml_lock(CarvedNvmlLock *lock, const char *directory, bool wait) {
        if (!directory)
                return true;

        lock->mutex = take(directory, "nvml-mutex.lock", LOCK_EX, O_CLOEXEC);
        lock->room = take(directory, "nvml.lock", wait ? LOCK_EX : LOCK_EX | LOCK_NB, O_CLOEXEC);
        if (lock->room >= 0 || wait)
                return true;

        carved_nvml_unlock(lock);
        return false;
}

void carved_nvml_keep_out(CarvedNvmlLock *lock, const char *directory) {
        /* Not O_CLOEXEC: if this process dies under the program, the program goes on, and so does this. */
        if (directory)
                lock->room = take(directory, "nvml.lock", LOCK_SH, 0);
}

void carved_nvml_unlock(CarvedNvmlLock *lock) {
        closep(&lock->room);
        closep(&lock->mutex);
}
