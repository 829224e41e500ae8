/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "error.h"
#include "job-run.h"
#include "keeper.h"

static const char *const state_names[_JOB_STATE_MAX] = {
        [JOB_WAITING] = "waiting", [JOB_RUNNING] = "running", [JOB_STALLED] = "stalled",
        [JOB_DONE] = "done",       [JOB_FAILED] = "failed",   [JOB_CANCELLED] = "cancelled",
};

const char *job_state_to_string(JobState state) {
        return state_names[state];
}

bool job_is_over(const Job *job) {
        return job->state >= JOB_DONE;
}

static void clear_place(void *p) {
        Place *place = p;

        carved_gpu_free(place->glance);
        carved_gpu_free(place->seen);
}

static void free_step(void *p) {
        carved_step_free(p);
}

static void free_message(void *p) {
        sd_bus_message_unref(p);
}

static void run_free(JobRun *run) {
        if (!run)
                return;

        sd_event_source_disable_unref(run->timer);
        sd_event_source_disable_unref(run->deadline);
        g_array_unref(run->places);
        g_ptr_array_unref(run->undo);
        g_string_free(run->stayed, TRUE);
        g_hash_table_unref(run->failures);
        carved_outcome_clear(&run->outcome);
        g_free(run);
}

static void add_place(JobRun *run, Manager *m, const CarvedPciAddress *address) {
        Place place = { .reader = manager_find_reader(m, address), .address = *address };

        g_array_append_val(run->places, place);
}

static JobRun *run_new(Manager *m, const CarvedOrder *order, const CarvedPlan *plan) {
        JobRun *run = g_new0(JobRun, 1);

        run->places = g_array_new(FALSE, TRUE, sizeof(Place));
        g_array_set_clear_func(run->places, clear_place);
        run->undo = g_ptr_array_new_with_free_func(free_step);
        run->stayed = g_string_new(NULL);
        run->failures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        run->best_effort = carved_order_is_best_effort(order);
        run->entry = keeper_next_id(m->keeper);
        for (unsigned i = 0; plan && i < plan->gpus->len; i++)
                add_place(run, m, &g_array_index(plan->gpus, CarvedPciAddress, i));
        if (!plan)
                add_place(run, m, &order->gpu);
        return run;
}

Job *job_new(Manager *m, uint64_t id, uint32_t uid, CarvedOrder *order, CarvedPlan *plan) {
        Job *job = g_new0(Job, 1);

        job->manager = m;
        job->id = id;
        job->uid = uid;
        job->order = order;
        job->plan = plan;
        /* Without a UUID each call makes a new one, however alike they are. */
        if (order->kind != CARVED_ORDER_CREATE_VGPU || order->uuid_given)
                job->key = carved_order_key(order);
        job->words = plan ? carved_plan_describe(plan) : g_new0(char *, 1);
        job->started = (uint64_t) g_get_real_time();
        job->callers = g_ptr_array_new_with_free_func(free_message);
        job->run = run_new(m, order, plan);
        return job;
}

Job *job_free(Job *job) {
        if (!job)
                return NULL;

        for (unsigned i = 0; job->run && i < job->run->places->len; i++) {
                const Place *place = &g_array_index(job->run->places, Place, i);

                if (place->reader)
                        reader_evict(place->reader, job);
        }
        run_free(job->run);
        carved_order_free(job->order);
        caller_unref(job->caller);
        carved_plan_free(job->plan);
        g_strfreev(job->words);
        g_free(job->key);
        g_clear_error(&job->error);
        g_clear_pointer(&job->failures, g_hash_table_unref);
        g_ptr_array_unref(job->callers);
        g_free(job);
        return NULL;
}

void job_describe(Job *job) {
        g_strfreev(job->words);
        job->words = carved_plan_describe(job->plan);
}

void job_set_state(Job *job, JobState state) {
        if (job->state == state)
                return;

        job->state = state;
        job_emit_changed(job);
}

/* The first thing that went wrong is the one to tell. */
void job_set_error(Job *job, GError *error) {
        if (job->error)
                g_error_free(error);
        else
                job->error = error;
}

static void apply_busy(Job *job, const Place *place, bool busy) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_BUSY, .address = place->address, .busy = busy };

        manager_apply(job->manager, &update);
}

