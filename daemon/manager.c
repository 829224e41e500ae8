/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>

#include "auth.h"
#include "bus.h"
#include "discovery.h"
#include "jobs.h"
#include "keeper.h"
#include "manager.h"
#include "moved.h"
#include "patrol.h"
#include "peers.h"
#include "reader.h"
#include "restore.h"
#include "solitude.h"
#include "usage.h"
#include "vgpu-config.h"

/* Who asks before the first look is over shall see all there is; but one slow card must not keep the name
 * from the rest. */
#define START_USEC G_USEC_PER_SEC

/* What is in the kernel can't be hurried: systemd would kill us in the end. */
#define STOP_USEC (10 * G_USEC_PER_SEC)

static const char *const state_names[_MANAGER_STATE_MAX] = {
        [MANAGER_STARTING] = "starting", [MANAGER_RESTORING] = "restoring", [MANAGER_RUNNING] = "running",
        [MANAGER_DEGRADED] = "degraded", [MANAGER_STOPPING] = "stopping",
};

const char *manager_state_to_string(ManagerState state) {
        return state_names[state];
}

static void free_reader(void *p) {
        reader_free(p);
}

static int load_machine_id(Manager *m) {
        sd_id128_t id;
        int r;

        r = sd_id128_get_machine(&id);
        if (r < 0)
                return r;

        memcpy(m->host.machine_id, id.bytes, sizeof m->host.machine_id);
        return 0;
}

static int on_start_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        bus_own_name(m->bus);
        return 0;
}

static void warn(const char *sentence, void *userdata) {
        g_warning("%s", sentence);
}

/* Workers that run have a copy of what was. */
static void load_config(Manager *m) {
        Config fresh;

        if (!config_load(config_roots, warn, /* userdata= */ NULL, &fresh)) {
                g_warning("The configuration can't be read, keeping what held before");
                return;
        }
        config_clear(&m->config);
        m->config = fresh;
        m->host.sriov_manage = m->config.sriov_manage;
}

int manager_new(sd_event *event, Log *log, Manager **ret) {
        g_autoptr(Manager) m = g_new0(Manager, 1);
        const char *directory = getenv("RUNTIME_DIRECTORY");
        int r;

        m->event = sd_event_ref(event);
        m->log = log;
        m->host.sysfs = "/sys";
        m->host.vgpu_config = CARVED_VGPU_CONFIG_PATH;
        m->host.nvml = CARVED_NVML_LIBRARY;
        config_init(&m->config);
        m->host.sriov_manage = m->config.sriov_manage;
        load_config(m);
        m->auth = auth_new(event);
        m->jobs = jobs_new(m);
        m->usage = usage_new(m);
        m->restore = restore_new(m);
        m->moved = moved_new(m);
        m->patrol = patrol_new(m);
        m->model = carved_model_new();
        m->readers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_reader);
        m->runtime_directory = g_strdup(directory && *directory ? directory : "/run/carved");
        m->host.nvml_locks = m->runtime_directory;

        /* Without one, only the UUIDs of vGPUs that the kernel gives none are not this host's own. */
        r = load_machine_id(m);
        if (r < 0)
                g_warning("Failed to read the machine id, ignoring: %s", g_strerror(-r));
        if (mkdir(m->runtime_directory, 0755) < 0 && errno != EEXIST) {
                r = -errno;
                g_critical("Failed to make '%s': %s", m->runtime_directory, g_strerror(-r));
                return r;
        }

        r = solitude_take(m->runtime_directory);
        if (r < 0)
                return r;
        r = bus_new(m, &m->bus);
        if (r < 0)
                return r;
        r = peers_new(m, &m->peers);
        if (r < 0)
                return r;
        r = keeper_new(m, &m->keeper);
        if (r < 0)
                return r;

        *ret = g_steal_pointer(&m);
        return 0;
}

/* Before that, what is ours would be shown as somebody else's. */
void manager_loaded(Manager *m) {
        peers_begin(m->peers);
}

void manager_knows_peers(Manager *m) {
        int r;

        r = discovery_new(m, &m->discovery);
        if (r >= 0)
                r = sd_event_add_time_relative(m->event, &m->start_timer, CLOCK_MONOTONIC, START_USEC, 0,
                                               on_start_timer, m);
        if (r < 0) {
                g_critical("Failed to start: %s", g_strerror(-r));
                sd_event_exit(m->event, EXIT_FAILURE);
                return;
        }
        restore_begin(m->restore);
}

