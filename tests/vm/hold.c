/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/vfio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Has a VFIO device open as a guest's QEMU has, until it is killed: hold UUID or hold ADDRESS. Or any node:
 * hold /dev/nvidia0. Says `held`, or what the kernel said. */

static int fail(const char *what) {
        printf("%s %s\n", strerrorname_np(errno), what);
        return EXIT_FAILURE;
}

static int held(void) {
        puts("held");
        return pause(); /* no signal is handled: it does not return */
}

static bool is_address(const char *name) {
        return strchr(name, ':') != NULL;
}

/* The number of its IOMMU group, by which the node is called. */
static bool find_node(const char *name, char *ret, size_t size) {
        char link[PATH_MAX], target[PATH_MAX];
        ssize_t n;

        snprintf(link, sizeof link, "/sys/bus/%s/devices/%s/iommu_group", is_address(name) ? "pci" : "mdev",
                 name);
        n = readlink(link, target, sizeof target - 1);
        if (n < 0)
                return false;

        target[n] = '\0';
        snprintf(ret, size, "/dev/vfio/%s", basename(target));
        return true;
}

/* QEMU wants to hear when the kernel would like to have the device back. Not all devices can tell it. */
static void listen_to_requests(int device) {
        struct {
                struct vfio_irq_set set;
                int event;
        } request = {
                .set = { .argsz = sizeof request,
                         .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
                         .index = VFIO_PCI_REQ_IRQ_INDEX,
                         .count = 1 },
                .event = eventfd(0, EFD_CLOEXEC),
        };

        if (ioctl(device, VFIO_DEVICE_SET_IRQS, &request) < 0)
                close(request.event);
}

int main(int argc, char **argv) {
        char node[PATH_MAX];
        int group, container, device;

        if (argc != 2)
                return EXIT_FAILURE;
        setlinebuf(stdout);
        if (argv[1][0] == '/')
                return open(argv[1], O_RDWR | O_CLOEXEC) < 0 ? fail(argv[1]) : held();
        if (!find_node(argv[1], node, sizeof node))
                return fail("iommu_group");

        group = open(node, O_RDWR | O_CLOEXEC);
        if (group < 0)
                return fail(node);
        container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
        if (container < 0)
                return fail("/dev/vfio/vfio");
        if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) < 0)
                return fail("VFIO_GROUP_SET_CONTAINER");
        if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
                return fail("VFIO_SET_IOMMU");
        device = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[1]);
        if (device < 0)
                return fail("VFIO_GROUP_GET_DEVICE_FD");

        listen_to_requests(device);
        return held();
}
