/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* What drivers write about their vGPU types, as values. Pure; any text is survived. */

/* An mdev type's `description`: NVIDIA's "num_heads=4, frl_config=60, …" and GVT-g's "resolution:
 * 1920x1200\n…". Sets what it finds, in whatever order, and leaves the rest. */
void carved_type_parse_description(CarvedType *type, const char *text);

typedef struct CarvedCreatable {
        uint32_t id;
        char *name;
} CarvedCreatable;

void carved_creatable_clear(CarvedCreatable *creatable);

/* NVIDIA's `creatable_vgpu_types`: "ID : vGPU Name" lines with and without header, and the guide's "NAME ID".
 * Lines that are neither are passed over. An array of CarvedCreatable. */
GArray *carved_creatable_parse(const char *text);

/* `746` of `nvidia-746`; false where the part behind the last dash is no number. */
bool carved_type_id_number(const char *id, uint32_t *ret);
