/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "device.h"
#include "kernel.h"
#include "uevent.h"

/* What a person writes into bind, unbind and drivers_probe: a device's name, with or without a newline. */
static Device *written_device(Bus *bus, const char *text) {
        g_autofree char *name = g_strndup(text, strcspn(text, "\n"));

        return bus_find(bus, name);
}

static int bind_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Driver *driver = owner;
        Device *device = written_device(driver->bus, text);
        int r;

        /* The driver's own match decides: an override that names another driver makes it ENODEV. */
        if (!device || !driver->match(driver, device))
                return -ENODEV;

        object_ref(device);
        device_lock(device);
        r = device_bind(device, driver);
        device_unlock(device);
        object_unref(device);
        return r < 0 ? r : 0;
}

static int unbind_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Driver *driver = owner;
        Device *device = written_device(driver->bus, text);

        if (!device || device->driver != driver)
                return -ENODEV;

        object_ref(device);
        device_lock(device);
        if (device->driver == driver)
                device_release(device);
        device_unlock(device);
        object_unref(device);
        return 0;
}

/* Success when nothing matched, and when a driver's probe failed: the next one may have more luck. Only the
 * link tells, and the log. */
static int probe_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Device *device = written_device(owner, text);

        if (!device)
                return -ENODEV;

        object_ref(device);
        device_attach(device);
        object_unref(device);
        return 0;
}

static const Attr bus_attrs[] = {
        { "drivers_probe", 0200, NULL, probe_store },
        {},
};

static const Attr driver_attrs[] = {
        { "bind", 0200, NULL, bind_store },
        { "unbind", 0200, NULL, unbind_store },
        {},
};

static void bus_finalize(void *object) {
        Bus *bus = object;

        g_ptr_array_unref(bus->drivers);
        g_ptr_array_unref(bus->devices);
        g_free(bus);
}

static void driver_finalize(void *object) {
        Driver *driver = object;

        node_unref(driver->dir);
        g_free(driver);
}

Bus *bus_new(Kernel *kernel, const char *name) {
        g_autofree char *path = g_strdup_printf("bus/%s", name);
        Bus *bus = g_new0(Bus, 1);

        object_init(bus, bus_finalize);
        bus->kernel = kernel;
        bus->name = name;
        bus->dir = node_make_path(kernel->sys, path);
        bus->drivers = g_ptr_array_new_with_free_func(object_unref);
        bus->devices = g_ptr_array_new_with_free_func(object_unref);
        node_add_dir(bus->dir, "devices");
        node_add_dir(bus->dir, "drivers");
        node_add_attrs(bus->dir, bus_attrs, bus);
        return bus;
}

bool bus_knows(Bus *bus, const char *name) {
        for (unsigned i = 0; i < bus->devices->len; i++)
                if (g_str_equal(((Device *) bus->devices->pdata[i])->name, name))
                        return true;

        return false;
}

Device *bus_find(Bus *bus, const char *name) {
        for (unsigned i = 0; bus && i < bus->devices->len; i++) {
                Device *device = bus->devices->pdata[i];

                if (!device->gone && g_str_equal(device->name, name))
                        return device;
        }

        return NULL;
}

Driver *bus_find_driver(Bus *bus, const char *name) {
        for (unsigned i = 0; i < bus->drivers->len; i++) {
                Driver *driver = bus->drivers->pdata[i];

                if (g_str_equal(driver->name, name))
                        return driver;
        }

        return NULL;
}

void driver_register(Bus *bus, Driver *driver) {
        object_init(driver, driver_finalize);
        driver->bus = bus;
        driver->dir = node_ref(node_add_dir(node_child(bus->dir, "drivers"), driver->name));
        node_add_attrs(driver->dir, driver_attrs, driver);
        g_ptr_array_add(bus->drivers, driver);
}

void driver_uevent(Driver *driver, const char *action) {
        Kernel *kernel = driver->bus->kernel;
        g_autoptr(GPtrArray) env = g_ptr_array_new_with_free_func(g_free);

        if (kernel->booting || !kernel->uevents)
                return;

        g_ptr_array_add(env, g_strdup_printf("ACTION=%s", action));
        g_ptr_array_add(env, g_strdup_printf("DEVPATH=/bus/%s/drivers/%s", driver->bus->name, driver->name));
        g_ptr_array_add(env, g_strdup("SUBSYSTEM=drivers"));
        kernel_flush_names(kernel);
        uevents_send(kernel->uevents, NULL, env);
}

void driver_unregister(Driver *driver) {
        node_remove(driver->dir);
        driver_uevent(driver, "remove");
        g_ptr_array_remove(driver->bus->drivers, driver);
}
