/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* What a file of the tree belongs to: a device, a type, a group. Counted, because a write may still sleep
 * inside one that has just been unplugged. Counts change only under the kernel's lock. First member of what
 * it counts. */
typedef struct Object {
        unsigned refs;
        void (*finalize)(void *object);
} Object;

static inline void object_init(void *object, void (*finalize)(void *object)) {
        *(Object *) object = (Object){ .refs = 1, .finalize = finalize };
}

static inline void *object_ref(void *object) {
        if (object)
                ((Object *) object)->refs++;
        return object;
}

static inline void object_unref(void *object) {
        Object *o = object;

        if (o && --o->refs == 0)
                o->finalize(object);
}
