/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "burst.h"
#include "keeper.h"
#include "settle.h"
#include "store-process.h"
#include "worker.h"

#define STATE_DIRECTORY "/var/lib/carved"

/* Disks sleep, and arrays rebuild. */
#define STORE_USEC (60 * G_USEC_PER_SEC)

#define DEATHS_MAX 3U

#define RETRY_USEC     (G_USEC_PER_SEC / 10)
#define RETRY_MAX_USEC (300 * G_USEC_PER_SEC)

typedef enum TaskKind { TASK_LOAD, TASK_PREPARE, TASK_COMMIT, TASK_PAY } TaskKind;

/* An entry that is to go from its journal, when the files of its GPUs, if it has any, say what it says.
 * Nobody waits for that. */
typedef struct Debt {
        char *name;
        bool transient; /* the entry need not survive a reboot, and what it tells of does not */
        GArray *gpus;   /* CarvedPciAddress; NULL: none */
} Debt;

typedef struct Task {
        TaskKind kind;
        char *name;       /* PREPARE, COMMIT: of the entry */
        bool transient;   /* all that it writes goes with a reboot */
        GArray *gpus;     /* PREPARE, COMMIT: CarvedPciAddress */
        GPtrArray *debts; /* PAY: oldest first */
        KeeperForm form;
        KeeperDone done;
        void *userdata;
        unsigned deaths; /* of workers under it */
} Task;

struct Keeper {
        Manager *manager;
        Worker *worker;
        /* directories: of what is kept over a reboot, and of what is not */
        char *gpus, *journal;
        char *transient_gpus, *transient_journal;
        GQueue tasks;    /* Task */
        bool working;    /* on the first of them, until its caller knows */
        GPtrArray *owed; /* Debt, oldest first */
        bool paying;     /* a task is there that does */
        bool hurry;      /* at once: we stop */
        Burst *burst;
        unsigned failures; /* to pay, in a row */
        sd_event_source *retry;
        uint64_t started, last_id; /* entries of different starts have different names */
        Unsettled *unsettled;
};

static void debt_free(void *p) {
        Debt *debt = p;

        g_free(debt->name);
        g_clear_pointer(&debt->gpus, g_array_unref);
        g_free(debt);
}

static void task_free(void *p) {
        Task *task = p;

        g_free(task->name);
        g_clear_pointer(&task->gpus, g_array_unref);
        g_clear_pointer(&task->debts, g_ptr_array_unref);
        g_free(task);
}

/* ---- what the worker is asked ---- */

static void add_write(GVariantBuilder *ops, const char *directory, const char *name, const char *text) {
        g_variant_builder_add(ops, "(ysss)", text ? STORE_WRITE : STORE_REMOVE, directory, name, text ?: "");
}

static const char *journal_of(const Keeper *k, bool transient) {
        return transient ? k->transient_journal : k->journal;
}

static void add_gpu(Keeper *k, GVariantBuilder *ops, const CarvedPciAddress *address, bool transient_only) {
        const CarvedIntent *intent = carved_model_intent(k->manager->model, address);
        g_autofree char *kept = NULL, *transient = NULL, *name = settle_file_name(address);

        /* What could not be read is somebody's to look at: it is not ours to replace. */
        if (intent && intent->unreadable)
                return;
        if (intent) {
                kept = transient_only ? NULL : carved_store_format_intent(intent, /* transient= */ false);
                transient = carved_store_format_intent(intent, /* transient= */ true);
        }
        if (!transient_only)
                add_write(ops, k->gpus, name, kept);
        add_write(ops, k->transient_gpus, name, transient);
}

static void form_entry(Keeper *k, Task *task, GVariantBuilder *ops) {
        g_autoptr(CarvedEntry) entry = task->form(task->userdata);
        g_autofree char *text = NULL;

        entry->committed = task->kind == TASK_COMMIT;
        task->transient = entry->transient;
        text = carved_entry_format(entry);
        add_write(ops, journal_of(k, task->transient), task->name, text);
        /* What was for now when it was first prepared may be for good since. */
        if (!entry->transient)
                add_write(ops, k->transient_journal, task->name, NULL);
        g_clear_pointer(&task->gpus, g_array_unref);
        task->gpus = settle_entry_gpus(entry);
}

