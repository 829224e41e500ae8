/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In the guest: runs the commands of a client outside, one at a time, over a virtio-serial port. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/random.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

#define REPLIES_MAX   (1024 * 1024) /* beyond it the client has to take some first */
#define ARGUMENTS_MAX 1024

typedef struct Command {
        pid_t pid;      /* 0: none */
        int input;      /* its stdin, as are the two below: our ends of the pipes, or -1 */
        int streams[2]; /* stdout, stderr */
        Buffer pending; /* for its stdin */
        bool input_ends;
} Command;

typedef struct Agent {
        int port, events, signals;
        uint64_t client;
        Buffer received, replies;
        Command command;
} Agent;

static const FrameType stream_frames[2] = { FRAME_OUTPUT, FRAME_ERROR };

static void close_fd(int *fd) {
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

static void reply(Agent *a, FrameType type, const void *payload, size_t length) {
        frame_add(&a->replies, a->client, type, payload, length);
}

static void command_forget(Command *c) {
        c->pid = 0;
        c->input_ends = false;
        buffer_clear(&c->pending);
        close_fd(&c->input);
        close_fd(&c->streams[0]);
        close_fd(&c->streams[1]);
}

/* Not waited for: in the kernel's D state it may never end, and the agent goes on. It is reaped whenever it
 * does. */
static void command_kill(Command *c) {
        if (c->pid > 0)
                kill(-c->pid, SIGKILL);
        command_forget(c);
}

/* Up to so much of what a stream has now. */
static void stream_read(Agent *a, int i, size_t most) {
        int *fd = &a->command.streams[i];
        char data[FRAME_PAYLOAD_MAX];
        ssize_t n;

        while (*fd >= 0 && most > 0) {
                n = read(*fd, data, sizeof(data) < most ? sizeof(data) : most);
                if (n < 0)
                        return;
                if (n == 0)
                        close_fd(fd);
                else
                        reply(a, stream_frames[i], data, n);
                most -= n;
        }
}

/* What it wrote is in the pipes. A daemon that it left behind may write on, so not more than a pipe can have
 * held. */
static void command_finish(Agent *a, int32_t status) {
        Command *c = &a->command;
        int i;

        for (i = 0; i < 2; i++)
                if (c->streams[i] >= 0)
                        stream_read(a, i, fcntl(c->streams[i], F_GETPIPE_SZ));
        reply(a, FRAME_EXIT, &status, sizeof(status));
        command_forget(c);
}

static void __attribute__((noreturn)) command_child(char **arguments, int input, int output, int error) {
        sigset_t none;

        setsid();
        dup2(input, 0);
        dup2(output, 1);
        dup2(error, 2);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        execvp(arguments[0], arguments);
        dprintf(2, "%s: %s\n", arguments[0], strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
}

static void command_start(Agent *a, char **arguments) {
        int input[2], output[2], error[2];
        Command *c = &a->command;

        if (pipe2(input, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
                abort();
        c->pid = fork();
        if (c->pid == 0)
                command_child(arguments, input[0], output[1], error[1]);
        close(input[0]);
        close(output[1]);
        close(error[1]);
        c->input = input[1];
        c->streams[0] = output[0];
        c->streams[1] = error[0];
        fcntl(c->input, F_SETFL, O_NONBLOCK);
        fcntl(c->streams[0], F_SETFL, O_NONBLOCK);
        fcntl(c->streams[1], F_SETFL, O_NONBLOCK);
        if (c->pid < 0)
                command_finish(a, -1);
}

static void run(Agent *a, const char *payload, size_t length) {
        char copy[FRAME_PAYLOAD_MAX], *arguments[ARGUMENTS_MAX + 1], *p;
        int n = 0;

        command_kill(&a->command);
        memcpy(copy, payload, length);
        if (length >= 2 && copy[length - 1] == FRAME_WHOLE && copy[length - 2] == '\0')
                for (p = copy; p < copy + length - 1 && n < ARGUMENTS_MAX; p += strlen(p) + 1)
                        arguments[n++] = p;
        arguments[n] = NULL;
        if (n > 0)
                command_start(a, arguments);
        else
                command_finish(a, -1);
}

static void hello(Agent *a, const char *payload, size_t length) {
        struct timespec now = { 0 };
        Hello h;
        int fd;

        if (length != sizeof(h))
                return;
        memcpy(&h, payload, sizeof(h));

        clock_gettime(CLOCK_REALTIME, &now);
        if (llabs(h.seconds - now.tv_sec) > 1)
                clock_settime(CLOCK_REALTIME, &(struct timespec){ h.seconds, h.nanoseconds });

        fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, h.seed, sizeof(h.seed)) > 0)
                ioctl(fd, RNDRESEEDCRNG);
        close_fd(&fd);
        reply(a, FRAME_HELLO, NULL, 0);
}

static void handle_frame(Agent *a, const Frame *frame, const char *payload) {
        Command *c = &a->command;

        if (frame->type == FRAME_HELLO) {
                /* The one before is gone, whether or not we saw it leave. */
                command_kill(c);
                buffer_clear(&a->replies);
                a->client = frame->client;
                hello(a, payload, frame->length);
        }
        if (frame->client != a->client)
                return;

        if (frame->type == FRAME_RUN)
                run(a, payload, frame->length);
        else if (frame->type == FRAME_INPUT && c->pid > 0 && frame->length > 0)
                buffer_add(&c->pending, payload, frame->length);
        else if (frame->type == FRAME_INPUT && c->pid > 0)
                c->input_ends = true;
        else if (frame->type == FRAME_KILL && c->pid > 0) {
                kill(-c->pid, SIGKILL);
                command_finish(a, -1);
        }
}

static void port_read(Agent *a) {
        const char *payload;
        Frame frame;
        ssize_t n;

        for (;;) {
                n = read(a->port, buffer_reserve(&a->received, FRAME_PAYLOAD_MAX), FRAME_PAYLOAD_MAX);
                /* 0 is a client that left. It does not count: the kernel may hear of that after we have heard
                 * of the next one, for the two come by different queues. */
                if (n <= 0)
                        return;
                a->received.end += n;
                while (frame_next(&a->received, &frame, &payload))
                        handle_frame(a, &frame, payload);
        }
}

static void port_write(Agent *a) {
        ssize_t n;

        while (buffer_length(&a->replies) > 0) {
                n = write(a->port, buffer_front(&a->replies), buffer_length(&a->replies));
                if (n <= 0)
                        return;
                buffer_take(&a->replies, n);
        }
}

/* A client sends on when this much has gone. */
static void input_taken(Agent *a, uint32_t n) {
        buffer_take(&a->command.pending, n);
        reply(a, FRAME_TAKEN, &n, sizeof(n));
}

static void input_write(Agent *a) {
        Command *c = &a->command;
        ssize_t n;

        while (buffer_length(&c->pending) > 0) {
                n = c->input < 0 ? -1
                                 : write(c->input, buffer_front(&c->pending), buffer_length(&c->pending));
                if (n < 0 && c->input >= 0 && errno == EAGAIN)
                        return;
                if (n < 0) {
                        /* It reads no more, which is its own affair. */
                        close_fd(&c->input);
                        n = buffer_length(&c->pending);
                }
                input_taken(a, n);
        }
        if (c->input_ends)
                close_fd(&c->input);
}

static void reap(Agent *a) {
        struct signalfd_siginfo info;
        int status;
        pid_t pid;

        if (read(a->signals, &info, sizeof(info)) < 0)
                return;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
                if (pid == a->command.pid)
                        command_finish(a, status);
}

static void turn(Agent *a) {
        Command *c = &a->command;
        struct epoll_event event;
        bool full = buffer_length(&a->replies) >= REPLIES_MAX;
        struct pollfd fds[] = {
                { .fd = a->events, .events = POLLIN },
                { .fd = a->signals, .events = POLLIN },
                { .fd = full ? -1 : c->streams[0], .events = POLLIN },
                { .fd = full ? -1 : c->streams[1], .events = POLLIN },
                { .fd = buffer_length(&c->pending) > 0 ? c->input : -1, .events = POLLOUT },
        };

        if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
                return;
        if (fds[2].revents)
                stream_read(a, 0, REPLIES_MAX);
        if (fds[3].revents)
                stream_read(a, 1, REPLIES_MAX);
        if (fds[1].revents)
                reap(a);
        if (fds[0].revents)
                epoll_wait(a->events, &event, 1, 0);

        /* Without an event, too: the port tells of a change once, and we may not have wanted to hear of it
         * then. */
        port_read(a);
        input_write(a);
        port_write(a);
}

/* /dev/virtio-ports/ has it by name, but only once udev runs. */
static int port_open(const char *name) {
        char line[128], path[160];
        glob_t found;
        size_t i;
        int fd = -1;

        if (glob("/sys/class/virtio-ports/*/name", 0, NULL, &found) != 0)
                return -1;
        for (i = 0; i < found.gl_pathc && fd < 0; i++) {
                FILE *f = fopen(found.gl_pathv[i], "re");

                if (f && fgets(line, sizeof(line), f) && strcmp(strtok(line, "\n"), name) == 0) {
                        sscanf(found.gl_pathv[i], "/sys/class/virtio-ports/%99[^/]", line);
                        snprintf(path, sizeof(path), "/dev/%s", line);
                        fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
                }
                if (f)
                        fclose(f);
        }
        globfree(&found);
        return fd;
}

int main(int argc, char **argv) {
        Agent a = { .command = { .input = -1, .streams = { -1, -1 } } };
        struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
        sigset_t mask;

        if (argc != 2)
                return 2;
        a.port = port_open(argv[1]);
        if (a.port < 0) {
                fprintf(stderr, "There is no port %s yet\n", argv[1]);
                return 1;
        }
        sigemptyset(&mask);
        sigaddset(&mask, SIGCHLD);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        signal(SIGPIPE, SIG_IGN);
        a.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);

        /* While nobody is connected poll(2) says so at once, for ever. Edge-triggered, it says so once. */
        a.events = epoll_create1(EPOLL_CLOEXEC);
        if (a.signals < 0 || a.events < 0 || epoll_ctl(a.events, EPOLL_CTL_ADD, a.port, &event) < 0) {
                perror("agent");
                return 1;
        }
        for (;;)
                turn(&a);
}
