/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "jobs.h"
#include "object.h"
#include "options.h"

/* What all calls have in common that make a job: the last two of "parse, authorise, hand over". */

/* The two options that each of them takes. */
#define ORDER_OPTIONS(call)                                                                                  \
        { "dry-run", OPTION_BOOL, &(call)->dry_run }, {                                                      \
                "no-block", OPTION_BOOL, &(call)->no_block                                                   \
        }

CarvedOrder *order_new(CarvedOrderKind kind, const CarvedPciAddress *gpu);

/* Takes @order. For handlers to return: dry runs are for everyone, the rest for root and whom polkit lets. */
int order_place(Manager *m, CarvedOrder *order, JobCall *call, sd_bus_message *message, sd_bus_error *error);

/* For methods that take nothing but the two options; takes @order. And for those with "on or off" before
 * them, which becomes the order's count. */
int order_plain(sd_bus_message *message, Manager *m, CarvedOrder *order, sd_bus_error *error);
int order_switch(sd_bus_message *message, Target *t, CarvedOrderKind kind, sd_bus_error *error);

/* May he do this to what the order is about? As auth_check(). */
int order_check(Manager *m, const CarvedOrder *order, const char *verb, sd_bus_message *message, Caller **ret,
                sd_bus_error *error);

/* What is asked for, in one word, by the method's name. */
char *order_verb(sd_bus_message *message);

/* The same for what is done at once to the object that was called, without a job: 1, go on; else to be
 * returned. */
int order_authorise(Manager *m, sd_bus_message *message, sd_bus_error *error, int *ret);
