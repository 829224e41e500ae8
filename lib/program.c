/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "program.h"

#define OUTPUT_MAX (64U * 1024)

static int spawn(const char *const *argv, int output, pid_t *ret) {
        static const char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                                                   NULL };
        posix_spawn_file_actions_t actions;
        int r;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
        /* All that is ours is closed on exec, but for the lock of the card: if we die, it is not free before
         * the program has ended. */
        r = posix_spawn(ret, argv[0], &actions, NULL, (char **) argv, (char **) environment);
        posix_spawn_file_actions_destroy(&actions);
        return -r;
}

/* To the end, also when there is more than is kept: it must not wait for us. */
static char *read_output(int fd) {
        g_autoptr(GString) text = g_string_new(NULL);
        char buffer[4096];
        ssize_t n;

        while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
                if (n > 0 && text->len < OUTPUT_MAX)
                        g_string_append_len(text, buffer, n);
        return carved_program_line(text->str, text->len);
}

char *carved_program_line(const char *said, size_t len) {
        g_autoptr(GString) line = g_string_sized_new(len);
        g_autofree char *valid = NULL;

        while (len > 0 && g_ascii_isspace(said[len - 1]))
                len--;
        /* First: GLib's strings end at a NUL. */
        valid = g_utf8_make_valid(said, (gssize) len);
        for (const char *c = valid; *c; c++)
                if (*c == '\n')
                        g_string_append(line, "; ");
                else
                        g_string_append_c(line, g_ascii_iscntrl(*c) ? ' ' : *c);
        return g_strdup(line->str);
}

int carved_program_run(const char *const *argv, char **ret_output) {
        _cleanup_close_ int reading = -1, writing = -1;
        int fds[2], status, r;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;

        reading = fds[0];
        writing = fds[1];
        r = spawn(argv, writing, &pid);
        if (r < 0)
                return r;

        closep(&writing);
        *ret_output = read_output(reading);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;

        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
