/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "host.h"
#include "sandbox.h"

/* The tree as plain files: what reading costs without FUSE in between. */

static int write_node(Node *node, int dir_fd);

static int write_children(Node *dir, int dir_fd) {
        for (unsigned i = 0; dir->children && i < dir->children->len; i++) {
                int r = write_node(dir->children->pdata[i], dir_fd);

                if (r < 0)
                        return r;
        }

        return 0;
}

static int write_dir(Node *node, int dir_fd) {
        _cleanup_close_ int fd = -1;

        if (mkdirat(dir_fd, node->name, 0755) < 0)
                return -errno;
        fd = openat(dir_fd, node->name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        return write_children(node, fd);
}

static int write_file(Node *node, int dir_fd) {
        g_autoptr(GString) text = g_string_new(NULL);
        _cleanup_close_ int fd = -1;

        fd = openat(dir_fd, node->name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, node->attr->mode);
        if (fd < 0)
                return -errno;

        /* What the kernel would refuse to tell stays empty. */
        if (!node->attr->show || node->attr->show(node->owner, node->attr, text) < 0)
                return 0;
        return write(fd, text->str, text->len) == (ssize_t) text->len ? 0 : -errno;
}

static int write_node(Node *node, int dir_fd) {
        g_autofree char *target = NULL;

        switch (node->kind) {
        case NODE_DIR:
                return write_dir(node, dir_fd);
        case NODE_FILE:
                return write_file(node, dir_fd);
        case NODE_LINK:
                target = node_link_text(node);
                return symlinkat(target, dir_fd, node->name) < 0 ? -errno : 0;
        }

        g_assert_not_reached();
}

bool frozen_write(Kernel *kernel, Node *node, const char *path, GError **error) {
        _cleanup_close_ int fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        int r = fd < 0 ? -errno : write_children(node, fd);

        if (r == 0)
                return true;

        g_set_error(error, SIM_ERROR, 0, "Failed to write the frozen '%s': %s", path, g_strerror(-r));
        return false;
}
