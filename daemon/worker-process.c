/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "carve.h"
#include "cleanup.h"
#include "error.h"
#include "frame.h"
#include "gate.h"
#include "managers.h"
#include "mdevctl.h"
#include "store-process.h"
#include "udev.h"
#include "users.h"
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

        /* Not O_CLOEXEC: if this process dies under a program that it runs, the GPU is not free until that
         * ends. */
        lock = open(path, O_RDWR | O_CREAT | O_NOCTTY | O_NOFOLLOW, 0600);
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
        g_autoptr(GVariant) told = NULL;
        CarvedMemory memory = { 0 };
        CarvedPciAddress address;
        GVariant *answer = NULL;
        uint32_t depth;

        g_variant_get(request, LOOK_REQUEST, &address.domain, &address.bus, &address.device,
                      &address.function, &depth, &memory.nvml);
        memory.depth = (CarvedDepth) depth;
        gpu = carved_snapshot_read(host, &address, &memory, error);
        told = memory.nvml;
        if (gpu)
                answer = g_variant_new(LOOK_ANSWER, carved_snapshot_to_variant(gpu), told);
        return answer;
}

/* Some VFs of it, by index. */
static GVariant *glance(const CarvedHost *host, const CarvedPciAddress *address, GVariant *vfs,
                        GError **error) {
        gsize n;
        const uint32_t *indexes = g_variant_get_fixed_array(vfs, &n, sizeof *indexes);
        g_autoptr(CarvedGpu) gpu = carved_snapshot_read_vfs(host, address, indexes, (unsigned) n, error);

        return gpu ? carved_snapshot_to_variant(gpu) : NULL;
}

static GVariant *carve(const CarvedHost *host, GVariant *request, GError **error) {
        g_autoptr(GVariant) value = NULL, vfs = NULL;
        CarvedStep *step;
        g_auto(CarvedOutcome) outcome = { 0 };
        GVariant *seen = NULL;

        g_variant_get(request, FRAME_STEP_TYPE, &value, &vfs);
        step = carved_step_from_variant(value);
        if (!step) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "The daemon asked for nonsense");
                return NULL;
        }

        carved_carve(host, step, &outcome);
        /* One that fails costs a look, nothing more. */
        if (outcome.errnum == 0 && g_variant_n_children(vfs) > 0)
                seen = glance(host, &step->gpu, vfs, NULL);
        carved_step_free(step);
        return g_variant_new(FRAME_OUTCOME_TYPE, carved_outcome_to_variant(&outcome), seen);
}

/* Group numbers in, who has which open out. */
static GVariant *users(const CarvedHost *host, GVariant *request) {
        g_autoptr(GArray) owners = g_array_new(FALSE, FALSE, sizeof(int32_t)), list = NULL;
        g_auto(CarvedGate) gate = { 0 };
        GVariantBuilder builder;
        GVariantIter iter;
        int32_t group;

        g_variant_iter_init(&iter, request);
        while (g_variant_iter_next(&iter, "i", &group)) {
                carved_gate_add_group(&gate, host, group);
                while (gate.devices && owners->len < gate.devices->len)
                        g_array_append_val(owners, group);
        }

        list = carved_users_scan(gate.devices);
        g_variant_builder_init(&builder, G_VARIANT_TYPE("a(ius)"));
        for (unsigned i = 0; i < list->len; i++) {
                const CarvedUser *user = &g_array_index(list, CarvedUser, i);

                g_variant_builder_add(&builder, "(ius)", g_array_index(owners, int32_t, user->device),
                                      user->pid, user->command);
        }
        return g_variant_builder_end(&builder);
}

/* What mdevctl makes by itself, and which other managers run. */
static GVariant *peers(void) {
        g_autoptr(GPtrArray) complaints = NULL, list = carved_mdevctl_read(CARVED_MDEVCTL_PATH, &complaints);
        g_auto(GStrv) running = carved_managers_running();

        return g_variant_new("(@" CARVED_MDEVCTL_TYPE "^as)", carved_mdevctl_to_variant(list, complaints),
                             running);
}

static GVariant *answer(const WorkerContext *context, const Frame *request, GError **error) {
        switch (request->kind) {
        case FRAME_SCAN:
                return scan(error);
        case FRAME_STEP:
                return carve(context->host, request->value, error);
        case FRAME_USERS:
                return users(context->host, request->value);
        case FRAME_PEERS:
                return peers();
        case FRAME_LOAD:
                return store_process_load(request->value);
        case FRAME_STORE:
                return store_process_write(request->value, error);
        default:
                return snapshot(context->host, request->value, error);
        }
}

static int serve(int fd, const WorkerContext *context, const Frame *request) {
        g_autoptr(GError) error = NULL;
        GVariant *result = answer(context, request, &error);

        if (!result)
                return frame_write(fd, FRAME_ERROR, request->sequence,
                                   g_variant_new_string(error ? error->message : "It failed"));

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
