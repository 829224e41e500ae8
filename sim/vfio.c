/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "vfio.h"

struct VfioGroup {
        Device device; /* /sys/devices/virtual/vfio/N */
        DevNode *node;
        unsigned number;
        unsigned members;
};

static void group_finalize(void *object) {
        VfioGroup *group = object;

        dev_node_free(group->node);
        device_finalize(object);
}

static int group_dev_show(void *owner, const Attr *attr, GString *out) {
        VfioGroup *group = owner;

        g_string_append_printf(out, "%u:%u\n", group->node->major, group->node->minor);
        return 0;
}

static const Attr group_attrs[] = {
        { "dev", 0444, group_dev_show, .cached = true },
        {},
};

static void group_env(Device *device, GPtrArray *env) {
        VfioGroup *group = (VfioGroup *) device;

        g_ptr_array_add(env, g_strdup_printf("MAJOR=%u", group->node->major));
        g_ptr_array_add(env, g_strdup_printf("MINOR=%u", group->node->minor));
        g_ptr_array_add(env, g_strdup_printf("DEVNAME=vfio/%u", group->number));
}

static VfioGroup *group_get(Kernel *kernel, unsigned number) {
        VfioGroup *group = g_hash_table_lookup(kernel->vfio_groups, GUINT_TO_POINTER(number));
        g_autofree char *node = g_strdup_printf("vfio/%u", number), *name = g_strdup_printf("%u", number);

        if (group) {
                group->members++;
                return group;
        }

        group = g_new0(VfioGroup, 1);
        device_init(&group->device, kernel, NULL, NULL, "vfio", name, group_finalize);
        group->device.add_env = group_env;
        group->number = number;
        group->members = 1;
        group->node = dev_node_new(kernel, node);
        device_add_files(&group->device, node_make_path(kernel->sys, "devices/virtual/vfio"));
        node_add_attrs(group->device.dir, group_attrs, group);
        g_hash_table_insert(kernel->vfio_groups, GUINT_TO_POINTER(number), group);
        device_announce(&group->device);
        return group;
}

static void group_put(VfioGroup *group) {
        if (--group->members > 0)
                return;

        g_hash_table_remove(group->device.kernel->vfio_groups, GUINT_TO_POINTER(group->number));
        device_unregister(&group->device);
        dev_node_close(group->node);
        object_unref(group);
}

static int cdev_dev_show(void *owner, const Attr *attr, GString *out) {
        DevNode *node = ((Device *) owner)->driver_data;

        g_string_append_printf(out, "%u:%u\n", node->major, node->minor);
        return 0;
}

static const Attr cdev_attrs[] = {
        { "dev", 0444, cdev_dev_show, .cached = true },
        {},
};

static void cdev_finalize(void *object) {
        dev_node_free(((Device *) object)->driver_data);
        device_finalize(object);
}

static void cdev_env(Device *device, GPtrArray *env) {
        DevNode *node = device->driver_data;

        if (!node)
                return;
        g_ptr_array_add(env, g_strdup_printf("MAJOR=%u", node->major));
        g_ptr_array_add(env, g_strdup_printf("MINOR=%u", node->minor));
        g_ptr_array_add(env, g_strdup_printf("DEVNAME=vfio/devices/%s", device->name));
}

/* The lowest that is free, as the kernel's allocator gives it. */
static char *free_name(Kernel *kernel) {
        Node *class = node_make_path(kernel->sys, "class/vfio-dev");

        for (unsigned i = 0;; i++) {
                g_autofree char *name = g_strdup_printf("vfio%u", i);

                if (!node_child(class, name))
                        return g_steal_pointer(&name);
        }
}

VfioDevice *vfio_register(Device *of, IommuGroup *group) {
        Kernel *kernel = of->kernel;
        VfioDevice *vfio = g_new0(VfioDevice, 1);
        g_autofree char *name = NULL, *node = NULL;

        vfio->of = object_ref(of);
        vfio->group = group_get(kernel, group->number);

        /* Not before: a group that is announced gives others the time to take the name. */
        name = free_name(kernel);
        node = g_strdup_printf("vfio/devices/%s", name);
        vfio->device = g_new0(Device, 1);
        device_init(vfio->device, kernel, of, NULL, "vfio-dev", name, cdev_finalize);
        device_add_files(vfio->device, node_make_path(of->dir, "vfio-dev"));
        node_add_link(vfio->device->dir, "device", of->dir);
        if (kernel->vfio_cdev) {
                vfio->node = dev_node_new(kernel, node);
                vfio->device->driver_data = vfio->node;
                vfio->device->add_env = cdev_env;
                node_add_attrs(vfio->device->dir, cdev_attrs, vfio->device);
        }
        device_announce(vfio->device);
        return vfio;
}

void vfio_unregister(VfioDevice *vfio) {
        Node *dir = vfio->of->dir;

        device_unregister(vfio->device);
        if (vfio->node)
                dev_node_close(vfio->node);
        object_unref(vfio->device);
        node_remove_child(dir, "vfio-dev");
        group_put(vfio->group);
        object_unref(vfio->of);
        g_free(vfio);
}

const char *vfio_node_path(const VfioDevice *vfio) {
        return vfio->group->node->path;
}

void vfio_init(Kernel *kernel) {
        node_make_path(kernel->sys, "class/vfio");
        node_make_path(kernel->sys, "class/vfio-dev");
}
