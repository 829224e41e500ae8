/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "host.h"

/* Calls that change something: asked for, followed step by step, waited for as long as it takes. Whoever ends
 * carvectl meanwhile is told what goes on without it. */

typedef struct Work Work;

Work *work_new(Ctl *ctl, GError **error);
Work *work_free(Work *work);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Work, work_free)

/* A call, to which its arguments are appended; then its options, between these two. Failures are kept, and
 * come out of work_run(). */
sd_bus_message *work_call(Work *work, const char *path, const char *interface, const char *member);
void work_append(Work *work, const char *types, ...);
void work_append_list(Work *work, const char *const *texts); /* "as" */
void work_open(Work *work, const char *contents);            /* an array, and its end */
void work_close(Work *work);
void work_options(Work *work);
void work_option(Work *work, const char *key, const char *type, const void *value);
void work_option_flag(Work *work, const char *key, bool value);
void work_option_labels(Work *work, const char *key, char *const *labels, unsigned n); /* KEY=VALUE */

/* Makes the call that was prepared. @doing: in words, "Switching VFs on …". The job when it is over, or, of a
 * dry run, the one with the plan. NULL: how it failed. */
Thing *work_run(Work *work, const char *doing, GError **error);

/* The same for calls that make no job; the reply's arguments. */
GVariant *work_run_plain(Work *work, const char *doing, GError **error);

/* What came of it: of a dry run the plan, on standard output; of all else only JSON, if JSON is wanted. */
void work_print(Ctl *ctl, GPtrArray *jobs);
