/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* For tests and tools that run on a simulated host: carved-simctl as a function. Plain C, no GLib. */

/* Asks for @words (NULL at the end), as on carved-simctl's command line. Returns its exit code, or -errno when no
 * simulator answers. @ret_text, if given, is what it said; free() it. */
int simctl(const char *const *words, char **ret_text);

/* simctl_do("hold", uuid) */
#define simctl_do(...) simctl((const char *const[]){ __VA_ARGS__, (const char *) 0 }, 0)
