/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"
#include "discovery.h"
#include "reader.h"
#include "restore.h"
#include "sysfs.h"
#include "udev.h"
#include "worker.h"

/* A host with a thousand VFs sends tens of thousands of events while they come. */
#define RECEIVE_BUFFER (128 * 1024 * 1024)

#define SCAN_USEC  (30 * G_USEC_PER_SEC)
#define RETRY_USEC G_USEC_PER_SEC

struct Discovery {
        Manager *manager;
        struct udev *udev;
        struct udev_monitor *monitor;
        sd_event_source *source;
        Worker *worker;
        Burst *burst;
        bool again, done;
};

static void add_gpu(Manager *m, const CarvedFound *found) {
        char address[CARVED_PCI_ADDRESS_MAX];
        Reader *reader = reader_new(m, found);

        g_debug("Found a GPU at %s", carved_pci_address_format(&found->address, address));
        g_hash_table_insert(m->readers, g_strdup(address), reader);
        if (restore_is_over(m->restore) && m->config.repair != REPAIR_NO)
                restore_due(m->restore, &found->address);
        reader_look(reader);
}

static void remove_gpu(Manager *m, const CarvedPciAddress *gone) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_GONE, .address = *gone };
        char address[CARVED_PCI_ADDRESS_MAX];

        g_debug("The GPU at %s is gone", carved_pci_address_format(gone, address));
        g_hash_table_remove(m->readers, address);
        manager_apply(m, &update);
        manager_check_started(m); /* it may be the one that the start waited for */
}

static const CarvedFound *find(GArray *list, const CarvedPciAddress *address) {
        for (unsigned i = 0; i < list->len; i++) {
                const CarvedFound *found = &g_array_index(list, CarvedFound, i);

                if (carved_pci_address_compare(&found->address, address) == 0)
                        return found;
        }
        return NULL;
}

static bool is_same_card(const CarvedFound *a, const CarvedFound *b) {
        return a->vendor_id == b->vendor_id && a->device_id == b->device_id &&
               a->subsystem_vendor_id == b->subsystem_vendor_id &&
               a->subsystem_device_id == b->subsystem_device_id;
}

static void take_scan(Discovery *d, GArray *list) {
        g_autoptr(GList) readers = g_hash_table_get_values(d->manager->readers);

        for (GList *i = readers; i; i = i->next) {
                const CarvedFound *known = reader_found(i->data);
                const CarvedFound *now = find(list, &known->address);
                CarvedPciAddress address = known->address;

                if (!now || !is_same_card(known, now))
                        remove_gpu(d->manager, &address);
        }

        for (unsigned i = 0; i < list->len; i++) {
                const CarvedFound *found = &g_array_index(list, CarvedFound, i);

                if (!manager_find_reader(d->manager, &found->address))
                        add_gpu(d->manager, found);
        }
}

static void scan(void *userdata) {
        Discovery *d = userdata;
        int r;

        if (worker_is_busy(d->worker)) {
                d->again = true;
                return;
        }

        r = worker_submit(d->worker, FRAME_SCAN, g_variant_new_string(""), SCAN_USEC);
        if (r < 0) {
                g_warning("Failed to scan for GPUs, trying again: %s", g_strerror(-r));
                burst_poke_at(d->burst, (uint64_t) g_get_monotonic_time() + RETRY_USEC);
        }
}

static void on_worker(Worker *worker, WorkerEvent event, GVariant *value, const char *text, void *userdata) {
        g_autoptr(GArray) list = NULL;
        Discovery *d = userdata;

        if (event == WORKER_HELD || event == WORKER_LATE) {
                g_warning("Scanning for GPUs takes unusually long");
                return;
        }

        if (event == WORKER_DONE)
                list = carved_udev_scan_from_variant(value);
        d->done = true;
        if (list)
                take_scan(d, list);
        else
                g_warning("Failed to scan for GPUs: %s", text ?: "the worker process answered nonsense");
        if (d->again) {
                d->again = false;
                burst_poke(d->burst);
        }
        manager_check_started(d->manager);
}

void discovery_poke(Discovery *d) {
        burst_poke(d->burst);
}

bool discovery_is_done(const Discovery *d) {
        return d->done;
}

/* The SR-IOV GPU next below @address: whose VF it is, if it is one that we don't know yet. */
static Reader *find_likely_pf(Manager *m, const CarvedPciAddress *address) {
        const CarvedGpu *likely = NULL;

        for (unsigned i = 0; i < carved_model_n_gpus(m->model); i++) {
                const CarvedGpu *gpu = carved_model_nth_gpu(m->model, i);

                if (gpu->has_sriov && gpu->address.domain == address->domain &&
                    carved_pci_address_compare(&gpu->address, address) < 0)
                        likely = gpu;
        }
        return likely ? manager_find_reader(m, &likely->address) : NULL;
}

static bool is_gpu_class(struct udev_device *dev) {
        const char *class = udev_device_get_property_value(dev, "PCI_CLASS");

        /* Without a word about it: perhaps. */
        return !class || carved_pci_class_is_gpu((uint32_t) strtoul(class, NULL, 16));
}

