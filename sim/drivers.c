/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "drivers.h"
#include "vfio.h"

static bool match_override(Driver *driver, Device *device) {
        return g_strcmp0(device->driver_override, driver->name) == 0;
}

/* pci_sriov_configure_simple(). */
static int configure_simple(Device *device, unsigned n) {
        PciDevice *pf = pci_device(device);

        if (n > 0)
                return sriov_enable(pf, MIN(n, pf->spec->enables_at_most));

        sriov_disable(pf);
        return 0;
}

static int vfio_pci_probe(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        /* Its VFs may be in use, by the host or by others. */
        if (pci->num_vfs > 0) {
                kernel_log(device->kernel, "vfio-pci %s: Cannot bind to PF with SR-IOV enabled",
                           device->name);
                return -EBUSY;
        }
        /* No IOMMU; or a VF that NVIDIA's driver has lost but still claims. */
        if (!pci->iommu_group || pci->lost)
                return -EINVAL;

        pci->vfio = vfio_register(device, pci->iommu_group);
        return 0;
}

static void vfio_pci_remove(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        pci_wait_idle(pci, "Relaying device request to user (#0)");
        g_clear_pointer(&pci->vfio, vfio_unregister);
}

static bool pcieport_match(Driver *driver, Device *device) {
        if (device->driver_override)
                return match_override(driver, device);
        return pci_device(device)->class == 0x060400;
}

static bool plain_match(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        if (device->driver_override)
                return match_override(driver, device);
        return pci->spec && g_strcmp0(pci->spec->home_driver, driver->name) == 0;
}

static int plain_probe(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        kernel_sleep(device->kernel, pci->physfn ? 0 : device->kernel->pace.pf_probe);
        return 0;
}

/* As GPU drivers do: no driver, no VFs. */
static void plain_remove(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        if (pci->num_vfs > 0)
                sriov_disable(pci);
}

static void add(Kernel *kernel, Driver template) {
        Driver *driver = g_new(Driver, 1);

        *driver = template;
        driver_register(kernel->pci, driver);
}

void drivers_init(Kernel *kernel) {
        add(kernel, (Driver){ .name = "pcieport", .match = pcieport_match });
        add(kernel,
            (Driver){ .name = "pci-pf-stub", .match = match_override, .sriov_configure = configure_simple });
        add(kernel, (Driver){ .name = "vfio-pci",
                              .match = match_override,
                              .probe = vfio_pci_probe,
                              .remove = vfio_pci_remove,
                              .vfio = true });
}

void plain_driver_init(Kernel *kernel, const char *name) {
        if (bus_find_driver(kernel->pci, name))
                return;

        add(kernel, (Driver){ .name = g_intern_string(name),
                              .match = plain_match,
                              .probe = plain_probe,
                              .remove = plain_remove,
                              .sriov_configure = configure_simple });
}