Manager *manager_free(Manager *m) {
        if (!m)
                return NULL;

        sd_event_source_disable_unref(m->start_timer);
        sd_event_source_disable_unref(m->stop_timer);
        sd_event_source_disable_unref(m->afterwards);
        g_clear_pointer(&m->changed, g_array_unref);
        discovery_free(m->discovery);
        keeper_free(m->keeper);
        jobs_free(m->jobs);
        restore_free(m->restore);
        moved_free(m->moved);
        patrol_free(m->patrol);
        peers_free(m->peers);
        usage_free(m->usage);
        g_hash_table_unref(m->readers);
        bus_free(m->bus);
        auth_free(m->auth);
        config_clear(&m->config);
        carved_model_free(m->model);
        sd_event_unref(m->event);
        g_free(m->runtime_directory);
        g_free(m->status);
        g_free(m);
        return NULL;
}

bool manager_manages(const Manager *m, const CarvedGpu *gpu) {
        return config_manages(&m->config, &gpu->address, gpu->vendor_id, gpu->device_id);
}

void manager_catch_up(Manager *m) {
        GHashTableIter iter;
        void *reader;

        g_hash_table_iter_init(&iter, m->readers);
        while (g_hash_table_iter_next(&iter, NULL, &reader))
                reader_catch_up(reader);
}

Reader *manager_find_reader(Manager *m, const CarvedPciAddress *address) {
        char text[CARVED_PCI_ADDRESS_MAX];

        return g_hash_table_lookup(m->readers, carved_pci_address_format(address, text));
}

/* One line for `systemctl status`. */
static void tell_status(Manager *m) {
        unsigned vfs = 0, vgpus = 0, n = carved_model_n_gpus(m->model);
        g_autofree char *status = NULL;

        for (unsigned i = 0; i < n; i++) {
                const CarvedGpu *gpu = carved_model_nth_gpu(m->model, i);

                vfs += gpu->vfs->len;
                vgpus += gpu->vgpus->len;
        }

        status = g_strdup_printf("%s: %u GPUs, %u VFs, %u vGPUs", manager_state_to_string(m->state), n, vfs,
                                 vgpus);
        if (g_strcmp0(status, m->status) == 0)
                return;

        sd_notifyf(/* unset_environment= */ false, "STATUS=%s", status);
        g_free(m->status);
        m->status = g_steal_pointer(&status);
}

static void set_state(Manager *m, ManagerState state) {
        if (m->state == state)
                return;

        m->state = state;
        bus_emit_state(m->bus);
        tell_status(m);
}

static bool is_degraded(Manager *m) {
        for (unsigned i = 0; i < carved_model_n_gpus(m->model); i++) {
                const CarvedGpu *gpu = carved_model_nth_gpu(m->model, i);

                if (gpu->sync == CARVED_SYNC_OUT_OF_SYNC || gpu->sync == CARVED_SYNC_CONTESTED)
                        return true;
        }
        return false;
}

/* Once it is up: is all there that is wanted? */
static void update_state(Manager *m) {
        if (m->state == MANAGER_RUNNING || m->state == MANAGER_DEGRADED)
                set_state(m, is_degraded(m) ? MANAGER_DEGRADED : MANAGER_RUNNING);
}

static bool is_contested(Manager *m, const CarvedPciAddress *address) {
        const CarvedGpu *gpu = carved_model_find_gpu(m->model, address);

        return gpu && gpu->sync == CARVED_SYNC_CONTESTED;
}

/* What nobody waits for: it comes when who asked has his answer. */
static int on_afterwards(sd_event_source *s, void *userdata) {
        g_autoptr(GArray) changed = NULL;
        Manager *m = userdata;

        m->afterwards = sd_event_source_disable_unref(m->afterwards);
        changed = g_steal_pointer(&m->changed);
        for (unsigned i = 0; i < changed->len; i++)
                usage_follow(m->usage, &g_array_index(changed, CarvedPciAddress, i));
        if (m->state == MANAGER_RUNNING || m->state == MANAGER_DEGRADED)
                tell_status(m);
        return 0;
}

static void do_afterwards(Manager *m, const CarvedPciAddress *address) {
        int r;

        if (!m->changed)
                m->changed = g_array_new(FALSE, FALSE, sizeof *address);
        g_array_append_val(m->changed, *address);
        if (m->afterwards)
                return;

        r = sd_event_add_defer(m->event, &m->afterwards, on_afterwards, m);
        if (r < 0)
                g_warning("Failed to follow what changed, ignoring: %s", g_strerror(-r));
}

