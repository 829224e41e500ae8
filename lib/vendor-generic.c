/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "vendor.h"

const CarvedVendor carved_vendor_generic = {
        .bare_sriov = CARVED_FRAMEWORK_VF_PASSTHROUGH,
};
