/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "audit.h"
#include "bus-error.h"
#include "cleanup.h"
#include "error.h"
#include "jobs.h"
#include "object.h"
#include "order.h"
#include "reader.h"
#include "restore.h"

#define ACTIVE_MAX    1024U
#define PER_USER_MAX  128U
#define CALLERS_MAX   256U
#define FINISHED_MAX  64U
#define FINISHED_USEC (60 * G_USEC_PER_SEC)

struct Jobs {
        Manager *manager;
        GPtrArray *list; /* Job, by id */
        GQueue over;     /* Ended, oldest first */
        uint64_t last_id;
        unsigned active;
        bool stopping;
        sd_event_source *timer;
};

typedef struct Ended {
        Job *job;
        uint64_t usec;
} Ended;

static void free_job(void *p) {
        job_free(p);
}

Jobs *jobs_new(Manager *m) {
        Jobs *jobs = g_new0(Jobs, 1);

        jobs->manager = m;
        jobs->list = g_ptr_array_new_with_free_func(free_job);
        g_queue_init(&jobs->over);
        return jobs;
}

static void dismiss(Job *job) {
        if (job_is_over(job))
                return;

        g_clear_error(&job->error);
        job->error =
                g_error_new_literal(CARVED_ERROR, CARVED_ERROR_CANCELLED,
                                    "carved stops, with the work inside the kernel: it is settled at the "
                                    "next start");
        for (unsigned i = 0; i < job->callers->len; i++)
                job_reply(job, job->callers->pdata[i]);
        g_ptr_array_set_size(job->callers, 0);
}

void jobs_dismiss(Jobs *jobs) {
        for (unsigned i = 0; i < jobs->list->len; i++)
                dismiss(jobs->list->pdata[i]);
}

Jobs *jobs_free(Jobs *jobs) {
        if (!jobs)
                return NULL;

        sd_event_source_disable_unref(jobs->timer);
        g_queue_clear_full(&jobs->over, g_free);
        g_ptr_array_unref(jobs->list);
        g_free(jobs);
        return NULL;
}

unsigned jobs_n(const Jobs *jobs) {
        return jobs->list->len;
}

Job *jobs_nth(const Jobs *jobs, unsigned i) {
        return jobs->list->pdata[i];
}

Job *jobs_find(Jobs *jobs, uint64_t id) {
        for (unsigned i = 0; i < jobs->list->len; i++)
                if (((Job *) jobs->list->pdata[i])->id == id)
                        return jobs->list->pdata[i];

        return NULL;
}

/* The oldest of the user who has the most: dry runs are for everyone, and must not crowd out what others have
 * not read yet. */
static GList *find_spare(Jobs *jobs) {
        unsigned most = 0;
        GList *spare = NULL;

        for (GList *each = jobs->over.head; each; each = each->next) {
                uint32_t uid = ((Ended *) each->data)->job->uid;
                unsigned n = 0;

                for (GList *other = jobs->over.head; other; other = other->next)
                        n += ((Ended *) other->data)->job->uid == uid;
                if (n > most) {
                        most = n;
                        spare = each;
                }
        }
        return spare;
}

static void forget_job(Jobs *jobs, GList *link) {
        g_autofree Ended *ended = link->data;

        g_queue_delete_link(&jobs->over, link);
        job_emit_removed(ended->job);
        g_ptr_array_remove(jobs->list, ended->job);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata);

static void arm(Jobs *jobs) {
        const Ended *oldest = g_queue_peek_head(&jobs->over);
        int r;

        jobs->timer = sd_event_source_disable_unref(jobs->timer);
        if (!oldest)
                return;

        r = sd_event_add_time(jobs->manager->event, &jobs->timer, CLOCK_MONOTONIC,
                              oldest->usec + FINISHED_USEC, G_USEC_PER_SEC, on_timer, jobs);
        if (r < 0)
                g_warning("Failed to arm a timer, ignoring: %s", g_strerror(-r));
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        uint64_t now = (uint64_t) g_get_monotonic_time();
        Jobs *jobs = userdata;
        const Ended *oldest;

        while ((oldest = g_queue_peek_head(&jobs->over)) && oldest->usec + FINISHED_USEC <= now)
                forget_job(jobs, jobs->over.head);
        arm(jobs);
        return 0;
}

