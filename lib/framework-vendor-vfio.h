/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "carve.h"
#include "look.h"

/* NVIDIA's own framework: a VF becomes a vGPU when a type is written to it. */

/* Reads the types that @vf offers now, and the vGPU that it is, if it is one. False: it has no such thing. */
bool carved_vendor_vfio_read(CarvedLook *look, int dir_fd, CarvedVf *vf);

/* Writers, in the worker. @dir_fd is the VF's directory. */
void carved_vendor_vfio_create(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome);
void carved_vendor_vfio_remove(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome);
