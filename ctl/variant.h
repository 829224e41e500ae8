/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <systemd/sd-bus.h>

/* What comes over sd-bus, as GVariant, which is easier to take apart. */

/* All arguments of a message, as a tuple; NULL: it can't be read. */
GVariant *variant_from_message(sd_bus_message *message);

/* The next value of a message, floating; NULL: there is none, or it can't be read. */
GVariant *variant_read(sd_bus_message *message);
