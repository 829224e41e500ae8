/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"

/* Everything carvectl can be asked for. A group of verbs is a file; a verb is a function and a row. */

typedef bool (*VerbRun)(Ctl *ctl, char **args, GError **error);

typedef struct Verb {
        const char *name;
        const char *args; /* as people are told */
        unsigned min, max;
        VerbRun run;
        const char *help;
        bool alone; /* needs no carved to speak to */
} Verb;

typedef struct VerbGroup {
        const char *title;
        const Verb *verbs; /* name NULL at the end */
} VerbGroup;

extern const VerbGroup verb_groups[]; /* title NULL at the end */

const Verb *verb_find(const char *name);

#define MANY G_MAXUINT

/* tree.c */
bool verb_tree(Ctl *ctl, char **args, GError **error);
/* list.c */
bool verb_list(Ctl *ctl, char **args, GError **error);
/* show.c */
bool verb_show(Ctl *ctl, char **args, GError **error);
/* types.c */
bool verb_types(Ctl *ctl, char **args, GError **error);
/* explain.c */
bool verb_explain(Ctl *ctl, char **args, GError **error);
/* vfs.c */
bool verb_enable(Ctl *ctl, char **args, GError **error);
bool verb_disable(Ctl *ctl, char **args, GError **error);
/* create.c */
bool verb_create(Ctl *ctl, char **args, GError **error);
/* destroy.c */
bool verb_destroy(Ctl *ctl, char **args, GError **error);
bool verb_users(Ctl *ctl, char **args, GError **error);
/* mig.c */
bool verb_mig(Ctl *ctl, char **args, GError **error);
/* keep.c */
bool verb_adopt(Ctl *ctl, char **args, GError **error);
bool verb_resync(Ctl *ctl, char **args, GError **error);
bool verb_forget(Ctl *ctl, char **args, GError **error);
/* monitor.c */
bool verb_monitor(Ctl *ctl, char **args, GError **error);
/* wait.c, cancel.c */
bool verb_wait(Ctl *ctl, char **args, GError **error);
bool verb_cancel(Ctl *ctl, char **args, GError **error);
/* log.c */
bool verb_log(Ctl *ctl, char **args, GError **error);
/* report.c */
bool verb_report(Ctl *ctl, char **args, GError **error);
/* help.c */
bool verb_help(Ctl *ctl, char **args, GError **error);
