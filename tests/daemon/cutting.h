/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "keeping.h"

/* How tests cut cards, ask how they are cut, and do so behind carved's back. */

#define MIG      "org.carved1.Mig"
#define MIXED    "org.carved1.MixedSize"
#define INSTANCE "org.carved1.GpuInstance"
#define A100     "/org/carved1/gpu/0000_04_00_0"
#define H100     "/org/carved1/gpu/0000_19_00_0"

/* A card to test on, by the host's name. */
typedef struct Cut {
        Card card;
        const char *one, *two, *three;     /* profiles of 1, 2 and 3 slices */
        const char *type_one, *type_three; /* the vGPU types that need them */
        const char *sliced;                /* a time-sliced type */
} Cut;

const Cut *cut_find(const char *host);

/* Each returns the error's name, NULL: it went well; @ret_text as in carver.h. */
const char *cut_mode(Client *client, const char *gpu, bool on, char **ret_text);
/* @layout: "3g.20gb 1 1g.5gb 2"; @options: "replace", "dry-run", "bare" (without compute instances), any of
 * them. */
const char *cut_apply(Client *client, const char *gpu, const char *layout, const char *options,
                      char **ret_text);
const char *cut_clear(Client *client, const char *gpu, char **ret_text);
const char *cut_mixed(Client *client, const char *gpu, bool on, char **ret_text);
const char *cut_destroy(Client *client, const char *gpu, unsigned instance, char **ret_text);

/* Properties, as words. */
bool cut_flag(Client *client, const char *gpu, const char *interface, const char *property);
/* What carved shows: "3g.20gb@4:4 1g.5gb@0:1", by place. */
char *cut_shown(Client *client, const char *gpu);
/* The number of the instance that begins at this slice; -1: there is none. */
int cut_instance_at(Client *client, const char *gpu, unsigned start);

/* What the driver says, of all cards: a line each, with mode and instances. */
char *host_cuts(void);
/* As nvidia-smi does it: what is at this slice is destroyed; an instance of @profile is made at it. */
void host_drop(const char *address, unsigned start);
/* The mode is off. */
void host_uncut(const char *address);
void host_make(const char *address, const char *profile, unsigned start);
