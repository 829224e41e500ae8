/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "sysfs.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DIR, closedir)

static const char *const attribute_names[_CARVED_ATTR_MAX] = {
        [CARVED_ATTR_CLASS] = "class",
        [CARVED_ATTR_VENDOR] = "vendor",
        [CARVED_ATTR_DEVICE] = "device",
        [CARVED_ATTR_SUBSYSTEM_VENDOR] = "subsystem_vendor",
        [CARVED_ATTR_SUBSYSTEM_DEVICE] = "subsystem_device",
        [CARVED_ATTR_NUMA_NODE] = "numa_node",
        [CARVED_ATTR_SRIOV_TOTALVFS] = "sriov_totalvfs",
        [CARVED_ATTR_SRIOV_NUMVFS] = "sriov_numvfs",
        [CARVED_ATTR_SRIOV_AUTOPROBE] = "sriov_drivers_autoprobe",
        [CARVED_ATTR_MODALIAS] = "modalias",
        [CARVED_ATTR_DRIVER_OVERRIDE] = "driver_override",
        [CARVED_ATTR_DEV] = "dev",
        [CARVED_ATTR_SRIOV_OFFSET] = "sriov_offset",
        [CARVED_ATTR_SRIOV_STRIDE] = "sriov_stride",
        [CARVED_ATTR_NAME] = "name",
        [CARVED_ATTR_DESCRIPTION] = "description",
        [CARVED_ATTR_DEVICE_API] = "device_api",
        [CARVED_ATTR_AVAILABLE_INSTANCES] = "available_instances",
        [CARVED_ATTR_CREATABLE_VGPU_TYPES] = "nvidia/creatable_vgpu_types",
        [CARVED_ATTR_CURRENT_VGPU_TYPE] = "nvidia/current_vgpu_type",
        [CARVED_ATTR_VGPU_PARAMS] = "nvidia/vgpu_params",
        [CARVED_ATTR_GPU_INSTANCE_ID] = "nvidia/gpu_instance_id",
        [CARVED_ATTR_PLACEMENT_ID] = "nvidia/placement_id",
};

static const char *const link_names[_CARVED_LINK_MAX] = {
        [CARVED_LINK_DRIVER] = "driver",
        [CARVED_LINK_IOMMU_GROUP] = "iommu_group",
        [CARVED_LINK_PHYSFN] = "physfn",
        [CARVED_LINK_MDEV_TYPE] = "mdev_type",
};

const char *carved_attribute_name(CarvedAttribute attribute) {
        return attribute_names[attribute];
}

/* Puts "below/name" into @buf; @below may be NULL. */
static const char *join(const char *below, const char *name, char buf[static PATH_MAX]) {
        g_snprintf(buf, PATH_MAX, "%s%s%s", below ?: "", below ? "/" : "", name);
        return buf;
}

int carved_sysfs_open_dir(int dir_fd, const char *path, GError **error) {
        int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                carved_error_set_errno(error, errno, "Failed to open '%s'", path);
        return fd;
}

/* Says what failed. That there is nothing to read is an answer of its own: ENOENT, and ENXIO where a driver
 * gives the file but has nothing behind it (NVIDIA's vgpu_params on a VF without vGPU). */
static ssize_t read_failed(GError **error, int errnum, const char *what, const char *path) {
        CarvedError code =
                errnum == ENOENT || errnum == ENXIO ? CARVED_ERROR_ABSENT : CARVED_ERROR_KERNEL_REFUSED;

        g_set_error(error, CARVED_ERROR, code, "Failed to %s '%s': %s", what, path, g_strerror(errnum));
        return -1;
}

