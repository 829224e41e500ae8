/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* The test module's parameters, by which it fails and takes its time. */

bool knob_set(const char *name, const char *value);
unsigned knob_get(const char *name, unsigned otherwise);

/* "2s" or "300ms". */
bool knob_parse_time(const char *text, unsigned *ret_ms);

/* `fail PATTERN ERRNO [times=N]` and `delay PATTERN TIME`, in carved-simctl's words, as far as there is a
 * knob for it. Returns an exit code. */
int knob_rule(const char *const *words);
