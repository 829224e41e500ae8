/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* The `a{sv}` at the end of a call. A key that is not known is refused by name: a typo in "dry-run" must not
 * carve. */

/* For methods that take no option at all. */
int options_read_none(sd_bus_message *message, sd_bus_error *error);
