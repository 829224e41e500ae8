/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "mtty.h"

#define PORTS_MAX 24

static unsigned ports_of(MdevType *type) {
        return GPOINTER_TO_UINT(type->data);
}

static unsigned mtty_available(MdevType *type) {
        return type->kernel->mtty_ports_free / ports_of(type);
}

static int mtty_probe(Mdev *mdev) {
        unsigned *ports_free = &mdev->device.kernel->mtty_ports_free;

        if (*ports_free < ports_of(mdev->type))
                return -ENOSPC;

        *ports_free -= ports_of(mdev->type);
        return 0;
}

static void mtty_remove(Mdev *mdev) {
        mdev->device.kernel->mtty_ports_free += ports_of(mdev->type);
}

static const MdevOps ops = {
        .driver = "mtty",
        .device_api = "vfio-pci",
        .available = mtty_available,
        .probe = mtty_probe,
        .remove = mtty_remove,
};

void mtty_init(Kernel *kernel) {
        Device *device = g_new0(Device, 1);
        MdevParent *parent;

        kernel->mtty_ports_free = PORTS_MAX;
        device_init(device, kernel, NULL, NULL, "mtty", "mtty", device_finalize);
        device_add_files(device, node_make_path(kernel->sys, "devices/virtual/mtty"));
        device_announce(device);

        parent = mdev_register_parent(device, &ops, /* data= */ NULL);
        mdev_parent_add_type(parent, "1", "Single port serial", NULL, GUINT_TO_POINTER(1));
        mdev_parent_add_type(parent, "2", "Dual port serial", NULL, GUINT_TO_POINTER(2));
        mdev_parent_announce(parent);
        kernel->mtty = parent;
        object_unref(device); /* the parent has it */
}
