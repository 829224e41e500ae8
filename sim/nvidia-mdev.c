/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "nvidia.h"

/* vGPUs as mediated devices: on every VF, or on the GPU itself where it has no SR-IOV. */

static unsigned mdev_available(MdevType *type) {
        PciDevice *on = pci_device(type->parent->device);
        Nvidia *nvidia = type->parent->data;
        const TypeSpec *spec = type->data;

        /* A VF the driver has not got: half set up, nothing works. */
        if (on->device.driver != nvidia->pf->device.driver)
                return 0;
        if (nvidia_may_create(nvidia, on, spec) != RM_OK)
                return 0;

        /* A VF takes one; a GPU without VFs counts down. */
        return on->physfn ? 1 : MIN(spec->max, VGPUS_PER_GPU_MAX) - nvidia->vgpus->len;
}

static Vgpu *vgpu_of(void *owner) {
        return ((Mdev *) owner)->data;
}

static int params_show(void *owner, const Attr *attr, GString *out) {
        if (!vgpu_of(owner))
                return -ENODEV;

        nvidia_params_show(vgpu_of(owner), out);
        return 0;
}

static int params_store(void *owner, const Attr *attr, const char *text, size_t len) {
        return vgpu_of(owner) ? nvidia_params_store(vgpu_of(owner), text, len) : -ENODEV;
}

/* Empty unless a VM runs; what it says then is not known here. */
static int vm_name_show(void *owner, const Attr *attr, GString *out) {
        g_string_append(out, "\n");
        return 0;
}

static const Attr vgpu_attrs[] = {
        { "vgpu_params", 0644, params_show, params_store },
        { "vm_name", 0444, vm_name_show },
        {},
};

/* Only while a VM has it, they say. */
static int placement_show(void *owner, const Attr *attr, GString *out) {
        const Vgpu *vgpu = vgpu_of(owner);

        if (!vgpu)
                return -ENODEV;
        if (nvidia_vgpu_in_use(vgpu))
                nvidia_placement_show(vgpu, out);
        else
                g_string_append(out, "Not Applicable\n");
        return 0;
}

static int placement_store(void *owner, const Attr *attr, const char *text, size_t len) {
        return vgpu_of(owner) ? nvidia_placement_store(vgpu_of(owner), text) : -ENODEV;
}

static int gi_show(void *owner, const Attr *attr, GString *out) {
        if (!vgpu_of(owner))
                return -ENODEV;

        nvidia_gi_show(vgpu_of(owner), out);
        return 0;
}

/* What drivers that know MIG and mixed sizes have beside those. */
static const Attr newer_attrs[] = {
        { "gpu_instance_id", 0444, gi_show },
        { "placement_id", 0644, placement_show, placement_store },
        { "vgpu_params", 0644, params_show, params_store },
        { "vm_name", 0444, vm_name_show },
        {},
};

static int mdev_probe(Mdev *mdev) {
        PciDevice *on = pci_device(mdev->parent->device);
        Nvidia *nvidia = mdev->parent->data;
        const TypeSpec *type = mdev->type->data;
        RmStatus status = RM_TAKEN;
        Vgpu *vgpu;

        if (on->device.driver == nvidia->pf->device.driver)
                status = nvidia_may_create(nvidia, on, type);
        if (status != RM_OK) {
                kernel_log(on->device.kernel, "NVRM: Failed to add vgpu create request: 0x%x",
                           RM_CODE(status));
                return -EIO;
        }

        vgpu = nvidia_vgpu_new(nvidia, on, type);
        vgpu->mdev = mdev;
        mdev->data = vgpu;
        return 0;
}

static void mdev_gone(Mdev *mdev) {
        nvidia_vgpu_free(mdev->data);
        mdev->data = NULL;
}

static int mdev_may_remove(Mdev *mdev) {
        PciDevice *on = pci_device(mdev->parent->device);

        if (!on->spec->remove_refuses || !mdev->data)
                return 0;
        if (mdev->users > 0)
                return -EPERM;
        return nvidia_wait_plugin(on->device.kernel, ((Vgpu *) mdev->data)->plugin_until);
}

#define OPS(attrs)                                                                                           \
        {                                                                                                    \
                .driver = "nvidia-vgpu-vfio", .device_api = "vfio-pci", .group = "nvidia",                   \
                .group_attrs = attrs, .available = mdev_available, .probe = mdev_probe, .remove = mdev_gone, \
                .may_remove = mdev_may_remove                                                                \
        }

static const MdevOps ops = OPS(vgpu_attrs), newer_ops = OPS(newer_attrs);

void nvidia_mdev_publish(Nvidia *nvidia, PciDevice *on) {
        on->mdev = mdev_register_parent(&on->device,
                                        on->spec->mig || on->spec->mixed_size ? &newer_ops : &ops, nvidia);

        for (unsigned i = 0; i < on->spec->types->len; i++) {
                const TypeSpec *type = on->spec->types->pdata[i];
                g_autofree char *id = g_strdup_printf("%u", type->id);
                g_autofree char *description = g_strdup_printf(
                        "num_heads=%u, frl_config=%u, framebuffer=%uM, max_resolution=%ux%u, max_instance=%u",
                        type->heads, type->frame_rate_limit, type->framebuffer_mib, type->width, type->height,
                        type->max);

                mdev_parent_add_type(on->mdev, id, type->name, description, type);
        }

        mdev_parent_announce(on->mdev);
}

void nvidia_mdev_withdraw(PciDevice *on) {
        MdevParent *parent = on->mdev;

        /* Still set while its devices go: nobody may register it a second time meanwhile. */
        mdev_unregister_parent(parent);
        if (on->mdev == parent)
                on->mdev = NULL;
}
