/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device.h"
#include "host.h"

/* The PCI core: devices with their attributes and config space, bridges above them, SR-IOV below. */

#define PCI_CONFIG_SIZE 4096

typedef struct PciDevice PciDevice;

struct PciDevice {
        Device device; /* first */
        CarvedPciAddress address;
        GpuSpec *spec; /* of the card; a VF has its PF's; NULL: a bridge */

        uint16_t vendor, device_id, subsystem_vendor, subsystem_device;
        uint32_t class;
        uint8_t revision;
        int numa_node;
        int irq;
        struct IommuGroup *iommu_group;
        struct VfioDevice *vfio; /* while a VFIO driver has it */
        struct Nvidia *nvidia;   /* while the nvidia driver has it: state of the GPU (a VF: its PF's) */
        struct MdevParent *mdev; /* while it is an mdev parent */
        unsigned users;          /* who has it open: VFIO users of a VF, clients of a GPU */
        bool leaving;            /* on its way out: no new card below it */
        bool publishing;         /* its vGPU types are on their way */
        bool lost;               /* a VF its vendor driver was taken from by hand: useless until made anew */

        /* A PF. */
        unsigned num_vfs;
        bool autoprobe;
        bool mig_mode, mig_pending; /* outlive the driver, if not its module */
        PciDevice *vfs[256];        /* [0, num_vfs) */

        /* A VF. */
        PciDevice *physfn;
        unsigned vf_index;

        uint8_t *config; /* PCI_CONFIG_SIZE bytes */
};

static inline PciDevice *pci_device(Device *device) {
        return (PciDevice *) device;
}

static inline bool pci_is_pf(const PciDevice *pci) {
        return !pci->physfn && pci->spec && pci->spec->total_vfs > 0;
}

void pci_init(Kernel *kernel, bool iommu);

/* A card appears: with its bridge, announced, and bound to @spec's driver. NULL: the slot is taken. */
PciDevice *pci_plug(Kernel *kernel, GpuSpec *spec);
/* Gone, VFs first; waits for their users as the kernel does. False: somebody else had done it. */
bool pci_unplug(PciDevice *pci);

PciDevice *pci_find(Kernel *kernel, const char *address);

/* Used by SR-IOV: its files are there, it is not yet announced. */
PciDevice *pci_new_vf(PciDevice *pf, unsigned index);

/* Waits until nobody has it open: what the removal of a device in use does, for ever if need be. */
void pci_wait_idle(PciDevice *pci, const char *what);

/* sriov.c */
extern const Attr sriov_pf_attrs[];
extern const Attr sriov_vf_attrs[];
int sriov_enable(PciDevice *pf, unsigned n); /* for drivers' sriov_configure */
void sriov_disable(PciDevice *pf);

/* pci-config.c */
void pci_config_fill(PciDevice *pci);
void pci_config_set_vfs(PciDevice *pf, unsigned n);
void pci_config_fill_bridge(uint8_t *config, uint16_t vendor, uint16_t device, uint8_t primary,
                            uint8_t secondary, uint8_t subordinate);

/* pci-attrs.c */
extern const Attr pci_attrs[];
extern const Attr pci_remove_attr;
extern const Attr pci_bus_attrs[];
void pci_add_env(Device *device, GPtrArray *env);

/* iommu.c */
typedef struct IommuGroup {
        Object object;
        Kernel *kernel;
        unsigned number;
        Node *dir;
        unsigned devices;
} IommuGroup;

IommuGroup *iommu_group_new(Kernel *kernel);
void iommu_group_add(IommuGroup *group, Device *device);
void iommu_group_remove(IommuGroup *group, Device *device); /* the last one takes the group along */
