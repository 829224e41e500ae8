/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include "auth.h"
#include "bus.h"
#include "jobs.h"
#include "log.h"
#include "log-control.h"
#include "manager-bus.h"
#include "object.h"
#include "ration.h"

#define SYSTEM_BUS_SOCKET "/run/dbus/system_bus_socket"

/* The bus hears of the end of a carved that was killed at its own pace. Longer than that, somebody lives. */
#define QUEUE_USEC (5 * G_USEC_PER_SEC)

/* Only where nothing tells when the bus is back, or when it throws us out as soon as we are in. */
#define RETRY_USEC G_USEC_PER_SEC

typedef struct Binding {
        Bus *bus;
        const ObjectInterface *interface;
        Target target; /* of the call that is being served */
} Binding;

struct Bus {
        Manager *manager;
        sd_bus *bus;
        Ration *ration;
        GArray *bindings;
        bool wanted; /* the name */
        bool owned;
        bool announced_ready;
        bool restored; /* and nobody could be told yet: so many are there, and so many not */
        uint32_t ok, failed;
        sd_event_source *socket_source, *retry_source, *queue_source;
};

static int connect_bus(Bus *b);

/* ---- what is published ---- */

static int find_object(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                       sd_bus_error *error) {
        Binding *binding = userdata;
        CarvedObject object;

        if (!object_parse_path(path, &object) ||
            !(object_find(binding->bus->manager, &object, &binding->target) & binding->interface->facet))
                return 0;

        *ret_found = &binding->target;
        return 1;
}

static int enumerate(sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes,
                     sd_bus_error *error) {
        Bus *b = userdata;

        *ret_nodes = object_list(b->manager);
        return 0;
}

static int find_job(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                    sd_bus_error *error) {
        Bus *b = userdata;
        char again[JOB_PATH_MAX];
        Job *job;

        if (!g_str_has_prefix(path, CARVED_BUS_JOBS "/"))
                return 0;

        /* Only the spelling that we write ourselves. */
        job = jobs_find(b->manager->jobs, g_ascii_strtoull(path + strlen(CARVED_BUS_JOBS "/"), NULL, 10));
        if (!job || strcmp(job_path(job, again), path) != 0)
                return 0;

        *ret_found = job;
        return 1;
}

static int enumerate_jobs(sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes,
                          sd_bus_error *error) {
        Bus *b = userdata;
        unsigned n = jobs_n(b->manager->jobs);
        char **nodes = g_new0(char *, n + 1), path[JOB_PATH_MAX];

        for (unsigned i = 0; i < n; i++)
                nodes[i] = strdup(job_path(jobs_nth(b->manager->jobs, i), path));
        *ret_nodes = nodes;
        return 0;
}

static int publish(Bus *b) {
        int r;

        r = sd_bus_add_object_manager(b->bus, NULL, CARVED_BUS_ROOT);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(b->bus, NULL, CARVED_BUS_ROOT, MANAGER_INTERFACE, manager_vtable,
                                     b->manager);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(b->bus, NULL, LOG_CONTROL_PATH, LOG_CONTROL_INTERFACE,
                                     log_control_vtable, b->manager->log);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < b->bindings->len; i++) {
                Binding *binding = &g_array_index(b->bindings, Binding, i);

                r = sd_bus_add_fallback_vtable(b->bus, NULL, CARVED_BUS_GPUS, binding->interface->name,
                                               binding->interface->vtable, find_object, binding);
                if (r < 0)
                        return r;
        }
        r = sd_bus_add_node_enumerator(b->bus, NULL, CARVED_BUS_GPUS, enumerate, b);
        if (r < 0)
                return r;
        r = sd_bus_add_fallback_vtable(b->bus, NULL, CARVED_BUS_JOBS, JOB_INTERFACE, job_vtable, find_job, b);
        if (r < 0)
                return r;

        return sd_bus_add_node_enumerator(b->bus, NULL, CARVED_BUS_JOBS, enumerate_jobs, b);
}

/* ---- what is said ---- */

static void complain(const char *path, int r) {
        if (r < 0)
                g_warning("Failed to announce '%s', ignoring: %s", path, g_strerror(-r));
}

/* The names of the interfaces for @facets. */
static GPtrArray *interface_names(unsigned facets) {
        GPtrArray *names = g_ptr_array_new();

        for (const ObjectInterface *const *i = object_interfaces; *i; i++)
                if ((*i)->facet & facets)
                        g_ptr_array_add(names, (char *) (*i)->name);
        g_ptr_array_add(names, NULL);
        return names;
}

