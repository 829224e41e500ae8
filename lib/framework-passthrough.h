/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "carve.h"

/* Whole VFs as vGPUs: on a vfio driver, and nothing else about them. */

/* What driver the VF is kept for. */
void carved_passthrough_read(int dir_fd, CarvedVf *vf);

/* Writers, in the worker. @dir_fd is the VF's directory. */
void carved_passthrough_create(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome);
void carved_passthrough_remove(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome);
