/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel.h"

/* The host's own name spaces, and what is mounted in them. Everything ends with its first process. */

/* Where the simulator keeps its own things, in the simulated /run. */
#define SIM_DIR     "/run/carved-sim"
#define SIM_CONTROL SIM_DIR "/control"

typedef struct Sandbox {
        const char *state_dir; /* what survives a reboot of the whole simulator; NULL: nothing does */
        bool frozen;           /* /sys is a copy where nothing reacts */
} Sandbox;

/* In the launcher, before it forks. Says what can't be had: /dev/fuse, or which name space. */
bool sandbox_enter(GError **error);

/* In the first process of the name spaces. After it, /sys and all else are the simulated host's. */
bool sandbox_build(const Sandbox *sandbox, Kernel *kernel, GError **error);

/* frozen.c: writes @node and all below into the directory @path. */
bool frozen_write(Kernel *kernel, Node *node, const char *path, GError **error);
