/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/seccomp.h>

#include "killer-call.h"

#ifndef __x86_64__
#error "Registers are known for x86-64 only"
#endif

/* Where a call has what: numbers of its arguments. */
typedef struct Shape {
        unsigned nr;
        const char *name;
        int path;  /* -1: it is about the descriptor in argument 0 */
        int dir;   /* -1: the path is not relative to a descriptor */
        int flags; /* of an open, which counts only if it makes a file; -1: it is none */
        bool writes;
} Shape;

static const Shape shapes[] = {
        { SYS_write, "write", -1, -1, -1, true },
        { SYS_pwrite64, "pwrite", -1, -1, -1, true },
        { SYS_writev, "writev", -1, -1, -1, false },
        { SYS_pwritev, "pwritev", -1, -1, -1, false },
        { SYS_pwritev2, "pwritev2", -1, -1, -1, false },
        { SYS_sendto, "sendto", -1, -1, -1, false },
        { SYS_sendmsg, "sendmsg", -1, -1, -1, false },
        { SYS_sendmmsg, "sendmmsg", -1, -1, -1, false },
        { SYS_ftruncate, "ftruncate", -1, -1, -1, false },
        { SYS_fallocate, "fallocate", -1, -1, -1, false },
        { SYS_fsync, "fsync", -1, -1, -1, false },
        { SYS_fdatasync, "fdatasync", -1, -1, -1, false },
        { SYS_fchmod, "fchmod", -1, -1, -1, false },
        { SYS_fchown, "fchown", -1, -1, -1, false },
        { SYS_open, "open", 0, -1, 1, false },
        { SYS_openat, "openat", 1, 0, 2, false },
        { SYS_creat, "creat", 0, -1, -1, false },
        { SYS_rename, "rename", 1, -1, -1, false },
        { SYS_renameat, "renameat", 3, 2, -1, false },
        { SYS_renameat2, "renameat2", 3, 2, -1, false },
        { SYS_link, "link", 1, -1, -1, false },
        { SYS_linkat, "linkat", 3, 2, -1, false },
        { SYS_symlink, "symlink", 1, -1, -1, false },
        { SYS_symlinkat, "symlinkat", 2, 1, -1, false },
        { SYS_unlink, "unlink", 0, -1, -1, false },
        { SYS_unlinkat, "unlinkat", 1, 0, -1, false },
        { SYS_rmdir, "rmdir", 0, -1, -1, false },
        { SYS_mkdir, "mkdir", 0, -1, -1, false },
        { SYS_mkdirat, "mkdirat", 1, 0, -1, false },
};

static const char *const class_names[_CLASS_MAX] = {
        [CLASS_SYSFS] = "sysfs", [CLASS_STORE] = "store",     [CLASS_FILE] = "file",
        [CLASS_BUS] = "bus",     [CLASS_NETLINK] = "netlink", [CLASS_NOTIFY] = "notify",
        [CLASS_PAIR] = "pair",   [CLASS_INNER] = "inner",
};

const char *call_class_name(CallClass class) {
        return class_names[class];
}

void call_clear(Call *call) {
        g_clear_pointer(&call->path, g_free);
}

static unsigned long long argument(const struct user_regs_struct *regs, int i) {
        const unsigned long long values[] = {
                regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9
        };

        return values[i];
}

