/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "step.h"

/* The driver says EIO for five different reasons, the kernel ENOENT for two. From how a step went and a fresh
 * look at the card to the error that a client can act on, and a sentence with the cause. Pure. */

/* @now NULL: the card could not be looked at. */
GError *carved_explain(const CarvedStep *step, const CarvedOutcome *outcome, const CarvedGpu *now);

/* The same for a wait that came to no end. */
GError *carved_explain_wait(const CarvedStep *step, const CarvedGpu *now);
