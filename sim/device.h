/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel.h"

/* The driver core: devices, buses, drivers; who matches whom, and the uevents on the way. */

typedef struct Device Device;
typedef struct Driver Driver;
typedef struct Bus Bus;

struct Device {
        Object object;
        Kernel *kernel;
        Device *parent; /* referenced */
        Bus *bus;       /* or NULL: a class device */
        char *name;
        const char *subsystem;
        Node *dir;
        Driver *driver;
        char *driver_override;
        unsigned lock_depth; /* the device lock: held over sleeps, with its owner below */
        void *lock_owner;
        bool gone;            /* unregistered; a writer may still be inside */
        bool deferred;        /* its driver's probe said EAGAIN: to be tried again */
        uint64_t initialized; /* when udev saw it first */

        /* More environment for its uevents, "KEY=value" strings. */
        void (*add_env)(Device *device, GPtrArray *env);
        void *driver_data;
};

struct Driver {
        Object object;
        const char *name;
        Bus *bus;
        Node *dir;

        bool (*match)(Driver *driver, Device *device);
        int (*probe)(Driver *driver, Device *device); /* 0 or -errno, EAGAIN to defer it; may sleep */
        void (*remove)(Driver *driver, Device *device);
        /* SR-IOV drivers only: makes @n VFs (0: none). NULL: the kernel answers ENOENT. */
        int (*sriov_configure)(Device *pf, unsigned n);
        bool vfio;      /* gives its device to VFIO users */
        bool unloading; /* takes nothing any more */
        unsigned bound; /* devices it has, or is about to take or to leave */
};

struct Bus {
        Object object;
        Kernel *kernel;
        const char *name;
        Node *dir;
        GPtrArray *drivers; /* of Driver, in order of registration */
        GPtrArray *devices; /* of Device */
        /* NULL, or whether drivers may have this device at all. */
        bool (*may_probe)(Device *device);
};

Bus *bus_new(Kernel *kernel, const char *name);
Device *bus_find(Bus *bus, const char *name);
bool bus_knows(Bus *bus, const char *name); /* also one that is on its way out */
Driver *bus_find_driver(Bus *bus, const char *name);

void driver_register(Bus *bus, Driver *driver);
void driver_unregister(Driver *driver); /* its devices must have been released */
/* The kernel tells of a driver when it has had its first try at all devices, and when it is gone. */
void driver_uevent(Driver *driver, const char *action);

/* Fills what all devices have; @device is zeroed, its name and kind-specific parts set by the caller. */
void device_init(Device *device, Kernel *kernel, Device *parent, Bus *bus, const char *subsystem,
                 const char *name, void (*finalize)(void *device));
void device_finalize(void *device);

/* In two halves, so that attributes are there before anybody hears of it. */
void device_add_files(Device *device, Node *parent_dir);
void device_announce(Device *device);

/* Class devices: /sys/class/CLASS/NAME. */
void device_link_class(Device *device, const char *class);

/* Looks for a driver and binds it: 1 bound, 0 none matched, or -errno of the probe. Takes the device lock. */
int device_attach(Device *device);
/* With the device lock. -ENODEV if one of them has gone, -EBUSY if it has a driver. */
int device_bind(Device *device, Driver *driver);
void device_release(Device *device); /* unbind; may sleep while in use */
void device_unregister(Device *device);

/* The device lock. Nests within one thread. */
void device_lock(Device *device);
void device_unlock(Device *device);

void device_uevent(Device *device, const char *action, const char *const *extra);

/* Common attributes. */
extern const Attr device_uevent_attr;
extern const Attr device_override_attr;
