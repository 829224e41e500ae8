/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "vendor.h"

static const CarvedVendor *const vendors[] = {
        &carved_vendor_nvidia,
};

const CarvedVendor *carved_vendor_find(uint16_t id) {
        for (size_t i = 0; i < G_N_ELEMENTS(vendors); i++)
                if (vendors[i]->id == id)
                        return vendors[i];

        return &carved_vendor_generic;
}
