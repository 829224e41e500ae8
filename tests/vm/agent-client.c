/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Outside: has the agent run one command, and ends as that did. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

/* As timeout(1) and its like have them. */
#define EXIT_TIMEOUT   124
#define EXIT_TRANSPORT 125

/* For the agent to answer that it killed the command. */
#define GRACE_SECONDS 5

typedef struct Client {
        const char *path;
        int socket;
        uint64_t identity;
        double deadline;
        bool forward_input, runs, late;
        size_t on_its_way; /* of the input */
        Buffer received;
} Client;

static double now(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec + t.tv_nsec / 1e9;
}

static void __attribute__((noreturn)) fail(int status, const char *message) {
        fprintf(stderr, "lab: %s\n", message);
        exit(status);
}

static volatile sig_atomic_t interrupted;

/* The alarm only interrupts; the others end us, and then the command too. */
static void on_signal(int number) {
        if (number != SIGALRM)
                interrupted = number;
}

static void write_all(int fd, const char *data, size_t n) {
        ssize_t written;

        while (n > 0) {
                written = write(fd, data, n);
                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        fail(EXIT_TRANSPORT, fd > 2 ? "the guest is gone" : "the output can't be written");
                data += written;
                n -= written;
        }
}

static void send_frame(Client *c, FrameType type, const void *payload, size_t length) {
        Buffer b = { 0 };

        frame_add(&b, c->identity, type, payload, length);
        write_all(c->socket, buffer_front(&b), buffer_length(&b));
        free(b.data);
}

/* QEMU has one client at a time; the others wait for their turn here, and not longer than they would for the
 * command. */
static void attach(Client *c, double timeout) {
        struct itimerval timer = { .it_value = { .tv_sec = timeout, .tv_usec = 1 } };
        struct sigaction action = { .sa_handler = on_signal };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char lock[sizeof(address.sun_path) + 8];
        int fd;

        if (strlen(c->path) >= sizeof(address.sun_path))
                fail(EXIT_TRANSPORT, "the socket's name is too long");
        strcpy(address.sun_path, c->path);
        snprintf(lock, sizeof(lock), "%s.lock", c->path);

        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &timer, NULL);
        fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || flock(fd, LOCK_EX) < 0)
                fail(fd >= 0 && errno == EINTR ? EXIT_TIMEOUT : EXIT_TRANSPORT,
                     "other commands are still running");
        c->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->socket < 0 || connect(c->socket, (struct sockaddr *) &address, sizeof(address)) < 0)
                fail(EXIT_TRANSPORT, "the guest is not running");
        timer.it_value = (struct timeval){ 0 };
        setitimer(ITIMER_REAL, &timer, NULL);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
}

static void greet(Client *c) {
        static const char zeros[sizeof(Frame) + FRAME_PAYLOAD_MAX];
        struct timespec t;
        Hello hello;

        write_all(c->socket, zeros, sizeof(zeros));
        clock_gettime(CLOCK_REALTIME, &t);
        hello.seconds = t.tv_sec;
        hello.nanoseconds = t.tv_nsec;
        if (getrandom(hello.seed, sizeof(hello.seed), 0) < 0)
                fail(EXIT_TRANSPORT, "there are no random numbers");
        send_frame(c, FRAME_HELLO, &hello, sizeof(hello));
}

/* One argument is a line for the shell; several are a program and its arguments. */
static void send_command(Client *c, int n, char **arguments) {
        Buffer b = { 0 };
        int i;

        if (n == 1)
                buffer_add(&b, "bash\0-c", sizeof("bash\0-c"));
        for (i = 0; i < n; i++)
                buffer_add(&b, arguments[i], strlen(arguments[i]) + 1);
        buffer_add(&b, &(char){ FRAME_WHOLE }, 1);
        if (buffer_length(&b) > FRAME_PAYLOAD_MAX)
                fail(EXIT_TRANSPORT, "the command is too long; give it as input of a shell");
        send_frame(c, FRAME_RUN, buffer_front(&b), buffer_length(&b));
        free(b.data);
        if (!c->forward_input)
                send_frame(c, FRAME_INPUT, NULL, 0);
}

