/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/* Reading and writing sysfs, relative to a directory fd. Only what is listed here can be read at all: some
 * attributes act when they are read (AMD's reset_gpu resets the card), so no name ever comes from a directory
 * listing. */

typedef enum CarvedAttribute {
        /* any PCI function */
        CARVED_ATTR_CLASS,
        CARVED_ATTR_VENDOR,
        CARVED_ATTR_DEVICE,
        CARVED_ATTR_SUBSYSTEM_VENDOR,
        CARVED_ATTR_SUBSYSTEM_DEVICE,
        CARVED_ATTR_NUMA_NODE,
        CARVED_ATTR_SRIOV_TOTALVFS,
        CARVED_ATTR_SRIOV_NUMVFS, /* waits for whoever holds the device lock: a worker's, never the loop's */
        CARVED_ATTR_SRIOV_AUTOPROBE,
        CARVED_ATTR_SRIOV_OFFSET,
        CARVED_ATTR_SRIOV_STRIDE,
        CARVED_ATTR_MODALIAS,
        CARVED_ATTR_DRIVER_OVERRIDE,
        /* a character device */
        CARVED_ATTR_DEV,
        /* an mdev type */
        CARVED_ATTR_NAME,
        CARVED_ATTR_DESCRIPTION,
        CARVED_ATTR_DEVICE_API,
        CARVED_ATTR_AVAILABLE_INSTANCES,
        /* NVIDIA, on a VF or an mdev */
        CARVED_ATTR_CREATABLE_VGPU_TYPES,
        CARVED_ATTR_CURRENT_VGPU_TYPE,
        CARVED_ATTR_VGPU_PARAMS,
        CARVED_ATTR_GPU_INSTANCE_ID,
        CARVED_ATTR_PLACEMENT_ID,
        _CARVED_ATTR_MAX
} CarvedAttribute;

typedef enum CarvedLink {
        CARVED_LINK_DRIVER,
        CARVED_LINK_IOMMU_GROUP,
        CARVED_LINK_PHYSFN,
        CARVED_LINK_MDEV_TYPE,
        _CARVED_LINK_MAX
} CarvedLink;

/* The kernel's attributes end with a page; four of them, and whatever gives more is broken. */
#define CARVED_SYSFS_TEXT_MAX (16 * 1024)

const char *carved_attribute_name(CarvedAttribute attribute);

int carved_sysfs_open_dir(int dir_fd, const char *path, GError **error);

/* The text of an attribute, without trailing white space. @below is a directory under @dir_fd, or NULL. NULL
 * and an error when it can't be read, is longer than CARVED_SYSFS_TEXT_MAX, or is no text. */
char *carved_sysfs_read(int dir_fd, const char *below, CarvedAttribute attribute, GError **error);

/* The same, where nothing but a number is expected: no allocation. Not a number or out of range is an error.
 */
bool carved_sysfs_read_number(int dir_fd, const char *below, CarvedAttribute attribute, int64_t min,
                              int64_t max, int64_t *ret, GError **error);

/* Did reading fail because there is nothing to read? */
bool carved_sysfs_is_absent(const GError *error);

/* One write(2) of @value into the file @path below @dir_fd: each call runs the attribute's store() once. 0 or
 * -errno; whether it could not be opened or was refused makes no difference to the caller. */
int carved_sysfs_write(int dir_fd, const char *path, const char *value);

/* The last component of where a link points; NULL where there is no such link. */
char *carved_sysfs_read_link(int dir_fd, const char *below, CarvedLink link);

/* The VF behind `virtfnINDEX`, its directory name. NULL where there is none. */
char *carved_sysfs_read_virtfn(int dir_fd, unsigned index);

/* The names in a directory, unsorted, without dots. NULL and an error when it can't be listed. */
GPtrArray *carved_sysfs_list(int dir_fd, const char *path, GError **error);

/* A number in the kernel's spellings, decimal or 0x; nothing before, white space at most behind. */
bool carved_sysfs_parse_number(const char *text, int64_t min, int64_t max, int64_t *ret);
