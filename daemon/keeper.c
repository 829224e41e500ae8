/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "keeper.h"
#include "settle.h"
#include "worker.h"

#define STATE_DIRECTORY "/var/lib/carved"

/* Disks sleep, and arrays rebuild. */
#define STORE_USEC (60 * G_USEC_PER_SEC)

#define DEATHS_MAX 3U

#define RETRY_USEC     (G_USEC_PER_SEC / 10)
#define RETRY_MAX_USEC (300 * G_USEC_PER_SEC)

typedef enum TaskKind { TASK_LOAD, TASK_PREPARE, TASK_COMMIT, TASK_SAVE, TASK_DROP } TaskKind;

typedef struct Task {
        TaskKind kind;
        char *name;   /* of the entry */
        GArray *gpus; /* CarvedPciAddress: SAVE */
        KeeperForm form;
        KeeperDone done;
        void *userdata;
        unsigned deaths; /* of workers under it */
} Task;

struct Keeper {
        Manager *manager;
        Worker *worker;
        char *gpus, *journal, *transient; /* directories */
        GQueue tasks;                     /* Task */
        bool working;                     /* on the first of them, until its caller knows */
        GQueue owed;                      /* Task: failed, to be tried again */
        unsigned failures;                /* in a row */
        sd_event_source *retry;
        uint64_t started, last_id; /* entries of different starts have different names */
        Unsettled *unsettled;
};

static void task_free(void *p) {
        Task *task = p;

        g_free(task->name);
        g_clear_pointer(&task->gpus, g_array_unref);
        g_free(task);
}

/* ---- what the worker is asked ---- */

static void add_write(GVariantBuilder *ops, const char *directory, const char *name, const char *text) {
        g_variant_builder_add(ops, "(ysss)", text ? STORE_WRITE : STORE_REMOVE, directory, name, text ?: "");
}

static void add_gpu(Keeper *k, GVariantBuilder *ops, const CarvedPciAddress *address) {
        const CarvedIntent *intent = carved_model_intent(k->manager->model, address);
        g_autofree char *kept = NULL, *transient = NULL, *name = settle_file_name(address);

        /* What could not be read is somebody's to look at: it is not ours to replace. */
        if (intent && intent->unreadable)
                return;
        if (intent) {
                kept = carved_store_format_intent(intent, /* transient= */ false);
                transient = carved_store_format_intent(intent, /* transient= */ true);
        }
        add_write(ops, k->gpus, name, kept);
        add_write(ops, k->transient, name, transient);
}

static GVariant *form_request(Keeper *k, Task *task) {
        GVariantBuilder ops;

        g_variant_builder_init(&ops, G_VARIANT_TYPE("a(ysss)"));
        if (task->kind == TASK_PREPARE || task->kind == TASK_COMMIT) {
                g_autoptr(CarvedEntry) entry = task->form(task->userdata);
                g_autofree char *text = NULL;

                entry->committed = task->kind == TASK_COMMIT;
                text = carved_entry_format(entry);
                add_write(&ops, k->journal, task->name, text);
                g_clear_pointer(&task->gpus, g_array_unref);
                task->gpus = settle_entry_gpus(entry);
        }
        for (unsigned i = 0; task->kind == TASK_SAVE && i < task->gpus->len; i++)
                add_gpu(k, &ops, &g_array_index(task->gpus, CarvedPciAddress, i));
        if (task->kind == TASK_SAVE || task->kind == TASK_DROP)
                add_write(&ops, k->journal, task->name, NULL);
        return g_variant_builder_end(&ops);
}

static void finish(Keeper *k, KeeperResult result, const char *text);

/* Saves keep their order. With nothing wanted any more a card's file goes, and with it the number by which an
 * entry that is still in the journal would be known to be older: it would be taken for what is wanted. */
static Task *next_task(Keeper *k) {
        Task *task = g_queue_peek_head(&k->tasks);

        while (task && task->kind == TASK_SAVE && k->owed.length > 0) {
                g_queue_push_tail(&k->owed, g_queue_pop_head(&k->tasks));
                task = g_queue_peek_head(&k->tasks);
        }
        return task;
}

