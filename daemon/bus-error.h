/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "error.h"

/* The one table from codes to names on the bus. The last two return a negative errno, for handlers to return.
 */
const char *bus_error_name(CarvedError code);
int bus_error_set(sd_bus_error *ret_error, CarvedError code, const char *text);
int bus_error_from_gerror(sd_bus_error *ret_error, const GError *error);

/* Not a UUID, though it should be one. */
int bus_error_no_uuid(sd_bus_error *ret_error, const char *text);
