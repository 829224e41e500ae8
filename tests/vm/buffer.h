/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Bytes on their way: added at the end, taken from the front. */

#include <stdlib.h>
#include <string.h>

typedef struct Buffer {
        char *data;
        size_t begin, end, size;
} Buffer;

static inline size_t buffer_length(const Buffer *b) {
        return b->end - b->begin;
}

static inline char *buffer_front(const Buffer *b) {
        return b->data + b->begin;
}

/* Room for n more; what is there moves to the front. */
static inline char *buffer_reserve(Buffer *b, size_t n) {
        if (b->size - b->end < n) {
                if (b->begin > 0)
                        memmove(b->data, b->data + b->begin, buffer_length(b));
                b->end -= b->begin;
                b->begin = 0;
        }
        if (b->size - b->end < n) {
                b->size = 2 * (b->end + n);
                b->data = realloc(b->data, b->size);
                if (!b->data)
                        abort();
        }
        return b->data + b->end;
}

static inline void buffer_add(Buffer *b, const void *data, size_t n) {
        if (n == 0)
                return;
        memcpy(buffer_reserve(b, n), data, n);
        b->end += n;
}

static inline void buffer_take(Buffer *b, size_t n) {
        b->begin += n;
}

static inline void buffer_clear(Buffer *b) {
        b->begin = b->end = 0;
}