static void begin(Keeper *k) {
        Task *task = k->working ? NULL : next_task(k);
        const char *const directories[] = { k->gpus, k->transient, k->journal, NULL };
        int r;

        if (!task)
                return;

        k->working = true;
        r = task->kind == TASK_LOAD
                    ? worker_submit(k->worker, FRAME_LOAD, g_variant_new_strv(directories, -1), STORE_USEC)
                    : worker_submit(k->worker, FRAME_STORE, form_request(k, task), STORE_USEC);
        if (r < 0) {
                g_autofree char *text =
                        g_strdup_printf("No worker process could be started: %s", g_strerror(-r));

                finish(k, KEEPER_FAILED, text);
        }
}

static void add_task(Keeper *k, Task *task) {
        g_queue_push_tail(&k->tasks, task);
        begin(k);
}

static Task *task_new(TaskKind kind, const char *name) {
        Task *task = g_new0(Task, 1);

        task->kind = kind;
        task->name = g_strdup(name);
        return task;
}

static void retry_owed(Keeper *k) {
        while (k->owed.length > 0)
                g_queue_push_tail(&k->tasks, g_queue_pop_head(&k->owed));
}

static void save(Keeper *k, const char *name, GArray *gpus) {
        Task *task = task_new(TASK_SAVE, name);

        retry_owed(k);

        task->gpus = gpus ? g_array_ref(gpus) : NULL;
        g_queue_push_tail(&k->tasks, task);
}

static void settled(Keeper *k, const CarvedPciAddress *gpu, bool prepared) {
        g_autoptr(GPtrArray) entries = unsettled_take(k->unsettled, gpu, prepared);

        for (unsigned i = 0; i < entries->len; i++) {
                const Settled *entry = entries->pdata[i];

                save(k, entry->name, entry->gpus);
        }
        begin(k);
}

void keeper_settled(Keeper *k, const CarvedPciAddress *gpu) {
        settled(k, gpu, /* prepared= */ true);
}

/* What was committed and not yet in its file is so now. */
static void roll_forward(Keeper *k) {
        g_autoptr(GArray) gpus = unsettled_gpus(k->unsettled);

        for (unsigned i = 0; i < gpus->len; i++)
                settled(k, &g_array_index(gpus, CarvedPciAddress, i), /* prepared= */ false);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Keeper *k = userdata;

        k->retry = sd_event_source_disable_unref(k->retry);
        retry_owed(k);
        begin(k);
        return 0;
}

/* A full disk may have room again, a worker that died is replaced: 0.1, 0.2 … s, then every five minutes, and
 * only while something is owed. */
static void arm_retry(Keeper *k) {
        uint64_t usec = MIN(RETRY_USEC << MIN(k->failures, 12U), RETRY_MAX_USEC);
        int r;

        if (k->retry)
                return;
        r = sd_event_add_time_relative(k->manager->event, &k->retry, CLOCK_MONOTONIC, usec, 0, on_retry, k);
        if (r < 0)
                g_warning("Failed to arm a timer, ignoring: %s", g_strerror(-r));
}

/* What is committed stands in the journal until it is in its file. */
static void owe(Keeper *k, Task *task, const char *text) {
        if (k->failures++ == 0)
                g_warning("What is wanted is not in its file yet, trying again: %s", text);
        g_queue_push_tail(&k->owed, task);
        arm_retry(k);
}

/* The first is through. Its caller may ask for more: that comes after it. */
static void finish(Keeper *k, KeeperResult result, const char *text) {
        Task *task = g_queue_peek_head(&k->tasks);

        if (task->done)
                task->done(result, text, task->userdata);
        if (result != KEEPER_FAILED && task->kind == TASK_COMMIT)
                save(k, task->name, task->gpus);

        g_queue_pop_head(&k->tasks);
        if (result != KEEPER_KEPT && !task->done)
                owe(k, task, text);
        else
                task_free(task);
        if (result == KEEPER_KEPT)
                k->failures = 0;
        k->working = false;
        begin(k);
        if (k->tasks.length == 0)
                manager_check_stopped(k->manager);
}

