/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "killer-call.h"

/* What is to happen at which call. A line of text:
 *
 *   count                                        nothing: they are only written down
 *   at N before|after kill daemon|self|all       self: who makes the call; all: whatever runs, programs too
 *   at N fail ERRNO|short [always]               always: and all that follow
 *
 * and then, to count only some:
 *
 *   by daemon|worker  in CLASS,…  calls NAME,…  below DIR */

typedef enum Who {
        WHO_DAEMON,
        WHO_WORKER,
        WHO_OTHER, /* programs that they run: never counted */
} Who;

typedef enum Victim {
        VICTIM_NONE,
        VICTIM_DAEMON,
        VICTIM_SELF,
        VICTIM_ALL,
} Victim;

typedef struct Plan {
        unsigned nth; /* from 1; 0: only count */
        bool after;
        Victim victim;
        int error; /* -1: fewer bytes than asked for; 0: none */
        bool always;

        int by; /* a Who; -1: both */
        char **in, **calls, *below;
} Plan;

const char *who_name(Who who);

/* False: not understood. */
bool plan_parse(const char *text, Plan *ret);
void plan_clear(Plan *plan);

bool plan_counts(const Plan *plan, Who who, const Call *call);
