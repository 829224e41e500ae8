/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "audit.h"

/* Each has an entry in carved.catalog. */
#define MESSAGE_DONE      "0a811543db44463b983c89aece1760e4"
#define MESSAGE_FAILED    "3ce320c4a0ee4260b9266bd169e0e865"
#define MESSAGE_CANCELLED "2e3ff2c44dca4947999c7b9884c23509"

typedef struct Fields {
        GArray *list;      /* GLogField */
        GPtrArray *values; /* theirs */
} Fields;

G_GNUC_PRINTF(3, 4) static void add(Fields *fields, const char *key, const char *format, ...) {
        GLogField field = { key, NULL, -1 };
        va_list args;
        char *value;

        va_start(args, format);
        value = g_strdup_vprintf(format, args);
        va_end(args);
        g_ptr_array_add(fields->values, value);
        field.value = value;
        g_array_append_val(fields->list, field);
}

static void add_all(Fields *fields, const char *key, const GPtrArray *values) {
        for (unsigned i = 0; values && i < values->len; i++)
                add(fields, key, "%s", (char *) values->pdata[i]);
}

static const char *message_id(JobState result) {
        return result == JOB_DONE        ? MESSAGE_DONE
               : result == JOB_CANCELLED ? MESSAGE_CANCELLED
                                         : MESSAGE_FAILED;
}

static void append_names(GString *text, const char *before, const GPtrArray *names) {
        for (unsigned i = 0; names && i < names->len; i++)
                g_string_append_printf(text, "%s%s", i == 0 ? before : ", ", (char *) names->pdata[i]);
}

/* For people, and where the log is no journal. */
static char *describe(const AuditEntry *entry) {
        GString *text = g_string_new(entry->verb);

        append_names(text, " of vGPU ", entry->vgpus);
        append_names(text, " on GPU ", entry->gpus);
        if (entry->job != 0)
                g_string_append_printf(text, ", job %" G_GUINT64_FORMAT, entry->job);
        if (entry->caller)
                g_string_append_printf(text, ", asked for by uid %u, pid %d%s%s", entry->caller->uid,
                                       (int) entry->caller->pid, *entry->caller->unit ? ", " : "",
                                       entry->caller->unit);
        else
                g_string_append(text, ", by carved itself");
        g_string_append_printf(text, ": %s", job_state_to_string(entry->result));
        if (entry->why)
                g_string_append_printf(text, ": %s", entry->why);
        return g_string_free(text, FALSE);
}

static void add_caller(Fields *fields, const Caller *caller) {
        if (!caller)
                return;

        add(fields, "CARVED_UID", "%u", caller->uid);
        if (caller->pid > 0) {
                add(fields, "CARVED_PID", "%d", (int) caller->pid);
                /* journald adds what it knows of this process. */
                add(fields, "OBJECT_PID", "%d", (int) caller->pid);
        }
        if (*caller->unit)
                add(fields, "CARVED_UNIT", "%s", caller->unit);
}

void audit_log(const AuditEntry *entry) {
        Fields fields = { g_array_new(FALSE, FALSE, sizeof(GLogField)),
                          g_ptr_array_new_with_free_func(g_free) };
        g_autofree char *text = describe(entry);

        add(&fields, "MESSAGE", "%s", text);
        add(&fields, "MESSAGE_ID", "%s", message_id(entry->result));
        add(&fields, "PRIORITY", "5");
        add(&fields, "CARVED_VERB", "%s", entry->verb);
        add_all(&fields, "CARVED_GPU", entry->gpus);
        add_all(&fields, "CARVED_VGPU", entry->vgpus);
        if (entry->job != 0)
                add(&fields, "CARVED_JOB", "%" G_GUINT64_FORMAT, entry->job);
        add_caller(&fields, entry->caller);
        add(&fields, "CARVED_RESULT", "%s", job_state_to_string(entry->result));
        if (entry->why)
                add(&fields, "CARVED_ERROR", "%s", entry->why);
        g_log_structured_array(G_LOG_LEVEL_MESSAGE, (GLogField *) fields.list->data, fields.list->len);
        g_array_unref(fields.list);
        g_ptr_array_unref(fields.values);
}

static GPtrArray *gpus_of(const Job *job) {
        GPtrArray *gpus = g_ptr_array_new_with_free_func(g_free);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (job->order->kind != CARVED_ORDER_DESTROY_VGPUS)
                g_ptr_array_add(gpus, g_strdup(carved_pci_address_format(&job->order->gpu, address)));
        else
                for (unsigned i = 0; job->plan && i < job->plan->gpus->len; i++)
                        g_ptr_array_add(gpus, g_strdup(carved_pci_address_format(
                                                      &g_array_index(job->plan->gpus, CarvedPciAddress, i),
                                                      address)));
        return gpus;
}

static void add_once(GPtrArray *list, const char *text) {
        if (!g_ptr_array_find_with_equal_func(list, text, g_str_equal, NULL))
                g_ptr_array_add(list, g_strdup(text));
}

/* Those that it was asked for, and those that came or went with the rest. */
static GPtrArray *vgpus_of(const Job *job) {
        GPtrArray *vgpus = g_ptr_array_new_with_free_func(g_free);

        for (char **uuid = job->order->uuids; uuid && *uuid; uuid++)
                add_once(vgpus, *uuid);
        for (unsigned i = 0; job->plan && job->plan->adds && i < job->plan->adds->len; i++)
                add_once(vgpus, ((const CarvedWanted *) job->plan->adds->pdata[i])->uuid);
        for (char **uuid = job->plan ? job->plan->removes : NULL; uuid && *uuid; uuid++)
                add_once(vgpus, *uuid);
        return vgpus;
}

/* It was so already. */
static bool is_nothing(const Job *job) {
        return job->dry_run || (job->state == JOB_DONE && job->plan && job->plan->steps->len == 0 &&
                                !carved_plan_changes_intent(job->plan) &&
                                (!job->failures || g_hash_table_size(job->failures) == 0));
}

/* What stopped it, or what a best effort went on without; NULL: nothing. */
static char *reason_of(const Job *job) {
        g_autoptr(GString) text = g_string_new(NULL);
        GHashTableIter iter;
        void *uuid, *why;

        if (job->error)
                return g_strdup(job->error->message);
        if (!job->failures || g_hash_table_size(job->failures) == 0)
                return NULL;

        g_hash_table_iter_init(&iter, job->failures);
        while (g_hash_table_iter_next(&iter, &uuid, &why))
                g_string_append_printf(text, "%swithout %s: %s", text->len > 0 ? "; " : "",
                                       *(char *) uuid ? (char *) uuid : "the card's VFs", (char *) why);
        return g_strdup(text->str);
}

void audit_job(const Job *job) {
        g_autoptr(GPtrArray) gpus = gpus_of(job), vgpus = vgpus_of(job);
        g_autofree char *why = reason_of(job);
        const char *verb = carved_order_kind_to_string(job->order->kind);

        if (is_nothing(job)) {
                g_debug("Job %" G_GUINT64_FORMAT ", %s: nothing was done", job->id, verb);
                return;
        }

        audit_log(&(AuditEntry){ verb, gpus, vgpus, job->id, job->caller, job->state, why });
}
