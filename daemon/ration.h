/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "auth.h"

/* How much of the loop's time each user may have. Root has as much as it wants; all others together can take
 * half of it, in equal parts. Whoever has used up his part is refused at once, which costs next to nothing,
 * until he has some again: a flood of calls makes nobody else wait. */

typedef struct Ration Ration;

int ration_new(sd_event *event, Auth *auth, Ration **ret);
Ration *ration_free(Ration *ration);

/* All calls that come by this connection, from now on; and no more. */
int ration_attach(Ration *ration, sd_bus *bus);
void ration_detach(Ration *ration);
