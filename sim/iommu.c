/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "pci.h"

static void group_finalize(void *object) {
        IommuGroup *group = object;

        node_unref(group->dir);
        g_free(group);
}

static int type_show(void *owner, const Attr *attr, GString *out) {
        g_string_append(out, "DMA-FQ\n");
        return 0;
}

static int reserved_show(void *owner, const Attr *attr, GString *out) {
        g_string_append(out, "0x00000000fee00000 0x00000000feefffff msi\n");
        return 0;
}

static const Attr group_attrs[] = {
        { "type", 0644, type_show },
        { "reserved_regions", 0444, reserved_show, .cached = true },
        {},
};

IommuGroup *iommu_group_new(Kernel *kernel) {
        IommuGroup *group = g_new0(IommuGroup, 1);
        char number[16];

        /* The lowest free number, as the kernel's own allocator. */
        while (g_hash_table_contains(kernel->iommu_groups, GUINT_TO_POINTER(group->number)))
                group->number++;
        g_snprintf(number, sizeof number, "%u", group->number);

        object_init(group, group_finalize);
        group->kernel = kernel;
        group->dir = node_ref(node_add_dir(node_make_path(kernel->sys, "kernel/iommu_groups"), number));
        node_add_dir(group->dir, "devices");
        node_add_attrs(group->dir, group_attrs, group);
        g_hash_table_insert(kernel->iommu_groups, GUINT_TO_POINTER(group->number), group);
        return group;
}

void iommu_group_add(IommuGroup *group, Device *device) {
        node_add_link(node_child(group->dir, "devices"), device->name, device->dir);
        node_add_link(device->dir, "iommu_group", group->dir);
        group->devices++;
}

void iommu_group_remove(IommuGroup *group, Device *device) {
        node_remove_child(node_child(group->dir, "devices"), device->name);
        node_remove_child(device->dir, "iommu_group");
        if (--group->devices > 0)
                return;

        node_remove(group->dir);
        g_hash_table_remove(group->kernel->iommu_groups, GUINT_TO_POINTER(group->number));
        object_unref(group);
}
