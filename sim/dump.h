/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tree.h"

/* The whole tree as text, a line each: what a test compares before and after. Never waits, reads no binary
 * file. */
void dump_tree(Node *node, GString *out);
