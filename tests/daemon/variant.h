/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <systemd/sd-bus.h>

/* All arguments of a message, as a tuple. */
GVariant *variant_from_message(sd_bus_message *message);
