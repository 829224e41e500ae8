/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <time.h>

#include "ration.h"

/* What all have together, of a second of the clock; and what one can save up. */
#define ALL_PERCENT  25
#define SAVED_USEC   ((int64_t) 20 * 1000)
#define UNKNOWN_USEC ((int64_t) 1 * 1000) /* of a connection as long as nobody knows whose it is */

/* What is said costs, too. */
#define BYTES_PER_USEC 20
#define UNHEARD_MAX    ((int64_t) 32 * 1024)

/* Parts grow by the clock, but not at every call. */
#define SWEEP_USEC ((int64_t) 10 * 1000)

typedef struct Part {
        int64_t left, most; /* µs */
} Part;

struct Ration {
        Auth *auth;
        sd_event_source *post;
        GHashTable *parts; /* "uid N" or the name of a connection → Part; who has all that he can has none */
        int64_t swept;
        char *serving;          /* whose call is being served; NULL: nobody's who has a part */
        int64_t since, unheard; /* when that began */
        sd_bus *bus;            /* as long as it is there */
};

/* Of this process alone: others on the machine are not the caller's fault. */
static int64_t cpu_usec(void) {
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (int64_t) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

static void sweep(Ration *ration) {
        int64_t now = g_get_monotonic_time(), passed = now - ration->swept;
        unsigned n = g_hash_table_size(ration->parts);
        GHashTableIter iter;
        void *p;

        if (passed < SWEEP_USEC)
                return;

        ration->swept = now;
        g_hash_table_iter_init(&iter, ration->parts);
        while (g_hash_table_iter_next(&iter, NULL, &p)) {
                Part *part = p;

                part->left += passed * ALL_PERCENT / 100 / n;
                if (part->left >= part->most)
                        g_hash_table_iter_remove(&iter);
        }
}

/* What we have said and the bus has not taken: it takes small bites, and smaller ones the more it has to do,
 * so that a few long answers are a long wait for everybody behind them. */
static int64_t unheard_bytes(sd_bus *bus) {
        int bytes = 0;

        return ioctl(sd_bus_get_fd(bus), SIOCOUTQ, &bytes) < 0 ? 0 : bytes;
}

/* The call has been served. */
static int on_served(sd_event_source *s, void *userdata) {
        Ration *ration = userdata;
        g_autofree char *serving = g_steal_pointer(&ration->serving);
        Part *part = serving ? g_hash_table_lookup(ration->parts, serving) : NULL;

        if (part)
                part->left -= cpu_usec() - ration->since +
                              MAX(unheard_bytes(ration->bus) - ration->unheard, 0) / BYTES_PER_USEC;
        return 0;
}

static Part *find_part(Ration *ration, const char *whose, int64_t most) {
        Part *part = g_hash_table_lookup(ration->parts, whose);

        if (part)
                return part;

        part = g_new(Part, 1);
        *part = (Part){ most, most };
        g_hash_table_insert(ration->parts, g_strdup(whose), part);
        return part;
}

/* When the bus can't follow, those who made us say so much wait first. */
static bool is_spent(const Part *part, int64_t unheard) {
        return part->left <= 0 || (part->left < part->most / 2 && unheard >= UNHEARD_MAX);
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *sender = sd_bus_message_get_sender(message);
        Ration *ration = userdata;
        const Caller *caller;
        int64_t unheard;
        char whose[32];
        Part *part;

        if (!sender || sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
                return 0;

        caller = auth_look_up(ration->auth, sd_bus_message_get_bus(message), sender);
        if (caller && caller->uid == 0)
                return 0;

        sweep(ration);
        if (caller)
                g_snprintf(whose, sizeof whose, "uid %u", caller->uid);
        unheard = unheard_bytes(sd_bus_message_get_bus(message));
        part = find_part(ration, caller ? whose : sender, caller ? SAVED_USEC : UNKNOWN_USEC);
        if (is_spent(part, unheard))
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "Too many calls of %s at a time: ask again later",
                                         caller ? whose : "this connection");

        g_free(ration->serving);
        ration->serving = g_strdup(caller ? whose : sender);
        ration->since = cpu_usec();
        ration->unheard = unheard;
        return 0;
}

int ration_new(sd_event *event, Auth *auth, Ration **ret) {
        Ration *ration = g_new0(Ration, 1);
        int r;

        ration->auth = auth;
        ration->parts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        r = sd_event_add_post(event, &ration->post, on_served, ration);
        if (r < 0) {
                ration_free(ration);
                return r;
        }

        *ret = ration;
        return 0;
}

Ration *ration_free(Ration *ration) {
        if (!ration)
                return NULL;

        sd_event_source_disable_unref(ration->post);
        g_hash_table_unref(ration->parts);
        g_free(ration->serving);
        g_free(ration);
        return NULL;
}

int ration_attach(Ration *ration, sd_bus *bus) {
        ration->bus = bus;
        return sd_bus_add_filter(bus, NULL, on_message, ration);
}

void ration_detach(Ration *ration) {
        g_clear_pointer(&ration->serving, g_free);
        ration->bus = NULL;
}