static void emit_changed(Bus *b, const char *path, const CarvedChange *change) {
        for (const ObjectInterface *const *i = object_interfaces; *i; i++) {
                g_autoptr(GPtrArray) names = NULL;

                if (!((*i)->facet & change->kept))
                        continue;

                names = g_ptr_array_new();
                for (const ObjectProperty *p = (*i)->properties; p->field; p++)
                        if (p->field & change->fields)
                                g_ptr_array_add(names, (char *) p->name);
                if (names->len == 0)
                        continue;

                g_ptr_array_add(names, NULL);
                complain(path, sd_bus_emit_properties_changed_strv(b->bus, path, (*i)->name,
                                                                   (char **) names->pdata));
        }
}

static void emit_one(Bus *b, const CarvedChange *change) {
        char path[OBJECT_PATH_MAX];

        object_path(&change->object, path);
        if (change->removed) {
                g_autoptr(GPtrArray) names = interface_names(change->removed);

                complain(path, sd_bus_emit_interfaces_removed_strv(b->bus, path, (char **) names->pdata));
        }
        if (change->added) {
                g_autoptr(GPtrArray) names = interface_names(change->added);

                complain(path, sd_bus_emit_interfaces_added_strv(b->bus, path, (char **) names->pdata));
        }
        if (change->fields)
                emit_changed(b, path, change);
}

sd_bus *bus_get(Bus *b) {
        return b && b->owned ? b->bus : NULL;
}

void bus_emit(Bus *b, GArray *changes) {
        /* Nobody can have seen anything before the name was there. */
        if (!b->owned)
                return;

        for (unsigned i = 0; i < changes->len; i++)
                emit_one(b, &g_array_index(changes, CarvedChange, i));
}

void bus_emit_state(Bus *b) {
        if (b->owned)
                complain(CARVED_BUS_ROOT, sd_bus_emit_properties_changed(b->bus, CARVED_BUS_ROOT,
                                                                         MANAGER_INTERFACE, "State", NULL));
}

static void tell_restored(Bus *b) {
        if (!b->restored || !b->owned)
                return;

        b->restored = false;
        complain(CARVED_BUS_ROOT, sd_bus_emit_signal(b->bus, CARVED_BUS_ROOT, MANAGER_INTERFACE, "Restored",
                                                     "uu", b->ok, b->failed));
}

void bus_emit_restored(Bus *b, uint32_t ok, uint32_t failed) {
        b->restored = true;
        b->ok = ok;
        b->failed = failed;
        tell_restored(b);
}

/* ---- the name ---- */

static void tell_ready(Bus *b) {
        if (b->announced_ready || !b->owned ||
            (b->manager->state != MANAGER_RUNNING && b->manager->state != MANAGER_DEGRADED))
                return;

        b->announced_ready = true;
        sd_notify(/* unset_environment= */ false, "READY=1");
}

bool bus_was_ready(const Bus *b) {
        return b->announced_ready;
}

/* The bus's answers to RequestName, by the specification. */
enum { NAME_PRIMARY_OWNER = 1, NAME_IN_QUEUE = 2, NAME_ALREADY_OWNER = 4 };

static void give_up(Bus *b, const char *why) {
        g_critical("Failed to become " CARVED_BUS_NAME ": %s", why);
        sd_event_exit(b->manager->event, EXIT_FAILURE);
}

static void own(Bus *b) {
        b->queue_source = sd_event_source_disable_unref(b->queue_source);
        b->owned = true;
        tell_restored(b);
        tell_ready(b);
}

static int on_queued_too_long(sd_event_source *s, uint64_t usec, void *userdata) {
        give_up(userdata, "somebody else is");
        return 0;
}

static int on_acquired(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *name = "";
        Bus *b = userdata;

        sd_bus_message_read(message, "s", &name);
        if (!b->owned && g_str_equal(name, CARVED_BUS_NAME))
                own(b);
        return 0;
}

static int on_name(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *refusal = sd_bus_message_get_error(reply);
        Bus *b = userdata;
        uint32_t answer = 0;
        int r = 0;

        if (!refusal)
                sd_bus_message_read(reply, "u", &answer);
        if (answer == NAME_PRIMARY_OWNER || answer == NAME_ALREADY_OWNER)
                own(b);
        else if (answer == NAME_IN_QUEUE && !b->owned && !b->queue_source)
                r = sd_event_add_time_relative(b->manager->event, &b->queue_source, CLOCK_MONOTONIC,
                                               QUEUE_USEC, 0, on_queued_too_long, b);
        else if (answer != NAME_IN_QUEUE)
                give_up(b, refusal ? refusal->message : "somebody else is");
        if (r < 0)
                give_up(b, g_strerror(-r));
        return 0;
}

static void request_name(Bus *b) {
        int r;

        if (!b->bus || b->owned)
                return;

        r = sd_bus_request_name_async(b->bus, NULL, CARVED_BUS_NAME, SD_BUS_NAME_QUEUE, on_name, b);
        if (r < 0)
                g_warning("Failed to ask for the name " CARVED_BUS_NAME ": %s", g_strerror(-r));
}

