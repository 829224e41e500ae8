/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include "cleanup.h"
#include "gate.h"
#include "look.h"
#include "sysfs.h"
#include "users.h"

/* `10:196` */
static bool read_dev(int dir_fd, const char *below, dev_t *ret) {
        g_autofree char *text = carved_sysfs_read(dir_fd, below, CARVED_ATTR_DEV, NULL);
        unsigned major, minor;
        char end;

        if (!text || sscanf(text, "%u:%u%c", &major, &minor, &end) != 2)
                return false;

        *ret = makedev(major, minor);
        return true;
}

static void add_device(CarvedGate *gate, dev_t dev) {
        if (!gate->devices)
                gate->devices = g_array_new(FALSE, FALSE, sizeof(dev_t));
        g_array_append_val(gate->devices, dev);
}

/* Kernel 6.6 and later has a node per device too: of all that share the group. */
static void add_cdevs(CarvedGate *gate, const char *device) {
        g_autofree char *path = g_strdup_printf("%s/vfio-dev", device);
        _cleanup_close_ int fd = carved_sysfs_open_dir(-1, path, NULL);
        g_autoptr(GPtrArray) names = fd < 0 ? NULL : carved_sysfs_list(fd, ".", NULL);

        for (unsigned i = 0; names && i < names->len; i++) {
                dev_t dev;

                if (read_dev(fd, names->pdata[i], &dev))
                        add_device(gate, dev);
        }
}

static void add_members(CarvedGate *gate, const CarvedHost *host, int32_t group) {
        g_autofree char *path = g_strdup_printf("%s/kernel/iommu_groups/%d/devices", host->sysfs, group);
        _cleanup_close_ int fd = carved_sysfs_open_dir(-1, path, NULL);
        g_autoptr(GPtrArray) names = fd < 0 ? NULL : carved_sysfs_list(fd, ".", NULL);

        for (unsigned i = 0; names && i < names->len; i++) {
                g_autofree char *device = g_strdup_printf("%s/%s", path, (char *) names->pdata[i]);

                add_cdevs(gate, device);
        }
}

void carved_gate_add_group(CarvedGate *gate, const CarvedHost *host, int32_t group) {
        g_autofree char *path = g_strdup_printf("%s/class/vfio/%d", host->sysfs, group);
        _cleanup_close_ int fd = carved_sysfs_open_dir(-1, path, NULL);
        dev_t dev;

        if (fd >= 0 && read_dev(fd, NULL, &dev)) {
                add_device(gate, dev);
                if (!gate->groups)
                        gate->groups = g_array_new(FALSE, FALSE, sizeof group);
                g_array_append_val(gate->groups, group);
        }
        add_members(gate, host, group);
}

void carved_gate_add(CarvedGate *gate, const CarvedHost *host, int dir_fd, const char *below) {
        int32_t group = carved_look_group(dir_fd, below);

        if (group >= 0)
                carved_gate_add_group(gate, host, group);
}

GArray *carved_gate_users(const CarvedGate *gate) {
        GArray *users = carved_users_scan(gate->devices);

        carved_users_unique(users);
        return users;
}

static bool refuse(CarvedOutcome *outcome, GArray *users, const char *file) {
        carved_outcome_clear(outcome);
        outcome->errnum = EBUSY;
        outcome->in_use = true;
        outcome->again = !users || users->len == 0;
        outcome->file = g_strdup(file);
        outcome->users = users;
        return false;
}

/* Of a VFIO group there is one descriptor at a time: while we have it, nobody has, and nobody gets it. A node
 * that can be opened twice is no such thing, and its users must be looked for. */
static bool is_exclusive(const char *node) {
        _cleanup_close_ int second = open(node, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

        return second < 0 && errno == EBUSY;
}

/* Into gate->held. False, and why: one of them is in use. @ret_sure: that they are ours says that nobody uses
 * any of the devices. */
static bool hold_groups(CarvedGate *gate, CarvedOutcome *outcome, bool *ret_sure) {
        unsigned n = gate->groups ? gate->groups->len : 0;
        /* A node per device is another way in, which the group's does not bar. */
        bool sure = gate->devices && gate->devices->len == n;

        gate->held = g_array_new(FALSE, FALSE, sizeof(int));
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *node =
                        g_strdup_printf("/dev/vfio/%d", g_array_index(gate->groups, int32_t, i));
                int fd = open(node, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

                if (fd < 0 && errno == EBUSY)
                        return refuse(outcome, carved_gate_users(gate), node);
                if (fd >= 0)
                        g_array_append_val(gate->held, fd);
                /* Any other refusal means that nobody can; but who has it already? */
                sure = sure && fd >= 0 && is_exclusive(node);
        }
        *ret_sure = sure;
        return true;
}

bool carved_gate_shut(CarvedGate *gate, CarvedOutcome *outcome) {
        g_autoptr(GArray) users = NULL;
        bool sure;

        if (!hold_groups(gate, outcome, &sure))
                return false;
        if (sure)
                return true; /* on a large host, all processes' descriptors are a lot to look through */

        users = carved_gate_users(gate);
        return users->len == 0 || refuse(outcome, g_steal_pointer(&users), NULL);
}

void carved_gate_clear(CarvedGate *gate) {
        for (unsigned i = 0; gate->held && i < gate->held->len; i++)
                close(g_array_index(gate->held, int, i));
        g_clear_pointer(&gate->held, g_array_unref);
        g_clear_pointer(&gate->devices, g_array_unref);
        g_clear_pointer(&gate->groups, g_array_unref);
}
