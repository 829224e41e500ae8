/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "isolate.h"

#define ANSWER_MAX (1U * 1024 * 1024)

static bool write_all(int fd, const char *data, size_t size) {
        while (size > 0) {
                ssize_t n = write(fd, data, size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return false;
                data += n;
                size -= (size_t) n;
        }
        return true;
}

/* Nothing of the parent's lives on in a process that may hang: neither its socket nor its lock. */
static void child(int fd, CarvedIsolated work, const void *data) G_GNUC_NORETURN;
static void child(int fd, CarvedIsolated work, const void *data) {
        const int mine = 3;
        g_autoptr(GVariant) answer = NULL;
        bool written;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fd != mine && dup3(fd, mine, O_CLOEXEC) < 0)
                _exit(EXIT_FAILURE);
        close_range((unsigned) mine + 1, ~0U, 0);

        answer = g_variant_ref_sink(work(data));
        written = write_all(mine, g_variant_get_data(answer), g_variant_get_size(answer));
        _exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Until the other end is closed. 0, or -errno: -ETIMEDOUT. */
static int read_all(int fd, int timeout_ms, GByteArray *buffer) {
        gint64 end = g_get_monotonic_time() + timeout_ms * G_GINT64_CONSTANT(1000);

        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                gint64 left = (end - g_get_monotonic_time()) / 1000;
                guint8 bytes[4096];
                ssize_t n;
                int r;

                r = poll(&p, 1, left > 0 ? (int) left : 0);
                if (r < 0 && errno == EINTR)
                        continue;
                if (r <= 0)
                        return r < 0 ? -errno : -ETIMEDOUT;
                n = read(fd, bytes, sizeof bytes);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                if (buffer->len + (guint) n > ANSWER_MAX)
                        return -EMSGSIZE;
                g_byte_array_append(buffer, bytes, (guint) n);
        }
}

/* It only looked: it may be ended. One that sits in the kernel ends when it comes out, and is not waited for.
 */
static void end(pid_t pid, int r, GError **error) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, WNOHANG);
        carved_error_set_errno(error, -r, "It gave no answer");
}

static bool check_end(pid_t pid, GError **error) {
        int status = 0;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return carved_error_set_errno(error, errno, "Its end could not be seen");

        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
                return true;
        if (WIFSIGNALED(status))
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "It crashed: %s",
                            strsignal(WTERMSIG(status)));
        else
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "It ended with status %d",
                            WEXITSTATUS(status));
        return false;
}

GVariant *carved_isolate(CarvedIsolated work, const void *data, const GVariantType *type, int timeout_ms,
                         GError **error) {
        g_autoptr(GByteArray) buffer = g_byte_array_new();
        _cleanup_close_ int ours = -1;
        g_autoptr(GVariant) answer = NULL;
        g_autoptr(GBytes) bytes = NULL;
        int fds[2], r;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return carved_error_set_errno(error, errno, "No pipe"), NULL;
        ours = fds[0];
        pid = fork();
        if (pid == 0)
                child(fds[1], work, data);
        close(fds[1]);
        if (pid < 0)
                return carved_error_set_errno(error, errno, "No process"), NULL;

        r = read_all(ours, timeout_ms, buffer);
        if (r < 0)
                return end(pid, r, error), NULL;
        if (!check_end(pid, error))
                return NULL;

        bytes = g_byte_array_free_to_bytes(g_steal_pointer(&buffer));
        answer = g_variant_ref_sink(g_variant_new_from_bytes(type, bytes, FALSE));
        if (!g_variant_is_normal_form(answer)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "It answered nonsense");
                return NULL;
        }
        return g_steal_pointer(&answer);
}
