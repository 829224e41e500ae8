/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device.h"

/* Uevents over netlink, as the kernel and udev send them.
 *
 * Each goes out twice: to the kernel, which multicasts it to group 1 as its own (what systemd-udevd listens
 * to), and, as long as no real systemd-udevd runs on the simulated host, to group 2 in libudev's format, with
 * an entry in udev's data base, as if one had processed it. */

typedef struct Uevents Uevents;

/* NULL and errno, where the network name space does not allow it. */
Uevents *uevents_new(void);

/* @env starts with ACTION, DEVPATH, SUBSYSTEM. @device NULL: it is about a driver, which has no data base
 * entry. */
void uevents_send(Uevents *uevents, Device *device, GPtrArray *env);

/* For a host that has just come up: the data base entry, without an event. */
void uevents_coldplug(Device *device);

/* The whole wire message to group 2, without a device (for tests). */
GByteArray *uevent_encode(GPtrArray *env, uint64_t seqnum);
