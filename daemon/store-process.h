/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* What the store's worker process does: files, and nothing else. */

/* "as", directories in the order of settle_load(), to STORE_LOADED. What can't be read is renamed, and told.
 */
GVariant *store_process_load(GVariant *request);

/* "a(ysss)": all of them, in order, to disk. NULL and an error: the first that failed; those after it were
 * not begun. "s": what the disk does not confirm; empty: nothing. */
GVariant *store_process_write(GVariant *request, GError **error);
