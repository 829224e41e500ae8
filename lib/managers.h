/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Other programs that make and remove vGPUs: which of them run here. That one runs does not say that it did
 * anything. Reads /proc: for a worker. */
GStrv carved_managers_running(void);
