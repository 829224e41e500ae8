/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "manager.h"

/* One change of what is wanted of one GPU that needs nothing of the hardware: made durable, then known to the
 * model, then answered. It waits for no job. @change is copied. For handlers to return. */
int intent_change(Manager *m, const CarvedPciAddress *gpu, const CarvedIntentChange *change,
                  sd_bus_message *message);
