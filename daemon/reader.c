/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "auth.h"
#include "burst.h"
#include "bus-error.h"
#include "cleanup.h"
#include "discovery.h"
#include "reader.h"
#include "worker.h"

/* A look takes milliseconds. What takes this long waits for a lock in the kernel. */
#define LOOK_USEC (5 * G_USEC_PER_SEC)

#define REFRESH_USEC G_USEC_PER_SEC
/* Some things come after the last event that tells of them: see look_again(). 0.1, 0.2 … 3.2 s, then no more.
 */
#define AGAIN_USEC (G_USEC_PER_SEC / 10)
#define AGAIN_MAX  6U

#define WAITERS_MAX          64
#define WAITERS_PER_USER_MAX 16

struct Reader {
        Manager *manager;
        CarvedFound found;
        Worker *worker;
        Burst *burst;
        bool again;        /* something happened while we looked */
        CarvedDepth depth; /* of the next look */
        bool deferred;     /* the last one could not find out all */
        GVariant *memory;  /* what the last one told to remember; NULL: nothing */
        bool has_looked;
        unsigned repeats; /* looks in a row that saw something half made, or failed */
        sd_event_source *again_source;
        uint64_t refreshed; /* when a client last made us look */
        GPtrArray *waiters; /* sd_bus_message: served by the next look to begin */
        GPtrArray *served;  /* sd_bus_message: by the one that runs */
        GQueue guests;      /* Seat */
        bool hosting;       /* the first of them has started */
};

typedef struct Seat {
        const ReaderGuest *guest;
        void *userdata;
} Seat;

static void free_message(void *p) {
        sd_bus_message_unref(p);
}

static void on_worker(Worker *worker, WorkerEvent event, GVariant *value, const char *text, void *userdata);

static void on_burst(void *userdata) {
        reader_look(userdata);
}

Reader *reader_new(Manager *m, const CarvedFound *found) {
        Reader *reader = g_new0(Reader, 1);
        char address[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *lock = NULL;

        carved_pci_address_format(&found->address, address);
        lock = g_strdup_printf("%s/%s.lock", m->runtime_directory, address);
        reader->manager = m;
        reader->found = *found;
        reader->found.vendor = g_strdup(found->vendor);
        reader->found.model = g_strdup(found->model);
        reader->worker = worker_new(m->event, worker_process_run, &(WorkerContext){ &m->host, lock },
                                    on_worker, reader);
        reader->burst = burst_new(m->event, on_burst, reader);
        reader->waiters = g_ptr_array_new_with_free_func(free_message);
        reader->served = g_ptr_array_new_with_free_func(free_message);
        g_queue_init(&reader->guests);
        return reader;
}

Reader *reader_free(Reader *reader) {
        if (!reader)
                return NULL;

        while (!g_queue_is_empty(&reader->guests)) {
                g_autofree Seat *seat = g_queue_pop_tail(&reader->guests);

                seat->guest->gone(reader, seat->userdata);
        }
        reader_cancel(reader);
        sd_event_source_disable_unref(reader->again_source);
        worker_free(reader->worker);
        g_clear_pointer(&reader->memory, g_variant_unref);
        burst_free(reader->burst);
        g_ptr_array_unref(reader->waiters);
        g_ptr_array_unref(reader->served);
        carved_found_clear(&reader->found);
        g_free(reader);
        return NULL;
}

const CarvedFound *reader_found(const Reader *reader) {
        return &reader->found;
}

bool reader_has_looked(const Reader *reader) {
        return reader->has_looked;
}

static void reply(GPtrArray *messages, const sd_bus_error *error) {
        for (unsigned i = 0; i < messages->len; i++) {
                int r = error ? sd_bus_reply_method_error(messages->pdata[i], error)
                              : sd_bus_reply_method_return(messages->pdata[i], NULL);

                if (r < 0)
                        g_debug("Failed to answer a caller, ignoring: %s", g_strerror(-r));
        }
        g_ptr_array_set_size(messages, 0);
}

static void reply_failure(GPtrArray *messages, CarvedError code, const char *text) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        if (messages->len == 0)
                return;

        bus_error_set(&error, code, text);
        reply(messages, &error);
}

void reader_cancel(Reader *reader) {
        reply_failure(reader->waiters, CARVED_ERROR_CANCELLED, "carved stops, or the GPU is gone");
        reply_failure(reader->served, CARVED_ERROR_CANCELLED, "carved stops, or the GPU is gone");
}

/* What can be shown of a card that was found, and not seen. */
static CarvedGpu *unseen(const Reader *reader) {
        const CarvedFound *found = &reader->found;
        CarvedGpu *gpu = carved_gpu_new(&found->address);

        gpu->vendor_id = found->vendor_id;
        gpu->device_id = found->device_id;
        gpu->subsystem_vendor_id = found->subsystem_vendor_id;
        gpu->subsystem_device_id = found->subsystem_device_id;
        gpu->vendor = g_strdup(found->vendor);
        gpu->model = g_strdup(found->model);
        gpu->settled = false;
        carved_gpu_finish(gpu);
        return gpu;
}

