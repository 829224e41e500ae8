/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* Methods of the Manager about what is stored. */

int method_list_stored(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_forget(sd_bus_message *message, void *userdata, sd_bus_error *error);
