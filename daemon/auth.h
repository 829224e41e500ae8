/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "manager.h"

/* Who asks, and whether he may. The bus is asked without waiting for it: a handler that gets 0 returns 1, and
 * is run again from the top when the answer is there. So nothing before it may have effects. */

Auth *auth_new(void);
Auth *auth_free(Auth *auth);

/* The bus went away: another one gives the same names to others. */
void auth_reset(Auth *auth);

/* 1: @ret_uid is who sent it; 0: asked; -errno and an error: nobody knows. */
int auth_get_uid(Auth *auth, sd_bus_message *message, uint32_t *ret_uid, sd_bus_error *error);

/* The same, and only root passes. */
int auth_check(Auth *auth, sd_bus_message *message, uint32_t *ret_uid, sd_bus_error *error);
