/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "host.h"

/* Where new vGPUs go, decided before the first is made. */

typedef struct Placement {
        const Thing *gpu;
        const Thing *parent; /* the GPU, which takes its lowest free VF; or a VF */
        char *uuid;
        bool exists; /* already: carved is asked all the same, and says whether it is what is wanted */
} Placement;

/* An array of Placement for @type; NULL: why not. On the card with most room, and only where that is too
 * little on others too; or where --on says. */
GArray *placement_choose(Ctl *ctl, const Host *host, const char *type, GError **error);
