/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"
#include "control-verbs.h"
#include "sandbox.h"

/* The socket of carved-simctl. A request is its arguments, each with a NUL behind it, until the end of the
 * stream; the answer one byte of exit code, then text. Each runs in a thread of its own: some wait long. */

#define REQUEST_MAX (256U << 10)
#define BACKLOG     64

typedef struct Request {
        Init *init;
        int fd;
} Request;

bool control_open(Init *init, GError **error) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SIM_CONTROL };

        init->control_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (init->control_fd < 0 ||
            bind(init->control_fd, (struct sockaddr *) &address, sizeof address) < 0 ||
            chmod(SIM_CONTROL, 0600) < 0 || listen(init->control_fd, BACKLOG) < 0) {
                g_set_error(error, SIM_ERROR, 0, "Failed to listen on '%s': %s", SIM_CONTROL,
                            g_strerror(errno));
                return false;
        }

        return true;
}

/* The words of a request; NULL when it is none. */
static char **read_words(int fd) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
        guint8 buffer[4096];
        ssize_t n;

        while ((n = read(fd, buffer, sizeof buffer)) > 0) {
                if (bytes->len > REQUEST_MAX)
                        return NULL;
                g_byte_array_append(bytes, buffer, (guint) n);
        }
        if (n < 0 || bytes->len == 0 || bytes->data[bytes->len - 1] != '\0')
                return NULL;

        for (guint at = 0; at < bytes->len;) {
                char *word = g_strdup((const char *) bytes->data + at);

                at += (guint) strlen(word) + 1;
                g_ptr_array_add(words, word);
        }
        g_ptr_array_add(words, NULL);
        return (char **) g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

static void *answer(void *data) {
        g_autofree Request *request = data;
        _cleanup_close_ int fd = request->fd;
        g_auto(GStrv) words = read_words(fd);
        g_autoptr(GString) out = g_string_new(" "); /* the exit code's place */
        int code = 2;

        if (words) {
                kernel_lock(request->init->kernel);
                code = control_verb(request->init, (const char *const *) words, out);
                kernel_flush_names(request->init->kernel);
                kernel_unlock(request->init->kernel);
        }

        out->str[0] = (char) code;
        for (size_t sent = 0; sent < out->len;) {
                ssize_t n = send(fd, out->str + sent, out->len - sent, MSG_NOSIGNAL);

                if (n < 0)
                        break;
                sent += (size_t) n;
        }
        return NULL;
}

void control_accept(Init *init) {
        int fd;

        while ((fd = accept4(init->control_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
                Request *request = g_new(Request, 1);

                *request = (Request){ init, fd };
                g_thread_unref(g_thread_new("sim-control", answer, request));
        }
}
