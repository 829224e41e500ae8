/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "intent.h"
#include "store-reader.h"

/* What was asked for as JSON objects: the same in a GPU's files and in the journal, but for who says what is
 * transient. For the store's own files. */

typedef enum CarvedStoreForm {
        CARVED_STORE_PERSISTENT, /* the GPU's file that outlives a reboot … */
        CARVED_STORE_TRANSIENT,  /* … and the one that does not: which file it is says it */
        CARVED_STORE_JOURNAL,    /* all together, marked */
} CarvedStoreForm;

/* identity, generation and intent, into @object. */
void carved_store_put_intent(JsonObject *object, const CarvedIntent *intent, CarvedStoreForm form);
JsonObject *carved_store_put_wanted(const CarvedWanted *wanted, CarvedStoreForm form);

/* NULL: refused. */
CarvedIntent *carved_store_get_intent(CarvedReader *at, JsonObject *object, CarvedStoreForm form);
/* The vGPUs in the list @key; one of them twice is refused. */
bool carved_store_get_list(CarvedReader *at, JsonObject *object, const char *key, CarvedStoreForm form,
                           GPtrArray *vgpus);

/* How a card is cut, as a list @key; nothing where there is none. */
void carved_store_put_instances(JsonObject *object, const char *key, const GArray *instances);
bool carved_store_get_instances(CarvedReader *at, JsonObject *object, const char *key, GArray **ret);
/* On, off, or -1, which is not written. */
void carved_store_put_choice(JsonObject *object, const char *key, int32_t choice);
bool carved_store_get_choice(CarvedReader *at, JsonObject *object, const char *key, int32_t *ret);

/* Is there anything that has a place in this form? */
bool carved_store_has(const CarvedIntent *intent, CarvedStoreForm form);
