/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>

#include "cleanup.h"
#include "subject.h"

#define NOTIFY      "/run/carved-bench"
#define LOG         "/run/carved-bench.log"
#define DEADLINE_MS 60000

void die(const char *what, int error) {
        g_autofree char *log = NULL;

        if (g_file_get_contents(LOG, &log, NULL, NULL))
                fputs(log, stderr);
        fprintf(stderr, "bench: %s: %s\n", what, g_strerror(error));
        exit(EXIT_FAILURE);
}

double now_ms(void) {
        return (double) g_get_monotonic_time() / 1000.0;
}

pid_t spawn(const char *const *argv) {
        pid_t pid = fork();

        if (pid < 0)
                die("fork", errno);
        if (pid == 0) {
                int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
                int log = open(LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

                dup2(null, STDOUT_FILENO);
                dup2(log, STDERR_FILENO);
                execvp(argv[0], (char **) argv);
                _exit(127);
        }
        return pid;
}

double time_of(const char *const *argv) {
        double start = now_ms();
        int status;

        if (waitpid(spawn(argv), &status, 0) < 0 || status != 0)
                die(argv[0], EIO);
        return now_ms() - start;
}

static int listen_for_ready(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = NOTIFY };
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        unlink(NOTIFY);
        if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof address) < 0)
                die(NOTIFY, errno);
        setenv("NOTIFY_SOCKET", NOTIFY, 1);
        return fd;
}

static void wait_for_ready(int fd) {
        char text[4096];

        for (;;) {
                struct pollfd wait = { .fd = fd, .events = POLLIN };
                ssize_t n;

                if (poll(&wait, 1, DEADLINE_MS) != 1)
                        die("carved is not ready", ETIMEDOUT);
                n = recv(fd, text, sizeof text - 1, 0);
                text[MAX(n, 0)] = '\0';
                if (strstr(text, "READY=1"))
                        return;
        }
}

pid_t start_carved(const char *program, double *ret_ms) {
        const char *argv[] = { program, NULL };
        _cleanup_close_ int ready = listen_for_ready();
        double start = now_ms();
        pid_t daemon = spawn(argv);

        wait_for_ready(ready);
        *ret_ms = now_ms() - start;
        return daemon;
}

void stop_carved(pid_t daemon) {
        kill(daemon, SIGTERM);
        if (waitpid(daemon, NULL, 0) != daemon)
                die("carved did not end", errno);
}
