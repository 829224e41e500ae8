/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "worker.h"

#define IDLE_USEC (3 * G_USEC_PER_SEC)

struct Worker {
        sd_event *event;
        WorkerMain main;
        WorkerContext context;
        WorkerNotify notify; /* NULL: nobody wants to know any more */
        void *userdata;

        pid_t pid; /* 0: none runs */
        int fd;
        GByteArray *buffer;
        uint64_t sequence;
        bool busy;
        bool died;
        FrameKind next_kind; /* the request that waits for the last process to be gone; next NULL: none */
        GVariant *next;
        sd_event_source *child_source, *io_source, *deadline_source, *idle_source;
};

static void worker_destroy(Worker *w) {
        sd_event_source_disable_unref(w->io_source);
        sd_event_source_disable_unref(w->deadline_source);
        sd_event_source_disable_unref(w->idle_source);
        g_clear_pointer(&w->next, g_variant_unref);
        closep(&w->fd);
        g_byte_array_unref(w->buffer);
        g_free((char *) w->context.lock_path);
        g_free(w);
}

Worker *worker_new(sd_event *event, WorkerMain main, const WorkerContext *context, WorkerNotify notify,
                   void *userdata) {
        Worker *w = g_new0(Worker, 1);

        w->event = event;
        w->main = main;
        w->context = *context;
        w->context.lock_path = g_strdup(context->lock_path);
        w->notify = notify;
        w->userdata = userdata;
        w->fd = -1;
        w->buffer = g_byte_array_new();
        return w;
}

static void hang_up(Worker *w) {
        w->io_source = sd_event_source_disable_unref(w->io_source);
        w->idle_source = sd_event_source_disable_unref(w->idle_source);
        closep(&w->fd);
        g_byte_array_unref(w->buffer); /* emptied, it would keep what the largest answer took */
        w->buffer = g_byte_array_new();
}

static void destroy_with_source(void *userdata) {
        worker_destroy(userdata);
}

Worker *worker_free(Worker *w) {
        if (!w)
                return NULL;

        w->notify = NULL;
        w->deadline_source = sd_event_source_disable_unref(w->deadline_source);
        hang_up(w);
        if (w->pid == 0) {
                worker_destroy(w);
                return NULL;
        }

        /* It may hang in the kernel: the loop keeps what is left until the process can be reaped. */
        sd_event_source_set_destroy_callback(w->child_source, destroy_with_source);
        sd_event_source_set_floating(w->child_source, true);
        sd_event_source_unref(w->child_source);
        return NULL;
}

bool worker_is_busy(const Worker *w) {
        return w->busy;
}

bool worker_has_died(const Worker *w) {
        return w->died;
}

static void tell(Worker *w, WorkerEvent event, GVariant *value, const char *text) {
        if (event == WORKER_DONE || event == WORKER_FAILED) {
                w->busy = false;
                w->deadline_source = sd_event_source_disable_unref(w->deadline_source);
        }
        if (w->notify)
                w->notify(w, event, value, text, w->userdata);
}

static int on_idle(sd_event_source *s, uint64_t usec, void *userdata) {
        Worker *w = userdata;

        hang_up(w); /* it sees the end of the stream, and ends */
        return 0;
}

static void arm_idle(Worker *w) {
        int r;

        if (w->busy || w->fd < 0)
                return;

        r = sd_event_add_time_relative(w->event, &w->idle_source, CLOCK_MONOTONIC, IDLE_USEC, G_USEC_PER_SEC,
                                       on_idle, w);
        if (r < 0)
                hang_up(w);
}

/* False: it speaks nonsense. */
static bool take_frame(Worker *w, const Frame *frame) {
        if (!w->busy || frame->sequence != w->sequence)
                return false;

        switch (frame->kind) {
        case FRAME_RESULT:
                tell(w, WORKER_DONE, frame->value, NULL);
                return true;
        case FRAME_ERROR:
                if (!g_variant_is_of_type(frame->value, G_VARIANT_TYPE_STRING))
                        return false;
                tell(w, WORKER_FAILED, NULL, g_variant_get_string(frame->value, NULL));
                return true;
        case FRAME_HELD:
                tell(w, WORKER_HELD, NULL, NULL);
                return true;
        default:
                return false;
        }
}

static void on_nonsense(Worker *w) {
        hang_up(w);
        w->died = true;
        if (w->busy)
                tell(w, WORKER_FAILED, NULL, "The worker process answered nonsense");
}

