/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* Where vendors differ, as tables. Adding a vendor is one file and one line in vendor.c. */
typedef struct CarvedVendor {
        uint16_t id;
        const char *resource_domain; /* of Kubernetes resource names; NULL: has none */
        const char *type_prefix; /* mdev types under another prefix are half-made; NULL: the driver's name and
                                    a dash */
        CarvedFramework bare_sriov; /* what an SR-IOV card, or its VF, is while nothing more shows */
        bool has_sriov_manage;      /* VFs come by the vendor's program, all or none; else by sriov_numvfs */
        const char *lent_to;        /* the driver that the program lends the card to; NULL: none */
        bool has_vgpu_config;       /* facts of types in vgpuConfig.xml */
        bool has_nvml;              /* and more in a library */
        bool vfs_offer_alike;       /* what can be made on one free VF can be made on any */
} CarvedVendor;

extern const CarvedVendor carved_vendor_nvidia;
extern const CarvedVendor carved_vendor_generic;

/* Without driver, or still with the one that it was only lent to: where the program was interrupted. */
bool carved_vendor_is_astray(uint16_t id, const char *driver);

/* Never NULL. */
const CarvedVendor *carved_vendor_find(uint16_t id);
