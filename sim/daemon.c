/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "cleanup.h"
#include "init.h"
#include "process.h"
#include "sandbox.h"

#define NOTIFY_SOCKET SIM_DIR "/notify"
#define DAEMON_LOG    SIM_DIR "/carved.log"

/* As in carved.service: longer than its own ten seconds. */
#define STOP_USEC (15 * G_USEC_PER_SEC)

bool daemon_open_notify(Init *init, GError **error) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = NOTIFY_SOCKET };

        init->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (init->notify_fd < 0 || bind(init->notify_fd, (struct sockaddr *) &address, sizeof address) < 0) {
                g_set_error(error, SIM_ERROR, 0, "Failed to listen on '%s': %s", NOTIFY_SOCKET,
                            g_strerror(errno));
                return false;
        }

        return true;
}

void daemon_read_notify(Init *init) {
        char text[4096];
        ssize_t n;

        while ((n = recv(init->notify_fd, text, sizeof text - 1, 0)) >= 0) {
                g_auto(GStrv) lines = NULL;

                text[n] = '\0';
                lines = g_strsplit(text, "\n", -1);
                for (char **line = lines; *line; line++) {
                        if (g_str_equal(*line, "READY=1"))
                                init->daemon_ready = true;
                        if (g_str_equal(*line, "WATCHDOG=1"))
                                init->watchdogs++;
                        if (g_str_has_prefix(*line, "STATUS=")) {
                                g_free(init->daemon_says);
                                init->daemon_says = g_strdup(*line + strlen("STATUS="));
                        }
                }
        }
        kernel_wake(init->kernel);
}

bool daemon_start(Init *init, GString *why) {
        const char *argv[] = { init->options->daemon, NULL };
        _cleanup_close_ int log = -1;
        g_auto(GStrv) env = g_get_environ();
        pid_t pid;

        if (init->daemon > 0) {
                g_string_append(why, "carved runs already\n");
                return false;
        }

        env = g_environ_setenv(env, "NOTIFY_SOCKET", NOTIFY_SOCKET, TRUE);
        env = g_environ_setenv(env, "STATE_DIRECTORY", "/var/lib/carved", TRUE);
        env = g_environ_setenv(env, "RUNTIME_DIRECTORY", "/run/carved", TRUE);
        log = open(DAEMON_LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

        init->daemon_ready = false;
        init->watchdogs = 0;
        g_clear_pointer(&init->daemon_says, g_free);
        pid = process_spawn(
                &(Process){ .argv = argv, .env = env, .output = log, .service = true, .pass = -1 });
        if (pid < 0) {
                g_string_append_printf(why, "Failed to start '%s': %s\n", argv[0], g_strerror(-pid));
                return false;
        }

        init->daemon = pid;
        return true;
}

static void append_log(GString *why) {
        g_autofree char *text = NULL;

        if (g_file_get_contents(DAEMON_LOG, &text, NULL, NULL))
                g_string_append(why, text);
}

bool daemon_wait_ready(Init *init, GString *why) {
        pid_t pid = init->daemon;

        while (init->daemon == pid && pid > 0 && !init->daemon_ready)
                kernel_wait(init->kernel);
        if (init->daemon == pid && pid > 0)
                return true;

        g_string_append(why, "carved ended before it was ready. It said:\n");
        append_log(why);
        return false;
}

void daemon_kill(Init *init, int signal) {
        int64_t end = g_get_monotonic_time() + STOP_USEC;
        pid_t pid = init->daemon;

        if (pid <= 0)
                return;

        kill(pid, signal);
        while (init->daemon == pid && kernel_wait_until(init->kernel, end))
                ;
        if (init->daemon == pid)
                kill(pid, SIGKILL);
        while (init->daemon == pid)
                kernel_wait(init->kernel);
}
