/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One carved at a time: two would undo each other's half-done work. 0, or -errno with the reason in the log.
 * The lock ends with this process, and is not for its children. */
int solitude_take(const char *directory);
