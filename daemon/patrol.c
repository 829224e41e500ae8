/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <time.h>

#include "patrol.h"
#include "reader.h"

#define PATROL_USEC   (300 * G_USEC_PER_SEC)
#define ACCURACY_USEC (30 * G_USEC_PER_SEC)

struct Patrol {
        Manager *manager;
        sd_event_source *timer;
};

Patrol *patrol_new(Manager *m) {
        Patrol *patrol = g_new0(Patrol, 1);

        patrol->manager = m;
        return patrol;
}

Patrol *patrol_free(Patrol *patrol) {
        if (!patrol)
                return NULL;

        sd_event_source_disable_unref(patrol->timer);
        g_free(patrol);
        return NULL;
}

static bool needs_looks(const CarvedGpu *gpu) {
        return !gpu->lost &&
               (gpu->sync != CARVED_SYNC_UNMANAGED || gpu->framework == CARVED_FRAMEWORK_VENDOR_VFIO ||
                (gpu->mig && gpu->mig->enabled));
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Patrol *patrol = userdata;
        Manager *m = patrol->manager;

        patrol->timer = sd_event_source_disable_unref(patrol->timer);
        for (unsigned i = 0; i < carved_model_n_gpus(m->model); i++) {
                const CarvedGpu *gpu = carved_model_nth_gpu(m->model, i);
                Reader *reader = needs_looks(gpu) ? manager_find_reader(m, &gpu->address) : NULL;

                if (!reader)
                        continue;
                reader_deepen(reader, CARVED_DEPTH_WHOLE);
                reader_poke(reader);
        }
        patrol_check(patrol);
        return 0;
}

void patrol_check(Patrol *patrol) {
        const CarvedModel *model = patrol->manager->model;
        bool needed = false;
        int r;

        for (unsigned i = 0; !needed && i < carved_model_n_gpus(model); i++)
                needed = needs_looks(carved_model_nth_gpu(model, i));
        if (!needed) {
                patrol->timer = sd_event_source_disable_unref(patrol->timer);
                return;
        }
        if (patrol->timer)
                return;

        r = sd_event_add_time_relative(patrol->manager->event, &patrol->timer, CLOCK_MONOTONIC, PATROL_USEC,
                                       ACCURACY_USEC, on_timer, patrol);
        if (r < 0)
                g_warning("Failed to arm a timer, ignoring: %s", g_strerror(-r));
}