/* A text in the memory of @pid. */
static char *read_text(pid_t pid, unsigned long long address) {
        g_autoptr(GString) text = g_string_new(NULL);

        while (text->len < PATH_MAX) {
                long word;

                errno = 0;
                word = ptrace(PTRACE_PEEKDATA, pid, address + text->len, NULL);
                if (errno != 0)
                        break;
                for (size_t i = 0; i < sizeof word; i++) {
                        char c = ((const char *) &word)[i];

                        if (c == '\0')
                                return g_string_free(g_steal_pointer(&text), FALSE);
                        g_string_append_c(text, c);
                }
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *read_link_of(pid_t pid, const char *what) {
        g_autofree char *path = g_strdup_printf("/proc/%d/%s", pid, what);

        return g_file_read_link(path, NULL) ?: g_strdup("?");
}

static char *describe_fd(pid_t pid, int fd) {
        g_autofree char *what = fd == AT_FDCWD ? g_strdup("cwd") : g_strdup_printf("fd/%d", fd);

        return read_link_of(pid, what);
}

/* Whom a socket of somebody else leads to. */
static CallClass classify_socket(pid_t pid, int fd) {
        struct sockaddr_un peer = { 0 };
        socklen_t peer_len = sizeof peer, int_len = sizeof(int);
        int domain = 0, type = 0, pidfd, copy;
        bool named;

        pidfd = pidfd_open(pid, 0);
        copy = pidfd >= 0 ? pidfd_getfd(pidfd, fd, 0) : -1;
        if (pidfd >= 0)
                close(pidfd);
        if (copy < 0)
                return CLASS_INNER;

        getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &domain, &int_len);
        getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &int_len);
        named = getpeername(copy, (struct sockaddr *) &peer, &peer_len) == 0 &&
                peer_len > offsetof(struct sockaddr_un, sun_path);
        close(copy);
        if (domain != AF_UNIX)
                return CLASS_NETLINK;
        if (type == SOCK_DGRAM)
                return CLASS_NOTIFY;
        return named ? CLASS_BUS : CLASS_PAIR;
}

static CallClass classify_path(const char *path) {
        if (g_str_has_prefix(path, "/sys/") || g_str_has_prefix(path, "/proc/"))
                return CLASS_SYSFS;
        if (g_str_has_prefix(path, "/var/lib/"))
                return CLASS_STORE;
        return path[0] == '/' ? CLASS_FILE : CLASS_INNER;
}

static char *whole_path(pid_t pid, const Shape *shape, const struct user_regs_struct *regs) {
        g_autofree char *path = read_text(pid, argument(regs, shape->path)), *dir = NULL;

        if (path[0] == '/')
                return g_steal_pointer(&path);

        dir = describe_fd(pid, shape->dir >= 0 ? (int) argument(regs, shape->dir) : AT_FDCWD);
        return g_build_filename(dir, path, NULL);
}

static bool is_log(pid_t pid, int fd) {
        g_autofree char *out = NULL, *log = NULL;

        if (fd == STDERR_FILENO)
                return true;
        if (fd != STDOUT_FILENO)
                return false;

        out = describe_fd(pid, STDOUT_FILENO);
        log = describe_fd(pid, STDERR_FILENO);
        return g_str_equal(out, log);
}

bool call_read(pid_t pid, const struct user_regs_struct *regs, Call *ret) {
        const Shape *shape = NULL;
        int fd = (int) regs->rdi;

        for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++)
                if (shapes[i].nr == regs->orig_rax)
                        shape = &shapes[i];
        if (!shape)
                return false;
        if (shape->path < 0 && is_log(pid, fd))
                return false;

        *ret = (Call){ .name = shape->name, .writes = shape->writes };
        ret->path = shape->path < 0 ? describe_fd(pid, fd) : whole_path(pid, shape, regs);
        ret->class =
                g_str_has_prefix(ret->path, "socket:") ? classify_socket(pid, fd) : classify_path(ret->path);
        return true;
}

static void emit(GArray *filter, uint16_t code, uint8_t yes, uint8_t no, uint32_t value) {
        struct sock_filter line = { code, yes, no, value };

        g_array_append_val(filter, line);
}

GArray *call_filter_new(void) {
        GArray *filter = g_array_new(FALSE, FALSE, sizeof(struct sock_filter));

        emit(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
        emit(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        emit(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
        for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++) {
                const Shape *shape = &shapes[i];

                emit(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, shape->flags < 0 ? 1 : 4, shape->nr);
                if (shape->flags >= 0) {
                        emit(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0,
                             (uint32_t) (offsetof(struct seccomp_data, args) + (size_t) shape->flags * 8));
                        emit(filter, BPF_JMP | BPF_JSET | BPF_K, 1, 0, O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
                        emit(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
                }
                emit(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE);
        }
        emit(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        return filter;
}
