/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#define MANAGER_INTERFACE "org.carved1.Manager"

/* Userdata is the Manager. */
extern const sd_bus_vtable manager_vtable[];
