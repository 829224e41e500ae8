/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"
#include "store.h"

/* Keeps on disk what is wanted, through a worker of its own: a disk may take its time. One thing after the
 * other; what is written is worked out when it is its turn, from what is wanted by then. */

typedef enum KeeperResult {
        KEEPER_KEPT,
        KEEPER_UNSURE, /* it is written, can't be taken back, and the disk does not confirm it */
        KEEPER_FAILED, /* and nothing is written; @text says why */
} KeeperResult;

typedef void (*KeeperDone)(KeeperResult result, const char *text, void *userdata);
/* What the entry says; to be freed by the keeper. One that is transient when it is prepared may be so no more
 * when it is committed, but not the other way round. */
typedef CarvedEntry *(*KeeperForm)(void *userdata);

/* Reads all that is there; manager_loaded() follows. */
int keeper_new(Manager *m, Keeper **ret);
Keeper *keeper_free(Keeper *keeper);

/* A number for the journal that nobody has had. */
uint64_t keeper_next_id(Keeper *keeper);

/* Writes down what may be made, before it is. */
void keeper_prepare(Keeper *keeper, uint64_t id, KeeperForm form, KeeperDone done, void *userdata);

/* The commit point. When @done has been called, and has changed the model, the files of the GPUs follow in a
 * moment, and the entry goes. */
void keeper_commit(Keeper *keeper, uint64_t id, KeeperForm form, KeeperDone done, void *userdata);

/* All was undone, or there was nothing to do: the entry goes, from the journal that it was written to. */
void keeper_drop(Keeper *keeper, uint64_t id, bool transient);

/* What an interrupted job left on this GPU has been dealt with. */
void keeper_settled(Keeper *keeper, const CarvedPciAddress *gpu);

/* We stop: files do not wait for more. */
void keeper_hurry(Keeper *keeper);

/* True: there is nothing left to write. manager_stop() is called again when there is not. */
bool keeper_is_idle(const Keeper *keeper);