/* The files of all GPUs that anything is owed of, each once. */
static void form_files(Keeper *k, const GPtrArray *debts, GVariantBuilder *ops) {
        g_autoptr(GHashTable) kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        GHashTableIter iter;
        void *text, *lasting;

        for (unsigned i = 0; i < debts->len; i++) {
                const Debt *debt = debts->pdata[i];

                for (unsigned j = 0; debt->gpus && j < debt->gpus->len; j++) {
                        char address[CARVED_PCI_ADDRESS_MAX];

                        carved_pci_address_format(&g_array_index(debt->gpus, CarvedPciAddress, j), address);
                        lasting = g_hash_table_lookup(kept, address);
                        g_hash_table_replace(kept, g_strdup(address),
                                             GINT_TO_POINTER(lasting || !debt->transient));
                }
        }
        g_hash_table_iter_init(&iter, kept);
        while (g_hash_table_iter_next(&iter, &text, &lasting)) {
                CarvedPciAddress address;

                if (carved_pci_address_parse(text, &address))
                        add_gpu(k, ops, &address, /* transient_only= */ !lasting);
        }
}

/* The newest goes when the others are gone for good. With nothing wanted any more a card's file goes, and
 * with it the number by which an older entry would be known to be older: it would be taken for what is
 * wanted. */
static void form_removals(Keeper *k, const GPtrArray *debts, GVariantBuilder *ops) {
        unsigned sync = 0;

        for (unsigned i = 0; i + 1 < debts->len; i++)
                if (!((Debt *) debts->pdata[i])->transient)
                        sync = i;
        for (unsigned i = 0; i < debts->len; i++) {
                const Debt *debt = debts->pdata[i];
                bool last = i == sync || i + 1 == debts->len;

                g_variant_builder_add(ops, "(ysss)", last ? STORE_REMOVE : STORE_UNLINK,
                                      journal_of(k, debt->transient), debt->name, "");
        }
}

static GVariant *form_request(Keeper *k, Task *task) {
        GVariantBuilder ops;

        g_variant_builder_init(&ops, G_VARIANT_TYPE("a(ysss)"));
        if (task->kind == TASK_PAY) {
                form_files(k, task->debts, &ops);
                form_removals(k, task->debts, &ops);
        } else
                form_entry(k, task, &ops);
        return g_variant_builder_end(&ops);
}

static void finish(Keeper *k, KeeperResult result, const char *text);

/* What the store says of it: nothing, or what it is not sure of. */
static void written(Keeper *k, GVariant *said) {
        const char *unsure = g_variant_get_string(said, NULL);

        finish(k, *unsure ? KEEPER_UNSURE : KEEPER_KEPT, unsure);
}

/* Memory is no disk: what goes with a reboot needs no process to wait for it. */
static void write_now(Keeper *k, GVariant *request) {
        g_autoptr(GVariant) ops = g_variant_ref_sink(request), said = NULL;
        g_autoptr(GError) error = NULL;

        said = store_process_write(ops, &error);
        if (!said) {
                finish(k, KEEPER_FAILED, error->message);
                return;
        }
        g_variant_ref_sink(said);
        written(k, said);
}

