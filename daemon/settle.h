/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"
#include "store.h"

/* What is found on disk at the start becomes what is wanted; what a job was doing when we were interrupted is
 * known again. */

/* Entries of the journal that must stay until what they tell of has been dealt with. */
typedef struct Unsettled Unsettled;

Unsettled *unsettled_new(void);
Unsettled *unsettled_free(Unsettled *unsettled);

typedef struct Settled {
        char *name;
        GArray *gpus;   /* CarvedPciAddress: all that the entry tells of */
        bool transient; /* it stands in the journal that goes with a reboot */
} Settled;

/* The entries that waited for nothing but @gpu: Settled. */
GPtrArray *unsettled_take(Unsettled *unsettled, const CarvedPciAddress *gpu, bool prepared);
GArray *unsettled_gpus(const Unsettled *unsettled); /* CarvedPciAddress, each once */

/* What the worker read: STORE_LOADED. */
#define STORE_LOADED "a(sa(sss))" /* directory: name, text, what is wrong with it */
void settle_load(Manager *m, Unsettled *unsettled, GVariant *loaded);

/* 0000_08_00_0.json */
char *settle_file_name(const CarvedPciAddress *gpu);

/* Whose intents an entry has: CarvedPciAddress. */
GArray *settle_entry_gpus(const CarvedEntry *entry);