void job_finish(Job *job, JobState state) {
        JobRun *run = g_steal_pointer(&job->run);

        job->failures = g_hash_table_ref(run->failures);
        for (unsigned i = 0; i < run->places->len; i++) {
                Place *place = &g_array_index(run->places, Place, i);

                if (place->ready)
                        apply_busy(job, place, false);
        }
        /* Before the next one starts and says its own. */
        job->state = state;
        job_emit_changed(job);
        jobs_over(job->manager->jobs, job);
        for (unsigned i = 0; i < run->places->len; i++) {
                Place *place = &g_array_index(run->places, Place, i);

                if (place->reader)
                        reader_leave(place->reader, job);
        }
        run_free(run);
}

void job_finish_at_once(Job *job) {
        g_clear_pointer(&job->run, run_free);
        job->state = JOB_DONE;
        jobs_over(job->manager->jobs, job);
}

void job_finish_with_error(Job *job) {
        job_close_entry(job);
        if (job->run->stayed->len > 0) {
                GError *first = g_steal_pointer(&job->error);

                job->error = g_error_new(CARVED_ERROR, CARVED_ERROR_UNDO_FAILED, "%s. Not undone: %s",
                                         first->message, job->run->stayed->str);
                g_error_free(first);
        }
        job_finish(job, g_error_matches(job->error, CARVED_ERROR, CARVED_ERROR_CANCELLED) ? JOB_CANCELLED
                                                                                          : JOB_FAILED);
}

Place *job_find_place(Job *job, const CarvedPciAddress *address) {
        for (unsigned i = 0; i < job->run->places->len; i++) {
                Place *place = &g_array_index(job->run->places, Place, i);

                if (carved_pci_address_compare(&place->address, address) == 0)
                        return place;
        }
        return NULL;
}

/* The step that is under way, there or back; NULL: none is. */
CarvedStep *job_current_step(Job *job) {
        JobRun *run = job->run;

        if (run->phase == PHASE_UNDO)
                return run->undone < run->undo->len ? run->undo->pdata[run->undone] : NULL;

        return job->plan && job->step < job->plan->steps->len ? job->plan->steps->pdata[job->step] : NULL;
}

/* ---- what the reader says ---- */

/* Who was promised an answer gets one; the work itself can't be stopped, and is undone when it comes back. */
static void fell_behind(Job *job, Reader *reader) {
        g_autofree char *words =
                job->words[job->step] ? g_strdup(job->words[job->step]) : g_strdup("looking");

        reader_show_stalled(reader);
        if (job->run->late || job->run->phase == PHASE_UNDO || job->run->phase == PHASE_REST) {
                job_set_state(job, JOB_STALLED);
                return;
        }

        job->run->late = !job->run->best_effort;
        job_set_error(job, g_error_new(CARVED_ERROR, CARVED_ERROR_STALLED,
                                       "The kernel does not answer: %s. It %s when it comes back", words,
                                       job->run->late ? "is undone" : "goes on"));
        job_set_state(job, JOB_STALLED);
        for (unsigned i = 0; i < job->callers->len; i++)
                job_reply(job, job->callers->pdata[i]);
        g_ptr_array_set_size(job->callers, 0);
        if (job->run->best_effort)
                g_clear_error(&job->error);
}

/* FRAME_OUTCOME_TYPE; false: it is none. */
static bool take_answer(Place *place, GVariant *value, CarvedOutcome *ret) {
        g_autoptr(GVariant) outcome = NULL, glance = NULL;

        if (!g_variant_is_of_type(value, G_VARIANT_TYPE(FRAME_OUTCOME_TYPE)))
                return false;

        g_variant_get(value, FRAME_OUTCOME_TYPE, &outcome, &glance);
        carved_gpu_free(place->glance);
        place->glance = glance ? reader_decode(place->reader, glance) : NULL;
        return carved_outcome_from_variant(outcome, ret);
}

static void on_answer(Reader *reader, WorkerEvent event, GVariant *value, const char *text, void *userdata) {
        Job *job = userdata;
        JobRun *run = job->run;
        Place *place = job_find_place(job, &reader_found(reader)->address);
        bool look = run->looking || run->phase == PHASE_SURVEY || run->phase == PHASE_EXPLAIN ||
                    run->phase == PHASE_VERIFY || run->phase == PHASE_REST;
        CarvedOutcome outcome = { 0 };

        if (event == WORKER_HELD || event == WORKER_LATE) {
                fell_behind(job, reader);
                return;
        }

        run->asked = false;
        if (job->state == JOB_STALLED)
                job_set_state(job, JOB_RUNNING);
        if (look && event == WORKER_DONE) {
                carved_gpu_free(place->seen);
                place->seen = reader_decode(reader, value);
                job_take_look(job, place);
        } else if (event == WORKER_DONE && take_answer(place, value, &outcome))
                job_take_outcome(job, &outcome);
        else if (run->looking) {
                /* A look that failed: the next may not. */
                run->looking = false;
                job_seen_while_waiting(job, place);
        } else
                job_worker_failed(job, text ?: "The worker process answered nonsense");
}

