/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cleanup.h"
#include "vfio.h"

/* A terminal's far end, bound over an empty file where the node shall be. Nodes of other kinds can't be made
 * by an ordinary user, and a terminal's does not open outside of its own file system. */
static bool make_node(DevNode *node, const char *path) {
        _cleanup_close_ int master = -1, file = -1;
        struct stat st;
        char slave[64];

        master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 || unlockpt(master) < 0 || ptsname_r(master, slave, sizeof slave) != 0)
                return false;
        if (stat(slave, &st) < 0)
                return false;

        file = open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0600);
        if (file < 0)
                return false;
        if (mount(slave, path, NULL, MS_BIND, NULL) < 0)
                return false;

        node->master = steal_fd(&master);
        node->major = major(st.st_rdev);
        node->minor = minor(st.st_rdev);
        return true;
}

DevNode *dev_node_new(Kernel *kernel, const char *name) {
        g_autofree char *path = NULL;
        DevNode *node = g_new0(DevNode, 1);

        node->master = -1;
        if (!kernel->dev_dir)
                return node; /* a frozen host has no nodes */

        path = g_strdup_printf("%s/%s", kernel->dev_dir, name);
        if (!make_node(node, path))
                g_warning("Failed to make the node '%s', it will be missing: %s", path, g_strerror(errno));
        node->path = g_steal_pointer(&path);
        return node;
}

void dev_node_close(DevNode *node) {
        if (node->master < 0)
                return;

        umount2(node->path, MNT_DETACH);
        unlink(node->path);
        close(node->master);
        node->master = -1;
}

void dev_node_free(DevNode *node) {
        if (!node)
                return;

        dev_node_close(node);
        g_free(node->path);
        g_free(node);
}
