/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

/* It registers itself with polkit, which may have to be started for it. */
#define READY_MSEC 10000

typedef struct Agent {
        pid_t pid;
} Agent;

static bool is_wanted(const Ctl *ctl) {
        return !ctl->agent && !ctl->no_ask_password && !ctl->host && geteuid() != 0 && isatty(STDIN_FILENO);
}

/* In the child: nothing but exec. Its questions go to the terminal itself, not to where we write. */
static void become_agent(const char *program, int notify_fd) {
        char number[16];

        snprintf(number, sizeof number, "%d", notify_fd);
        if (fcntl(notify_fd, F_SETFD, 0) >= 0)
                execl(program, "pkttyagent", "--notify-fd", number, "--fallback", NULL);
        _exit(127);
}

void agent_open(Ctl *ctl) {
        g_autofree char *program = NULL;
        struct pollfd ready;
        int fds[2];
        pid_t pid;

        if (!is_wanted(ctl))
                return;
        program = g_find_program_in_path("pkttyagent");
        if (!program || pipe2(fds, O_CLOEXEC) < 0)
                return;

        pid = fork();
        if (pid == 0)
                become_agent(program, fds[1]);
        close(fds[1]);
        if (pid > 0) {
                ctl->agent = g_new(Agent, 1);
                ctl->agent->pid = pid;
                /* It closes its end when it is ready, or by its own end. */
                ready = (struct pollfd){ .fd = fds[0], .events = POLLIN };
                while (poll(&ready, 1, READY_MSEC) < 0 && errno == EINTR)
                        ;
        }
        close(fds[0]);
}

void agent_close(Ctl *ctl) {
        if (!ctl->agent)
                return;

        /* It may be stopped, waiting for the terminal. */
        kill(ctl->agent->pid, SIGTERM);
        kill(ctl->agent->pid, SIGCONT);
        while (waitpid(ctl->agent->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        g_clear_pointer(&ctl->agent, g_free);
}
