/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "boot.h"
#include "drivers.h"
#include "hold.h"
#include "mtty.h"
#include "nvml.h"
#include "rules.h"
#include "uevent.h"

static void base_dirs(Kernel *kernel) {
        static const char *const dirs[] = { "block",     "bus",       "class",
                                            "dev/block", "dev/char",  "devices/system",
                                            "firmware",  "fs/cgroup", "kernel",
                                            "module",    "power" };

        for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++)
                node_make_path(kernel->sys, dirs[i]);
}

static void load_driver(Kernel *kernel, const GpuSpec *gpu) {
        const char *name = gpu->home_driver;

        if (!kernel->mdev && gpu->framework == FRAMEWORK_MDEV)
                mdev_init(kernel);
        if (!name || bus_find_driver(kernel->pci, name))
                return;
        if (g_str_equal(name, "nvidia"))
                nvidia_init(kernel);
        else
                plain_driver_init(kernel, name);
}

bool boot_plug(Kernel *kernel, GpuSpec *gpu) {
        load_driver(kernel, gpu);
        return pci_plug(kernel, gpu) != NULL;
}

void boot(Kernel *kernel, HostSpec *host) {
        kernel->booting = true;
        kernel->vgpud_ran = false;
        kernel->iommu_groups = g_hash_table_new(NULL, NULL);
        kernel->vfio_groups = g_hash_table_new(NULL, NULL);
        kernel->holds = g_ptr_array_new();
        kernel->removed = g_ptr_array_new_with_free_func((GDestroyNotify) gpu_spec_unref);
        kernel->vfio_cdev = host->vfio_cdev;
        kernel->nvml_sessions = g_ptr_array_new();
        kernel->nvml = host->nvml;
        g_free(kernel->driver_version);
        kernel->driver_version = g_strdup(host->driver_version);

        base_dirs(kernel);
        pci_init(kernel, host->iommu);
        vfio_init(kernel);
        drivers_init(kernel);
        /* All drivers before the first card: a module is loaded once, for all. */
        for (unsigned i = 0; i < host->gpus->len; i++)
                load_driver(kernel, host->gpus->pdata[i]);
        for (unsigned i = 0; i < host->gpus->len; i++)
                pci_plug(kernel, host->gpus->pdata[i]);
        if (host->mtty && !kernel->mdev)
                mdev_init(kernel);
        if (host->mtty)
                mtty_init(kernel);
        kernel->booting = false;

        if (kernel->uevents)
                kernel->vfio_node = dev_node_new(kernel, "vfio/vfio");
        for (unsigned i = 0; kernel->uevents && i < kernel->pci->devices->len; i++)
                uevents_coldplug(kernel->pci->devices->pdata[i]);
}

/* Takes the cards out as if nobody were there to see it. */
static void tear_down(Kernel *kernel) {
        GPtrArray *devices = kernel->pci->devices;

        kernel->booting = true;
        for (unsigned i = devices->len; i > 0; i--)
                if (i <= devices->len && !((PciDevice *) devices->pdata[i - 1])->physfn)
                        pci_unplug(devices->pdata[i - 1]);
        if (kernel->mtty)
                mdev_unregister_parent(g_steal_pointer(&kernel->mtty));
        g_clear_pointer(&kernel->vfio_node, dev_node_free);

        node_clear(kernel->sys);
        node_clear(kernel->proc_driver);
        g_clear_pointer(&kernel->pci, object_unref);
        g_clear_pointer(&kernel->mdev, object_unref);
        kernel->mdev_class = NULL;
        g_clear_pointer(&kernel->iommu_groups, g_hash_table_unref);
        g_clear_pointer(&kernel->vfio_groups, g_hash_table_unref);
        g_clear_pointer(&kernel->holds, g_ptr_array_unref);
        g_clear_pointer(&kernel->nvml_sessions, g_ptr_array_unref);
        g_clear_pointer(&kernel->removed, g_ptr_array_unref);
}

void reboot(Kernel *kernel, HostSpec *host) {
        g_assert(kernel->holds->len == 0);

        kernel->rebooting = true;
        kernel->boot++;
        kernel_wake(kernel);
        while (kernel->inside > 0)
                kernel_wait(kernel);
        nvml_end_sessions(kernel);

        tear_down(kernel);
        boot(kernel, host);
        kernel->rebooting = false;
        kernel_flush_names(kernel);
}
