/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* Which files make up the configuration, and in which order; see config_load(). */

/* Adds their paths to @paths, as far as they can be found. False: a directory can't be read. */
bool config_files_find(const char *const *roots, GPtrArray *paths, GError **error);
