/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* Which vfio driver is made for a PCI function: a vendor's own where there is one, else vfio-pci. */

#define CARVED_VFIO_PCI "vfio-pci"

/* Is it one of them, by its name? NULL: no. */
bool carved_vfio_is_driver(const char *driver);

/* The module that @aliases, the text of a modules.alias, names for @modalias; the most specific of several.
 * NULL: none. Pure. */
char *carved_vfio_module_find(const char *aliases, const char *modalias);

/* The name under which that module's driver is registered: `xe_vfio_pci` → `xe-vfio-pci`. */
char *carved_vfio_driver_name(const char *module);

/* The module for @modalias on the running kernel. */
char *carved_vfio_module_for(const char *modalias);
