/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "mdev.h"
#include "nvidia-mig.h"

static void pci_finalize(void *object) {
        PciDevice *pci = object;

        object_unref(pci->physfn);
        if (pci->spec)
                gpu_spec_unref(pci->spec);
        g_free(pci->config);
        device_finalize(pci);
}

/* Each GPU sits on a bus of its own below a root port; one on bus 0 is part of the root complex. */
static Node *host_bridge(Kernel *kernel, uint32_t domain) {
        g_autofree char *path = g_strdup_printf("devices/pci%04x:00", domain);

        return node_make_path(kernel->sys, path);
}

static PciDevice *pci_new(Kernel *kernel, Device *parent, const CarvedPciAddress *address) {
        PciDevice *pci = g_new0(PciDevice, 1);
        char name[CARVED_PCI_ADDRESS_MAX];

        carved_pci_address_format(address, name);
        device_init(&pci->device, kernel, parent, kernel->pci, "pci", name, pci_finalize);
        pci->device.add_env = pci_add_env;
        pci->address = *address;
        pci->autoprobe = true;
        pci->numa_node = -1;
        pci->config = g_malloc0(PCI_CONFIG_SIZE);
        return pci;
}

static void pci_add_files(PciDevice *pci, Node *dir) {
        Kernel *kernel = pci->device.kernel;

        device_add_files(&pci->device, dir);
        node_add_attrs(pci->device.dir, pci_attrs, pci);
        if (!pci->physfn)
                node_add_attr(pci->device.dir, &pci_remove_attr, pci);
        node_add_attr(pci->device.dir, &device_override_attr, pci);
        if (kernel->iommu) {
                pci->iommu_group = iommu_group_new(kernel);
                iommu_group_add(pci->iommu_group, &pci->device);
        }
}

static PciDevice *find_port(Kernel *kernel, const CarvedPciAddress *below) {
        for (unsigned i = 0; i < kernel->pci->devices->len; i++) {
                PciDevice *port = kernel->pci->devices->pdata[i];

                if (!port->spec && !port->leaving && port->address.domain == below->domain &&
                    port->config[0x19] == below->bus) /* secondary bus */
                        return port;
        }

        return NULL;
}

static void make_port(Kernel *kernel, const CarvedPciAddress *below) {
        CarvedPciAddress address = { .domain = below->domain };
        char name[CARVED_PCI_ADDRESS_MAX];
        unsigned slot = below->bus - 1U;
        PciDevice *port;

        do {
                address.device = (uint8_t) (1 + slot % 31);
                address.function = slot / 31 % 8;
                slot++;
        } while (bus_knows(kernel->pci, carved_pci_address_format(&address, name)));

        port = pci_new(kernel, NULL, &address);
        port->vendor = 0x8086;
        port->device_id = 0x347a;
        port->class = 0x060400;
        port->revision = 4;
        pci_config_fill_bridge(port->config, port->vendor, port->device_id, 0, below->bus, below->bus);
        pci_add_files(port, host_bridge(kernel, below->domain));
        device_announce(&port->device);
        device_attach(&port->device);
        object_unref(port); /* the bus has it */
}

static PciDevice *new_function(Kernel *kernel, Device *above, GpuSpec *spec, const CarvedPciAddress *address,
                               PciDevice *physfn) {
        PciDevice *pci = pci_new(kernel, above, address);

        pci->spec = gpu_spec_ref(spec);
        pci->physfn = object_ref(physfn);
        pci->vendor = spec->vendor;
        pci->device_id = physfn ? spec->vf_device : spec->device;
        pci->subsystem_vendor = spec->subsystem_vendor;
        pci->subsystem_device = physfn ? 0 : spec->subsystem_device;
        pci->class = spec->class;
        pci->revision = spec->revision;
        pci->numa_node = spec->numa_node;
        pci->irq = physfn ? 0 : 16 + address->bus;
        if (!physfn)
                nvidia_mig_cold(pci);
        pci_config_fill(pci);

        pci_add_files(pci, above ? above->dir : host_bridge(kernel, address->domain));
        if (pci_is_pf(pci))
                node_add_attrs(pci->device.dir, sriov_pf_attrs, pci);
        if (physfn)
                node_add_attrs(pci->device.dir, sriov_vf_attrs, pci);
        return pci;
}

