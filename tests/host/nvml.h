/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include <check.h>

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

/* The first card, with NVML open; MIG on; and the last row. */
#define BEGIN                                                                                                \
        { "init", "SUCCESS" }, {                                                                             \
                "device 0", "SUCCESS"                                                                        \
        }
#define MIG_ON                                                                                               \
        { "mode 1", "SUCCESS SUCCESS" }, {                                                                   \
                "device 0", "SUCCESS"                                                                        \
        }
#define LET_GO                                                                                               \
        { "shutdown", "SUCCESS" }
#define END                                                                                                  \
        LET_GO, {                                                                                            \
        }

/* As after a cold boot; a card that remembers its MIG mode forgets it. */
void nvml_clean_up(void);

int nvml_run_tests(TCase *tests, const char *name);
