/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "host.h"

/* How host and board files are read: what the readers of their parts share. */

/* Where the reader is: "gpus[0].types[3]". */
typedef struct Place {
        const char *file;
        const char *data_dir;
        GString *path;
        GError **error;
} Place;

/* One key of an object: how to read it. */
typedef struct Key {
        const char *name;
        bool (*read)(Place *at, JsonNode *node, void *target, size_t offset);
        size_t offset;
} Key;

/* Always false, with file, place and reason in the error. */
bool host_file_refuse(Place *at, const char *format, ...) G_GNUC_PRINTF(2, 3);

bool host_file_object(Place *at, JsonNode *node, const Key *keys, void *target);
bool host_file_list(Place *at, JsonNode *node, bool (*each)(Place *at, JsonNode *element, void *target),
                    void *target);
const char *host_file_text_of(Place *at, JsonNode *node); /* NULL: refused */
bool host_file_number(Place *at, JsonNode *node, int64_t min, int64_t max, int64_t *ret);

/* For tables of keys: into a char *, a word that may become the name of a file; an unsigned; a bool. */
bool host_file_word(Place *at, JsonNode *node, void *target, size_t offset);
bool host_file_count(Place *at, JsonNode *node, void *target, size_t offset);
bool host_file_bool(Place *at, JsonNode *node, void *target, size_t offset);

/* host-file-mig.c, host-file-type.c */
bool host_file_mig(Place *at, JsonNode *node, void *target, size_t offset);
bool host_file_types(Place *at, JsonNode *node, void *target, size_t offset);