static void send_input(Client *c) {
        char data[FRAME_PAYLOAD_MAX];
        ssize_t n;

        n = read(0, data, sizeof(data));
        if (n < 0 && errno == EINTR)
                return;
        /* An empty one is the end. */
        send_frame(c, FRAME_INPUT, data, n > 0 ? n : 0);
        if (n <= 0)
                c->forward_input = false;
        else
                c->on_its_way += n;
}

static int32_t number(const char *payload) {
        int32_t n;

        memcpy(&n, payload, sizeof(n));
        return n;
}

static int exit_code(Client *c, int32_t status) {
        if (c->late)
                fail(EXIT_TIMEOUT, "the command took too long and was killed");
        if (status == -1)
                fail(EXIT_TRANSPORT, "the command could not be started");
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void handle_frames(Client *c) {
        const char *payload;
        Frame frame;

        while (frame_next(&c->received, &frame, &payload)) {
                if (frame.client != c->identity)
                        continue;
                if (frame.type == FRAME_OUTPUT)
                        write_all(1, payload, frame.length);
                else if (frame.type == FRAME_ERROR)
                        write_all(2, payload, frame.length);
                else if (frame.type == FRAME_TAKEN)
                        c->on_its_way -= number(payload);
                else if (frame.type == FRAME_EXIT)
                        exit(exit_code(c, number(payload)));
                else if (frame.type == FRAME_HELLO && !c->runs)
                        exit(0);
        }
}

/* The agent would kill it when the next client comes, but nobody knows when that is. */
static void __attribute__((noreturn)) give_up(Client *c) {
        if (c->runs)
                send_frame(c, FRAME_KILL, NULL, 0);
        exit(128 + interrupted);
}

static void too_late(Client *c) {
        if (!c->runs)
                fail(EXIT_TIMEOUT, "the guest does not answer");
        if (c->late)
                fail(EXIT_TIMEOUT, "the command took too long, and the guest does not answer");
        c->late = true;
        c->forward_input = false;
        c->deadline = now() + GRACE_SECONDS;
        send_frame(c, FRAME_KILL, NULL, 0);
}

static void __attribute__((noreturn)) converse(Client *c) {
        ssize_t n;

        for (;;) {
                struct pollfd fds[] = {
                        { .fd = c->socket, .events = POLLIN },
                        { .fd = c->forward_input && c->on_its_way < FRAME_INPUT_MAX ? 0 : -1,
                          .events = POLLIN },
                };
                double left = c->deadline - now();

                if (left <= 0) {
                        too_late(c);
                        continue;
                }
                if (poll(fds, 2, (int) (left * 1000) + 1) < 0 && errno != EINTR)
                        fail(EXIT_TRANSPORT, strerror(errno));
                if (interrupted)
                        give_up(c);
                if (fds[0].revents) {
                        n = read(c->socket, buffer_reserve(&c->received, FRAME_PAYLOAD_MAX),
                                 FRAME_PAYLOAD_MAX);
                        if (n == 0 || (n < 0 && errno != EINTR))
                                fail(EXIT_TRANSPORT, "the guest is gone");
                        c->received.end += n;
                        handle_frames(c);
                }
                if (fds[1].revents)
                        send_input(c);
        }
}

int main(int argc, char **argv) {
        Client c = { 0 };
        double timeout;

        if (argc < 4) {
                fputs("agent-client SOCKET SECONDS hello|run|run-with-input [COMMAND…]\n", stderr);
                return 2;
        }
        c.path = argv[1];
        timeout = strtod(argv[2], NULL);
        c.deadline = now() + timeout;
        c.runs = strcmp(argv[3], "hello") != 0;
        c.forward_input = strcmp(argv[3], "run-with-input") == 0;
        signal(SIGPIPE, SIG_IGN);
        if (getrandom(&c.identity, sizeof(c.identity), 0) < 0)
                fail(EXIT_TRANSPORT, "there are no random numbers");

        attach(&c, timeout);
        greet(&c);
        if (c.runs)
                send_command(&c, argc - 4, argv + 4);
        converse(&c);
}
