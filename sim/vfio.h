/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "pci.h"

/* VFIO: what a virtual machine opens. /dev/vfio/GROUP for each group, and each device's vfio-dev/vfioN.
 *
 * The nodes are terminals in disguise: real character devices with numbers of their own, that a process can
 * hold open. Opening one is not use: for the driver a device is in use while `carved-simctl hold` has it. */

typedef struct DevNode {
        int master; /* keeps it alive */
        char *path; /* below /dev */
        unsigned major, minor;
} DevNode;

typedef struct VfioGroup VfioGroup;

typedef struct VfioDevice {
        Device *of; /* what it gives out; referenced */
        VfioGroup *group;
        Device *device; /* vfio-dev/vfioN */
        DevNode *node;  /* with cdevs only; the device frees it */
} VfioDevice;

void vfio_init(Kernel *kernel);

/* Groups of @group and announces @of as a VFIO device. */
VfioDevice *vfio_register(Device *of, IommuGroup *group);
void vfio_unregister(VfioDevice *vfio);

/* What to open: "/dev/vfio/12". */
const char *vfio_node_path(const VfioDevice *vfio);

/* devnode.c */
DevNode *dev_node_new(Kernel *kernel, const char *name);
void dev_node_close(DevNode *node); /* gone from /dev; its numbers stay known */
void dev_node_free(DevNode *node);
