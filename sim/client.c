/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "simctl.h"

static int connect_control(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const char *path = getenv("CARVED_SIM_CONTROL");
        int fd;

        if (!path || strlen(path) >= sizeof address.sun_path)
                return -ENOENT;

        strcpy(address.sun_path, path);
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

static int send_words(int fd, const char *const *words) {
        for (; *words; words++) {
                size_t len = strlen(*words) + 1;

                if (send(fd, *words, len, MSG_NOSIGNAL) != (ssize_t) len)
                        return -errno;
        }

        return shutdown(fd, SHUT_WR) < 0 ? -errno : 0;
}

/* Reads to the end; a NUL is put behind it. */
static int read_all(int fd, char **ret, size_t *ret_len) {
        size_t len = 0, size = 4096;
        char *text = malloc(size);
        ssize_t n = 0;

        while (text && (n = read(fd, text + len, size - len - 1)) > 0) {
                len += (size_t) n;
                if (size - len < 2) {
                        char *more = realloc(text, size *= 2);

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

int simctl(const char *const *words, char **ret_text) {
        char *text = NULL;
        size_t len = 0;
        int fd, r;

        fd = connect_control();
        if (fd < 0)
                return fd;

        r = send_words(fd, words);
        if (r >= 0)
                r = read_all(fd, &text, &len);
        close(fd);
        if (r < 0)
                return r;
        if (len == 0) {
                free(text);
                return -EPIPE; /* it died before it answered */
        }

        r = (unsigned char) text[0];
        if (ret_text)
                *ret_text = memmove(text, text + 1, len);
        else
                free(text);
        return r;
}
