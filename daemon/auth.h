/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "caller.h"
#include "manager.h"

/* Who asks, and whether he may. Bus and polkit are asked without waiting for them: a handler that gets 0
 * returns 1, and is run again from the top when the answer is there. So nothing before it may have effects.
 */

typedef enum AuthAction { AUTH_CONFIGURE_GPU, AUTH_MANAGE_VGPUS, _AUTH_ACTION_MAX } AuthAction;

/* What polkit decides on, and its rules may look at. Where nothing is named: "". */
typedef struct AuthRequest {
        AuthAction action;
        const char *verb; /* as Job.Kind; or the method's name, in the same spelling */
        const char *gpu;  /* address; several with blanks between them */
        const char *uuid; /* of vGPUs, likewise */
} AuthRequest;

Auth *auth_new(sd_event *event);
Auth *auth_free(Auth *auth);

/* The bus went away: another one gives the same names to others. */
void auth_reset(Auth *auth);

/* 1: @ret is who sent it, until the loop turns; 0: asked; -errno and an error: nobody knows. */
int auth_identify(Auth *auth, sd_bus_message *message, Caller **ret, sd_bus_error *error);

/* Who is behind @sender, without holding a call up for it: NULL, it is being asked. */
const Caller *auth_look_up(Auth *auth, sd_bus *bus, const char *sender);

/* Have both the same user behind them, who is not root? Of one that is not known yet: the same connection.
 * For limits, so that one can't use up what there is for all. */
bool auth_is_same_user(Auth *auth, sd_bus_message *a, sd_bus_message *b);

/* As auth_identify(), and only root passes, or whom polkit lets. */
int auth_check(Auth *auth, sd_bus_message *message, const AuthRequest *request, Caller **ret,
               sd_bus_error *error);