static void drain(Worker *w) {
        guint8 bytes[64 * 1024];
        ssize_t n;

        while (w->fd >= 0 && (n = read(w->fd, bytes, sizeof bytes)) > 0) {
                g_byte_array_append(w->buffer, bytes, (guint) n);

                for (;;) {
                        g_auto(Frame) frame = { 0 };
                        int r = frame_take(w->buffer, &frame);

                        if (r == 0)
                                break;
                        if (r < 0 || !take_frame(w, &frame)) {
                                on_nonsense(w);
                                return;
                        }
                }
        }
}

static int on_io(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Worker *w = userdata;

        drain(w);
        /* The end of the stream alone means nothing yet: only when the process is reaped is its lock free. */
        if (w->fd >= 0 && (revents & (EPOLLHUP | EPOLLERR)))
                w->io_source = sd_event_source_disable_unref(w->io_source);
        if (!w->busy && !w->idle_source)
                arm_idle(w);
        return 0;
}

static int on_exit_of_child(sd_event_source *s, const siginfo_t *info, void *userdata);

/* The child's side of @fds[1] is all that it keeps. */
static int spawn(Worker *w) {
        _cleanup_close_ int ours = -1, theirs = -1;
        int fds[2], r;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;

        ours = fds[0];
        theirs = fds[1];
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                w->main(theirs, &w->context);
                _exit(EXIT_FAILURE);
        }

        r = sd_event_add_child(w->event, &w->child_source, pid, WEXITED, on_exit_of_child, w);
        if (r < 0)
                return r; /* it ends at once: its stream has */

        /* After what it wrote before it ended. */
        sd_event_source_set_priority(w->child_source, SD_EVENT_PRIORITY_NORMAL + 10);
        w->pid = pid;
        if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
                return -errno;

        r = sd_event_add_io(w->event, &w->io_source, ours, EPOLLIN, on_io, w);
        if (r < 0)
                return r;

        w->fd = steal_fd(&ours);
        return 0;
}

/* Sends a request, to a new process if there is none. */
static int ask(Worker *w, FrameKind kind, GVariant *request) {
        int r;

        if (w->fd < 0) {
                r = spawn(w);
                if (r < 0)
                        return r;
        }

        r = frame_write(w->fd, kind, ++w->sequence, request);
        if (r < 0)
                hang_up(w);
        return r;
}

static int on_exit_of_child(sd_event_source *s, const siginfo_t *info, void *userdata) {
        Worker *w = userdata;
        g_autofree char *text = NULL;

        w->pid = 0;
        if (!w->notify) {
                sd_event_source_set_floating(s, false); /* the last reference; the rest goes with it */
                return 0;
        }

        w->child_source = sd_event_source_disable_unref(w->child_source);
        if (w->next) {
                g_autoptr(GVariant) next = g_steal_pointer(&w->next);

                if (ask(w, w->next_kind, next) < 0)
                        tell(w, WORKER_FAILED, NULL, "No worker process could be started");
                return 0;
        }

        drain(w);
        hang_up(w);
        if (!w->busy)
                return 0;

        w->died = true;

        text = info->si_code == CLD_EXITED
                       ? g_strdup_printf("The worker process ended with status %d", info->si_status)
                       : g_strdup_printf("The worker process was ended by signal %d", info->si_status);
        tell(w, WORKER_FAILED, NULL, text);
        return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        Worker *w = userdata;

        tell(w, WORKER_LATE, NULL, NULL);
        return 0;
}

int worker_submit(Worker *w, FrameKind kind, GVariant *request, uint64_t deadline_usec) {
        g_autoptr(GVariant) value = g_variant_ref_sink(request);
        int r;

        if (w->busy)
                return -EBUSY;

        w->idle_source = sd_event_source_disable_unref(w->idle_source);
        if (w->fd < 0 && w->pid > 0) {
                /* The last one is on its way out, and has the lock until then. */
                w->next_kind = kind;
                w->next = g_steal_pointer(&value);
        } else {
                r = ask(w, kind, value);
                if (r < 0)
                        return r;
        }

        w->busy = true;
        w->died = false;
        r = sd_event_add_time_relative(w->event, &w->deadline_source, CLOCK_MONOTONIC, deadline_usec,
                                       G_USEC_PER_SEC / 10, on_deadline, w);
        if (r < 0)
                g_warning("Failed to arm a deadline, ignoring: %s", g_strerror(-r));
        return 0;
}
