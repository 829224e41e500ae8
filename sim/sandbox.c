/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/major.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cleanup.h"
#include "fs.h"
#include "host.h"
#include "sandbox.h"

static bool fail(GError **error, const char *what, const char *on) {
        int e = errno;

        g_set_error(error, SIM_ERROR, 0, "Failed to %s '%s': %s", what, on, g_strerror(e));
        return false;
}

static bool write_map(const char *path, const char *text, GError **error) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t) strlen(text))
                return fail(error, "write", path);
        return true;
}

/* An ordinary user becomes root of a name space that knows no other user. */
static bool enter_user_namespace(GError **error) {
        g_autofree char *uids = g_strdup_printf("0 %u 1", (unsigned) geteuid());
        g_autofree char *gids = g_strdup_printf("0 %u 1", (unsigned) getegid());

        if (unshare(CLONE_NEWUSER) < 0) {
                g_set_error(error, SIM_ERROR, 0, "A user name space can't be had here (%s); run it as root",
                            g_strerror(errno));
                return false;
        }

        return write_map("/proc/self/setgroups", "deny", error) &&
               write_map("/proc/self/uid_map", uids, error) && write_map("/proc/self/gid_map", gids, error);
}

bool sandbox_enter(GError **error) {
        static const struct {
                int flag;
                const char *name;
        } namespaces[] = { { CLONE_NEWNS, "mount" }, { CLONE_NEWNET, "network" }, { CLONE_NEWPID, "PID" } };
        _cleanup_close_ int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);

        if (fuse < 0) {
                g_set_error(error, SIM_ERROR, 0,
                            "/dev/fuse can't be opened (%s): the simulated /sys needs FUSE",
                            g_strerror(errno));
                return false;
        }
        if (geteuid() != 0 && !enter_user_namespace(error))
                return false;

        for (size_t i = 0; i < G_N_ELEMENTS(namespaces); i++)
                if (unshare(namespaces[i].flag) < 0) {
                        g_set_error(error, SIM_ERROR, 0, "A %s name space can't be had here: %s",
                                    namespaces[i].name, g_strerror(errno));
                        return false;
                }

        return true;
}

static bool make_dir(const char *path, GError **error) {
        return g_mkdir_with_parents(path, 0755) == 0 || fail(error, "make", path);
}

static bool mount_tmpfs(const char *on, GError **error) {
        return mount("carved-sim", on, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0 ||
               fail(error, "mount a tmpfs on", on);
}

static bool mount_over(const char *from, const char *on, GError **error) {
        return mount(from, on, NULL, MS_BIND | MS_REC, NULL) == 0 || fail(error, "mount over", on);
}

/* A directory that this machine has not got, but the simulated host has: put in by laying an overlay over the
 * one above it. Nothing is made on the real file system. */
static bool overlay_dir(const char *path, GError **error) {
        g_autofree char *above = g_path_get_dirname(path), *name = g_path_get_basename(path);
        g_autofree char *slug = g_strdelimit(g_strdup(above), "/", '-');
        g_autofree char *base = g_strdup_printf(SIM_DIR "/overlay/%s", slug);
        g_autofree char *upper = g_strdup_printf("%s/upper", base), *work = g_strdup_printf("%s/work", base);
        g_autofree char *fresh = g_strdup_printf("%s/%s", upper, name);
        g_autofree char *options = g_strdup_printf("lowerdir=%s,upperdir=%s,workdir=%s", above, upper, work);
        g_autofree char *unprivileged = g_strdup_printf("%s,userxattr", options);

        if (g_file_test(base, G_FILE_TEST_EXISTS))
                return make_dir(path, error); /* the overlay is there already */
        if (!make_dir(fresh, error) || !make_dir(work, error))
                return false;
        if (mount("carved-sim", above, "overlay", MS_NOSUID | MS_NODEV, options) == 0 ||
            mount("carved-sim", above, "overlay", MS_NOSUID | MS_NODEV, unprivileged) == 0)
                return true;

        g_set_error(error, SIM_ERROR, 0,
                    "There is no '%s' here, and no overlay to put it in (%s); make it, or run as root", path,
                    g_strerror(errno));
        return false;
}

/* The host's own directory at @path: kept below the state directory, or gone with the simulator. */
static bool private_dir(const Sandbox *sandbox, const char *path, bool kept, GError **error) {
        g_autofree char *slug = g_strdelimit(g_strdup(path + 1), "/", '-');
        g_autofree char *source = g_strdup_printf(
                "%s/%s", kept && sandbox->state_dir ? sandbox->state_dir : SIM_DIR "/private", slug);

        if (!make_dir(source, error))
                return false;
        if (!g_file_test(path, G_FILE_TEST_IS_DIR) && !overlay_dir(path, error))
                return false;

        return mount_over(source, path, error);
}

static bool private_dirs(const Sandbox *sandbox, GError **error) {
        static const struct {
                const char *path;
                bool kept;
        } dirs[] = { { "/etc/carved", true },
                     { "/etc/mdevctl.d", true },
                     { "/var/lib/carved", true },
                     { "/usr/lib/nvidia", false },
                     { "/usr/share/nvidia", false } };

        for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++)
                if (!private_dir(sandbox, dirs[i].path, dirs[i].kept, error))
                        return false;

        return true;
}

/* mdevctl will not run without the directories of its package. */
static bool mdevctl_dirs(GError **error) {
        return make_dir("/etc/mdevctl.d/scripts.d/callouts", error) &&
               make_dir("/etc/mdevctl.d/scripts.d/notifiers", error);
}

