/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "device.h"
#include "rules.h"
#include "uevent.h"

void device_init(Device *device, Kernel *kernel, Device *parent, Bus *bus, const char *subsystem,
                 const char *name, void (*finalize)(void *device)) {
        object_init(device, finalize);
        device->kernel = kernel;
        device->parent = object_ref(parent);
        device->bus = bus;
        device->subsystem = subsystem;
        device->name = g_strdup(name);
}

void device_finalize(void *object) {
        Device *device = object;

        object_unref(device->parent);
        node_unref(device->dir);
        g_free(device->name);
        g_free(device->driver_override);
        g_free(device);
}

void device_add_files(Device *device, Node *parent_dir) {
        Kernel *kernel = device->kernel;

        device->dir = node_ref(node_add_dir(parent_dir, device->name));
        node_add_attr(device->dir, &device_uevent_attr, device);
        node_add_dir(device->dir, "power"); /* for those who count what is there; nobody asks what is in it */

        if (device->bus) {
                node_add_link(device->dir, "subsystem", device->bus->dir);
                node_add_link(node_child(device->bus->dir, "devices"), device->name, device->dir);
                g_ptr_array_add(device->bus->devices, object_ref(device));
        } else {
                g_autofree char *class = g_strdup_printf("class/%s", device->subsystem);

                node_add_link(device->dir, "subsystem", node_make_path(kernel->sys, class));
                device_link_class(device, device->subsystem);
        }
}

void device_link_class(Device *device, const char *class) {
        g_autofree char *path = g_strdup_printf("class/%s", class);

        node_add_link(node_make_path(device->kernel->sys, path), device->name, device->dir);
}

void device_announce(Device *device) {
        device_uevent(device, "add", NULL);
}

void device_unregister(Device *device) {
        g_autofree char *class = g_strdup_printf("class/%s", device->subsystem);

        if (device->gone)
                return;

        /* Names first, then the driver, which may wait for a user as long as it likes. */
        node_remove_child(device->dir, "power");
        node_remove_child(device->dir, "uevent");
        node_remove_child(device->dir, "subsystem");
        if (device->bus)
                node_remove_child(node_child(device->bus->dir, "devices"), device->name);
        else
                node_remove_child(node_make_path(device->kernel->sys, class), device->name);

        device_release(device);
        device->gone = true;

        /* The event carries the path, so the path goes last. */
        device_uevent(device, "remove", NULL);
        if (!device->dir->removed)
                node_remove(device->dir);
        kernel_wake(device->kernel);
        if (device->bus)
                g_ptr_array_remove(device->bus->devices, device); /* may be the last reference */
}

int device_bind(Device *device, Driver *driver) {
        g_autofree char *operation = g_strdup_printf("/driver/%s/probe/%s", driver->name, device->name);
        int r;

        /* Whoever asks may have waited for the device's lock, and much may have happened meanwhile. */
        if (device->gone || driver->unloading)
                return -ENODEV;
        if (device->driver)
                return -EBUSY;

        /* The core links device and driver before it probes: probe code may look at them. */
        driver->bound++;
        device->driver = object_ref(driver);
        node_add_link(device->dir, "driver", driver->dir);
        node_add_link(driver->dir, device->name, device->dir);

        r = rules_apply(device->kernel, RULE_WRITE, operation, NULL);
        if (r == RULE_IGNORE)
                r = -ENODEV; /* the driver takes no notice of it */
        if (r >= 0 && device->bus->may_probe && !device->bus->may_probe(device))
                r = -ENODEV;
        if (r >= 0 && driver->probe)
                r = driver->probe(driver, device);
        device->deferred = r == -EAGAIN;
        if (r < 0) {
                /* Not for those that mean it is none of theirs, or not yet. */
                if (r != -ENODEV && r != -ENXIO && r != -EAGAIN)
                        kernel_log(device->kernel, "%s: probe of %s failed with error %d", driver->name,
                                   device->name, r);
                node_remove_child(device->dir, "driver");
                node_remove_child(driver->dir, device->name);
                device->driver = NULL;
                driver->bound--;
                object_unref(driver);
                kernel_wake(device->kernel);
                return r;
        }

        device_uevent(device, "bind", NULL);
        kernel_wake(device->kernel);
        return 1;
}