void manager_apply(Manager *m, CarvedUpdate *update) {
        CarvedUpdateKind kind = update->kind;
        bool contested = is_contested(m, &update->address);
        g_autoptr(GArray) changes = NULL;

        update->now = (uint64_t) g_get_monotonic_time();
        changes = carved_model_apply(m->model, update);
        bus_emit(m->bus, changes);
        if (kind == CARVED_UPDATE_USERS)
                return;
        if (kind != CARVED_UPDATE_BUSY) {
                patrol_check(m->patrol);
                update_state(m);
                do_afterwards(m, &update->address);
        }
        if (!contested && is_contested(m, &update->address))
                peers_name_rivals(m->peers, &update->address);
        if (kind == CARVED_UPDATE_READ || kind == CARVED_UPDATE_GONE)
                moved_consider(m->moved);
        if (kind != CARVED_UPDATE_STORED && kind != CARVED_UPDATE_INTENT)
                restore_consider(m->restore, &update->address);
}

bool manager_has_looked(Manager *m) {
        GHashTableIter iter;
        void *reader;

        if (!m->discovery || !discovery_is_done(m->discovery))
                return false;

        g_hash_table_iter_init(&iter, m->readers);
        while (g_hash_table_iter_next(&iter, NULL, &reader))
                if (!reader_has_looked(reader))
                        return false;

        return true;
}

/* Cards that something is wanted of, and that did not come. */
static void show_lost(Manager *m) {
        g_autoptr(GArray) gpus = carved_model_wanted_gpus(m->model);

        for (unsigned i = 0; i < gpus->len; i++) {
                CarvedUpdate update = { .kind = CARVED_UPDATE_GONE,
                                        .address = g_array_index(gpus, CarvedPciAddress, i) };

                if (!carved_model_find_gpu(m->model, &update.address))
                        manager_apply(m, &update);
        }
}

void manager_check_started(Manager *m) {
        if (m->state == MANAGER_STARTING && manager_has_looked(m)) {
                m->start_timer = sd_event_source_disable_unref(m->start_timer);
                show_lost(m);
                set_state(m, MANAGER_RESTORING);
                bus_own_name(m->bus);
                moved_consider(m->moved);
                restore_consider_all(m->restore);
        }
        if (m->state == MANAGER_RESTORING && restore_is_over(m->restore)) {
                set_state(m, is_degraded(m) ? MANAGER_DEGRADED : MANAGER_RUNNING);
                bus_own_name(m->bus);
        }
}

void manager_reload(Manager *m) {
        bool tell = bus_was_ready(m->bus) && m->state != MANAGER_STOPPING;

        /* Else READY=1 would say what is not so. */
        if (tell)
                sd_notifyf(/* unset_environment= */ false, "RELOADING=1\nMONOTONIC_USEC=%" PRIi64,
                           g_get_monotonic_time());
        load_config(m);
        if (tell)
                sd_notify(/* unset_environment= */ false, "READY=1");
}

static int on_stop_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        g_warning("Work is under way that does not end; leaving it");
        jobs_dismiss(((Manager *) userdata)->jobs);
        sd_event_exit(sd_event_source_get_event(s), EXIT_SUCCESS);
        return 0;
}

static void begin_stop(Manager *m) {
        GHashTableIter iter;
        void *reader;

        sd_notify(/* unset_environment= */ false, "STOPPING=1");
        set_state(m, MANAGER_STOPPING);
        g_hash_table_iter_init(&iter, m->readers);
        while (g_hash_table_iter_next(&iter, NULL, &reader))
                reader_cancel(reader);
        usage_cancel(m->usage);
        if (sd_event_add_time_relative(m->event, &m->stop_timer, CLOCK_MONOTONIC, STOP_USEC, 0, on_stop_timer,
                                       m) < 0)
                sd_event_exit(m->event, EXIT_SUCCESS);
}

void manager_stop(Manager *m) {
        if (m->state != MANAGER_STOPPING)
                begin_stop(m);
        keeper_hurry(m->keeper);
        jobs_stop(m->jobs);
        manager_check_stopped(m);
}

void manager_check_stopped(Manager *m) {
        if (m->state == MANAGER_STOPPING && jobs_are_over(m->jobs) && keeper_is_idle(m->keeper))
                sd_event_exit(m->event, EXIT_SUCCESS);
}
