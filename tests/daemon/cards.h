/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client.h"

/* Lists of lines, to compare what is with what was, or should be. */

int compare_lines(const void *a, const void *b);

/* Fails with the first line that is not the same. */
void assert_same_lines(GPtrArray *now, GPtrArray *then);

/* All that carved shows of its cards, a line per object, sorted. Jobs are not among it. */
GPtrArray *describe_cards(Client *client);
