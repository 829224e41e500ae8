/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"
#include "udev.h"
#include "worker.h"

/* Who looks at one GPU: when something happened to it, when somebody asks, through its worker. */

Reader *reader_new(Manager *m, const CarvedFound *found);
Reader *reader_free(Reader *reader);

const CarvedFound *reader_found(const Reader *reader);

/* An event says that the GPU may have changed: look when it is quiet again. */
void reader_poke(Reader *reader);

/* Look now. */
void reader_look(Reader *reader);

/* The next look is to be at least as deep: what it could remember may have changed without a word. */
void reader_deepen(Reader *reader, CarvedDepth depth);

/* Looks once more if the last look could not find out all, because sriov-manage ran. */
void reader_catch_up(Reader *reader);

/* Look for a client, at most once a second; the reply goes out when the model has what was seen. */
int reader_refresh(Reader *reader, sd_bus_message *message, sd_bus_error *error);

/* Whoever does more than look: from start() on the worker is his alone, until he leaves. In order of arrival.
 */
typedef struct ReaderGuest {
        void (*start)(Reader *reader, void *userdata);
        void (*answer)(Reader *reader, WorkerEvent event, GVariant *value, const char *text, void *userdata);
        void (*poked)(Reader *reader, void *userdata); /* an event says that the GPU may have changed */
        void (*gone)(Reader *reader, void *userdata);  /* the GPU is; the reader will be, after this */
} ReaderGuest;

void reader_enter(Reader *reader, const ReaderGuest *guest, void *userdata);
void reader_leave(Reader *reader, void *userdata);
/* The same when all ends: nobody comes after him. */
void reader_evict(Reader *reader, void *userdata);
bool reader_has_guests(const Reader *reader);

/* For the guest who has started: 0 or -errno, then answer(). */
int reader_ask(Reader *reader, FrameKind kind, GVariant *request, uint64_t deadline_usec);
/* Also serves those who wait for a look: reader_served() tells them. */
int reader_ask_look(Reader *reader);
void reader_served(Reader *reader);

/* What a look saw, with the names that the card has; NULL: it is nonsense. */
CarvedGpu *reader_decode(Reader *reader, GVariant *value);

/* Shows that the GPU does not answer. */
void reader_show_stalled(Reader *reader);

/* Those who wait are told that nothing comes any more. */
void reader_cancel(Reader *reader);

/* Is there anything to show of it: seen, failed, or found stalled? */
bool reader_has_looked(const Reader *reader);