static void apply(Reader *reader, CarvedUpdateKind kind, CarvedGpu *gpu, const char *text) {
        CarvedUpdate update = { kind, reader->found.address, gpu, text };

        manager_apply(reader->manager, &update);
        reader->has_looked = true;
        manager_check_started(reader->manager);
}

static int on_again(sd_event_source *s, uint64_t usec, void *userdata) {
        Reader *reader = userdata;

        reader->again_source = sd_event_source_disable_unref(reader->again_source);
        reader_look(reader);
        return 0;
}

/* The kernel links an mdev to its type only after `add` and `bind`, and sends nothing then; and what failed
 * may have been on its way. So this is the one place that looks without an event: soon, seldom, and not for
 * long. */
static void look_again(Reader *reader) {
        int r;

        if (reader->again_source || reader->repeats >= AGAIN_MAX)
                return;

        r = sd_event_add_time_relative(reader->manager->event, &reader->again_source, CLOCK_MONOTONIC,
                                       AGAIN_USEC << reader->repeats++, 0, on_again, reader);
        if (r < 0)
                g_warning("Failed to arm another look, ignoring: %s", g_strerror(-r));
}

static void failed(Reader *reader, const char *text) {
        apply(reader, CARVED_UPDATE_FAILED, unseen(reader), text);
        look_again(reader);
        reply_failure(reader->served, CARVED_ERROR_FAILED, text);

        /* The card may be gone. */
        discovery_poke(reader->manager->discovery);
}

/* What it saw; what it is to be told again is kept. */
static CarvedGpu *take_answer(Reader *reader, GVariant *value) {
        g_autoptr(GVariant) seen = NULL;

        if (!g_variant_is_of_type(value, G_VARIANT_TYPE(LOOK_ANSWER)))
                return NULL;

        g_clear_pointer(&reader->memory, g_variant_unref);
        g_variant_get(value, LOOK_ANSWER, &seen, &reader->memory);
        return carved_snapshot_from_variant(seen);
}

CarvedGpu *reader_decode(Reader *reader, GVariant *value) {
        CarvedGpu *gpu = take_answer(reader, value);
        const CarvedFound *found = &reader->found;

        if (!gpu || carved_pci_address_compare(&gpu->address, &found->address) != 0) {
                carved_gpu_free(gpu);
                return NULL;
        }

        reader->deferred = gpu->nvml_deferred;
        /* Another card has taken its place meanwhile, so the names are not its own. */
        if (gpu->vendor_id != found->vendor_id || gpu->device_id != found->device_id)
                discovery_poke(reader->manager->discovery);
        else {
                gpu->vendor = g_strdup(found->vendor);
                gpu->model = g_strdup(found->model);
        }
        return gpu;
}

static void seen(Reader *reader, GVariant *value) {
        CarvedGpu *gpu = reader_decode(reader, value);
        bool half_made;

        if (!gpu) {
                failed(reader, "The worker process answered nonsense");
                return;
        }

        half_made = carved_gpu_has_half_made(gpu);
        apply(reader, CARVED_UPDATE_READ, gpu, NULL);
        reply(reader->served, NULL);
        if (half_made)
                look_again(reader);
        else
                reader->repeats = 0;
}

void reader_show_stalled(Reader *reader) {
        char address[CARVED_PCI_ADDRESS_MAX];

        g_message("%s does not answer; waiting", carved_pci_address_format(&reader->found.address, address));
        apply(reader, CARVED_UPDATE_STALLED, unseen(reader), NULL);
        reply_failure(reader->served, CARVED_ERROR_STALLED, "The GPU does not answer");
        reply_failure(reader->waiters, CARVED_ERROR_STALLED, "The GPU does not answer");
}

static void start_next(Reader *reader) {
        Seat *seat = g_queue_peek_head(&reader->guests);

        if (!seat || reader->hosting || worker_is_busy(reader->worker))
                return;

        reader->hosting = true;
        seat->guest->start(reader, seat->userdata);
}

static void on_worker(Worker *worker, WorkerEvent event, GVariant *value, const char *text, void *userdata) {
        Reader *reader = userdata;

        if (reader->hosting) {
                Seat *seat = g_queue_peek_head(&reader->guests);

                seat->guest->answer(reader, event, value, text, seat->userdata);
                return;
        }

        switch (event) {
        case WORKER_DONE:
                seen(reader, value);
                break;
        case WORKER_FAILED:
                g_debug("Failed to look at a GPU: %s", text);
                failed(reader, text);
                break;
        case WORKER_HELD:
        case WORKER_LATE:
                reader_show_stalled(reader);
                return;
        }

        start_next(reader);
        if (reader->hosting)
                return;
        if (reader->again || reader->waiters->len > 0) {
                reader->again = false;
                burst_poke(reader->burst);
        }
}

