/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel.h"

/* What cards themselves remember without power, kept over the ends of the simulator: `inforom` in the
 * directory of --state, a line for each card that has something to remember: its UUID. */

/* Tells the cards of @host what they remember, and sees to it that what changes is written. */
bool inforom_load(Kernel *kernel, HostSpec *host, const char *state_dir, GError **error);
