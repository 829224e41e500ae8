/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cleanup.h"
#include "sysfs.h"
#include "users.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DIR, closedir)

/* A process may have a file open on a server that does not answer: what is known already will do. */
static int find_device(int fd, const char *name, const GArray *devices) {
        struct statx st;

        if (statx(fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0 ||
            !S_ISCHR(st.stx_mode))
                return -1;

        for (unsigned i = 0; i < devices->len; i++)
                if (g_array_index(devices, dev_t, i) == makedev(st.stx_rdev_major, st.stx_rdev_minor))
                        return (int) i;
        return -1;
}

/* A mere name for it (O_PATH), as whoever watches a node has for a moment, is no use of it. */
static bool is_name_only(int proc_fd, const char *pid, const char *fd) {
        g_autofree char *path = g_strdup_printf("%s/fdinfo/%s", pid, fd);
        _cleanup_close_ int info = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
        char text[256] = "";
        const char *flags;

        if (info < 0 || read(info, text, sizeof text - 1) <= 0)
                return false;
        flags = strstr(text, "flags:");
        return flags && (g_ascii_strtoull(flags + strlen("flags:"), NULL, 8) & O_PATH);
}

/* Which of @devices the process has open, in @found. */
static bool find_open(int proc_fd, const char *pid, const GArray *devices, bool *found) {
        g_autofree char *path = g_strdup_printf("%s/fd", pid);
        int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(DIR) dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;
        bool any = false;

        if (!dir) {
                closep(&fd);
                return false;
        }

        memset(found, 0, devices->len * sizeof *found);
        while ((entry = readdir(dir))) {
                int i = entry->d_name[0] == '.' ? -1 : find_device(fd, entry->d_name, devices);

                if (i >= 0 && !is_name_only(proc_fd, pid, entry->d_name))
                        any = found[i] = true;
        }
        return any;
}

static void read_command(int proc_fd, const char *pid, CarvedUser *user) {
        g_autofree char *path = g_strdup_printf("%s/comm", pid);
        _cleanup_close_ int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, user->command, sizeof user->command - 1);

        user->command[MAX(n, 0)] = '\0';
        for (char *p = user->command; *p; p++)
                if (*p == '\n')
                        *p = '\0';
        /* A process names itself as it likes; the bus takes no bytes that are not text. */
        if (!g_utf8_validate(user->command, -1, NULL))
                g_strlcpy(user->command, "?", sizeof user->command);
}

GArray *carved_users_scan(const GArray *devices) {
        GArray *users = g_array_new(FALSE, TRUE, sizeof(CarvedUser));
        g_autoptr(DIR) proc = devices && devices->len > 0 ? opendir("/proc") : NULL;
        g_autofree bool *found = devices ? g_new0(bool, devices->len + 1) : NULL;
        struct dirent *entry;

        while (proc && (entry = readdir(proc))) {
                CarvedUser user = { 0 };
                int64_t pid;

                if (!carved_sysfs_parse_number(entry->d_name, 1, INT32_MAX, &pid) || pid == getpid() ||
                    !find_open(dirfd(proc), entry->d_name, devices, found))
                        continue;

                user.pid = (uint32_t) pid;
                read_command(dirfd(proc), entry->d_name, &user);
                for (user.device = 0; user.device < devices->len; user.device++)
                        if (found[user.device])
                                g_array_append_val(users, user);
        }
        return users;
}

void carved_users_unique(GArray *users) {
        for (unsigned i = users->len; i > 1; i--)
                if (g_array_index(users, CarvedUser, i - 1).pid ==
                    g_array_index(users, CarvedUser, i - 2).pid)
                        g_array_remove_index(users, i - 1);
}
