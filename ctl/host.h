/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"

/* All that carved shows, as of one moment. */

typedef enum Kind {
        KIND_OTHER,
        KIND_GPU,
        KIND_VF,
        KIND_VGPU,
        KIND_INSTANCE,
        KIND_JOB,
} Kind;

typedef struct Fact {
        const char *interface, *name; /* interned */
        GVariant *value;
} Fact;

typedef struct Thing {
        char *path;
        Kind kind;
        GArray *facts; /* Fact, as the daemon orders them */
} Thing;

typedef struct Host {
        GPtrArray *things; /* Thing, in the tree's order: cards by address, VFs by number */
        GHashTable *by_path;
} Host;

/* NULL: carved could not be asked. */
Host *host_load(Ctl *ctl, GError **error);

/* The same of these interfaces only, NULL at the end: what a thousand VFs can is not read to be thrown away.
 */
Host *host_load_some(Ctl *ctl, const char *const *interfaces, GError **error);
Host *host_free(Host *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Host, host_free)

Thing *host_find(const Host *host, const char *path);

/* Those of one kind, below @gpu or, NULL, anywhere. */
GPtrArray *host_list(const Host *host, Kind kind, const Thing *gpu);

/* The card that it is, or is of; NULL: of none, or of several. */
Thing *host_gpu_of(const Host *host, const Thing *thing);

/* From an interface that sends its properties with it: a{sa{sv}}. */
Thing *thing_new(const char *path, GVariant *interfaces);
void thing_free(void *thing);

/* Is this the interface that makes it what it is? All others are what it can. */
bool thing_is(const Thing *thing, const char *interface);
bool thing_has(const Thing *thing, const char *interface);
GVariant *thing_value(const Thing *thing, const char *interface, const char *name); /* borrowed; NULL: none */
const char *thing_text(const Thing *thing, const char *interface, const char *name); /* "": none */
int64_t thing_number(const Thing *thing, const char *interface, const char *name);   /* -1: none */
bool thing_flag(const Thing *thing, const char *interface, const char *name);

/* The same of a dictionary, a{sv} or a{su}. */
const char *dict_text(GVariant *dict, const char *key);
int64_t dict_number(GVariant *dict, const char *key);

/* "gpu", "vf", "vgpu", "job" */
const char *kind_to_string(Kind kind);

/* How people call it: address, UUID, "job/12". */
const char *thing_name(const Thing *thing);
