/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "carve.h"

/* The steps that only NVIDIA's library can do. It is open for one step: an open handle would keep the next
 * from the card. What it answers is the outcome's status. */

void carved_nvml_set_mig(const CarvedCarving *carving, CarvedOutcome *outcome);
void carved_nvml_make_instance(const CarvedCarving *carving, CarvedOutcome *outcome);
void carved_nvml_drop_instance(const CarvedCarving *carving, CarvedOutcome *outcome);
void carved_nvml_set_mixed_size(const CarvedCarving *carving, CarvedOutcome *outcome);