static int attach(Device *device) {
        if (device->gone)
                return 0;
        if (device->driver)
                return 1;

        for (unsigned i = 0; device->bus && i < device->bus->drivers->len; i++) {
                Driver *driver = device->bus->drivers->pdata[i];

                if (driver->match(driver, device))
                        return device_bind(device, driver);
        }

        return 0;
}

int device_attach(Device *device) {
        int r;

        device_lock(device);
        r = attach(device);
        device_unlock(device);
        return r;
}

void device_release(Device *device) {
        Driver *driver = device->driver;

        if (!driver)
                return;

        /* The links go before the driver does, and may be long gone when it has. */
        node_remove_child(device->dir, "driver");
        node_remove_child(driver->dir, device->name);
        if (driver->remove)
                driver->remove(driver, device);
        if (device->driver != driver)
                return; /* somebody else was faster while this one slept */

        device->driver = NULL;
        device_uevent(device, "unbind", NULL);
        driver->bound--;
        object_unref(driver);
        kernel_wake(device->kernel);
}

void device_lock(Device *device) {
        while (device->lock_depth > 0 && device->lock_owner != g_thread_self())
                kernel_wait(device->kernel);

        device->lock_owner = g_thread_self();
        device->lock_depth++;
}

void device_unlock(Device *device) {
        g_assert(device->lock_depth > 0 && device->lock_owner == g_thread_self());

        if (--device->lock_depth == 0)
                kernel_wake(device->kernel);
}

static GPtrArray *environment(Device *device, const char *action) {
        GPtrArray *env = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *path = node_path(device->dir);

        /* In the order of the kernel's own: the first three are parsed by every listener. */
        if (action)
                g_ptr_array_add(env, g_strdup_printf("ACTION=%s", action));
        if (action)
                g_ptr_array_add(env, g_strdup_printf("DEVPATH=%s", path + strlen("/sys")));
        if (action)
                g_ptr_array_add(env, g_strdup_printf("SUBSYSTEM=%s", device->subsystem));
        if (device->driver)
                g_ptr_array_add(env, g_strdup_printf("DRIVER=%s", device->driver->name));
        if (device->add_env)
                device->add_env(device, env);

        return env;
}

void device_uevent(Device *device, const char *action, const char *const *extra) {
        g_autoptr(GPtrArray) env = NULL;

        if (device->kernel->booting)
                return;

        env = environment(device, action);
        for (; extra && *extra; extra++)
                g_ptr_array_add(env, g_strdup(*extra));

        /* Whoever hears of it looks at once: names that are gone must be gone for them too. */
        kernel_flush_names(device->kernel);
        if (device->kernel->uevents)
                uevents_send(device->kernel->uevents, device, env);
}

static int uevent_show(void *owner, const Attr *attr, GString *out) {
        g_autoptr(GPtrArray) env = environment(owner, NULL);

        for (unsigned i = 0; i < env->len; i++)
                g_string_append_printf(out, "%s\n", (const char *) env->pdata[i]);
        return 0;
}

static int uevent_store(void *owner, const Attr *attr, const char *text, size_t len) {
        static const char *const actions[] = { "add",    "remove",  "change", "move",
                                               "online", "offline", "bind",   "unbind" };
        static const char *const synthetic[] = { "SYNTH_UUID=0", NULL };
        g_autofree char *action = g_strndup(text, strcspn(text, " \n"));

        for (size_t i = 0; i < G_N_ELEMENTS(actions); i++)
                if (g_str_equal(action, actions[i])) {
                        device_uevent(owner, action, synthetic);
                        return 0;
                }

        return -EINVAL;
}

const Attr device_uevent_attr = { "uevent", 0644, uevent_show, uevent_store };

static int override_show(void *owner, const Attr *attr, GString *out) {
        Device *device = owner;

        g_string_append_printf(out, "%s\n", device->driver_override ?: "(null)");
        return 0;
}

/* An empty line clears it. */
static int override_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Device *device = owner;
        g_autofree char *name = g_strndup(text, strcspn(text, "\n"));

        if (len >= 4096 - 1)
                return -EINVAL;

        g_clear_pointer(&device->driver_override, g_free);
        if (*name)
                device->driver_override = g_steal_pointer(&name);
        return 0;
}

const Attr device_override_attr = { "driver_override", 0644, override_show, override_store };
