/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "carver.h"

#define PCI_DIR  "/sys/bus/pci/devices"
#define MDEV_DIR "/sys/bus/mdev/devices"
#define LOCK_DIR "/proc/driver/nvidia/gpus"

/* What a file says, without the newline; NULL: there is none. */
static char *read_attribute(const char *dir, const char *name) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? g_strchomp(text) : NULL;
}

/* The last part of where it leads to. */
static char *read_target(const char *dir, const char *name) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_autofree char *target = g_file_read_link(path, NULL);

        return target ? g_path_get_basename(target) : NULL;
}

static int compare(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static GPtrArray *list(const char *path) {
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir)))
                g_ptr_array_add(names, g_strdup(name));
        g_ptr_array_sort(names, compare);
        return names;
}

static void describe_pci(const char *dir, GString *text) {
        static const char *const attributes[] = { "driver_override", "sriov_numvfs",
                                                  "sriov_drivers_autoprobe", "nvidia/current_vgpu_type",
                                                  "nvidia/vgpu_params" };
        g_autofree char *driver = read_target(dir, "driver");

        g_string_append_printf(text, " %s", driver ?: "-");
        for (size_t i = 0; i < G_N_ELEMENTS(attributes); i++) {
                g_autofree char *value = read_attribute(dir, attributes[i]);

                if (value)
                        g_string_append_printf(text, " %s", value);
        }
        g_string_append_c(text, '\n');
}

static void describe_mdev(const char *dir, GString *text) {
        g_autofree char *target = g_file_read_link(dir, NULL), *type = read_target(dir, "mdev_type");
        g_autofree char *above = target ? g_path_get_dirname(target) : NULL;
        g_autofree char *parent = above ? g_path_get_basename(above) : NULL;
        g_autofree char *params = read_attribute(dir, "nvidia/vgpu_params");

        g_string_append_printf(text, " %s %s %s\n", parent, type, params ?: "");
}

/* What sriov-manage holds for a while, and nobody else ever. */
static void describe_lock(const char *dir, GString *text) {
        g_autofree char *lock = read_attribute(dir, "unbindLock");

        g_string_append_printf(text, " %s\n", g_strcmp0(lock, "1") == 0 ? "locked" : "free");
}

static void describe_all(const char *path, void (*describe)(const char *dir, GString *text), GString *text) {
        g_autoptr(GPtrArray) names = list(path);

        for (unsigned i = 0; i < names->len; i++) {
                g_autofree char *dir = g_build_filename(path, names->pdata[i], NULL);

                g_string_append(text, names->pdata[i]);
                describe(dir, text);
        }
}

char *host_summary(void) {
        GString *text = g_string_new(NULL);

        describe_all(PCI_DIR, describe_pci, text);
        describe_all(MDEV_DIR, describe_mdev, text);
        describe_all(LOCK_DIR, describe_lock, text);
        return g_string_free(text, FALSE);
}

/* A VF with a type, or one that is bound to be given away whole. */
static bool is_vgpu(const char *dir) {
        g_autofree char *physfn = read_target(dir, "physfn"), *type = NULL, *override = NULL;

        if (!physfn)
                return false;

        type = read_attribute(dir, "nvidia/current_vgpu_type");
        override = read_attribute(dir, "driver_override");
        return (type && !g_str_equal(type, "0")) || g_strcmp0(override, "vfio-pci") == 0;
}

unsigned host_count_vgpus(void) {
        g_autoptr(GPtrArray) pci = list(PCI_DIR), mdev = list(MDEV_DIR);
        unsigned n = mdev->len;

        for (unsigned i = 0; i < pci->len; i++) {
                g_autofree char *dir = g_build_filename(PCI_DIR, pci->pdata[i], NULL);

                n += is_vgpu(dir);
        }
        return n;
}
