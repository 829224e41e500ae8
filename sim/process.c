/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "process.h"

#define PASSED_FD 3

/* In the child: only what is safe between fork() and exec() of a threaded process. */
static void run(const Process *process, const char *path, char **env) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        if (process->service)
                setsid();

        if (process->output >= 0 &&
            (dup2(process->output, STDOUT_FILENO) < 0 || dup2(process->output, STDERR_FILENO) < 0))
                _exit(126);
        if (process->pass == PASSED_FD && fcntl(PASSED_FD, F_SETFD, 0) < 0)
                _exit(126);
        if (process->pass >= 0 && process->pass != PASSED_FD && dup2(process->pass, PASSED_FD) < 0)
                _exit(126);

        execve(path, (char *const *) process->argv, env);
        _exit(errno == ENOENT ? 127 : 126);
}

pid_t process_spawn(const Process *process) {
        g_autofree char *path = g_find_program_in_path(process->argv[0]);
        g_auto(GStrv) inherited = g_get_environ();
        pid_t pid;

        if (!path)
                return -ENOENT;

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                run(process, path, process->env ?: inherited);

        return pid;
}
