/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* For tests and tools that run on a simulated host: carved-simctl as a function. Plain C; nothing to link. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static inline int simctl_connect(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const char *path = getenv("CARVED_SIM_CONTROL");
        int fd;

        if (!path || strlen(path) >= sizeof address.sun_path)
                return -ENOENT;

        memcpy(address.sun_path, path, strlen(path));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &address, sizeof address) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }

        return fd;
}

static inline int simctl_send(int fd, const char *const *words) {
        for (; *words; words++) {
                size_t len = strlen(*words) + 1;

                if (send(fd, *words, len, MSG_NOSIGNAL) != (ssize_t) len)
                        return -errno;
        }

        return shutdown(fd, SHUT_WR) < 0 ? -errno : 0;
}

/* Reads to the end; a NUL is put behind it. */
static inline int simctl_receive(int fd, char **ret, size_t *ret_len) {
        size_t len = 0, size = 4096;
        char *text = (char *) malloc(size);
        ssize_t n = 0;

        while (text && (n = read(fd, text + len, size - len - 1)) > 0) {
                len += (size_t) n;
                if (size - len < 2) {
                        char *more = (char *) realloc(text, size *= 2);

                        if (!more)
                                free(text);
                        text = more;
                }
        }
        if (!text || n < 0) {
                int r = text ? -errno : -ENOMEM;

                free(text);
                return r;
        }

        text[len] = '\0';
        *ret = text;
        *ret_len = len;
        return 0;
}

/* Asks for @words (NULL at the end), as on carved-simctl's command line. Returns its exit code, or -errno
 * when no simulator answers. @ret_text, if given, is what it said; free() it. */
static inline int simctl(const char *const *words, char **ret_text) {
        char *text = NULL;
        size_t len = 0;
        int fd, r;

        fd = simctl_connect();
        if (fd < 0)
                return fd;

        r = simctl_send(fd, words);
        if (r >= 0)
                r = simctl_receive(fd, &text, &len);
        close(fd);
        if (r < 0)
                return r;
        if (len == 0) {
                free(text);
                return -EPIPE; /* it died before it answered */
        }

        r = (unsigned char) text[0];
        if (ret_text)
                *ret_text = (char *) memmove(text, text + 1, len);
        else
                free(text);
        return r;
}

/* simctl_do("hold", uuid) */
#define simctl_do(...) simctl((const char *const[]){ __VA_ARGS__, (const char *) 0 }, 0)
