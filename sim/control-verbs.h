/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "init.h"

/* What carved-simctl can ask for. Runs under the kernel's lock; verbs that wait give it up. Returns an exit
 * code: 0, 1 it could not be done, 2 it was not understood; a sentence in @out. */
int control_verb(Init *init, const char *const *words, GString *out);