static void on_poked(Reader *reader, void *userdata) {
        Job *job = userdata;

        /* Too late for the look that is under way: another must follow it. */
        if (job->run->looking)
                job->run->poked = true;
        if (!job->run->waiting)
                return;

        job->run->timer = sd_event_source_disable_unref(job->run->timer);
        job_look_while_waiting(job);
}

/* Is this the GPU that the job works on, or looks at, this moment? */
static bool is_at(Job *job, const Place *place) {
        JobRun *run = job->run;
        const CarvedStep *step = job_current_step(job);

        if (run->phase == PHASE_PREPARE || run->phase == PHASE_COMMIT)
                return false;
        if (run->phase == PHASE_SURVEY || run->phase == PHASE_VERIFY || run->phase == PHASE_REST)
                return place == &g_array_index(run->places, Place, run->look);

        return step && carved_pci_address_compare(&step->gpu, &place->address) == 0;
}

static void on_gone(Reader *reader, void *userdata) {
        Job *job = userdata;
        Place *place = job_find_place(job, &reader_found(reader)->address);
        char address[CARVED_PCI_ADDRESS_MAX];

        carved_pci_address_format(&place->address, address);
        place->reader = NULL;
        g_clear_pointer(&place->seen, carved_gpu_free);
        job_set_error(job,
                      g_error_new(CARVED_ERROR, CARVED_ERROR_NO_SUCH_GPU, "GPU %s was taken away", address));
        if (job->run->phase == PHASE_QUEUED) {
                job_finish_with_error(job);
                return;
        }

        /* Of several, another may be the one at work: the job turns back when that is through. */
        job->run->late = true;
        if (!is_at(job, place))
                return;

        job->run->asked = false;
        switch (job->run->phase) {
        case PHASE_UNDO:
                job_next_undo(job);
                break;
        case PHASE_REST:
                job_worker_failed(job, "The card is gone");
                break;
        default:
                carved_outcome_clear(&job->run->outcome);
                job_go_back(job);
        }
}

static void begin(Job *job) {
        for (unsigned i = 0; i < job->run->places->len; i++)
                if (!g_array_index(job->run->places, Place, i).ready)
                        return;

        for (unsigned i = 0; i < job->run->places->len; i++)
                apply_busy(job, &g_array_index(job->run->places, Place, i), true);
        job->run->phase = PHASE_SURVEY;
        job_survey(job);
}

static void on_start(Reader *reader, void *userdata) {
        Job *job = userdata;

        job_find_place(job, &reader_found(reader)->address)->ready = true;
        begin(job);
}

static const ReaderGuest guest = { on_start, on_answer, on_poked, on_gone };

void job_start(Job *job) {
        /* All at once, in order of address: nobody waits for one of ours while we wait for one of his. */
        g_autoptr(GPtrArray) readers = g_ptr_array_new();

        for (unsigned i = 0; i < job->run->places->len; i++) {
                Place *place = &g_array_index(job->run->places, Place, i);

                if (place->reader)
                        g_ptr_array_add(readers, place->reader);
                else
                        place->ready = true; /* a card that is gone: there is nothing to do but to forget */
        }
        for (unsigned i = 0; i < readers->len; i++)
                reader_enter(readers->pdata[i], &guest, job);
        if (readers->len == 0)
                begin(job);
}

void job_cancel(Job *job, const char *why) {
        if (job_is_over(job))
                return;

        if (job->run->phase == PHASE_QUEUED) {
                job_set_error(job, g_error_new_literal(CARVED_ERROR, CARVED_ERROR_CANCELLED, why));
                job_finish_with_error(job);
                return;
        }
        if ((job->run->phase != PHASE_STEPS && job->run->phase != PHASE_SURVEY &&
             job->run->phase != PHASE_PREPARE) ||
            job->run->cancel)
                return;

        job->run->cancel = true;
        /* Between steps already: nothing is in the kernel. */
        if (job->run->waiting || job->run->timer) {
                carved_outcome_clear(&job->run->outcome);
                job_stop_here(job);
        }
}
