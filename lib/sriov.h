/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "carve.h"

/* VFs on and off, in the worker: by the kernel's own file, or by NVIDIA's program. Both read back what came
 * of it; neither touches VFs that somebody has open. */

#define CARVED_SRIOV_MANAGE_PATH "/usr/lib/nvidia/sriov-manage"

void carved_sriov_set_numvfs(const CarvedCarving *carving, CarvedOutcome *outcome);
void carved_sriov_manage(const CarvedCarving *carving, CarvedOutcome *outcome);

/* What the program leaves where it is killed: the card without driver or with the one that it was lent to, or
 * locked. With another driver by now, it is somebody else's. */
void carved_sriov_rebind(const CarvedCarving *carving, CarvedOutcome *outcome);

/* What sriov-manage says when some client of the driver has the card open for a moment. */
bool carved_sriov_manage_is_locked_out(const char *output);
