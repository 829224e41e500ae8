/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mdev.h"
#include "rules.h"

static void type_finalize(void *object) {
        MdevType *type = object;

        node_unref(type->dir);
        g_free(type->name);
        g_free(type->description);
        g_free(type);
}

static void parent_finalize(void *object) {
        MdevParent *parent = object;

        object_unref(parent->device);
        g_ptr_array_unref(parent->types);
        g_ptr_array_unref(parent->mdevs);
        g_free(parent);
}

static void mdev_finalize(void *object) {
        Mdev *mdev = object;

        object_unref(mdev->parent);
        object_unref(mdev->type);
        device_finalize(mdev);
}

Mdev *mdev_find(Kernel *kernel, const char *uuid) {
        g_autofree char *name = g_ascii_strdown(uuid, -1);

        return (Mdev *) bus_find(kernel->mdev, name);
}

/* The driver lets go: VFIO waits for the last user, however long. */
static void mdev_driver_remove(Driver *driver, Device *device) {
        Mdev *mdev = (Mdev *) device;
        bool said = false;

        /* The driver's files go before it is told to let go. */
        if (mdev->parent->ops->group)
                node_remove_child(device->dir, mdev->parent->ops->group);

        while (mdev->users > 0) {
                if (!said)
                        kernel_log(device->kernel,
                                   "%s %s: No mdev vendor driver request callback support, blocked until "
                                   "released by user",
                                   driver->name, device->name);
                said = true;
                kernel_wait(device->kernel);
        }

        if (mdev->parent->ops->remove)
                mdev->parent->ops->remove(mdev);
        g_clear_pointer(&mdev->vfio, vfio_unregister);
        if (mdev->iommu_group)
                iommu_group_remove(mdev->iommu_group, device);
        mdev->iommu_group = NULL;
}

static int mdev_driver_probe(Driver *driver, Device *device) {
        Mdev *mdev = (Mdev *) device;
        int r;

        r = mdev->parent->ops->probe(mdev);
        if (r < 0)
                return r;

        mdev->iommu_group = iommu_group_new(device->kernel);
        iommu_group_add(mdev->iommu_group, device);
        mdev->vfio = vfio_register(device, mdev->iommu_group);
        if (mdev->parent->ops->group)
                node_add_attrs(node_add_dir(device->dir, mdev->parent->ops->group),
                               mdev->parent->ops->group_attrs, mdev);
        return 0;
}

static bool mdev_match(Driver *driver, Device *device) {
        return g_str_equal(((Mdev *) device)->parent->ops->driver, driver->name);
}

static Driver *mdev_driver(Kernel *kernel, const char *name) {
        Driver *driver = bus_find_driver(kernel->mdev, name);

        if (driver)
                return driver;

        driver = g_new0(Driver, 1);
        driver->name = name;
        driver->match = mdev_match;
        driver->probe = mdev_driver_probe;
        driver->remove = mdev_driver_remove;
        driver->vfio = true;
        driver_register(kernel->mdev, driver);
        return driver;
}

static int remove_store(void *owner, const Attr *attr, const char *text, size_t len);

static const Attr mdev_attrs[] = {
        { "remove", 0200, NULL, remove_store },
        {},
};

static int mdev_remove(Mdev *mdev) {
        if (!mdev->active)
                return -EAGAIN;
        mdev->active = false;

        object_ref(mdev);
        node_remove_child(mdev->device.dir, "mdev_type");
        node_remove_child(node_child(mdev->type->dir, "devices"), mdev->device.name);
        device_lock(&mdev->device);
        device_unregister(&mdev->device);
        device_unlock(&mdev->device);
        g_ptr_array_remove(mdev->parent->mdevs, mdev);
        kernel_wake(mdev->device.kernel);
        object_unref(mdev);
        return 0;
}

static int remove_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Mdev *mdev = owner;
        char *end;
        unsigned long value = strtoul(text, &end, 0);
        int r;

        if (end == text || (*end != '\0' && !g_str_equal(end, "\n")))
                return -EINVAL;
        if (value == 0)
                return 0;
        if (mdev->parent->ops->may_remove) {
                r = mdev->parent->ops->may_remove(mdev);
                if (r < 0)
                        return r;
        }

        /* The file takes itself away first: a second writer finds none. */
        if (!node_child(mdev->device.dir, attr->name))
                return 0;
        node_remove_child(mdev->device.dir, attr->name);
        return mdev_remove(mdev);
}

