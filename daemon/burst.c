/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <time.h>

#include <glib.h>

#include "burst.h"

#define QUIET_USEC  (100 * 1000)
#define LATEST_USEC (300 * 1000)

struct Burst {
        sd_event *event;
        BurstOver over;
        void *userdata;
        sd_event_source *timer;
        uint64_t first; /* 0: nothing is pending */
};

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Burst *burst = userdata;

        burst->first = 0;
        burst->over(burst->userdata);
        return 0;
}

Burst *burst_new(sd_event *event, BurstOver over, void *userdata) {
        Burst *burst = g_new0(Burst, 1);

        burst->event = event;
        burst->over = over;
        burst->userdata = userdata;
        return burst;
}

Burst *burst_free(Burst *burst) {
        if (!burst)
                return NULL;

        sd_event_source_disable_unref(burst->timer);
        g_free(burst);
        return NULL;
}

static void arm(Burst *burst, uint64_t usec) {
        int r;

        if (burst->timer) {
                r = sd_event_source_set_time(burst->timer, usec);
                if (r >= 0)
                        r = sd_event_source_set_enabled(burst->timer, SD_EVENT_ONESHOT);
        } else
                r = sd_event_add_time(burst->event, &burst->timer, CLOCK_MONOTONIC, usec, 1000, on_timer,
                                      burst);
        if (r < 0)
                g_warning("Failed to arm a timer, ignoring: %s", g_strerror(-r));
}

void burst_poke(Burst *burst) {
        uint64_t now = (uint64_t) g_get_monotonic_time();

        if (burst->first == 0)
                burst->first = now;
        arm(burst, MIN(now + QUIET_USEC, burst->first + LATEST_USEC));
}

void burst_poke_at(Burst *burst, uint64_t usec) {
        /* Pending already: that is sooner, or as late as it may be. */
        if (burst->first != 0)
                return;

        burst->first = usec;
        arm(burst, usec);
}
