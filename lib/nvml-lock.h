/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Whoever has NVIDIA's library open holds every card of the host, not only the one that he asks about: no
 * driver can be unbound then, and no mode changed. So of carved's own processes only one has it open at a
 * time, and none while another runs sriov-manage; of those there may be several. Others' processes know
 * nothing of it. */

typedef struct CarvedNvmlLock {
        int mutex, room; /* -1: not held */
} CarvedNvmlLock;

#define CARVED_NVML_UNLOCKED                                                                                 \
        { -1, -1 }

/* To have the library open. False: sriov-manage runs, and @wait is not set. @directory NULL: there are no
 * locks. */
bool carved_nvml_lock(CarvedNvmlLock *lock, const char *directory, bool wait);
/* To run sriov-manage; waits. */
void carved_nvml_keep_out(CarvedNvmlLock *lock, const char *directory);
void carved_nvml_unlock(CarvedNvmlLock *lock);