static void begin(Keeper *k) {
        Task *task = k->working ? NULL : g_queue_peek_head(&k->tasks);
        const char *const directories[] = { k->gpus, k->transient_gpus, k->journal, k->transient_journal,
                                            NULL };
        GVariant *request;
        int r;

        if (!task)
                return;

        k->working = true;
        request = task->kind == TASK_LOAD ? g_variant_new_strv(directories, -1) : form_request(k, task);
        if (task->transient) {
                write_now(k, request);
                return;
        }
        r = worker_submit(k->worker, task->kind == TASK_LOAD ? FRAME_LOAD : FRAME_STORE, request, STORE_USEC);
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

static Task *task_new(TaskKind kind) {
        Task *task = g_new0(Task, 1);

        task->kind = kind;
        return task;
}

/* ---- what is owed ---- */

/* All of it at once. */
static void pay(void *userdata) {
        Keeper *k = userdata;
        Task *task;

        if (k->paying || k->owed->len == 0)
                return;

        k->paying = true;
        task = task_new(TASK_PAY);
        task->debts = g_steal_pointer(&k->owed);
        k->owed = g_ptr_array_new_with_free_func(debt_free);
        task->transient = true;
        for (unsigned i = 0; i < task->debts->len; i++)
                task->transient = task->transient && ((Debt *) task->debts->pdata[i])->transient;
        add_task(k, task);
}

/* It stands in the journal until then, and that will do: in a burst of calls, none waits for the files of the
 * one before, and the files are written once. */
static void owe(Keeper *k, const char *name, GArray *gpus, bool transient) {
        Debt *debt = g_new0(Debt, 1);

        debt->name = g_strdup(name);
        debt->gpus = gpus ? g_array_ref(gpus) : NULL;
        debt->transient = transient;
        g_ptr_array_add(k->owed, debt);
        if (k->hurry)
                pay(k);
        else
                burst_poke(k->burst);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Keeper *k = userdata;

        k->retry = sd_event_source_disable_unref(k->retry);
        pay(k);
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

/* Before all that is owed since. */
static void owe_again(Keeper *k, Task *task, const char *text) {
        if (k->failures++ == 0)
                g_warning("What is wanted is not in its file yet, trying again: %s", text);
        while (task->debts->len > 0)
                g_ptr_array_insert(k->owed, 0, g_ptr_array_steal_index(task->debts, task->debts->len - 1));
        arm_retry(k);
}

static void paid(Keeper *k, Task *task, KeeperResult result, const char *text) {
        k->paying = false;
        if (result != KEEPER_KEPT) {
                owe_again(k, task, text);
                return;
        }
        k->failures = 0;
        if (k->owed->len > 0)
                burst_poke(k->burst);
}

static void settled(Keeper *k, const CarvedPciAddress *gpu, bool prepared) {
        g_autoptr(GPtrArray) entries = unsettled_take(k->unsettled, gpu, prepared);

        for (unsigned i = 0; i < entries->len; i++) {
                const Settled *entry = entries->pdata[i];

                owe(k, entry->name, entry->gpus, entry->transient);
        }
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

/* The first is through. Its caller may ask for more: that comes after it. */
static void finish(Keeper *k, KeeperResult result, const char *text) {
        Task *task = g_queue_peek_head(&k->tasks);

        if (task->done)
                task->done(result, text, task->userdata);
        if (task->kind == TASK_COMMIT && result != KEEPER_FAILED)
                owe(k, task->name, task->gpus, task->transient);

        g_queue_pop_head(&k->tasks);
        if (task->kind == TASK_PAY)
                paid(k, task, result, text);
        task_free(task);
        k->working = false;
        begin(k);
        if (keeper_is_idle(k))
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
        else
                written(k, value);
}

int keeper_new(Manager *m, Keeper **ret) {
        const char *directory = getenv("STATE_DIRECTORY");
        g_autofree char *lock = g_build_filename(m->runtime_directory, "store.lock", NULL);
        Keeper *k = g_new0(Keeper, 1);

        directory = directory && *directory ? directory : STATE_DIRECTORY;
        k->manager = m;
        k->gpus = g_build_filename(directory, "gpus", NULL);
        k->journal = g_build_filename(directory, "journal", NULL);
        k->transient_gpus = g_build_filename(m->runtime_directory, "gpus", NULL);
        k->transient_journal = g_build_filename(m->runtime_directory, "journal", NULL);
        k->started = (uint64_t) g_get_real_time();
        /* The worker of a carved that was killed may still be writing. */
        k->worker =
                worker_new(m->event, worker_process_run, &(WorkerContext){ &m->host, lock }, on_worker, k);
        k->unsettled = unsettled_new();
        k->burst = burst_new(m->event, pay, k);
        k->owed = g_ptr_array_new_with_free_func(debt_free);
        g_queue_init(&k->tasks);
        *ret = k;
        add_task(k, task_new(TASK_LOAD));
        return 0;
}

Keeper *keeper_free(Keeper *k) {
        if (!k)
                return NULL;

        sd_event_source_disable_unref(k->retry);
        g_queue_clear_full(&k->tasks, task_free);
        g_ptr_array_unref(k->owed);
        burst_free(k->burst);
        worker_free(k->worker);
        unsettled_free(k->unsettled);
        g_free(k->gpus);
        g_free(k->journal);
        g_free(k->transient_gpus);
        g_free(k->transient_journal);
        g_free(k);
        return NULL;
}

uint64_t keeper_next_id(Keeper *k) {
        return ++k->last_id;
}

static char *entry_name(const Keeper *k, uint64_t id) {
        return g_strdup_printf("%016" G_GINT64_MODIFIER "x-%" G_GUINT64_FORMAT ".json", k->started, id);
}

static void add_entry(Keeper *k, TaskKind kind, uint64_t id, KeeperForm form, KeeperDone done,
                      void *userdata) {
        Task *task = task_new(kind);

        task->name = entry_name(k, id);
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

void keeper_drop(Keeper *k, uint64_t id, bool transient) {
        g_autofree char *name = entry_name(k, id);

        owe(k, name, /* gpus= */ NULL, transient);
}

void keeper_hurry(Keeper *k) {
        k->hurry = true;
        pay(k);
}

bool keeper_is_idle(const Keeper *k) {
        /* What can't be paid now is known to the next start. */
        return k->tasks.length == 0 && (k->owed->len == 0 || k->failures > 0);
}
