/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "nvml-abi.h"

/* NVML for tests, as others load it: by its soname, function by function. */

/* NULL: there is no such function, or no such library. */
void *nvml_symbol(const char *name);

#define nvml(function, ...) ((__typeof__(function) *) nvml_symbol(#function))(__VA_ARGS__)

/* One operation in words, and what came of it in words: "create 9" gives "SUCCESS 2 4:4". An operation is
 * about the card of the last `device`. What the driver must not write to is watched. Free it. */
char *nvml_do(const char *words);

typedef struct NvmlRow {
        const char *words, *answer;
} NvmlRow;

/* Row by row, until one without words. */
void nvml_run(const NvmlRow *rows);
