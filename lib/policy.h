/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* What is refused before the kernel is asked, and the sentence why. Pure. */

#define CARVED_PARAMS_MAX 1024 /* the driver's own limit is not known; this is what everybody assumes */

/* `nvidia-746`, `746`, `NVIDIA A2-4Q`, `A2-4Q`. Index into gpu->types, or -1 and NoSuchType. */
int carved_policy_find_type(const CarvedGpu *gpu, const char *text, GError **error);

/* Can a vGPU of type number @type be made here? @vf NULL: anywhere on the card. */
bool carved_policy_may_create(const CarvedGpu *gpu, const CarvedVf *vf, unsigned type, GError **error);

bool carved_policy_check_params(const char *params, GError **error);

/* Is the card in a state in which its VFs can be switched? */
bool carved_policy_may_switch_vfs(const CarvedGpu *gpu, GError **error);

/* May this vGPU be destroyed or changed by us? */
bool carved_policy_is_ours(const CarvedVgpu *vgpu, GError **error);

/* "What: why", with the error that goes with the reason's code. Always false. */
bool carved_policy_refuse(GError **error, const CarvedReason *reason, const char *what);
