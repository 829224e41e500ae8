/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mdev.h"

/* The kernel's sample mdev parent: a virtual serial card with 24 ports, no PCI device behind it. */
void mtty_init(Kernel *kernel);