static void poke_group(Manager *m, const char *name) {
        const CarvedGpu *gpu;
        int64_t group;

        if (!name || !carved_sysfs_parse_number(name, 0, INT32_MAX, &group))
                return;

        gpu = carved_model_find_group(m->model, (int32_t) group);
        if (gpu)
                reader_poke(manager_find_reader(m, &gpu->address));
}

/* An event about a function that is no GPU of ours. */
static void handle_other(Discovery *d, struct udev_device *dev, const CarvedPciAddress *address,
                         bool is_function) {
        const CarvedVf *vf = carved_model_find_vf(d->manager->model, address);
        Reader *reader;

        if (vf) {
                reader_poke(manager_find_reader(d->manager, &vf->gpu->address));
                return;
        }
        if (is_function && !is_gpu_class(dev))
                return;

        reader = find_likely_pf(d->manager, address);
        if (reader)
                reader_poke(reader);
        if (is_function)
                discovery_poke(d);
}

static void look_at_all(Discovery *d) {
        GHashTableIter iter;
        void *reader;

        discovery_poke(d);
        g_hash_table_iter_init(&iter, d->manager->readers);
        while (g_hash_table_iter_next(&iter, NULL, &reader))
                reader_poke(reader);
}

static void handle(Discovery *d, struct udev_device *dev) {
        const char *subsystem = udev_device_get_subsystem(dev), *path = udev_device_get_devpath(dev);
        const char *action = udev_device_get_action(dev);
        CarvedPciAddress address;
        bool is_function;
        Reader *reader;

        g_debug("Event: %s %s %s", subsystem ?: "?", action ?: "?", path ?: "?");
        /* A driver that was loaded anew has forgotten all that was on its cards. That is nobody's wish; a
         * rebind of one card may be, since sriov-manage works by it. */
        if (g_strcmp0(subsystem, "drivers") == 0) {
                if (d->manager->config.repair != REPAIR_NO)
                        restore_all_due(d->manager->restore);
                look_at_all(d);
                return;
        }
        if (g_strcmp0(subsystem, "vfio") == 0) {
                poke_group(d->manager, udev_device_get_sysname(dev));
                return;
        }
        if (!path || !carved_udev_path_address(path, &address))
                return;

        is_function = g_strcmp0(subsystem, "pci") == 0;
        reader = manager_find_reader(d->manager, &address);
        if (!reader)
                handle_other(d, dev, &address, is_function);
        else if (is_function && g_strcmp0(action, "remove") == 0)
                remove_gpu(d->manager, &address);
        else
                reader_poke(reader);
}

static int on_udev(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Discovery *d = userdata;

        for (;;) {
                g_autoptr(CarvedUdevDevice) dev = NULL;

                errno = 0;
                dev = udev_monitor_receive_device(d->monitor);
                if (dev) {
                        handle(d, dev);
                        continue;
                }
                if (errno != ENOBUFS)
                        return 0; /* drained */

                /* Nobody knows which. */
                g_message("Events of udev were lost; looking at everything");
                look_at_all(d);
        }
}

static int monitor(Discovery *d) {
        static const char *const subsystems[] = { "pci", "mdev", "vfio", "drivers" };
        int r;

        d->udev = udev_new();
        d->monitor = d->udev ? udev_monitor_new_from_netlink(d->udev, "udev") : NULL;
        if (!d->monitor)
                return errno > 0 ? -errno : -ENOMEM;

        for (size_t i = 0; i < G_N_ELEMENTS(subsystems); i++) {
                r = udev_monitor_filter_add_match_subsystem_devtype(d->monitor, subsystems[i], NULL);
                if (r < 0)
                        return r;
        }

        r = udev_monitor_set_receive_buffer_size(d->monitor, RECEIVE_BUFFER);
        if (r < 0)
                g_debug("Failed to enlarge the receive buffer for events, ignoring: %s", g_strerror(-r));
        r = udev_monitor_enable_receiving(d->monitor);
        if (r < 0)
                return r;

        return sd_event_add_io(d->manager->event, &d->source, udev_monitor_get_fd(d->monitor), EPOLLIN,
                               on_udev, d);
}

int discovery_new(Manager *m, Discovery **ret) {
        Discovery *d = g_new0(Discovery, 1);
        int r;

        d->manager = m;
        d->worker =
                worker_new(m->event, worker_process_run, &(WorkerContext){ &m->host, NULL }, on_worker, d);
        d->burst = burst_new(m->event, scan, d);

        /* Listening comes before looking: what happens in between is seen twice, never missed. */
        r = monitor(d);
        if (r < 0) {
                g_critical("Failed to listen to udev: %s", g_strerror(-r));
                discovery_free(d);
                return r;
        }

        scan(d);
        *ret = d;
        return 0;
}

Discovery *discovery_free(Discovery *d) {
        if (!d)
                return NULL;

        sd_event_source_disable_unref(d->source);
        worker_free(d->worker);
        burst_free(d->burst);
        udev_monitor_unref(d->monitor);
        udev_unref(d->udev);
        g_free(d);
        return NULL;
}
