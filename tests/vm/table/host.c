/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "knobs.h"
#include "table-host.h"

/* A table on a real kernel, in a virtual machine with the test module. MODULE=… on the command line says how
 * modprobe is to load it; what the module knows is gone when it is unloaded, so that is a reboot here. */

#define DEVICES         "/sys/bus/pci/devices"
#define TYPES_MARGIN_MS 2500 /* an emulated processor, beside other work */

const char *const host_kind = "vm";

typedef struct Holder {
        char *name;
        GPid pid;
} Holder;

static char *module;
static int kmsg = -1;
static GString *log_text;
static GPtrArray *holders; /* of Holder */

static void holder_free(Holder *holder) {
        kill(holder->pid, SIGKILL);
        waitpid(holder->pid, NULL, 0);
        g_free(holder->name);
        g_free(holder);
}

static int run(const char *command) {
        int status = system(command);

        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static bool exists(const char *format, ...) G_GNUC_PRINTF(1, 2);

static bool exists(const char *format, ...) {
        g_autofree char *path = NULL;
        va_list args;

        va_start(args, format);
        path = g_strdup_vprintf(format, args);
        va_end(args);
        return access(path, F_OK) == 0;
}

static bool has_driver(const char *address, const char *driver) {
        g_autofree char *path = g_strdup_printf(DEVICES "/%s/driver", address);
        g_autofree char *target = g_file_read_link(path, NULL);
        g_autofree char *name = target ? g_path_get_basename(target) : NULL;

        return g_strcmp0(name, driver) == 0;
}

/* How long the types of a function may still take, once all drivers are where they belong; 0: they are there,
 * or it is none that has any. */
static unsigned types_due(const char *address) {
        g_autofree char *link = g_strdup_printf(DEVICES "/%s/physfn", address);
        g_autofree char *physfn = g_file_read_link(link, NULL);
        g_autofree char *gpu = physfn ? g_path_get_basename(physfn) : NULL;

        if (exists(DEVICES "/%s/mdev_supported_types", address) || exists(DEVICES "/%s/nvidia", address))
                return 0;
        if (!has_driver(gpu ?: address, "nvidia") || (!gpu && exists(DEVICES "/%s/sriov_totalvfs", address)))
                return 0;
        return TYPES_MARGIN_MS +
               (has_driver(address, "nvidia") ? knob_get("types_delay_ms", 0) : knob_get("stray_ms", 0));
}

static unsigned all_types_due(void) {
        g_autoptr(GDir) dir = g_dir_open(DEVICES, 0, NULL);
        unsigned due = 0;
        const char *name;

        while (dir && (name = g_dir_read_name(dir)))
                due = MAX(due, types_due(name));
        return due;
}

/* Types appear some time after their driver. There are functions that get none: then it is over when it
 * should have been. */
static void settle(void) {
        gint64 begin = g_get_monotonic_time();

        while (g_get_monotonic_time() - begin < all_types_due() * 1000LL)
                g_usleep(50000);
}

static bool load(void) {
        g_autofree char *command = g_strconcat("modprobe ", module, NULL);

        if (run(command) != 0)
                return false;
        /* nvidia asks for it, but does not wait. */
        if ((strstr(module, "mode=mdev") || strstr(module, "mode=legacy")) &&
            run("modprobe nvidia-vgpu-vfio") != 0)
                return false;
        settle();
        return true;
}

/* gpu-card too: then the card itself is taken out and found anew, without override, driver or VFs. And mdev:
 * hosts where nobody has mediated devices have no sign of them. The kernel loads nvidia-vgpu-vfio by itself,
 * and may be just about to. */
static bool unload(void) {
        for (unsigned i = 0; i < 20; i++) {
                if (run("modprobe -r nvidia-vgpu-vfio nvidia gpu-card mtty mdev 2>/dev/null") == 0)
                        return true;
                g_usleep(250000);
        }

        return false;
}

/* Not the card's disguise: its VFs go with the driver, its number stays the same. */
static int reload_driver(void) {
        if (run("modprobe -r nvidia-vgpu-vfio nvidia 2>/dev/null") != 0)
                return 1;
        return load() ? 0 : 1;
}

static int hold(const char *name, char **ret_text) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL), *dir = g_path_get_dirname(self);
        g_autofree char *program = g_build_filename(dir, "hold", NULL);
        bool whole = strchr(name, ':') && !exists(DEVICES "/%s/physfn", name);
        const char *argv[] = { program, whole ? "/dev/nvidia0" : name, NULL };
        _cleanup_close_ int out = -1;
        char text[256];
        GPid pid;
        ssize_t n;

        if (!g_spawn_async_with_pipes(NULL, (char **) argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid,
                                      NULL, &out, NULL, NULL))
                return 2;

        n = read(out, text, sizeof text - 1);
        text[MAX(n, 0)] = '\0';
        if (!g_str_equal(text, "held\n")) {
                waitpid(pid, NULL, 0);
                *ret_text = strdup(text);
                return 1;
        }

        g_ptr_array_add(holders, g_new(Holder, 1));
        *(Holder *) holders->pdata[holders->len - 1] = (Holder){ g_strdup(name), pid };
        return 0;
}

