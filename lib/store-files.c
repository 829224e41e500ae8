/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "error.h"
#include "store.h"

#define CORRUPT_MAX 1000U

static int sync_dir(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0 || fsync(fd) < 0)
                return -errno;
        return 0;
}

static int make_dir(const char *path) {
        g_autofree char *parent = g_path_get_dirname(path);
        int r;

        if (mkdir(path, 0700) < 0) {
                if (errno == EEXIST)
                        return 0;
                if (errno != ENOENT || strcmp(parent, path) == 0)
                        return -errno;
                r = make_dir(parent);
                if (r < 0)
                        return r;
                if (mkdir(path, 0700) < 0 && errno != EEXIST)
                        return -errno;
        }
        return sync_dir(parent);
}

/* Whoever else could write there could have us do anything. */
static int check_owner(const struct stat *st) {
        return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

int carved_store_open(const char *path) {
        g_autofree char *plain = g_strdup(path);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        /* With a slash behind it, a link would be followed. */
        for (size_t len = strlen(plain); len > 1 && plain[len - 1] == '/'; len--)
                plain[len - 1] = '\0';

        r = make_dir(plain);
        if (r < 0)
                return r;
        fd = open(plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
                r = -errno;
                /* The kernel says of a link only that it is no directory. */
                return r == -ENOTDIR && lstat(plain, &st) == 0 && S_ISLNK(st.st_mode) ? -ELOOP : r;
        }
        if (fstat(fd, &st) < 0)
                return -errno;
        r = check_owner(&st);
        return r < 0 ? r : steal_fd(&fd);
}

static bool is_name(const char *name) {
        return *name && *name != '.' && !strchr(name, '/');
}

static int write_all(int fd, const char *text, size_t len) {
        while (len > 0) {
                ssize_t n = write(fd, text, len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                text += n;
                len -= (size_t) n;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

static int write_new(int dir_fd, const char *name, const char *text, size_t len) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : write_all(fd, text, len);
}

/* The old one, if there is one, takes the other's name: 1 where there is, 0, or -errno. */
static int swap(int dir_fd, const char *temporary, const char *name) {
        struct stat st;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
                return -EISDIR;
        if (renameat2(dir_fd, temporary, dir_fd, name, RENAME_EXCHANGE) >= 0)
                return 1;
        /* There is none, or the file system can't. */
        return renameat(dir_fd, temporary, dir_fd, name) < 0 ? -errno : 0;
}

/* The disk does not confirm it: then it shall not be. */
static int put_back(int dir_fd, const char *temporary, const char *name, bool swapped, int errnum) {
        int r = swapped ? renameat2(dir_fd, temporary, dir_fd, name, RENAME_EXCHANGE)
                        : unlinkat(dir_fd, name, 0);

        if (r < 0) {
                errno = errnum;
                return CARVED_STORE_UNSURE;
        }
        if (swapped)
                unlinkat(dir_fd, temporary, 0);
        return -errnum;
}

int carved_store_write(int dir_fd, const char *name, const char *text) {
        g_autofree char *temporary = g_strdup_printf(".%s.tmp", name);
        size_t len = strlen(text);
        int r;

        if (!is_name(name))
                return -EINVAL;
        if (len > CARVED_STORE_FILE_MAX)
                return -EFBIG; /* it could never be read again */

        if (unlinkat(dir_fd, temporary, 0) < 0 && errno != ENOENT)
                return -errno;
        r = write_new(dir_fd, temporary, text, len);
        if (r == 0)
                r = swap(dir_fd, temporary, name);
        if (r < 0) {
                unlinkat(dir_fd, temporary, 0);
                return r;
        }
        if (fsync(dir_fd) < 0)
                return put_back(dir_fd, temporary, name, r > 0, errno);
        if (r > 0)
                unlinkat(dir_fd, temporary, 0);
        return 0;
}

int carved_store_unlink(int dir_fd, const char *name) {
        if (!is_name(name))
                return -EINVAL;
        return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int carved_store_remove(int dir_fd, const char *name) {
        int r = carved_store_unlink(dir_fd, name);

        if (r < 0)
                return r;
        /* Also where it is gone already: the last one to try may have failed here. */
        return fsync(dir_fd) < 0 ? -errno : 0;
}

/* Nobody but us writes here: what is free stays free. */
int carved_store_quarantine(int dir_fd, const char *name) {
        g_autofree char *to = g_strconcat(name, ".corrupt", NULL);
        struct stat st;

        if (!is_name(name))
                return -EINVAL;
        for (unsigned i = 2; fstatat(dir_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0; i++) {
                if (i > CORRUPT_MAX)
                        return -EEXIST;
                g_free(to);
                to = g_strdup_printf("%s.corrupt.%u", name, i);
        }
        if (renameat(dir_fd, name, dir_fd, to) < 0)
                return -errno;
        return fsync(dir_fd) < 0 ? -errno : 0;
}

/* ---- reading ---- */

static int check_file(const struct stat *st) {
        if (S_ISDIR(st->st_mode))
                return -EISDIR;
        if (!S_ISREG(st->st_mode))
                return -EINVAL;
        if (st->st_size > CARVED_STORE_FILE_MAX)
                return -EFBIG;
        return check_owner(st);
}

static int read_text(int fd, char **ret) {
        g_autoptr(GString) text = g_string_new(NULL);
        char buf[16384];
        ssize_t n;

        while ((n = read(fd, buf, sizeof buf)) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                g_string_append_len(text, buf, n);
                if (text->len > CARVED_STORE_FILE_MAX)
                        return -EFBIG;
        }
        if (memchr(text->str, '\0', text->len))
                return -EILSEQ;

        *ret = g_string_free(g_steal_pointer(&text), FALSE);
        return 0;
}

static int read_stored(int dir_fd, const char *name, char **ret) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        r = check_file(&st);
        return r < 0 ? r : read_text(fd, ret);
}

static void stored_free(void *p) {
        CarvedStored *stored = p;

        g_free(stored->name);
        g_free(stored->text);
        g_free(stored);
}

static int compare_stored(const void *a, const void *b) {
        const CarvedStored *const *x = a, *const *y = b;

        return strcmp((*x)->name, (*y)->name);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DIR, closedir)

/* The names are collected first: what readdir() does while files go is not said. */
static int list_names(int dir_fd, GPtrArray *names) {
        _cleanup_close_ int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(DIR) dir = NULL;
        struct dirent *d;

        if (fd < 0)
                return -errno;
        dir = fdopendir(fd);
        if (!dir)
                return -errno;
        steal_fd(&fd);

        while (errno = 0, (d = readdir(dir)))
                g_ptr_array_add(names, g_strdup(d->d_name));
        return -errno;
}

GPtrArray *carved_store_list(int dir_fd, GError **error) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(stored_free);
        int r = list_names(dir_fd, names);

        if (r < 0) {
                carved_error_set_errno(error, -r, "Failed to list what is stored");
                return NULL;
        }
        for (unsigned i = 0; i < names->len; i++) {
                const char *name = names->pdata[i];
                CarvedStored *stored;

                if (*name == '.') {
                        if (g_str_has_suffix(name, ".tmp"))
                                unlinkat(dir_fd, name, 0);
                        continue;
                }
                if (!g_str_has_suffix(name, ".json"))
                        continue;

                stored = g_new0(CarvedStored, 1);
                stored->name = g_strdup(name);
                stored->error = -read_stored(dir_fd, name, &stored->text);
                g_ptr_array_add(list, stored);
        }
        g_ptr_array_sort(list, compare_stored);
        return g_steal_pointer(&list);
}
