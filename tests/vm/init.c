/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PID 1 of the initrd: loads the modules of /modules in that order, mounts the disk and hands over to
 * systemd. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* PID 1 that ends is a panic, which ends QEMU: the reason is the last line of the console. */
static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...) {
        int error = errno;
        va_list arguments;

        fputs("lab init: ", stderr);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fprintf(stderr, ": %s\n", strerror(error));
        exit(1);
}

static void load_module(const char *path) {
        int fd;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                fail("open %s", path);
        /* Some are for hardware that is not always there. */
        if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST && errno != ENODEV)
                fail("load %s", path);
        close(fd);
}

static void load_modules(void) {
        char line[256];
        FILE *list;

        list = fopen("/modules", "re");
        if (!list)
                fail("open /modules");
        while (fgets(line, sizeof(line), list)) {
                line[strcspn(line, "\n")] = '\0';
                load_module(line);
        }
        fclose(list);
}

static void take_along(const char *from, const char *to) {
        if (mount(from, to, NULL, MS_MOVE, NULL) < 0)
                fail("move %s", from);
}

int main(void) {
        if (mount("dev", "/dev", "devtmpfs", MS_NOSUID, "mode=0755") < 0)
                fail("mount /dev");
        load_modules();

        /* The disk was there before its driver, so the driver's probe made the node before it returned. */
        if (mount("/dev/vda", "/root", "ext4", MS_RELATIME, NULL) < 0)
                fail("mount /dev/vda");
        take_along("/dev", "/root/dev");
        if (chdir("/root") < 0)
                fail("enter the disk");
        take_along(".", "/");
        if (chroot(".") < 0 || chdir("/") < 0)
                fail("enter the disk");
        execl("/sbin/init", "/sbin/init", (char *) NULL);
        fail("run /sbin/init");
}
