/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <string.h>

#include "frame.h"

void frame_add(Buffer *b, uint64_t client, FrameType type, const void *payload, size_t length) {
        Frame frame = { .magic = FRAME_MAGIC, .type = type, .client = client, .length = length };

        buffer_add(b, &frame, sizeof(frame));
        buffer_add(b, payload, length);
}

bool frame_next(Buffer *b, Frame *ret_frame, const char **ret_payload) {
        const uint32_t magic = FRAME_MAGIC;

        for (;;) {
                Frame frame;
                char *found;

                if (buffer_length(b) < sizeof(frame))
                        return false;
                found = memmem(buffer_front(b), buffer_length(b), &magic, sizeof(magic));
                if (!found) {
                        /* Its first bytes may have come already. */
                        buffer_take(b, buffer_length(b) - (sizeof(magic) - 1));
                        return false;
                }
                buffer_take(b, found - buffer_front(b));
                if (buffer_length(b) < sizeof(frame))
                        return false;
                memcpy(&frame, buffer_front(b), sizeof(frame));
                if (frame.length > FRAME_PAYLOAD_MAX) {
                        buffer_take(b, 1);
                        continue;
                }
                if (buffer_length(b) < sizeof(frame) + frame.length)
                        return false;
                *ret_frame = frame;
                *ret_payload = buffer_front(b) + sizeof(frame);
                buffer_take(b, sizeof(frame) + frame.length);
                return true;
        }
}
