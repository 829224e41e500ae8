/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* Why no vGPU can be had: a code from a fixed set and a sentence. Pure. */

/* The reason for the whole card; code NULL where one can be had. */
CarvedReason carved_reason_for_gpu(const CarvedGpu *gpu);

CarvedReason carved_reason_for_vf(const CarvedVf *vf);

/* Why type number @type in particular is not to be had. */
CarvedReason carved_reason_for_type(const CarvedGpu *gpu, unsigned type);

void carved_reason_clear(CarvedReason *reason);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CarvedReason, carved_reason_clear)
