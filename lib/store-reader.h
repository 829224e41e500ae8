/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <json-glib/json-glib.h>

/* Reads a stored document: every refusal says where, `intent.vgpus[2].vf`, and why. For the store's own
 * files. */

typedef struct CarvedReader {
        GString *path;
        GError **error;
} CarvedReader;

void carved_reader_clear(CarvedReader *at);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CarvedReader, carved_reader_clear)

/* The document in @text, if its format is ours. NULL: StateUnreadable, or NotSupported for a newer format. */
JsonNode *carved_reader_open(CarvedReader *at, const char *text);

/* Always false: StateUnreadable. */
bool carved_reader_refuse(CarvedReader *at, const char *format, ...) G_GNUC_PRINTF(2, 3);
bool carved_reader_refuse_key(CarvedReader *at, const char *key, const char *format, ...) G_GNUC_PRINTF(3, 4);

size_t carved_reader_enter(CarvedReader *at, const char *key);
void carved_reader_leave(CarvedReader *at, size_t before);

/* Where @key is not there, @ret is left as it is. */
bool carved_reader_number(CarvedReader *at, JsonObject *object, const char *key, int64_t max, int64_t *ret);
bool carved_reader_flag(CarvedReader *at, JsonObject *object, const char *key, bool *ret);
bool carved_reader_text(CarvedReader *at, JsonObject *object, const char *key, const char **ret);
/* One line of at most 255 bytes, for us to keep. */
bool carved_reader_line(CarvedReader *at, JsonObject *object, const char *key, char **ret);
bool carved_reader_object(CarvedReader *at, JsonObject *object, const char *key, JsonObject **ret);

/* Calls @each for the objects in the list @key, until one is refused. */
typedef bool (*CarvedReaderEach)(CarvedReader *at, JsonObject *element, void *userdata);
bool carved_reader_list(CarvedReader *at, JsonObject *object, const char *key, CarvedReaderEach each,
                        void *userdata);

/* The keys of @object that are not in @ours; NULL: there are none. False: nested too deep to be kept. */
bool carved_reader_rest(CarvedReader *at, JsonObject *object, const char *const *ours, JsonObject **ret);
