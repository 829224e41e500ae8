/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cleanup.h"
#include "frame.h"
#include "udev.h"
#include "worker-process.h"

/* The daemon's descriptors must not live on in a process that may never end: its place on the bus would not
 * be free. */
static int keep_only(int fd) {
        const int mine = 3;

        if (fd != mine) {
                if (dup3(fd, mine, O_CLOEXEC) < 0)
                        return -errno;
        }
        close_range((unsigned) mine + 1, ~0U, 0);
        return mine;
}

static void reset_signals(void) {
        sigset_t none;

        for (int i = 1; i < _NSIG; i++)
                if (i != SIGKILL && i != SIGSTOP)
                        signal(i, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Never more than one process works on a GPU, also when the daemon that started one is long gone. The lock
 * goes with the process. */
static int take_lock(const char *path, int fd, uint64_t sequence) {
        int lock, r;

        lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
        if (lock < 0)
                return -errno;
        if (flock(lock, LOCK_EX | LOCK_NB) >= 0)
                return lock;
        if (errno != EWOULDBLOCK)
                return -errno;

        r = frame_write(fd, FRAME_HELD, sequence, g_variant_new_string(""));
        if (r < 0)
                return r;

        while (flock(lock, LOCK_EX) < 0)
                if (errno != EINTR)
                        return -errno;
        return lock;
}

static GVariant *scan(GError **error) {
        g_autoptr(GArray) list = carved_udev_scan(error);

        return list ? carved_udev_scan_to_variant(list) : NULL;
}

static GVariant *snapshot(const CarvedHost *host, GVariant *request, GError **error) {
        g_autoptr(CarvedGpu) gpu = NULL;
        CarvedPciAddress address;

        g_variant_get(request, "(uyyy)", &address.domain, &address.bus, &address.device, &address.function);
        gpu = carved_snapshot_read(host, &address, error);
        return gpu ? carved_snapshot_to_variant(gpu) : NULL;
}

static int serve(int fd, const WorkerContext *context, const Frame *request) {
        g_autoptr(GError) error = NULL;
        GVariant *result;

        if (request->kind == FRAME_SCAN)
                result = scan(&error);
        else
                result = snapshot(context->host, request->value, &error);

        if (!result)
                return frame_write(fd, FRAME_ERROR, request->sequence, g_variant_new_string(error->message));

        return frame_write(fd, FRAME_RESULT, request->sequence, result);
}

/* 1: a request, 0: the daemon is through with us. */
static int next_request(int fd, GByteArray *buffer, Frame *ret) {
        for (;;) {
                guint8 bytes[4096];
                ssize_t n;
                int r;

                r = frame_take(buffer, ret);
                if (r != 0)
                        return r;

                n = read(fd, bytes, sizeof bytes);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                g_byte_array_append(buffer, bytes, (guint) n);
        }
}

static int serve_all(int fd, const WorkerContext *context) {
        g_autoptr(GByteArray) buffer = g_byte_array_new();
        int lock = -1; /* held to the end */

        for (;;) {
                g_auto(Frame) request = { 0 };
                int r;

                r = next_request(fd, buffer, &request);
                if (r <= 0)
                        return r;

                if (context->lock_path && lock < 0) {
                        lock = take_lock(context->lock_path, fd, request.sequence);
                        if (lock < 0)
                                return lock;
                }
                r = serve(fd, context, &request);
                if (r < 0)
                        return r;
        }
}

void worker_process_run(int fd, const WorkerContext *context) {
        prctl(PR_SET_NAME, "carved-worker"); /* so that ps tells which one hangs */
        reset_signals();
        fd = keep_only(fd);

        /* No exit(): what the daemon registered to be done at its end is not ours to do. */
        _exit(fd >= 0 && serve_all(fd, context) >= 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}
