/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "look.h"

/* What NVIDIA's library tells of a card beside what sysfs shows: who it is, how it is cut, and facts of its
 * types. Nothing that is in sysfs depends on it. */

/* An answer as it travels: from the process that asked, to the daemon, and back to whoever looks next, so
 * that the library is not asked more often than there is something to be seen. */
#define CARVED_NVML_ANSWER "(usssm" CARVED_MIG_TYPE "ia(usutuusuu))"

/* While sriov-manage runs for another card it can't be asked. Where nothing is known yet, that is waited for;
 * else what was known holds until the next look: gpu->nvml_deferred. */

/* Must it be asked? @memory: its last answer, or NULL. Not on each look: starting it holds the card, and
 * whoever wants to unbind its driver then can't. Instances come and go without an event, and the rest goes
 * with a rebind. */
bool carved_nvml_is_due(GVariant *memory, const CarvedGpu *gpu);

/* Asks. That it can't be asked is an answer, too. NULL: somebody runs sriov-manage, and @wait is not set. */
GVariant *carved_nvml_ask(const CarvedHost *host, const CarvedGpu *gpu, bool wait);

/* Puts what it told into what was seen. */
void carved_nvml_tell(CarvedLook *look, GVariant *answer);