void bus_own_name(Bus *b) {
        if (b->wanted) {
                tell_ready(b);
                return;
        }

        b->wanted = true;
        request_name(b);
}

/* ---- the connection ---- */

static void disconnect(Bus *b) {
        b->owned = false;
        b->queue_source = sd_event_source_disable_unref(b->queue_source);
        auth_reset(b->manager->auth);
        ration_detach(b->ration);
        sd_bus_close(b->bus);
        b->bus = sd_bus_unref(b->bus);
}

static void reconnect(Bus *b) {
        int r;

        if (b->bus)
                return;

        r = connect_bus(b);
        if (r < 0) {
                g_debug("The system bus is not there yet: %s", g_strerror(-r));
                return;
        }

        b->retry_source = sd_event_source_disable_unref(b->retry_source);
        b->socket_source = sd_event_source_disable_unref(b->socket_source);
        if (b->wanted)
                request_name(b);
}

static int on_retry(sd_event_source *s, uint64_t usec, void *userdata) {
        Bus *b = userdata;

        sd_event_source_set_time_relative(s, RETRY_USEC);
        sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        reconnect(b);
        return 0;
}

static int on_socket(sd_event_source *s, const struct inotify_event *event, void *userdata) {
        Bus *b = userdata;

        /* Made is not yet listening: one more try follows by the clock if this one is too early. */
        reconnect(b);
        return 0;
}

/* Where the bus listens, if it is a path. */
static char *socket_directory(void) {
        const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS") ?: "unix:path=" SYSTEM_BUS_SOCKET;
        g_autofree char *path = NULL;

        if (!g_str_has_prefix(address, "unix:path="))
                return NULL;

        path = g_strndup(address + strlen("unix:path="), strcspn(address + strlen("unix:path="), ",;"));
        return g_path_get_dirname(path);
}

static void wait_for_bus(Bus *b) {
        g_autofree char *directory = socket_directory();
        int r = 0;

        if (directory && !b->socket_source)
                r = sd_event_add_inotify(b->manager->event, &b->socket_source, directory,
                                         IN_CREATE | IN_MOVED_TO | IN_ATTRIB, on_socket, b);
        if (r < 0)
                g_debug("Failed to watch '%s', ignoring: %s", directory, g_strerror(-r));
        if (!b->retry_source)
                r = sd_event_add_time_relative(b->manager->event, &b->retry_source, CLOCK_MONOTONIC,
                                               RETRY_USEC, 0, on_retry, b);
        if (r < 0)
                g_warning("Failed to arm a timer, ignoring: %s", g_strerror(-r));
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *b = userdata;

        g_message("The system bus went away; waiting for it");
        disconnect(b);
        wait_for_bus(b);
        return 0;
}

static int connect_bus(Bus *b) {
        int r;

        r = sd_bus_open_system_with_description(&b->bus, "carved");
        if (r >= 0)
                r = sd_bus_match_signal(b->bus, NULL, /* sender= */ NULL, "/org/freedesktop/DBus/Local",
                                        "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, b);
        if (r >= 0)
                r = sd_bus_match_signal_async(b->bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                              "org.freedesktop.DBus", "NameAcquired", on_acquired, NULL, b);
        if (r >= 0)
                r = ration_attach(b->ration, b->bus);
        if (r >= 0)
                r = publish(b);
        if (r >= 0)
                r = sd_bus_attach_event(b->bus, b->manager->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                b->bus = sd_bus_unref(b->bus);
        return r;
}

int bus_new(Manager *m, Bus **ret) {
        Bus *b = g_new0(Bus, 1);
        int r;

        b->manager = m;
        b->bindings = g_array_new(FALSE, TRUE, sizeof(Binding));
        for (const ObjectInterface *const *i = object_interfaces; *i; i++) {
                Binding binding = { .bus = b, .interface = *i };

                g_array_append_val(b->bindings, binding);
        }

        r = ration_new(m->event, m->auth, &b->ration);
        if (r >= 0)
                r = connect_bus(b);
        if (r < 0) {
                g_critical("Failed to connect to the system bus: %s", g_strerror(-r));
                bus_free(b);
                return r;
        }

        *ret = b;
        return 0;
}

Bus *bus_free(Bus *b) {
        if (!b)
                return NULL;

        sd_event_source_disable_unref(b->socket_source);
        sd_event_source_disable_unref(b->retry_source);
        sd_event_source_disable_unref(b->queue_source);
        sd_bus_flush_close_unref(b->bus);
        ration_free(b->ration);
        g_array_unref(b->bindings);
        g_free(b);
        return NULL;
}
