/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "pci.h"

/* The kernel's own PCI drivers, and one that stands for any vendor's with ordinary SR-IOV. */

void drivers_init(Kernel *kernel);

/* A driver of this name for cards whose file names it; once per name. */
void plain_driver_init(Kernel *kernel, const char *name);
