/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "carve.h"
#include "look.h"

/* Mediated devices: the kernel's framework, on a GPU or on each of its VFs. */

#define CARVED_MDEV_TYPES "mdev_supported_types" /* who has it is such a parent */

/* The types below @dir_fd and how many more of each. False: not all of them are usable yet. */
bool carved_mdev_read_types(CarvedLook *look, int dir_fd, const char *driver, uint16_t **target,
                            char **ret_error);

/* The mdevs among @names, the entries of their parent's directory. */
void carved_mdev_read_vgpus(CarvedLook *look, int dir_fd, GPtrArray *names, int32_t vf_index);

/* Writers, in the worker. @dir_fd is the parent's directory. */
void carved_mdev_create(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome);
void carved_mdev_remove(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome);