void jobs_over(Jobs *jobs, Job *job) {
        Ended *ended = g_new(Ended, 1);

        jobs->active--;
        *ended = (Ended){ job, (uint64_t) g_get_monotonic_time() };
        g_queue_push_tail(&jobs->over, ended);

        job_emit_finished(job);
        for (unsigned i = 0; i < job->callers->len; i++)
                job_reply(job, job->callers->pdata[i]);
        g_ptr_array_set_size(job->callers, 0);
        audit_job(job);
        while (jobs->over.length > FINISHED_MAX)
                forget_job(jobs, find_spare(jobs));
        if (!jobs->timer)
                arm(jobs);
        restore_job_over(jobs->manager->restore, job);
        if (jobs->stopping && jobs->active == 0)
                manager_check_stopped(jobs->manager);
}

void jobs_stop(Jobs *jobs) {
        jobs->stopping = true;
        for (unsigned i = jobs->list->len; i > 0; i--)
                job_cancel(jobs->list->pdata[i - 1], "carved stops");
}

bool jobs_are_over(const Jobs *jobs) {
        return jobs->active == 0;
}

/* The same again, from the same user, while it is at work. One that stalled is on its way back. */
static Job *find_equal(Jobs *jobs, const char *key, uint32_t uid) {
        for (unsigned i = 0; i < jobs->list->len; i++) {
                Job *job = jobs->list->pdata[i];

                if (job->state <= JOB_RUNNING && !job->error && job->uid == uid &&
                    g_strcmp0(job->key, key) == 0)
                        return job;
        }
        return NULL;
}

/* A card that does not answer: nobody is to wait for it. And one that is not ours to change. */
static bool is_barred(Jobs *jobs, const CarvedOrder *order, const CarvedPlan *plan, GError **error) {
        unsigned n = plan ? plan->gpus->len : order->kind != CARVED_ORDER_DESTROY_VGPUS;

        for (unsigned i = 0; i < n; i++) {
                const CarvedPciAddress *address =
                        plan ? &g_array_index(plan->gpus, CarvedPciAddress, i) : &order->gpu;
                const CarvedGpu *gpu = carved_model_find_gpu(jobs->manager->model, address);
                char text[CARVED_PCI_ADDRESS_MAX];

                if (!gpu || (!gpu->stalled && manager_manages(jobs->manager, gpu)))
                        continue;
                g_clear_error(error);
                carved_pci_address_format(address, text);
                if (gpu->stalled)
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_STALLED, "GPU %s does not answer: %s",
                                    text, gpu->reason.text);
                else
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED,
                                    "GPU %s is not carved's to change: Manage=no stands in its configuration",
                                    text);
                return true;
        }
        return false;
}

/* Somebody works on it: what will be there when it is our turn is not known yet. */
static bool is_busy(Jobs *jobs, const CarvedOrder *order, const CarvedPlan *plan) {
        Reader *reader;

        for (unsigned i = 0; plan && i < plan->gpus->len; i++) {
                reader = manager_find_reader(jobs->manager, &g_array_index(plan->gpus, CarvedPciAddress, i));
                if (reader && reader_has_guests(reader))
                        return true;
        }
        if (plan || order->kind == CARVED_ORDER_DESTROY_VGPUS)
                return false;

        reader = manager_find_reader(jobs->manager, &order->gpu);
        return reader && reader_has_guests(reader);
}

static int reply_begun(Job *job, sd_bus_message *message) {
        char path[JOB_PATH_MAX];

        job_path(job, path);
        if (job->order->kind == CARVED_ORDER_CREATE_VGPU)
                return sd_bus_reply_method_return(message, "oo", "/", path);

        return sd_bus_reply_method_return(message, "o", path);
}

/* Held until the end, or answered now. */
static int answer(Job *job, const JobCall *call, sd_bus_error *error) {
        if (call->no_block)
                return reply_begun(job, call->message);
        if (job->callers->len >= CALLERS_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%u callers wait for job %" G_GUINT64_FORMAT " already", CALLERS_MAX,
                                         job->id);

        g_ptr_array_add(job->callers, sd_bus_message_ref(call->message));
        return 1;
}

