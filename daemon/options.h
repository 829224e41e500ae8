/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>
#include <systemd/sd-bus.h>

/* The `a{sv}` at the end of a call. A key that is not known is refused by name: a typo in "dry-run" must not
 * carve. */

/* For methods that take no option at all. */
int options_read_none(sd_bus_message *message, sd_bus_error *error);

typedef enum OptionKind {
        OPTION_BOOL,   /* bool */
        OPTION_STRING, /* const char *, as long as the message */
        OPTION_LABELS, /* GStrv, to be freed */
        OPTION_NUMBER, /* int64_t, from a `u` */
} OptionKind;

typedef struct Option {
        const char *name; /* NULL ends the list */
        OptionKind kind;
        void *target; /* keeps what it has where the key is not given */
} Option;

int options_read(sd_bus_message *message, const Option *options, sd_bus_error *error);

/* `a{ss}` as an argument of its own. */
int options_read_labels(sd_bus_message *message, GStrv *ret, sd_bus_error *error);
