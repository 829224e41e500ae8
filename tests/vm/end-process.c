/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits for the end of a process that need not be a child: end-process PID SECONDS [kill]. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
        struct pollfd fd = { .events = POLLIN };

        if (argc < 3 || argc > 4) {
                fputs("end-process PID SECONDS [kill]\n", stderr);
                return 2;
        }
        fd.fd = syscall(SYS_pidfd_open, atoi(argv[1]), 0);
        if (fd.fd < 0)
                return errno == ESRCH ? 0 : 1;
        if (argc == 4 && syscall(SYS_pidfd_send_signal, fd.fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
                return 1;
        return poll(&fd, 1, 1000 * atoi(argv[2])) == 1 ? 0 : 1;
}
