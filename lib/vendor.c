/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "vendor.h"

static const CarvedVendor *const vendors[] = {
        &carved_vendor_nvidia,
};

bool carved_vendor_is_astray(uint16_t id, const char *driver) {
        const char *lent_to = carved_vendor_find(id)->lent_to;

        return lent_to && (!driver || strcmp(driver, lent_to) == 0);
}

const CarvedVendor *carved_vendor_find(uint16_t id) {
        for (size_t i = 0; i < G_N_ELEMENTS(vendors); i++)
                if (vendors[i]->id == id)
                        return vendors[i];

        return &carved_vendor_generic;
}
