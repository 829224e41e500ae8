/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* How daemon and worker talk over their socket: a header, then a GVariant. Both ends are one binary on one
 * machine. */

typedef enum FrameKind {
        FRAME_SCAN = 1, /* daemon: which GPUs are there? */
        FRAME_SNAPSHOT, /* daemon: how is this one? */
        FRAME_STEP,     /* daemon: do this to it */
        FRAME_USERS,    /* daemon: who has these VFIO groups open? */
        FRAME_PEERS,    /* daemon: who else makes vGPUs here? */
        FRAME_LOAD,     /* daemon: what is in these directories of the store? */
        FRAME_STORE,    /* daemon: write and remove these files of it */
        FRAME_RESULT,   /* worker: the answer */
        FRAME_ERROR,    /* worker: a sentence why there is none */
        FRAME_HELD,     /* worker: somebody else has the GPU's lock; the answer comes when he lets go */
        _FRAME_KIND_MAX
} FrameKind;

/* FRAME_STEP: the step, and the VFs to glance at when it is done. The answer: its outcome, and what was seen.
 */
#define FRAME_STEP_TYPE    "(v@au)"
#define FRAME_OUTCOME_TYPE "(vmv)"

/* FRAME_SNAPSHOT: the card, how deep to look (CarvedDepth), and what it was told to remember; back come what
 * was seen, and what to remember. */
#define LOOK_REQUEST "((uyyy)umv)"
#define LOOK_ANSWER  "(vmv)"

/* FRAME_STORE: a(ysss), what to do with which directory's file, and its text. */
enum { STORE_WRITE = 'w', STORE_REMOVE = 'r', STORE_UNLINK = 'u' /* for good only with what follows */ };

typedef struct Frame {
        FrameKind kind;
        uint64_t sequence;
        GVariant *value;
} Frame;

/* A snapshot of 1,024 VFs has some hundred kilobytes. */
#define FRAME_SIZE_MAX (16U * 1024 * 1024)

void frame_clear(Frame *frame);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Frame, frame_clear)

/* Writes all of it. 0 or -errno: -EAGAIN where the daemon, which never waits, finds its socket full. Takes a
 * floating
 * @value. */
int frame_write(int fd, FrameKind kind, uint64_t sequence, GVariant *value);

/* Takes the first whole frame out of what has arrived. 1: there was one, 0: more must come, -EBADMSG:
 * nonsense. */
int frame_take(GByteArray *buffer, Frame *ret);
