/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"

/* polkit asks for a password through an agent; on a bare terminal that is pkttyagent, for as long as this
 * call lasts. */

/* Where it makes sense: on a terminal, for an ordinary user, on this host. It is ready when this returns;
 * what goes wrong is only worth a word, for polkit may have another agent. */
void agent_open(Ctl *ctl);
void agent_close(Ctl *ctl);
