/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client.h"

/* What tests ask carved for, in one line each; and what the host is like, in one text. */

/* A card to test on, by the host's name. */
typedef struct Card {
        const char *host, *path, *address;
        unsigned vfs;            /* 0: vGPUs go straight onto the GPU */
        const char *type, *more; /* one that can be had, and another of the same size */
        const char *other;       /* one of another size; NULL: there is none */
        bool has_params;
} Card;

const Card *card_find(const char *host);

/* Each returns the error's name, NULL: it went well. @ret_text, if given, is its message, or what was
 * returned. */
const char *carve_enable(Client *client, const Card *card, char **ret_text);
const char *carve_disable(Client *client, const Card *card, bool destroy, char **ret_text);
const char *carve_create(Client *client, const char *on, const char *type, const char *uuid,
                         const char *params, char **ret_text);
const char *carve_create_for_now(Client *client, const char *on, const char *type, const char *uuid,
                                 char **ret_text);
const char *carve_destroy(Client *client, const char *uuid, char **ret_text);
const char *carve_destroy_both(Client *client, const char *one, const char *two, char **ret_text);
const char *carve_params(Client *client, const char *uuid, const char *params, char **ret_text);
const char *carve_params_of(Client *client, const char *path, const char *params, char **ret_text);

/* Any call whose reply begins with an object; and one that is made already, which is taken. */
const char *carve_call(Client *client, const char *path, const char *interface, const char *member,
                       char **ret_text, const char *types, ...);
const char *carve_send(Client *client, sd_bus_message *message, char **ret_text);

/* Where it is on the bus; NULL: it is not. */
const char *carve_adopt(Client *client, const Card *card, char **ret_text);
char *carve_find(Client *client, const char *uuid);

/* A condition for client_wait(): no job is under way, and each GPU is ready. @data: a Quiet, or NULL. */
typedef struct Quiet {
        bool any_gpu; /* whatever state GPUs are in: where nothing can be undone, one may be left without
                         driver */
} Quiet;
bool all_is_quiet(Client *client, const void *data);

/* All of the host that carving may touch: VFs, drivers, overrides, vGPUs and their parameters. */
char *host_summary(void);

/* How many vGPUs the kernel has, whoever made them. */
unsigned host_count_vgpus(void);

/* Everything off, and no rules. */
void host_clear(Client *client, const Card *card);

/* One of these calls, with &text_ for its text, that must go well: MUST(carve_destroy(client, A, &text_)). */
#define MUST(call)                                                                                           \
        do {                                                                                                 \
                char *text_ = NULL;                                                                          \
                const char *error_ = call;                                                                   \
                carve_must(error_, text_);                                                                   \
        } while (0)

void carve_must(const char *error, char *text); /* @text is taken */
