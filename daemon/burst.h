/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

/* Many events, one reaction: when it has been quiet for 100 ms, and not later than 300 ms after the first.
 * Armed only while something is pending, so an idle daemon sleeps. */

typedef struct Burst Burst;
typedef void (*BurstOver)(void *userdata);

Burst *burst_new(sd_event *event, BurstOver over, void *userdata);
Burst *burst_free(Burst *burst);

/* Something happened. */
void burst_poke(Burst *burst);

/* React not before @usec (CLOCK_MONOTONIC), whatever happens until then. */
void burst_poke_at(Burst *burst, uint64_t usec);
