/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "host.h"
#include "style.h"

/* States in colour: green is well, yellow wants a look, red is wrong. */
Style style_of_state(const char *state);

/* What is to be said of a vGPU beside its type: "in use, foreign, transient"; "": nothing. */
char *notes_of_vgpu(const Thing *vgpu);
