/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "snapshot.h"
#include "step.h"

/* Does a step. In the worker process: it blocks as long as the kernel likes. */

typedef struct CarvedCarving {
        const CarvedHost *host;
        const CarvedStep *step;
        int sysfs_fd, gpu_fd;
} CarvedCarving;

void carved_carve(const CarvedHost *host, const CarvedStep *step, CarvedOutcome *ret);

/* For the frameworks: writes @value to @path below @dir_fd, and notes it where that is refused. */
void carved_carve_write(CarvedOutcome *outcome, int dir_fd, const char *path, const char *value);
void carved_carve_failed(CarvedOutcome *outcome, int errnum, const char *file, const char *value);