static int release(const char *name, const char *option) {
        g_autofree char *linger = NULL;
        unsigned ms = 0;

        if (option &&
            (!g_str_has_prefix(option, "linger=") || !knob_parse_time(option + strlen("linger="), &ms)))
                return 2;

        /* Read by the module when the device is closed. */
        linger = g_strdup_printf("%u", ms);
        if (ms > 0 && !knob_set("linger_ms", linger))
                return 1;
        for (unsigned i = 0; i < holders->len; i++)
                if (g_str_equal(((Holder *) holders->pdata[i])->name, name)) {
                        g_ptr_array_remove_index(holders, i);
                        return 0;
                }

        return 1;
}

void host_open(GHashTable *names) {
        module = g_strdup(g_hash_table_lookup(names, "MODULE"));
        kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        log_text = g_string_new(NULL);
        holders = g_ptr_array_new_with_free_func((GDestroyNotify) holder_free);
        if (!module || kmsg < 0)
                g_error("This is for the virtual machine, with MODULE=…");

        /* Tables name their files. */
        if (run("modprobe -a vfio-pci vfio_iommu_type1") != 0)
                g_error("There is no VFIO");

        /* It only costs time here, and much: we listen to the kernel, whose devtmpfs makes all nodes. */
        run("systemctl stop systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udevd.service");
}

void host_close(void) {
        g_ptr_array_unref(holders);
        g_string_free(log_text, TRUE);
        close(kmsg);
        g_free(module);
}

bool host_reset(void) {
        g_ptr_array_set_size(holders, 0);

        if (!unload() || !load())
                return false;

        lseek(kmsg, 0, SEEK_END);
        g_string_truncate(log_text, 0);
        return true;
}

int host_ask(const char *const *words, char **ret_text) {
        if (g_str_equal(words[0], "settle")) {
                settle();
                return 0;
        }
        if (g_str_equal(words[0], "hold") && words[1])
                return hold(words[1], ret_text);
        if (g_str_equal(words[0], "release") && words[1])
                return release(words[1], words[2]);
        if (g_str_equal(words[0], "reload-driver"))
                return reload_driver();
        if (g_str_equal(words[0], "vgpud"))
                return knob_set("vgpud", "1") ? 0 : 1;
        if (g_str_equal(words[0], "fail") || g_str_equal(words[0], "delay"))
                return knob_rule(words);
        return 2;
}

/* What a thread sleeps in: its system call and the kernel's function. NULL while it runs, or is elsewhere. */
static char *sleeps_in(int thread) {
        g_autofree char *syscall_path = g_strdup_printf("/proc/self/task/%d/syscall", thread);
        g_autofree char *wchan_path = g_strdup_printf("/proc/self/task/%d/wchan", thread);
        g_autofree char *call = NULL, *wchan = NULL;

        if (!g_file_get_contents(syscall_path, &call, NULL, NULL) || atoi(call) != SYS_write ||
            !g_ascii_isdigit(call[0]))
                return NULL;
        if (!g_file_get_contents(wchan_path, &wchan, NULL, NULL))
                return NULL;
        return g_strconcat(call, wchan, NULL);
}

/* A write sleeps now and then; one that does so for this long has met what it waits for. */
bool host_in_hand(int thread) {
        for (unsigned i = 0; i < 6; i++) {
                g_autofree char *before = sleeps_in(thread), *after = NULL;

                g_usleep(50000);
                after = sleeps_in(thread);
                if (!before || g_strcmp0(before, after) != 0)
                        return false;
        }

        return true;
}

char *host_log(void) {
        char record[8192];
        ssize_t n;

        while ((n = read(kmsg, record, sizeof record)) > 0 || (n < 0 && errno == EPIPE))
                if (n > 0)
                        g_string_append_len(log_text, record, n);
        return strdup(log_text->str);
}
