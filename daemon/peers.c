/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "burst.h"
#include "mdevctl.h"
#include "peers.h"
#include "worker.h"

#define LOOK_USEC (10 * G_USEC_PER_SEC)
#define CHANGES                                                                                              \
        (IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)

struct Peers {
        Manager *manager;
        Worker *worker;
        Burst *burst;
        GHashTable *watches; /* directory → sd_event_source */
        GHashTable *told;    /* complaints that are in the log already */
        GArray *contested;   /* CarvedPciAddress: to be told of rivals */
        bool again, begun;
};

static void free_source(void *p) {
        sd_event_source_disable_unref(p);
}

static void look(void *userdata) {
        Peers *peers = userdata;

        if (worker_is_busy(peers->worker)) {
                peers->again = true;
                return;
        }
        if (worker_submit(peers->worker, FRAME_PEERS, g_variant_new_string(""), LOOK_USEC) < 0 &&
            !peers->begun)
                manager_knows_peers(peers->manager);
}

static int on_change(sd_event_source *s, const struct inotify_event *event, void *userdata) {
        Peers *peers = userdata;

        burst_poke(peers->burst);
        return 0;
}

static void watch(Peers *peers, const char *directory) {
        sd_event_source *source = NULL;
        int r;

        if (g_hash_table_contains(peers->watches, directory))
                return;

        r = sd_event_add_inotify(peers->manager->event, &source, directory, CHANGES | IN_ONLYDIR, on_change,
                                 peers);
        if (r >= 0)
                g_hash_table_insert(peers->watches, g_strdup(directory), source);
        else if (r != -ENOENT)
                g_debug("Failed to watch '%s', ignoring: %s", directory, g_strerror(-r));
}

/* Each parent has a directory. What comes into one that is just being made is seen by the next look. */
static void watch_all(Peers *peers, GPtrArray *definitions) {
        g_hash_table_remove_all(peers->watches);
        watch(peers, CARVED_MDEVCTL_PATH);
        /* Until it is there: whoever makes it is seen. */
        if (g_hash_table_size(peers->watches) == 0)
                watch(peers, "/etc");
        for (unsigned i = 0; i < definitions->len; i++) {
                const CarvedDefinition *definition = definitions->pdata[i];
                g_autofree char *path = g_build_filename(CARVED_MDEVCTL_PATH, definition->parent, NULL);

                watch(peers, path);
        }
}

static void complain(Peers *peers, GPtrArray *complaints) {
        for (unsigned i = 0; i < complaints->len; i++)
                if (g_hash_table_add(peers->told, g_strdup(complaints->pdata[i])))
                        g_warning("mdevctl: %s", (char *) complaints->pdata[i]);
}

/* Without a claim that any of them did it. */
static char *describe_rivals(GStrv running, const CarvedGpu *gpu, const GPtrArray *definitions) {
        GString *text = g_string_new(
                "Somebody removed vGPUs of carved here three times in ten minutes; they are made no more "
                "until Resync");
        g_autofree char *names = running && *running ? g_strjoinv(", ", running) : NULL;

        if (names)
                g_string_append_printf(text, "; programs that manage vGPUs and run here: %s", names);
        for (unsigned i = 0; i < gpu->absent->len; i++) {
                const CarvedVgpu *vgpu = gpu->absent->pdata[i];
                const CarvedDefinition *definition = carved_mdevctl_find(definitions, vgpu->uuid);

                if (definition)
                        g_string_append_printf(text, "; mdevctl has a definition of %s on %s", vgpu->uuid,
                                               definition->parent);
        }
        return g_string_free(text, FALSE);
}

static void tell_contested(Peers *peers, GStrv running) {
        for (unsigned i = 0; i < peers->contested->len; i++) {
                const CarvedPciAddress *address = &g_array_index(peers->contested, CarvedPciAddress, i);
                const CarvedGpu *gpu = carved_model_find_gpu(peers->manager->model, address);
                g_autoptr(GHashTable) failures = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
                CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT,
                                        .address = *address,
                                        .failures = failures };

                if (!gpu || gpu->sync != CARVED_SYNC_CONTESTED)
                        continue;
                g_hash_table_insert(
                        failures, (char *) "",
                        describe_rivals(running, gpu, carved_model_definitions(peers->manager->model)));
                g_warning("%s: %s", gpu->identity, (char *) g_hash_table_lookup(failures, ""));
                manager_apply(peers->manager, &update);
        }
        g_array_set_size(peers->contested, 0);
}

static void take(Peers *peers, GVariant *value) {
        g_autoptr(GVariant) list = g_variant_get_child_value(value, 0);
        g_autoptr(GPtrArray) definitions = NULL, complaints = NULL;
        g_auto(GStrv) running = NULL;

        g_variant_get_child(value, 1, "^as", &running);
        definitions = carved_mdevctl_from_variant(list, &complaints);
        if (!definitions)
                return;

        complain(peers, complaints);
        watch_all(peers, definitions);
        carved_model_set_definitions(peers->manager->model, definitions);
        tell_contested(peers, running);
}

static void on_worker(Worker *worker, WorkerEvent event, GVariant *value, const char *text, void *userdata) {
        Peers *peers = userdata;

        if (event == WORKER_HELD || event == WORKER_LATE)
                return;

        if (event == WORKER_DONE &&
            g_variant_is_of_type(value, G_VARIANT_TYPE("(" CARVED_MDEVCTL_TYPE "as)")))
                take(peers, value);
        else
                g_warning("Failed to look for other managers, ignoring: %s",
                          text ?: "the worker process answered nonsense");
        if (!peers->begun) {
                peers->begun = true;
                manager_knows_peers(peers->manager);
        }
        if (peers->again) {
                peers->again = false;
                burst_poke(peers->burst);
        }
}

int peers_new(Manager *m, Peers **ret) {
        Peers *peers = g_new0(Peers, 1);

        peers->manager = m;
        peers->worker = worker_new(m->event, worker_process_run, &(WorkerContext){ &m->host, NULL },
                                   on_worker, peers);
        peers->burst = burst_new(m->event, look, peers);
        peers->watches = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_source);
        peers->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        peers->contested = g_array_new(FALSE, FALSE, sizeof(CarvedPciAddress));
        *ret = peers;
        return 0;
}

Peers *peers_free(Peers *peers) {
        if (!peers)
                return NULL;

        worker_free(peers->worker);
        burst_free(peers->burst);
        g_hash_table_unref(peers->watches);
        g_hash_table_unref(peers->told);
        g_array_unref(peers->contested);
        g_free(peers);
        return NULL;
}

void peers_begin(Peers *peers) {
        look(peers);
}

void peers_name_rivals(Peers *peers, const CarvedPciAddress *gpu) {
        g_array_append_val(peers->contested, *gpu);
        look(peers);
}
