/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan.h"

/* A vGPU that came or went changes its own VF, and what its card offers on the others. Instead of a look at
 * the whole card, whose hundreds of files each may wait for the driver, before each answer: a glance at that
 * VF and at one other that is free, which speaks for the rest. A whole look follows, when nobody waits for
 * it. */

/* Which VFs to look at to see that @plan is done on @gpu, as last seen; by index. NULL: a glance does not
 * tell, it takes a look. */
GArray *carved_glance_choose(const CarvedPlan *plan, const CarvedGpu *gpu);

/* @gpu as it must be now by what the glance shows. NULL: they do not fit together, it takes a look. */
CarvedGpu *carved_glance_merge(const CarvedGpu *gpu, const CarvedGpu *glance);
