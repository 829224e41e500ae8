/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What goes over the serial port between the agent in the guest and its client. Both are the same machine's,
 * so numbers stay in its byte order.
 *
 * A client is ended at any time, and the port has no connections to tell one from the next: bytes of the one
 * before may still be on their way in both directions. So each client has an identity of its own, begins with
 * more zeros than a frame can be long, which end a frame that was cut off, and reads over everything until a
 * frame with its identity. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

#define FRAME_MAGIC       UINT32_C(0x62616c43) /* "Clab" */
#define FRAME_PAYLOAD_MAX 16384
#define FRAME_INPUT_MAX                                                                                      \
        (1024 * 1024) /* sent and not taken: the agent always reads, so it must know how much there can be   \
                       */

/* Last byte of what must not run in part: zeros would complete a frame that was cut off. */
#define FRAME_WHOLE '.'

typedef enum FrameType {
        FRAME_HELLO = 1, /* client: struct Hello; agent: the same type, empty, as an answer */
        FRAME_RUN,       /* client: arguments, each ended by a NUL, and FRAME_WHOLE */
        FRAME_INPUT,     /* client: of the command; an empty one is its end */
        FRAME_KILL,      /* client: the command took too long */
        FRAME_TAKEN,     /* agent: uint32_t, so many bytes of input have gone to the command */
        FRAME_OUTPUT,    /* agent */
        FRAME_ERROR,     /* agent */
        FRAME_EXIT,      /* agent: int32_t, as wait(2) has it; -1: it was killed, or never ran */
} FrameType;

typedef struct Frame {
        uint32_t magic;
        uint32_t type;
        uint64_t client;
        uint32_t length;
        uint32_t reserved;
} Frame;

/* A guest that comes from a snapshot believes in the time and the random numbers of then. */
typedef struct Hello {
        int64_t seconds;
        int64_t nanoseconds;
        uint8_t seed[64];
} Hello;

void frame_add(Buffer *b, uint64_t client, FrameType type, const void *payload, size_t length);

/* Takes the next whole frame, over what is none. Its payload is in the buffer until something is added to
 * that. */
bool frame_next(Buffer *b, Frame *ret_frame, const char **ret_payload);
