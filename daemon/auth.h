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

/* The same, and only root passes, or whom polkit lets. */
int auth_check(Auth *auth, sd_bus_message *message, const AuthRequest *request, Caller **ret,
               sd_bus_error *error);
