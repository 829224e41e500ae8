/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* What is different between two looks at one GPU; either may be NULL. Pure. For the model. */
GArray *carved_change_list(const CarvedGpu *old, const CarvedGpu *new);

/* change-mig.c: the same for GPU instances, and for the mode (CarvedField). */
void carved_change_instances_removed(GArray *list, const CarvedGpu *old, const CarvedGpu *new);
void carved_change_instances_added(GArray *list, const CarvedGpu *old, const CarvedGpu *new);
void carved_change_instances(GArray *list, const CarvedGpu *old, const CarvedGpu *new);
unsigned carved_change_mig(const CarvedGpu *a, const CarvedGpu *b);