static Job *add(Jobs *jobs, CarvedOrder *order, CarvedPlan *plan, Caller *caller) {
        Job *job = job_new(jobs->manager, ++jobs->last_id, caller ? caller->uid : 0, order, plan);

        job->caller = caller ? caller_ref(caller) : NULL;
        g_ptr_array_add(jobs->list, job);
        jobs->active++;
        job_emit_added(job);
        return job;
}

/* One user can fill only a part of the room. */
static unsigned count_active(const Jobs *jobs, uint32_t uid) {
        unsigned n = 0;

        for (unsigned i = 0; i < jobs->list->len; i++) {
                const Job *job = jobs->list->pdata[i];

                n += job->uid == uid && !job_is_over(job);
        }
        return n;
}

static int check(Jobs *jobs, uint32_t uid, sd_bus_error *error) {
        if (jobs->stopping)
                return bus_error_set(error, CARVED_ERROR_CANCELLED, "carved stops");
        if (jobs->active >= ACTIVE_MAX)
                return bus_error_set(error, CARVED_ERROR_LIMITS_EXCEEDED, "Too many jobs wait already");
        if (uid != 0 && count_active(jobs, uid) >= PER_USER_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%u jobs of uid %u wait already", PER_USER_MAX, uid);

        return 0;
}

int jobs_order(Jobs *jobs, CarvedOrder *given, const JobCall *call, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = given;
        g_autoptr(CarvedPlan) plan = NULL;
        g_autoptr(GError) e = NULL;
        g_autofree char *key = carved_order_key(order);
        bool busy, empty;
        Job *job;
        int r;

        r = check(jobs, call->caller->uid, error);
        if (r < 0)
                return r;
        job = call->dry_run ? NULL : find_equal(jobs, key, call->caller->uid);
        if (job)
                return answer(job, call, error);

        plan = carved_plan_make(jobs->manager->model, order, &e);
        busy = is_busy(jobs, order, plan);
        if (is_barred(jobs, order, plan, &e) || (!plan && (call->dry_run || !busy)))
                return bus_error_from_gerror(error, e);

        /* That all is as it is wanted is known only after a look: not every change sends an event. */
        empty = plan && plan->steps->len == 0 && !carved_plan_changes_intent(plan) && !busy &&
                order->kind != CARVED_ORDER_RESYNC;
        job = add(jobs, g_steal_pointer(&order), g_steal_pointer(&plan), call->caller);
        if (call->dry_run) {
                job->dry_run = true;
                job_finish_at_once(job);
                return reply_begun(job, call->message);
        }

        r = answer(job, call, error);
        if (empty)
                job_finish_at_once(job);
        else
                job_start(job);
        return r;
}

void jobs_restore(Jobs *jobs, const CarvedPciAddress *gpu, bool settle) {
        CarvedOrder *order;

        if (jobs->stopping)
                return;

        order = order_new(CARVED_ORDER_RESTORE, gpu);
        order->settle = settle;
        job_start(add(jobs, order, /* plan= */ NULL, /* caller= */ NULL));
}

void job_reply(Job *job, sd_bus_message *message) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        char path[JOB_PATH_MAX], vgpu_path[OBJECT_PATH_MAX] = "/";
        bool adopts_one = job->order->kind == CARVED_ORDER_ADOPT && job->order->uuids;
        const CarvedVgpu *vgpu = NULL;
        int r;

        job_path(job, path);
        if (job->order->kind == CARVED_ORDER_CREATE_VGPU || adopts_one)
                vgpu = carved_model_find_vgpu(job->manager->model,
                                              job->order->adopt_as ?: job->order->uuids[0]);
        if (vgpu)
                object_path_of_vgpu(vgpu, vgpu_path);

        if (job->error) {
                bus_error_from_gerror(&error, job->error);
                r = sd_bus_reply_method_error(message, &error);
        } else if (job->order->kind == CARVED_ORDER_CREATE_VGPU)
                r = sd_bus_reply_method_return(message, "oo", vgpu_path, path);
        else if (adopts_one)
                r = sd_bus_reply_method_return(message, "o", vgpu_path);
        else
                r = sd_bus_reply_method_return(message, "o", path);
        if (r < 0)
                g_debug("Failed to answer a caller, ignoring: %s", g_strerror(-r));
}
