/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "vendor.h"

const CarvedVendor carved_vendor_nvidia = {
        .id = 0x10de,
        .resource_domain = "nvidia.com",
        /* A VF without the driver shows `pci-713`, one on vfio-pci `vfio-pci-575`: registered, but not yet
           usable. */
        .type_prefix = "nvidia-",
        /* mdev or vendor VFIO is up to how the driver was built, and shows on the VFs only. */
        .bare_sriov = CARVED_FRAMEWORK_UNKNOWN,
        /* The driver has no sriov_configure: sriov_numvfs is ENOENT by design. */
        .has_sriov_manage = true,
        .lent_to = "pci-pf-stub",
        .has_vgpu_config = true,
        .has_nvml = true,
        /* Sizes, maxima and GPU instances are the card's; a VF only is free or not. */
        .vfs_offer_alike = true,
};
