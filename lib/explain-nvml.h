/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "step.h"

/* The part of explain.h that is about what NVIDIA's library was asked for. */
GError *carved_explain_nvml(const CarvedStep *step, const CarvedOutcome *outcome, const CarvedGpu *now);
