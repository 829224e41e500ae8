/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "nvidia.h"

/* vGPUs as VFs with a type: NVIDIA's vendor-specific VFIO framework. No uevent tells of a type that
 * was set. */

static Nvidia *nvidia_of(void *owner) {
        return ((PciDevice *) owner)->nvidia;
}

static Vgpu *vgpu_of(void *owner) {
        return nvidia_of(owner) ? nvidia_vgpu_on(nvidia_of(owner), owner) : NULL;
}

/* Header, then what can be had on this VF now, in the driver's order. */
static int creatable_show(void *owner, const Attr *attr, GString *out) {
        PciDevice *vf = owner;

        g_string_append(out, "ID    : vGPU Name\n");
        for (unsigned i = 0; vf->nvidia && i < vf->spec->types->len; i++) {
                const TypeSpec *type = vf->spec->types->pdata[i];

                if (nvidia_may_create(vf->nvidia, vf, type) == RM_OK)
                        g_string_append_printf(out, "%-5u : %s\n", type->id, type->name);
        }

        return 0;
}

static int current_show(void *owner, const Attr *attr, GString *out) {
        Vgpu *vgpu = vgpu_of(owner);

        g_string_append_printf(out, "%u\n", vgpu ? vgpu->type->id : 0);
        return 0;
}

/* kstrtouint() with base 10. */
static int parse_id(const char *text, unsigned *ret) {
        unsigned long long n;
        char *end;

        if (!g_ascii_isdigit(*text))
                return -EINVAL;

        errno = 0;
        n = strtoull(text, &end, 10);
        if (*end == '\n')
                end++;
        if (*end != '\0')
                return -EINVAL;
        if (errno == ERANGE || n > UINT_MAX)
                return -ERANGE;

        *ret = (unsigned) n;
        return 0;
}

/* The errnos of the driver that ships, and of the one proposed upstream. */
static int refusal(PciDevice *vf, RmStatus status) {
        if (!vf->spec->strict_errnos)
                return status == RM_TAKEN ? -EPERM : -EIO;

        switch (status) {
        case RM_TAKEN:
                return -EPERM;
        case RM_OTHER_SIZE:
                return -EINVAL;
        case RM_FULL:
                return -ENOSPC;
        case RM_UNKNOWN:
                return -ENODEV;
        case RM_MIG:
                return -EINVAL;
        case RM_OK:
                break;
        }

        g_assert_not_reached();
}

static int set_type(PciDevice *vf, unsigned id) {
        const TypeSpec *type = nvidia_type(vf->spec, id);
        Vgpu *vgpu = vgpu_of(vf);
        RmStatus status;

        if (vgpu) {
                kernel_log(vf->device.kernel, "nvidia %s: vGPU device already created with type ID %u",
                           vf->device.name, vgpu->type->id);
                return refusal(vf, RM_TAKEN);
        }

        status = type ? nvidia_may_create(vf->nvidia, vf, type) : RM_UNKNOWN;
        if (status != RM_OK) {
                kernel_log(vf->device.kernel, "NVRM: Failed to add vgpu create request: 0x%x",
                           RM_CODE(status));
                return refusal(vf, status);
        }

        nvidia_vgpu_new(vf->nvidia, vf, type);
        return 0;
}

static int clear_type(PciDevice *vf) {
        Vgpu *vgpu = vgpu_of(vf);
        int r;

        if (!vgpu)
                return vf->spec->strict_errnos ? 0 : -EPERM;
        if (vf->users > 0)
                return vf->spec->strict_errnos ? -EBUSY : -EPERM;

        r = nvidia_wait_plugin(vf->device.kernel, vgpu->plugin_until);
        if (r < 0)
                return r;
        if (vgpu_of(vf) != vgpu)
                return -EIO; /* somebody else was faster */

        nvidia_vgpu_free(vgpu);
        return 0;
}

static int current_store(void *owner, const Attr *attr, const char *text, size_t len) {
        PciDevice *vf = owner;
        unsigned id;
        int r;

        r = parse_id(text, &id);
        if (r < 0)
                return r;
        if (!vf->nvidia)
                return -ENODEV;

        return id == 0 ? clear_type(vf) : set_type(vf, id);
}

static int params_show(void *owner, const Attr *attr, GString *out) {
        Vgpu *vgpu = vgpu_of(owner);

        if (!vgpu)
                return -ENXIO;

        nvidia_params_show(vgpu, out);
        return 0;
}

static int params_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Vgpu *vgpu = vgpu_of(owner);

        return vgpu ? nvidia_params_store(vgpu, text, len) : -ENXIO;
}

/* ENXIO without a vGPU is known; the text with one is not. A number where there is one, and else mdev's
 * wording, are the best guess there is. */
static int gi_show(void *owner, const Attr *attr, GString *out) {
        if (!vgpu_of(owner))
                return -ENXIO;

        nvidia_gi_show(vgpu_of(owner), out);
        return 0;
}

static int placement_show(void *owner, const Attr *attr, GString *out) {
        if (!vgpu_of(owner))
                return -ENXIO;

        nvidia_placement_show(vgpu_of(owner), out);
        return 0;
}

static int placement_store(void *owner, const Attr *attr, const char *text, size_t len) {
        return vgpu_of(owner) ? nvidia_placement_store(vgpu_of(owner), text) : -ENXIO;
}

/* There, of unknown meaning: it never says anything. */
static int warm_update_show(void *owner, const Attr *attr, GString *out) {
        return -ENXIO;
}

static const Attr vendor_attrs[] = {
        { "creatable_vgpu_types", 0444, creatable_show },
        { "current_vgpu_type", 0644, current_show, current_store },
        { "vgpu_params", 0644, params_show, params_store },
        { "gpu_instance_id", 0644, gi_show },
        { "placement_id", 0644, placement_show, placement_store },
        { "warm_update", 0644, warm_update_show },
        {},
};

void nvidia_vendor_publish(Nvidia *nvidia, PciDevice *vf) {
        vf->nvidia = nvidia;
        node_add_attrs(node_add_dir(vf->device.dir, "nvidia"), vendor_attrs, vf);
        if (vf->iommu_group)
                vf->vfio = vfio_register(&vf->device, vf->iommu_group);
}

void nvidia_vendor_withdraw(PciDevice *vf) {
        Vgpu *vgpu;

        device_lock(&vf->device); /* what is just being published must be there to be taken back */
        pci_wait_idle(vf, "Relaying device request to user");
        vgpu = vgpu_of(vf);
        if (vgpu)
                nvidia_vgpu_free(vgpu);
        node_remove_child(vf->device.dir, "nvidia");
        g_clear_pointer(&vf->vfio, vfio_unregister);
        vf->nvidia = NULL;
        device_unlock(&vf->device);
}