void reader_poke(Reader *reader) {
        reader->repeats = 0;
        burst_poke(reader->burst);
}

void reader_enter(Reader *reader, const ReaderGuest *guest, void *userdata) {
        Seat *seat = g_new(Seat, 1);

        *seat = (Seat){ guest, userdata };
        g_queue_push_tail(&reader->guests, seat);
        start_next(reader);
}

static int compare_seat(const void *a, const void *userdata) {
        return ((const Seat *) a)->userdata != userdata;
}

void reader_evict(Reader *reader, void *userdata) {
        GList *link = g_queue_find_custom(&reader->guests, userdata, compare_seat);

        if (!link)
                return;

        if (link == reader->guests.head)
                reader->hosting = false;
        g_free(link->data);
        g_queue_delete_link(&reader->guests, link);
}

void reader_leave(Reader *reader, void *userdata) {
        reader_evict(reader, userdata);
        start_next(reader);
        if (!reader->hosting && (reader->again || reader->waiters->len > 0)) {
                reader->again = false;
                burst_poke(reader->burst);
        }
}

bool reader_has_guests(const Reader *reader) {
        return reader->guests.length > 0;
}

int reader_ask(Reader *reader, FrameKind kind, GVariant *request, uint64_t deadline_usec) {
        return worker_submit(reader->worker, kind, request, deadline_usec);
}

/* What was asked for until now is seen by this look. */
int reader_ask_look(Reader *reader) {
        const CarvedPciAddress *a = &reader->found.address;

        CarvedDepth depth =
                MAX(reader->depth, reader->waiters->len > 0 ? CARVED_DEPTH_WHOLE : CARVED_DEPTH_DUE);
        bool sure = depth == CARVED_DEPTH_SURE;

        reader->again = false;
        reader->depth = CARVED_DEPTH_DUE;
        if (reader->waiters->len > 0)
                reader->refreshed = (uint64_t) g_get_monotonic_time();
        while (reader->waiters->len > 0)
                g_ptr_array_add(reader->served, g_ptr_array_steal_index(reader->waiters, 0));
        return worker_submit(reader->worker, FRAME_SNAPSHOT,
                             g_variant_new(LOOK_REQUEST, a->domain, a->bus, a->device, a->function,
                                           (uint32_t) depth, reader->memory),
                             sure ? reader->manager->config.step_timeout_usec : LOOK_USEC);
}

void reader_deepen(Reader *reader, CarvedDepth depth) {
        reader->depth = MAX(reader->depth, depth);
}

void reader_catch_up(Reader *reader) {
        if (!reader->deferred)
                return;

        reader_deepen(reader, CARVED_DEPTH_WHOLE);
        reader_poke(reader);
}

void reader_served(Reader *reader) {
        reply(reader->served, NULL);
}

void reader_look(Reader *reader) {
        int r;

        if (reader->hosting) {
                Seat *seat = g_queue_peek_head(&reader->guests);

                reader->again = true;
                seat->guest->poked(reader, seat->userdata);
                return;
        }
        if (worker_is_busy(reader->worker)) {
                reader->again = true;
                return;
        }

        r = reader_ask_look(reader);
        if (r < 0) {
                g_autofree char *text =
                        g_strdup_printf("No worker process could be started: %s", g_strerror(-r));

                failed(reader, text);
        }
}

int reader_refresh(Reader *reader, sd_bus_message *message, sd_bus_error *error) {
        uint64_t now = (uint64_t) g_get_monotonic_time();
        const CarvedGpu *gpu = carved_model_find_gpu(reader->manager->model, &reader->found.address);
        unsigned same = 0;

        if (gpu && gpu->stalled)
                return bus_error_set(error, CARVED_ERROR_STALLED, "The GPU does not answer");
        for (unsigned i = 0; i < reader->waiters->len; i++)
                same += auth_is_same_user(reader->manager->auth, reader->waiters->pdata[i], message);
        if (same >= WAITERS_PER_USER_MAX || reader->waiters->len >= WAITERS_MAX)
                return bus_error_set(error, CARVED_ERROR_LIMITS_EXCEEDED,
                                     "Too many callers wait for this GPU already");

        g_ptr_array_add(reader->waiters, sd_bus_message_ref(message));
        if (worker_is_busy(reader->worker) || reader->hosting)
                return 1; /* the look that runs began before the call: another follows it */

        if (now < reader->refreshed + REFRESH_USEC)
                burst_poke_at(reader->burst, reader->refreshed + REFRESH_USEC);
        else
                reader_look(reader);
        return 1;
}