static void on_worker(Worker *worker, WorkerEvent event, GVariant *value, const char *text, void *userdata) {
        Keeper *k = userdata;
        Task *task = g_queue_peek_head(&k->tasks);

        if (event == WORKER_HELD || event == WORKER_LATE) {
                g_warning("%s; waiting",
                          event == WORKER_HELD
                                  ? "What an earlier carved wanted to keep is still being written"
                                  : "The disk does not answer");
                return;
        }
        if (task->kind == TASK_LOAD) {
                if (event == WORKER_DONE)
                        settle_load(k->manager, k->unsettled, value);
                else
                        g_critical("Failed to read what is wanted: %s", text);
                roll_forward(k);
                finish(k, KEEPER_KEPT, NULL);
                manager_loaded(k->manager);
                return;
        }
        if (event == WORKER_FAILED && worker_has_died(worker)) {
                /* Nobody knows how far it came; but what is written twice is written once. */
                k->working = false;
                if (task->deaths++ < DEATHS_MAX)
                        begin(k);
                else
                        finish(k, KEEPER_UNSURE, text);
        } else if (event == WORKER_FAILED || !g_variant_is_of_type(value, G_VARIANT_TYPE_STRING))
                finish(k, KEEPER_FAILED, text ?: "the worker process answered nonsense");
        else {
                const char *unsure = g_variant_get_string(value, NULL);

                finish(k, *unsure ? KEEPER_UNSURE : KEEPER_KEPT, unsure);
        }
}

int keeper_new(Manager *m, Keeper **ret) {
        const char *directory = getenv("STATE_DIRECTORY");
        g_autofree char *lock = g_build_filename(m->runtime_directory, "store.lock", NULL);
        Keeper *k = g_new0(Keeper, 1);

        directory = directory && *directory ? directory : STATE_DIRECTORY;
        k->manager = m;
        k->gpus = g_build_filename(directory, "gpus", NULL);
        k->journal = g_build_filename(directory, "journal", NULL);
        k->transient = g_build_filename(m->runtime_directory, "gpus", NULL);
        k->started = (uint64_t) g_get_real_time();
        /* The worker of a carved that was killed may still be writing. */
        k->worker =
                worker_new(m->event, worker_process_run, &(WorkerContext){ &m->host, lock }, on_worker, k);
        k->unsettled = unsettled_new();
        g_queue_init(&k->tasks);
        g_queue_init(&k->owed);
        *ret = k;
        add_task(k, task_new(TASK_LOAD, NULL));
        return 0;
}

Keeper *keeper_free(Keeper *k) {
        if (!k)
                return NULL;

        sd_event_source_disable_unref(k->retry);
        g_queue_clear_full(&k->tasks, task_free);
        g_queue_clear_full(&k->owed, task_free);
        worker_free(k->worker);
        unsettled_free(k->unsettled);
        g_free(k->gpus);
        g_free(k->journal);
        g_free(k->transient);
        g_free(k);
        return NULL;
}

uint64_t keeper_next_id(Keeper *k) {
        return ++k->last_id;
}

static Task *entry_task(Keeper *k, TaskKind kind, uint64_t id) {
        Task *task = task_new(kind, NULL);

        task->name = g_strdup_printf("%016" G_GINT64_MODIFIER "x-%" G_GUINT64_FORMAT ".json", k->started, id);
        return task;
}

static void add_entry(Keeper *k, TaskKind kind, uint64_t id, KeeperForm form, KeeperDone done,
                      void *userdata) {
        Task *task = entry_task(k, kind, id);

        task->form = form;
        task->done = done;
        task->userdata = userdata;
        add_task(k, task);
}

void keeper_prepare(Keeper *k, uint64_t id, KeeperForm form, KeeperDone done, void *userdata) {
        add_entry(k, TASK_PREPARE, id, form, done, userdata);
}

void keeper_commit(Keeper *k, uint64_t id, KeeperForm form, KeeperDone done, void *userdata) {
        add_entry(k, TASK_COMMIT, id, form, done, userdata);
}

void keeper_drop(Keeper *k, uint64_t id) {
        add_task(k, entry_task(k, TASK_DROP, id));
}

bool keeper_is_idle(const Keeper *k) {
        return k->tasks.length == 0;
}
