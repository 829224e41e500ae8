/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* vgpuConfig.xml of NVIDIA's driver package: the facts of each type, and which card can have which types. The
 * only place that tells sizes and maxima of vendor-VFIO types without NVML. */

#define CARVED_VGPU_CONFIG_PATH "/usr/share/nvidia/vgpu/vgpuConfig.xml"

/* The types of the card @vendor:@device, subsystem @sub_vendor:@sub_device, as an array of CarvedType with id
 * `nvidia-N`, unsorted; empty where the text does not know the card. NULL and an error where it is no such
 * text. */
GPtrArray *carved_vgpu_config_parse(const char *text, size_t len, const CarvedGpu *card, GError **error);

/* The same from a file. NULL without an error where there is none. */
GPtrArray *carved_vgpu_config_read(const char *path, const CarvedGpu *card, GError **error);