/* How much was read into @buf, or -1. More than fits is an error, never a truncated answer. */
static ssize_t read_attribute(int dir_fd, const char *below, CarvedAttribute attribute, char *buf,
                              size_t size, GError **error) {
        _cleanup_close_ int fd = -1;
        char path[PATH_MAX];
        size_t len = 0;

        fd = openat(dir_fd, join(below, attribute_names[attribute], path), O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return read_failed(error, errno, "open", path);

        for (;;) {
                ssize_t n = read(fd, buf + len, size - len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return read_failed(error, errno, "read", path);

                /* Less than was asked for is the end: the kernel gives an attribute in one piece. */
                len += (size_t) n;
                if (len < size)
                        return (ssize_t) len;
                if (n > 0)
                        return read_failed(error, EFBIG, "read", path);
        }
}

char *carved_sysfs_read(int dir_fd, const char *below, CarvedAttribute attribute, GError **error) {
        char buf[CARVED_SYSFS_TEXT_MAX];
        ssize_t n;

        n = read_attribute(dir_fd, below, attribute, buf, sizeof buf, error);
        if (n < 0)
                return NULL;

        /* It goes to the bus, which ends connections over anything that is not UTF-8. */
        if (!g_utf8_validate_len(buf, (gsize) n, NULL)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "'%s%s%s' is not text", below ?: "",
                            below ? "/" : "", attribute_names[attribute]);
                return NULL;
        }

        while (n > 0 && g_ascii_isspace(buf[n - 1]))
                n--;
        return g_strndup(buf, (gsize) n);
}

bool carved_sysfs_parse_number(const char *text, int64_t min, int64_t max, int64_t *ret) {
        bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
        int64_t value;
        char *end;

        /* strtoll() would skip white space and take a plus. */
        if (!g_ascii_isdigit(text[0]) && text[0] != '-')
                return false;

        errno = 0;
        value = g_ascii_strtoll(text, &end, hex ? 16 : 10);
        if (errno != 0 || end == text || value < min || value > max)
                return false;

        while (g_ascii_isspace(*end))
                end++;
        if (*end != '\0')
                return false;

        *ret = value;
        return true;
}

bool carved_sysfs_read_number(int dir_fd, const char *below, CarvedAttribute attribute, int64_t min,
                              int64_t max, int64_t *ret, GError **error) {
        char buf[64];
        ssize_t n;

        n = read_attribute(dir_fd, below, attribute, buf, sizeof buf, error);
        if (n < 0)
                return false;

        buf[n] = '\0';
        if (strlen(buf) != (size_t) n || !carved_sysfs_parse_number(buf, min, max, ret)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED,
                            "'%s%s%s' is not a number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                            below ?: "", below ? "/" : "", attribute_names[attribute], min, max);
                return false;
        }

        return true;
}

bool carved_sysfs_is_absent(const GError *error) {
        return g_error_matches(error, CARVED_ERROR, CARVED_ERROR_ABSENT);
}

int carved_sysfs_write(int dir_fd, const char *path, const char *value) {
        _cleanup_close_ int fd = -1;
        size_t len = strlen(value);
        ssize_t n;

        g_assert(dir_fd >= 0 && path[0] != '/');
        fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;

        n = write(fd, value, len);
        if (n < 0)
                return -errno;
        return (size_t) n == len ? 0 : -EIO;
}

static char *read_link(int dir_fd, const char *path) {
        char target[PATH_MAX];
        ssize_t n;

        n = readlinkat(dir_fd, path, target, sizeof target - 1);
        if (n <= 0)
                return NULL;

        target[n] = '\0';
        return g_utf8_validate(target, n, NULL) ? g_path_get_basename(target) : NULL;
}

char *carved_sysfs_read_link(int dir_fd, const char *below, CarvedLink link) {
        char path[PATH_MAX];

        return read_link(dir_fd, join(below, link_names[link], path));
}

char *carved_sysfs_read_virtfn(int dir_fd, unsigned index) {
        char name[32];

        g_snprintf(name, sizeof name, "virtfn%u", index);
        return read_link(dir_fd, name);
}

GPtrArray *carved_sysfs_list(int dir_fd, const char *path, GError **error) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(DIR) dir = NULL;
        struct dirent *entry;
        int fd;

        fd = carved_sysfs_open_dir(dir_fd, path, error);
        if (fd < 0)
                return NULL;

        dir = fdopendir(fd);
        if (!dir) {
                close(fd);
                carved_error_set_errno(error, errno, "Failed to list '%s'", path);
                return NULL;
        }

        while ((errno = 0, entry = readdir(dir)))
                if (entry->d_name[0] != '.' && g_utf8_validate(entry->d_name, -1, NULL))
                        g_ptr_array_add(names, g_strdup(entry->d_name));
        if (errno != 0) {
                carved_error_set_errno(error, errno, "Failed to list '%s'", path);
                return NULL;
        }

        return g_steal_pointer(&names);
}