/* Beside its PF, whatever its bus number: a port that is on its way out takes both along. */
PciDevice *pci_new_vf(PciDevice *pf, unsigned index) {
        CarvedPciAddress address = gpu_spec_vf_address(pf->spec, index);
        PciDevice *vf = new_function(pf->device.kernel, pf->device.parent, pf->spec, &address, pf);

        vf->vf_index = index;
        return vf;
}

/* The last card may still be on its way out of the slot. */
static bool slot_is_free(Kernel *kernel, const CarvedPciAddress *address) {
        for (unsigned i = 0; i < kernel->pci->devices->len; i++) {
                PciDevice *pci = kernel->pci->devices->pdata[i];

                if (carved_pci_address_compare(&pci->address, address) != 0)
                        continue;
                if (!pci->device.gone)
                        return false;
                kernel_wait(kernel);
                return slot_is_free(kernel, address);
        }

        return true;
}

/* The slot is free and the port above it there, both at once: to wait for the one, or to tell of the other,
 * gives others the time to take them. */
static bool find_place(Kernel *kernel, const CarvedPciAddress *address, Device **ret_above) {
        PciDevice *port = NULL;

        while (slot_is_free(kernel, address)) {
                if (address->bus > 0)
                        port = find_port(kernel, address);
                if (port || address->bus == 0) {
                        *ret_above = port ? &port->device : NULL;
                        return true;
                }
                make_port(kernel, address);
        }

        return false;
}

PciDevice *pci_plug(Kernel *kernel, GpuSpec *spec) {
        Device *above;
        PciDevice *pci;

        if (!find_place(kernel, &spec->address, &above))
                return NULL;

        pci = new_function(kernel, above, spec, &spec->address, /* physfn= */ NULL);
        if (spec->driver && !g_str_equal(spec->driver, spec->home_driver))
                pci->device.driver_override = g_strdup(spec->driver);
        device_announce(&pci->device);

        device_lock(&pci->device);
        if (spec->driver)
                device_attach(&pci->device);
        if (spec->vfs_on && pci->num_vfs == 0 && !pci->device.gone)
                sriov_enable(pci, spec->total_vfs);
        device_unlock(&pci->device);

        object_unref(pci); /* the bus has it */
        return pci;
}

void pci_wait_idle(PciDevice *pci, const char *what) {
        bool said = false;

        while (pci->users > 0) {
                if (!said)
                        kernel_log(pci->device.kernel, "%s %s: %s", pci->device.subsystem, pci->device.name,
                                   what);
                said = true;
                kernel_wait(pci->device.kernel);
        }
}

bool pci_unplug(PciDevice *pci) {
        Kernel *kernel = pci->device.kernel;
        bool mine;

        object_ref(pci);
        device_lock(&pci->device);
        mine = !pci->device.gone;
        if (mine) {
                if (pci->num_vfs > 0)
                        sriov_disable(pci);
                device_release(&pci->device);
                if (pci->mdev) /* registered without a driver that would have taken it back */
                        mdev_unregister_parent(pci->mdev);
                pci->mdev = NULL;
                if (pci->iommu_group)
                        iommu_group_remove(pci->iommu_group, &pci->device);
                pci->iommu_group = NULL;
                device_unregister(&pci->device);
        }
        device_unlock(&pci->device);
        kernel_flush_names(kernel);
        object_unref(pci);
        return mine;
}

PciDevice *pci_find(Kernel *kernel, const char *text) {
        CarvedPciAddress address;
        char name[CARVED_PCI_ADDRESS_MAX];

        if (!carved_pci_address_parse(text, &address))
                return NULL;

        return pci_device(bus_find(kernel->pci, carved_pci_address_format(&address, name)));
}

/* Without autoprobe a VF is for nobody whom driver_override does not name: not at birth, nor by bind or
 * probe. */
static bool pci_may_probe(Device *device) {
        PciDevice *pci = pci_device(device);

        return !pci->physfn || pci->physfn->autoprobe || device->driver_override;
}

void pci_init(Kernel *kernel, bool iommu) {
        kernel->iommu = iommu;
        kernel->pci = bus_new(kernel, "pci");
        kernel->pci->may_probe = pci_may_probe;
        node_add_dir(kernel->pci->dir, "slots");
        node_add_attrs(kernel->pci->dir, pci_bus_attrs, kernel->pci);

        node_make_path(kernel->sys, "kernel/iommu_groups");
        node_make_path(kernel->sys, "class/iommu");
        if (iommu)
                node_add_link(node_make_path(kernel->sys, "class/iommu"), "dmar0",
                              node_make_path(kernel->sys, "devices/virtual/iommu/dmar0"));
}
