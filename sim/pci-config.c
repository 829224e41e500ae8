/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <linux/pci_regs.h>
#include <string.h>

#include "pci.h"

/* Config space: what lspci -vv decodes. Little endian, byte by byte. */

static void put16(uint8_t *config, unsigned at, uint16_t value) {
        config[at] = (uint8_t) value;
        config[at + 1] = (uint8_t) (value >> 8);
}

static void put32(uint8_t *config, unsigned at, uint32_t value) {
        put16(config, at, (uint16_t) value);
        put16(config, at + 2, (uint16_t) (value >> 16));
}

enum {
        CAP_PM = 0x60,
        CAP_EXPRESS = 0x78,
        CAP_MSIX = 0xc8,
        EXT_ARI = 0x100,
        EXT_SRIOV = 0xbc0,
};

static void put_header(uint8_t *config, uint16_t vendor, uint16_t device, uint32_t class, uint8_t revision) {
        put16(config, PCI_VENDOR_ID, vendor);
        put16(config, PCI_DEVICE_ID, device);
        put16(config, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
        put16(config, PCI_STATUS, PCI_STATUS_CAP_LIST);
        config[PCI_CLASS_REVISION] = revision;
        config[PCI_CLASS_PROG] = (uint8_t) class;
        put16(config, PCI_CLASS_DEVICE, (uint16_t) (class >> 8));
        config[PCI_CAPABILITY_LIST] = CAP_PM;
}

static void put_express(uint8_t *config, unsigned at, uint8_t next, uint16_t type) {
        config[at] = PCI_CAP_ID_EXP;
        config[at + 1] = next;
        put16(config, at + PCI_EXP_FLAGS, (uint16_t) (2 | type << 4));
        put32(config, at + PCI_EXP_DEVCAP, 1 | PCI_EXP_DEVCAP_FLR);
        put32(config, at + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_16_0GB | 16 << 4);
        put16(config, at + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_16_0GB | 16 << 4);
        put32(config, at + PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_ARI);
}

static void put_ext_header(uint8_t *config, unsigned at, uint16_t id, uint16_t next) {
        put32(config, at, id | 1U << 16 | (uint32_t) next << 20);
}

void pci_config_set_vfs(PciDevice *pf, unsigned n) {
        put16(pf->config, EXT_SRIOV + PCI_SRIOV_NUM_VF, (uint16_t) n);
        put16(pf->config, EXT_SRIOV + PCI_SRIOV_CTRL,
              n > 0 ? PCI_SRIOV_CTRL_VFE | PCI_SRIOV_CTRL_MSE | PCI_SRIOV_CTRL_ARI : PCI_SRIOV_CTRL_ARI);
}

static void put_sriov(PciDevice *pf) {
        const GpuSpec *spec = pf->spec;
        uint8_t *sriov = pf->config + EXT_SRIOV;

        put_ext_header(pf->config, EXT_SRIOV, PCI_EXT_CAP_ID_SRIOV, 0);
        put16(sriov, PCI_SRIOV_INITIAL_VF, (uint16_t) spec->total_vfs);
        put16(sriov, PCI_SRIOV_TOTAL_VF, (uint16_t) spec->total_vfs);
        put16(sriov, PCI_SRIOV_VF_OFFSET, (uint16_t) spec->vf_offset);
        put16(sriov, PCI_SRIOV_VF_STRIDE, (uint16_t) spec->vf_stride);
        put16(sriov, PCI_SRIOV_VF_DID, spec->vf_device);
        put32(sriov, PCI_SRIOV_SUP_PGSIZE, 0x553);
        put32(sriov, PCI_SRIOV_SYS_PGSIZE, 1);
        pci_config_set_vfs(pf, pf->num_vfs);
}

void pci_config_fill(PciDevice *pci) {
        uint8_t *config = pci->config;

        put_header(config, pci->vendor, pci->device_id, pci->class, pci->revision);
        put16(config, PCI_SUBSYSTEM_VENDOR_ID, pci->subsystem_vendor);
        put16(config, PCI_SUBSYSTEM_ID, pci->subsystem_device);
        config[CAP_PM] = PCI_CAP_ID_PM;
        config[CAP_PM + 1] = CAP_EXPRESS;
        put16(config, CAP_PM + PCI_PM_PMC, 3);
        put_express(config, CAP_EXPRESS, 0, PCI_EXP_TYPE_ENDPOINT);

        if (pci->physfn) {
                /* The standard has VFs answer all ones here; who wants the ids must ask sysfs. */
                put32(config, PCI_VENDOR_ID, 0xffffffff);
                config[PCI_CAPABILITY_LIST] = CAP_EXPRESS; /* no power management on a VF */
                put32(config, CAP_EXPRESS + PCI_EXP_LNKCAP, 0);
                put16(config, CAP_EXPRESS + PCI_EXP_LNKSTA, 0);
                put_ext_header(config, EXT_ARI, PCI_EXT_CAP_ID_ARI, 0);
                return;
        }

        put_ext_header(config, EXT_ARI, PCI_EXT_CAP_ID_ARI, pci_is_pf(pci) ? EXT_SRIOV : 0);
        if (pci_is_pf(pci))
                put_sriov(pci);
}

void pci_config_fill_bridge(uint8_t *config, uint16_t vendor, uint16_t device, uint8_t primary,
                            uint8_t secondary, uint8_t subordinate) {
        put_header(config, vendor, device, 0x060400, 4);
        config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_BRIDGE;
        config[PCI_PRIMARY_BUS] = primary;
        config[PCI_SECONDARY_BUS] = secondary;
        config[PCI_SUBORDINATE_BUS] = subordinate;
        config[PCI_CAPABILITY_LIST] = CAP_EXPRESS;
        put_express(config, CAP_EXPRESS, 0, PCI_EXP_TYPE_ROOT_PORT);
}
