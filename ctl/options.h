/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "verbs.h"

/* The command line. What is for one verb is refused with another: a typo must not carve. */

typedef struct OptionSpec {
        const char *name;  /* of one letter: there is no long form */
        char letter;       /* 0: none */
        const char *value; /* NULL: it takes none */
        const char *verbs; /* those it is for, blanks between; NULL: all */
        const char *help;
} OptionSpec;

extern const OptionSpec option_specs[]; /* name NULL at the end */

bool option_is_for(const OptionSpec *spec, const char *verb);

typedef enum Asked {
        ASKED_VERB,
        ASKED_HELP,
        ASKED_VERSION,
} Asked;

/* @argv is permuted; @ret_args: the verb's own, up to NULL. */
bool options_parse(Ctl *ctl, int argc, char *argv[], char ***ret_args, Asked *ret_asked, GError **error);

void options_clear(Ctl *ctl);
