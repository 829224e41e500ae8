/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "carver.h"

/* How it is with what was asked for, asked in one line each. */

#define ROOT "/org/carved1"
#define GPU  "org.carved1.Gpu"
#define VGPU "org.carved1.Vgpu"

/* "org.carved1.Error.Conflict" → "Conflict" */
const char *short_name(const char *error);

/* The test fails, with both, where it is another. */
#define ASSERT_ERROR(error, expected)                                                                        \
        do {                                                                                                 \
                const char *error_ = short_name(error);                                                      \
                ck_assert_msg(g_strcmp0(error_, expected) == 0, "%s, not %s", error_ ?: "went well",         \
                              expected);                                                                     \
        } while (0)

/* A call that takes options only; the error's name, NULL: it went well. */
const char *call_plain(Client *client, const char *path, const char *interface, const char *member);
const char *call_forget(Client *client, const char *identity);

/* Until a property is so; the test fails when it never is. */
void await(Client *client, const char *path, const char *interface, const char *property, const char *value);
void await_gpu(Client *client, const char *path, const char *property, const char *value);
void await_vgpu(Client *client, const char *uuid, const char *property, const char *value);
void await_manager(Client *client, const char *state);

/* The code of why no vGPU can be had; "": one can. */
char *gpu_reason(Client *client, const char *path);

/* What ListStored says of an address; NULL: nothing is stored. */
char *stored_state(Client *client, const char *address);

/* What Restored told last; false: it was not heard. */
bool heard_restored(Client *client, uint32_t *ret_ok, uint32_t *ret_failed);

/* All vGPUs: path, UUID, type, state, params and labels, a line each, sorted. */
GPtrArray *describe_vgpus(Client *client);

void sim_reboot(Client *client);
void sim_restart(Client *client);

/* A condition for client_wait(): nothing in the journal is to be settled. */
bool journal_is_empty(Client *client, const void *unused);

/* A property of a dictionary of texts: what is behind @key; "": nothing. */
char *label_of(Client *client, const char *path, const char *interface, const char *key);
