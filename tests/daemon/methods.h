/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client.h"

/* Every method that carved says it has, wherever it has it. */

typedef struct Call {
        char *path, *interface, *method;
        GPtrArray *args; /* "NAME TYPE", those that go in */
        bool dry_run;
} Call;

Call *call_new(const char *path, const char *interface, const char *method);
void call_free(void *call);

/* All of them. The test fails if one of carved's interfaces is nowhere: then there is too little on the host.
 */
GPtrArray *all_calls(Client *client);
