/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <glib.h>

#include "ident.h"

/* What mdevctl shall make, and when: a file `PARENT/UUID` per mdev in its directory. Read only; it is
 * somebody else's. It may take its time, for a worker process therefore. */

#define CARVED_MDEVCTL_PATH         "/etc/mdevctl.d"
#define CARVED_MDEVCTL_FILE_MAX     (64U * 1024)
#define CARVED_MDEVCTL_MAX          16384U /* definitions */
#define CARVED_MDEVCTL_COMPLAIN_MAX 64U

typedef struct CarvedDefinition {
        char *parent;                   /* as sysfs calls it: mostly a PCI address */
        char uuid[CARVED_UUID_LEN + 1]; /* in lower case */
        char *type;
        bool autostart; /* udev runs mdevctl, and that makes it, as soon as there is the parent */
} CarvedDefinition;

/* All of them, by parent, then UUID; none where there is no such directory. Never NULL. What can't be used is
 * a sentence in @ret_complaints, with the file and why: mdevctl itself ends at some of them. */
GPtrArray *carved_mdevctl_read(const char *directory, GPtrArray **ret_complaints);

/* One file's text. */
bool carved_mdevctl_parse(const char *text, size_t len, char **ret_type, bool *ret_autostart, GError **error);

/* By UUID, in any case. One may be defined on several parents: then the first that starts by itself, else the
 * first. */
const CarvedDefinition *carved_mdevctl_find(const GPtrArray *list, const char *uuid);

/* The first that is made by itself on @parent; NULL: nothing is. */
const CarvedDefinition *carved_mdevctl_find_autostart(const GPtrArray *list, const char *parent);

/* As both travel from the worker to the daemon. */
#define CARVED_MDEVCTL_TYPE "(a(sssb)as)"
GVariant *carved_mdevctl_to_variant(const GPtrArray *list, const GPtrArray *complaints);

/* NULL when @variant is not what the other wrote. */
GPtrArray *carved_mdevctl_from_variant(GVariant *variant, GPtrArray **ret_complaints);
