/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

/* It registers itself with polkit, which may have to be started for it. */
#define READY_MSEC 10000

/* When it is told to end, it has nothing left to do. */
#define END_MSEC 2000

typedef struct Agent {
        pid_t pid;
} Agent;

static bool is_wanted(const Ctl *ctl) {
        return !ctl->agent && !ctl->no_ask_password && !ctl->host && geteuid() != 0 && isatty(STDIN_FILENO);
}

/* In the child: nothing but exec. Its questions go to the terminal itself, not to where we write. */
static void become_agent(const char *program, int notify_fd) {
        char number[16];
        sigset_t none;

        /* What we block, it must hear; and it must not stay when we are killed. */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        snprintf(number, sizeof number, "%d", notify_fd);
        if (fcntl(notify_fd, F_SETFD, 0) >= 0)
                execl(program, "pkttyagent", "--notify-fd", number, "--fallback", NULL);
        _exit(127);
}

/* Until @fd has something to say, or is closed by the other side. */
static bool wait_for(int fd, int msec) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        int r;

        do
                r = poll(&ready, 1, msec);
        while (r < 0 && errno == EINTR);
        return r > 0;
}

void agent_open(Ctl *ctl) {
        g_autofree char *program = NULL;
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
                wait_for(fds[0], READY_MSEC); /* it closes its end when it is ready, or by its own end */
        }
        close(fds[0]);
}

void agent_close(Ctl *ctl) {
        _cleanup_close_ int fd = -1;
        pid_t pid;

        if (!ctl->agent)
                return;

        /* It may be stopped, waiting for the terminal. */
        pid = ctl->agent->pid;
        fd = pidfd_open(pid, 0);
        kill(pid, SIGTERM);
        kill(pid, SIGCONT);
        if (fd < 0 || !wait_for(fd, END_MSEC))
                kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        g_clear_pointer(&ctl->agent, g_free);
}
