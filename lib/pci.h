/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Names of vendors and devices from pci.ids, by libpci. Reads the whole of that file, megabytes of it in
 * memory: for a worker that ends soon. libpci is used for nothing else. */

typedef struct CarvedPciNames CarvedPciNames;

/* NULL when libpci can't start. */
CarvedPciNames *carved_pci_names_new(void);
CarvedPciNames *carved_pci_names_free(CarvedPciNames *names);

/* NULL where the file does not know it. */
char *carved_pci_names_vendor(CarvedPciNames *names, uint16_t vendor);
char *carved_pci_names_device(CarvedPciNames *names, uint16_t vendor, uint16_t device);
