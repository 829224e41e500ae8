/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <libudev.h>

#include "gpu.h"

/* Which GPUs there are, and which PCI function an event is about. */

typedef struct udev CarvedUdev;
typedef struct udev_device CarvedUdevDevice;
typedef struct udev_enumerate CarvedUdevEnumerate;
typedef struct udev_monitor CarvedUdevMonitor;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedUdev, udev_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedUdevDevice, udev_device_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedUdevEnumerate, udev_enumerate_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedUdevMonitor, udev_monitor_unref)

/* What a scan of the host tells of one GPU: enough to show it while more can't be read. */
typedef struct CarvedFound {
        CarvedPciAddress address;
        uint16_t vendor_id, device_id, subsystem_vendor_id, subsystem_device_id;
        char *vendor, *model; /* NULL: no name known */
} CarvedFound;

void carved_found_clear(CarvedFound *found);

/* All display controllers and processing accelerators but VFs, in order of address: an array of CarvedFound.
 * Reads a file of every PCI function there is: for a worker. NULL and an error when there is nothing to scan.
 */
GArray *carved_udev_scan(GError **error);

GVariant *carved_udev_scan_to_variant(GArray *list);
GArray *carved_udev_scan_from_variant(GVariant *variant);

/* 0x03xxxx and 0x1200xx. */
bool carved_pci_class_is_gpu(uint32_t class);

/* Can a function at @address be a VF of the PF at @pf, by the PF's own numbers? */
bool carved_pci_address_is_vf_of(const CarvedPciAddress *address, const CarvedPciAddress *pf, uint32_t offset,
                                 uint32_t stride, uint32_t total_vfs);

/* The innermost PCI function of a device path: the VF of `…/0000:08:00.4/dd6772a8-…`. */
bool carved_udev_path_address(const char *devpath, CarvedPciAddress *ret);
