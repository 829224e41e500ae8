/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "auth.h"

/* Asks polkit, for auth.c alone. Whoever leaves while it thinks has asked for nothing. */

typedef struct Polkit Polkit;

Polkit *polkit_new(sd_event *event);
Polkit *polkit_free(Polkit *polkit);

/* The bus went away, and all who asked with it. */
void polkit_reset(Polkit *polkit);

/* 1: he may; 0: asked, and @message will be dispatched again; -errno and an error: he may not. */
int polkit_check(Polkit *polkit, sd_bus_message *message, uint32_t uid, const AuthRequest *request,
                 sd_bus_error *error);
