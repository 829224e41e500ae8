/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "hold.h"

static bool same_target(const Hold *hold, Mdev *mdev, PciDevice *pci) {
        return mdev ? hold->mdev == mdev : hold->pci == pci;
}

Hold *hold_find(Kernel *kernel, const char *name) {
        Mdev *mdev = kernel->mdev ? mdev_find(kernel, name) : NULL;
        PciDevice *pci = pci_find(kernel, name);

        for (unsigned i = 0; (mdev || pci) && i < kernel->holds->len; i++)
                if (same_target(kernel->holds->pdata[i], mdev, pci))
                        return kernel->holds->pdata[i];

        return NULL;
}

Hold *hold_find_pid(Kernel *kernel, int pid) {
        for (unsigned i = 0; i < kernel->holds->len; i++)
                if (((Hold *) kernel->holds->pdata[i])->pid == pid)
                        return kernel->holds->pdata[i];

        return NULL;
}

Hold *hold_find_vgpu(Kernel *kernel, const Vgpu *vgpu) {
        for (unsigned i = 0; i < kernel->holds->len; i++)
                if (same_target(kernel->holds->pdata[i], vgpu->mdev, vgpu->on))
                        return kernel->holds->pdata[i];

        return NULL;
}

/* A whole GPU: as a client of its driver. */
static int begin_gpu(PciDevice *pf, char **ret_node) {
        if (!pf->nvidia)
                return -ENODEV;
        if (pf->nvidia->unbind_lock)
                return -EBUSY;

        *ret_node = g_strdup(pf->nvidia->node->path);
        return 0;
}

static int begin_vf(PciDevice *vf, char **ret_node) {
        if (!vf->vfio)
                return -ENODEV;
        if (vf->nvidia && !nvidia_vgpu_on(vf->nvidia, vf)) {
                kernel_log(vf->device.kernel, "nvidia %s: current_vgpu_type of VF not configured",
                           vf->device.name);
                return -ENODEV;
        }

        *ret_node = g_strdup(vfio_node_path(vf->vfio));
        return 0;
}

int hold_begin(Kernel *kernel, const char *name, Hold **ret, char **ret_node) {
        Mdev *mdev = kernel->mdev ? mdev_find(kernel, name) : NULL;
        PciDevice *pci = pci_find(kernel, name);
        g_autofree char *node = NULL;
        Hold *hold;
        int r = 0;

        if (!mdev && !pci)
                return -ENOENT;
        if (hold_find(kernel, name) && !(pci && !pci->vfio))
                return -EBUSY;

        if (mdev && (!mdev->active || !mdev->vfio))
                return -ENODEV;
        if (mdev)
                node = g_strdup(vfio_node_path(mdev->vfio));
        else if (pci->vfio || pci->physfn)
                r = begin_vf(pci, &node);
        else
                r = begin_gpu(pci, &node);
        if (r == 0 && mdev && mdev->parent->device->bus)
                r = nvidia_placement_check(mdev->data);
        else if (r == 0 && pci && pci->physfn && pci->nvidia)
                r = nvidia_placement_check(nvidia_vgpu_on(pci->nvidia, pci));
        if (r < 0)
                return r;

        hold = g_new0(Hold, 1);
        hold->name = g_strdup(name);
        hold->vm = uuid_of("", name);
        hold->mdev = object_ref(mdev);
        hold->pci = object_ref(pci);
        g_ptr_array_add(kernel->holds, hold);
        if (mdev)
                mdev->users++;
        else
                pci->users++;

        *ret = hold;
        *ret_node = g_steal_pointer(&node);
        return 0;
}

static void linger(Hold *hold) {
        Vgpu *vgpu = NULL;

        if (hold->mdev)
                vgpu = hold->mdev->parent->device->bus ? hold->mdev->data : NULL;
        else if (hold->pci->nvidia)
                vgpu = nvidia_vgpu_on(hold->pci->nvidia, hold->pci);
        if (vgpu)
                vgpu->plugin_until = g_get_monotonic_time() + hold->linger_ms * 1000LL;
}

void hold_end(Kernel *kernel, Hold *hold) {
        if (hold->linger_ms > 0)
                linger(hold);
        if (hold->mdev)
                hold->mdev->users--;
        else
                hold->pci->users--;

        g_ptr_array_remove(kernel->holds, hold);
        object_unref(hold->mdev);
        object_unref(hold->pci);
        g_free(hold->name);
        g_free(hold->vm);
        g_free(hold);
        kernel_wake(kernel);
}