static int create_mdev(MdevType *type, const char *uuid) {
        Kernel *kernel = type->kernel;
        MdevParent *parent = type->parent;
        g_autofree char *operation = NULL;
        Mdev *mdev;
        int r;

        if (bus_knows(kernel->mdev, uuid))
                return -EEXIST; /* its name is taken until the last one is gone for good */
        if (!parent || parent->unregistering)
                return -ENODEV;

        mdev = g_new0(Mdev, 1);
        device_init(&mdev->device, kernel, parent->device, kernel->mdev, "mdev", uuid, mdev_finalize);
        mdev->parent = object_ref(parent);
        mdev->type = object_ref(type);
        g_ptr_array_add(parent->mdevs, object_ref(mdev));

        device_add_files(&mdev->device, parent->device->dir);
        device_announce(&mdev->device);
        device_lock(&mdev->device);
        r = device_bind(&mdev->device, mdev_driver(kernel, parent->ops->driver));
        if (r < 0)
                device_unregister(&mdev->device);
        device_unlock(&mdev->device);
        if (r < 0) {
                g_ptr_array_remove(parent->mdevs, mdev);
                object_unref(mdev);
                return r;
        }

        /* Only now, after `add` and `bind`: libvirt has been bitten by that. A rule can make the moment last.
         */
        operation = g_strdup_printf("/driver/mdev/link/%s", uuid);
        rules_apply(kernel, RULE_WRITE, operation, NULL);
        if (mdev->device.gone) {
                object_unref(mdev);
                return 0; /* its parent has gone meanwhile, and has taken it along */
        }
        node_add_link(node_child(type->dir, "devices"), uuid, mdev->device.dir);
        node_add_link(mdev->device.dir, "mdev_type", type->dir);
        node_add_attrs(mdev->device.dir, mdev_attrs, mdev);
        mdev->active = true;
        kernel_wake(kernel);
        object_unref(mdev);
        return 0;
}

static int create_store(void *owner, const Attr *attr, const char *text, size_t len) {
        g_autofree char *uuid = NULL;

        if (len < CARVED_UUID_LEN || len > CARVED_UUID_LEN + 1)
                return -EINVAL;

        uuid = g_ascii_strdown(text, CARVED_UUID_LEN);
        if (!carved_uuid_is_valid(uuid))
                return -EINVAL;

        return create_mdev(owner, uuid);
}

static int name_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%s\n", ((MdevType *) owner)->name);
        return 0;
}

static int description_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%s\n", ((MdevType *) owner)->description);
        return 0;
}

static int device_api_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%s\n", ((MdevType *) owner)->ops->device_api);
        return 0;
}

static int available_show(void *owner, const Attr *attr, GString *out) {
        MdevType *type = owner;

        g_string_append_printf(out, "%u\n", type->parent ? type->ops->available(type) : 0);
        return 0;
}

static const Attr type_attrs[] = {
        { "name", 0444, name_show, .cached = true },
        { "device_api", 0444, device_api_show, .cached = true },
        { "available_instances", 0444, available_show },
        { "create", 0200, NULL, create_store },
        {},
};

static const Attr description_attr = { "description", 0444, description_show, .cached = true };

MdevParent *mdev_register_parent(Device *device, const MdevOps *ops, void *data) {
        MdevParent *parent = g_new0(MdevParent, 1);

        object_init(parent, parent_finalize);
        parent->kernel = device->kernel;
        parent->device = object_ref(device);
        parent->ops = ops;
        parent->data = data;
        parent->types = g_ptr_array_new_with_free_func(object_unref);
        parent->mdevs = g_ptr_array_new_with_free_func(object_unref);
        parent->types_dir = node_add_dir(device->dir, "mdev_supported_types");
        return parent;
}

void mdev_parent_add_type(MdevParent *parent, const char *suffix, const char *name, const char *description,
                          const void *data) {
        Device *device = parent->device;
        const char *prefix = device->driver ? device->driver->name : device->subsystem;
        g_autofree char *dir = g_strdup_printf("%s-%s", prefix, suffix);
        MdevType *type = g_new0(MdevType, 1);

        object_init(type, type_finalize);
        type->parent = parent;
        type->kernel = parent->kernel;
        type->ops = parent->ops;
        type->name = g_strdup(name);
        type->description = g_strdup(description);
        type->data = data;
        type->dir = node_ref(node_add_dir(parent->types_dir, dir));
        node_add_dir(type->dir, "devices");
        node_add_attrs(type->dir, type_attrs, type);
        if (description)
                node_add_attr(type->dir, &description_attr, type);
        g_ptr_array_add(parent->types, type);
}

void mdev_parent_announce(MdevParent *parent) {
        static const char *const state[] = { "MDEV_STATE=registered", NULL };
        Device *device = parent->device;

        node_add_link(parent->kernel->mdev_class, device->name, device->dir);
        device_uevent(device, "change", state);
}

void mdev_unregister_parent(MdevParent *parent) {
        static const char *const state[] = { "MDEV_STATE=unregistered", NULL };
        Device *device = parent->device;

        object_ref(parent);
        if (parent->unregistering) {
                while (!parent->unregistered)
                        kernel_wait(parent->kernel);
                object_unref(parent);
                return;
        }

        parent->unregistering = true;
        node_remove_child(parent->kernel->mdev_class, device->name);

        while (parent->mdevs->len > 0) {
                Mdev *mdev = parent->mdevs->pdata[0];

                node_remove_child(mdev->device.dir, "remove");
                if (mdev_remove(mdev) == -EAGAIN)
                        kernel_wait(parent->kernel); /* it is being made, or on its way out */
        }

        for (unsigned i = 0; i < parent->types->len; i++)
                ((MdevType *) parent->types->pdata[i])->parent = NULL;
        node_remove(parent->types_dir);
        device_uevent(device, "change", state);
        parent->unregistered = true;
        kernel_wake(parent->kernel);
        object_unref(parent); /* ours … */
        object_unref(parent); /* … and the one it was made with */
}

void mdev_init(Kernel *kernel) {
        kernel->mdev = bus_new(kernel, "mdev");
        kernel->mdev_class = node_make_path(kernel->sys, "class/mdev_bus");
}
