/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* What is different between two looks at one GPU; either may be NULL. Pure. For the model. */
GArray *carved_change_list(const CarvedGpu *old, const CarvedGpu *new);
