/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "manager.h"

/* Who has which vGPU open. Their nodes are watched: an open or a close makes us look, through a worker of our
 * own, at every process there is. What is shown is a hint; what is refused is decided at the write. */

Usage *usage_new(Manager *m);
Usage *usage_free(Usage *usage);

/* Those who wait are told that nothing comes any more. */
void usage_cancel(Usage *usage);

/* The vGPUs of this GPU may be others now: watch those that are there. */
void usage_follow(Usage *usage, const CarvedPciAddress *gpu);

/* Looks now, and answers "a(us)". */
int usage_ask(Usage *usage, const CarvedVgpu *vgpu, sd_bus_message *message, sd_bus_error *error);
