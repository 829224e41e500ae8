/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Work that may take its process down, or never come back, in a process of its own: what it costs then is its
 * answer. For workers, not for the daemon: it waits. */

typedef GVariant *(*CarvedIsolated)(const void *data);

/* What @work returns, which is of @type. NULL and an error: it crashed, said nonsense, or took longer than
 * @timeout_ms and was ended. */
GVariant *carved_isolate(CarvedIsolated work, const void *data, const GVariantType *type, int timeout_ms,
                         GError **error);
