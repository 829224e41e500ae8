/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel.h"

/* The tree as a FUSE file system that behaves like sysfs. */

/* Mounts the kernel's tree on @mountpoint and serves it from threads of its own. */
bool fs_start(Kernel *kernel, const char *mountpoint, GError **error);
