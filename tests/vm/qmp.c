/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command for QEMU's monitor, and the event that says it has come to effect: qmp SOCKET SECONDS COMMAND
 * [EVENT]. The answer goes to stdout. As an event `CLOSED` is the end of QEMU. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"

typedef struct Monitor {
        int socket;
        time_t deadline;
        Buffer received;
} Monitor;

typedef struct Event {
        const char *name, *text;
} Event;

static void __attribute__((noreturn)) fail(const char *message) {
        fprintf(stderr, "lab: %s\n", message);
        exit(125);
}

static time_t now(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec;
}

static void attach(Monitor *m, const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof(address.sun_path))
                fail("the socket's name is too long");
        strcpy(address.sun_path, path);
        m->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (m->socket < 0 || connect(m->socket, (struct sockaddr *) &address, sizeof(address)) < 0)
                fail("the guest is not running");
}

/* The next line, until the next call; NULL: QEMU is gone. */
static char *next_line(Monitor *m) {
        struct pollfd fd = { .fd = m->socket, .events = POLLIN };
        char *line, *end;
        ssize_t n;

        for (;;) {
                line = buffer_front(&m->received);
                end = line ? memchr(line, '\n', buffer_length(&m->received)) : NULL;
                if (end) {
                        *end = '\0';
                        buffer_take(&m->received, end + 1 - line);
                        return line;
                }
                if (now() >= m->deadline || poll(&fd, 1, 1000 * (int) (m->deadline - now())) == 0)
                        fail("QEMU does not answer in time");
                n = read(m->socket, buffer_reserve(&m->received, 4096), 4096);
                if (n == 0 || (n < 0 && errno != EINTR))
                        return NULL;
                m->received.end += n > 0 ? n : 0;
        }
}

static bool is_event(const char *line, const Event *event) {
        char pattern[128];

        if (!event->name)
                return false;
        snprintf(pattern, sizeof(pattern), "\"event\": \"%s\"", event->name);
        return strstr(line, pattern) && (!event->text || strstr(line, event->text));
}

/* Sends a command and waits for its answer. Returns whether the event came before that. */
static bool execute(Monitor *m, const char *command, const Event *event, bool print) {
        bool seen = false;
        char *line;

        if (write(m->socket, command, strlen(command)) < 0 || write(m->socket, "\n", 1) < 0)
                fail("the guest is gone");
        while ((line = next_line(m))) {
                if (strncmp(line, "{\"error\"", 8) == 0)
                        fail(line);
                if (strncmp(line, "{\"return\"", 9) == 0) {
                        if (print)
                                puts(line);
                        fflush(stdout);
                        return seen;
                }
                seen = seen || is_event(line, event);
        }
        fail("the guest is gone");
}

int main(int argc, char **argv) {
        Event event = { 0 };
        Monitor m = { 0 };
        char *line;

        if (argc < 4 || argc > 6) {
                fputs("qmp SOCKET SECONDS COMMAND [EVENT [TEXT]]\n", stderr);
                return 2;
        }
        event.name = argc > 4 ? argv[4] : NULL;
        event.text = argc > 5 ? argv[5] : NULL;
        m.deadline = now() + atoi(argv[2]);
        attach(&m, argv[1]);
        execute(&m, "{\"execute\": \"qmp_capabilities\"}", &event, /* print= */ false);
        if (execute(&m, argv[3], &event, /* print= */ true) || !event.name)
                return 0;
        while ((line = next_line(&m)))
                if (is_event(line, &event))
                        return 0;
        fail("the guest is gone");
}
