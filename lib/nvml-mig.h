/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mig.h"
#include "nvml.h"

/* Reads how a card is cut. NULL and NVML_SUCCESS: it can't be. NULL and another: that went wrong. */
CarvedMig *carved_nvml_read_mig(const CarvedNvml *nvml, NvmlDevice *device, NvmlReturn *ret);

/* The instance of @profile at @placement; NVML_NOT_FOUND: there is none. */
NvmlReturn carved_nvml_find_instance(const CarvedNvml *nvml, NvmlDevice *device, uint32_t profile,
                                     CarvedPlacement placement, NvmlGpuInstance **ret);

/* Calls @each for the compute instances of @instance, until one does not answer NVML_SUCCESS. */
typedef NvmlReturn (*CarvedNvmlEach)(const CarvedNvml *nvml, NvmlComputeInstance *compute, void *userdata);
NvmlReturn carved_nvml_each_compute(const CarvedNvml *nvml, NvmlGpuInstance *instance, CarvedNvmlEach each,
                                    void *userdata);
