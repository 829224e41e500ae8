/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "error.h"
#include "file.h"

static bool refuse(int errnum, GError **error) {
        g_set_error_literal(error, CARVED_ERROR, errnum == ENOENT ? CARVED_ERROR_ABSENT : CARVED_ERROR_FAILED,
                            g_strerror(errnum));
        return false;
}

/* Up to @max bytes; -errno. */
static ssize_t read_all(int fd, char *buf, size_t max) {
        size_t len = 0;

        while (len < max) {
                ssize_t n = read(fd, buf + len, max - len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                len += (size_t) n;
        }
        return (ssize_t) len;
}

bool carved_file_read(int dir_fd, const char *name, size_t max, char **ret_text, size_t *ret_len,
                      GError **error) {
        _cleanup_close_ int fd = -1;
        g_autofree char *text = NULL;
        struct stat st;
        ssize_t n;

        /* Not blocking: a pipe would wait for its writer. */
        fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return refuse(errno, error);
        if (fstat(fd, &st) < 0)
                return refuse(errno, error);
        if (!S_ISREG(st.st_mode)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "Not a regular file");
                return false;
        }

        /* One byte more tells that it is too long: its size may be another by now. */
        text = g_malloc(max + 2);
        n = read_all(fd, text, max + 1);
        if (n < 0)
                return refuse((int) -n, error);
        if ((size_t) n > max) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "Longer than %zu bytes", max);
                return false;
        }

        text[n] = '\0';
        text = g_realloc(text, (size_t) n + 1);
        *ret_text = g_steal_pointer(&text);
        *ret_len = (size_t) n;
        return true;
}