static bool dev_file(const char *dev, const char *name, GError **error) {
        g_autofree char *from = g_strdup_printf("/dev/%s", name), *on = g_strdup_printf("%s/%s", dev, name);
        _cleanup_close_ int fd = -1;

        if (!g_file_test(from, G_FILE_TEST_EXISTS))
                return true;

        fd = open(on, O_CREAT | O_CLOEXEC | O_WRONLY, 0600);
        if (fd < 0)
                return fail(error, "make", on);
        return mount_over(from, on, error);
}

/* Terminals of our own, whose numbers start anew. Somebody who looks for users of a node by its number must
 * not meet the terminal we were started from: the numbers that came in with us are kept busy. */
static void reserve_terminals(void) {
        int highest = -1;

        for (int fd = 0; fd < 256; fd++) {
                struct stat st;

                if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == UNIX98_PTY_SLAVE_MAJOR)
                        highest = MAX(highest, (int) minor(st.st_rdev));
        }

        for (int index = -1; index < highest;) {
                int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC); /* stays open as long as we live */

                if (fd < 0 || ioctl(fd, TIOCGPTN, &index) < 0)
                        return;
        }
}

/* The terminal we were started from, under a name: else the shell's would have none. */
static bool bind_console(const char *dev, GError **error) {
        g_autofree char *on = g_strdup_printf("%s/console", dev);
        const char *tty = ttyname(STDIN_FILENO);
        _cleanup_close_ int fd = -1;

        if (!tty)
                return true;

        fd = open(on, O_CREAT | O_CLOEXEC | O_WRONLY, 0600);
        if (fd < 0)
                return fail(error, "make", on);
        return mount_over(tty, on, error);
}

/* A /dev with the machine's harmless nodes, and terminals and a VFIO directory of its own. */
static bool build_dev(GError **error) {
        static const char *const files[] = { "null", "zero", "full", "random", "urandom", "tty", "fuse" };
        static const char *const links[][2] = { { "fd", "/proc/self/fd" },
                                                { "stdin", "/proc/self/fd/0" },
                                                { "stdout", "/proc/self/fd/1" },
                                                { "stderr", "/proc/self/fd/2" },
                                                { "ptmx", "pts/ptmx" } };
        static const char *const dirs[] = { "vfio/devices", "pts", "shm" };
        const char *dev = SIM_DIR "/dev";

        if (!make_dir(dev, error) || !mount_tmpfs(dev, error))
                return false;

        for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++) {
                g_autofree char *path = g_strdup_printf("%s/%s", dev, dirs[i]);

                if (!make_dir(path, error))
                        return false;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
                if (!dev_file(dev, files[i], error))
                        return false;
        for (size_t i = 0; i < G_N_ELEMENTS(links); i++) {
                g_autofree char *name = g_strdup_printf("%s/%s", dev, links[i][0]);

                if (symlink(links[i][1], name) < 0)
                        return fail(error, "make", name);
        }

        if (chmod(SIM_DIR "/dev/shm", 01777) < 0 || !bind_console(dev, error))
                return false;
        if (mount("devpts", SIM_DIR "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                  "newinstance,mode=0620,ptmxmode=0666") < 0)
                return fail(error, "mount", "/dev/pts");
        if (mount(dev, "/dev", NULL, MS_MOVE, NULL) < 0)
                return fail(error, "mount over", "/dev");

        reserve_terminals();
        return true;
}

static bool loopback_up(GError **error) {
        _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };

        return (fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0) || fail(error, "bring up", "lo");
}

static bool build_run(GError **error) {
        static const char *const dirs[] = { SIM_DIR "/fs", "/run/udev/data", "/run/dbus", "/run/lock",
                                            "/run/carved" };

        if (!mount_tmpfs("/run", error))
                return false;
        for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++)
                if (!make_dir(dirs[i], error))
                        return false;

        /* libudev hears nothing unless udev seems to run. A real systemd-udevd puts its socket here. */
        if (!g_file_set_contents("/run/udev/control", "", 0, NULL))
                return fail(error, "write", "/run/udev/control");
        return true;
}

static bool mount_tree(const Sandbox *sandbox, Kernel *kernel, GError **error) {
        if (sandbox->frozen)
                return mount_tmpfs("/sys", error) && mount_tmpfs("/proc/driver", error) &&
                       frozen_write(kernel, kernel->sys, "/sys", error) &&
                       frozen_write(kernel, kernel->proc_driver, "/proc/driver", error);

        if (!fs_start(kernel, SIM_DIR "/fs", error))
                return false;
        if (!mount_over(SIM_DIR "/fs/sys", "/sys", error) ||
            !mount_over(SIM_DIR "/fs/proc/driver", "/proc/driver", error))
                return false;
        return umount2(SIM_DIR "/fs", MNT_DETACH) == 0 || fail(error, "unmount", SIM_DIR "/fs");
}

bool sandbox_build(const Sandbox *sandbox, Kernel *kernel, GError **error) {
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                if (errno != EINVAL)
                        return fail(error, "make private", "/");
                g_set_error(error, SIM_ERROR, 0, "/ is no mount, as in a chroot: bind it onto itself first");
                return false;
        }
        if (sandbox->state_dir && !make_dir(sandbox->state_dir, error))
                return false;

        if (!build_run(error))
                return false;
        if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                return fail(error, "mount", "/proc");

        return private_dirs(sandbox, error) && mdevctl_dirs(error) && build_dev(error) &&
               loopback_up(error) && mount_tree(sandbox, kernel, error);
}
