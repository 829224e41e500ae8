/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "error.h"
#include "explain.h"
#include "job-run.h"
#include "restore.h"

/* A client of NVIDIA's driver, or a VM that just ended, lets go within seconds: the field's numbers. */
#define RETRY_USEC  G_USEC_PER_SEC
#define RETRIES_MAX 10U
#define UNLOCK_MAX  5U

/* A worker that dies under an undo is replaced so many times. */
#define DEATHS_MAX 3U

/* NVIDIA's vendor VFIO tells by no event that types are there. So while a job waits for them, and only then,
 * it looks again after 1, 2, 4 … seconds: the one exception to no polling. */
#define RELOOK_USEC G_USEC_PER_SEC

bool job_is_wait(const CarvedStep *step) {
        return step && step->kind == CARVED_STEP_WAIT;
}

/* ---- asking a worker ---- */

static void ask_step(Job *job, const CarvedStep *step) {
        Place *place = job_find_place(job, &step->gpu);
        int r;

        if (!place->reader) {
                /* With the card, all that was on it is gone: there is nothing left to undo. */
                if (job->run->phase == PHASE_UNDO)
                        job_next_undo(job);
                else
                        job_worker_failed(job, "The card is gone");
                return;
        }

        job->run->asked = true;
        r = reader_ask(
                place->reader, FRAME_STEP,
                g_variant_new(FRAME_STEP_TYPE, carved_step_to_variant(step), job_choose_glance(job, step)),
                job->manager->config.step_timeout_usec);
        if (r < 0) {
                job->run->asked = false;
                job_worker_failed(job, g_strerror(-r));
        }
}

/* What NVIDIA's library changes is seen by asking it. */
static bool job_is_about_mig(const Job *job) {
        if (carved_order_is_mig(job->order))
                return true;
        for (unsigned i = 0; job->plan && i < job->plan->steps->len; i++)
                if (carved_step_is_nvml(job->plan->steps->pdata[i]))
                        return true;

        return false;
}

bool job_ask_look(Job *job, Place *place) {
        int r;

        if (!place->reader)
                return false;

        if (job_is_about_mig(job))
                reader_deepen(place->reader, CARVED_DEPTH_SURE);
        job->run->asked = true;
        r = reader_ask_look(place->reader);
        if (r < 0)
                job->run->asked = false;
        return r >= 0;
}

/* ---- steps that wait ---- */

void job_clear_wait(JobRun *run) {
        run->waiting = run->looking = run->poked = false;
        run->retries = run->relooks = run->deaths = 0;
        run->timer = sd_event_source_disable_unref(run->timer);
        run->deadline = sd_event_source_disable_unref(run->deadline);
}

void job_look_while_waiting(Job *job) {
        Place *place = job_find_place(job, &job_current_step(job)->gpu);

        job->run->waiting = job->run->poked = false;
        job->run->looking = job_ask_look(job, place);
        if (!job->run->looking)
                job_worker_failed(job, "The card can't be looked at");
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Job *job = userdata;

        job->run->timer = sd_event_source_disable_unref(job->run->timer);
        if (job_is_wait(job_current_step(job)))
                job_look_while_waiting(job);
        else
                ask_step(job, job_current_step(job));
        return 0;
}

static void arm_timer(Job *job, uint64_t usec) {
        int r;

        r = sd_event_add_time_relative(job->manager->event, &job->run->timer, CLOCK_MONOTONIC, usec, 0,
                                       on_timer, job);
        if (r < 0)
                g_warning("Failed to arm a timer, ignoring: %s", g_strerror(-r));
}

static void wait_failed(Job *job) {
        const CarvedStep *step = job_current_step(job);
        Place *place = job_find_place(job, &step->gpu);
        GError *error = carved_explain_wait(step, place->seen);

        if (job->run->phase == PHASE_UNDO) {
                job_note_stayed(job, step, error->message);
                g_error_free(error);
                job_next_undo(job);
                return;
        }
        if (job->run->best_effort) {
                job_pass_over(job, error);
                return;
        }
        job_set_error(job, error);
        job_go_back(job);
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        Job *job = userdata;

        job->run->deadline = sd_event_source_disable_unref(job->run->deadline);
        if (job->run->waiting)
                wait_failed(job);
        return 0; /* in a look: its answer is the last one */
}

void job_seen_while_waiting(Job *job, Place *place) {
        JobRun *run = job->run;

        run->looking = false;
        if (run->phase == PHASE_STEPS && job_is_stopping(job)) {
                carved_outcome_clear(&run->outcome);
                job_stop_here(job);
                return;
        }
        if (place->seen && carved_step_is_done(job_current_step(job), place->seen)) {
                if (run->phase == PHASE_UNDO)
                        job_next_undo(job);
                else
                        job_next_step(job);
                return;
        }
        if (!run->deadline) {
                wait_failed(job);
                return;
        }

        if (run->poked) {
                job_look_while_waiting(job);
                return;
        }
        run->waiting = true;
        if (place->seen && place->seen->framework != CARVED_FRAMEWORK_MDEV)
                arm_timer(job, RELOOK_USEC << MIN(run->relooks, 5U));
        run->relooks++;
}

static void begin_wait(Job *job) {
        int r;

        r = sd_event_add_time_relative(job->manager->event, &job->run->deadline, CLOCK_MONOTONIC,
                                       job->manager->config.step_timeout_usec, 0, on_deadline, job);
        if (r < 0)
                g_warning("Failed to arm a deadline, ignoring: %s", g_strerror(-r));
        job_look_while_waiting(job);
}

/* ---- there ---- */

bool job_is_stopping(const Job *job) {
        return job->run->late || job->run->cancel;
}

void job_stop_here(Job *job) {
        if (job->run->cancel)
                job_set_error(job, g_error_new_literal(CARVED_ERROR, CARVED_ERROR_CANCELLED,
                                                       "The job was cancelled"));
        job_go_back(job);
}

void job_run_step(Job *job) {
        CarvedStep *step = job_current_step(job);

        if (!step) {
                job_look_at_all(job, job->run->phase == PHASE_UNDO ? PHASE_REST : PHASE_VERIFY);
                return;
        }
        if (job->run->phase == PHASE_STEPS)
                job->run->reached = job->step + 1;
        restore_progress(job->manager->restore, job);
        if (job_is_wait(step) && job->run->undo_failed) {
                job_next_undo(job);
                return;
        }
        job->run->undo_failed = false;
        if (job_is_wait(step) && job_find_place(job, &step->gpu)->reader)
                begin_wait(job);
        else
                ask_step(job, step);
}

void job_note_failure(Job *job, const char *uuid, GError *error) {
        if (!g_hash_table_contains(job->run->failures, uuid))
                g_hash_table_insert(job->run->failures, g_strdup(uuid), g_strdup(error->message));
        g_error_free(error);
}

/* What failed for the card leaves nothing to do for its vGPUs; but new VFs are the drivers' again. */
bool job_is_passed_over(Job *job, const CarvedStep *step) {
        if (!job->run->best_effort || step->undo || step->kind == CARVED_STEP_AUTOPROBE)
                return false;

        return g_hash_table_contains(job->run->failures, "") ||
               g_hash_table_contains(job->run->failures, step->uuid);
}

void job_pass_over(Job *job, GError *error) {
        const CarvedStep *step = job_current_step(job);
        g_autoptr(GPtrArray) back = NULL;

        job_clear_wait(job->run);
        job->run->phase = PHASE_STEPS;
        /* A half-done step is not left half done. */
        if (!step->undo && job_may_have_acted(job, step)) {
                back = carved_step_inverse(step);
                for (unsigned i = 1; back->len > 0; i++)
                        g_ptr_array_insert(job->plan->steps, (int) (job->step + i),
                                           g_ptr_array_steal_index(back, 0));
                job_describe(job);
        }
        job_note_failure(job, step->uuid, error);
        carved_outcome_clear(&job->run->outcome);
        job_next_step(job);
}

void job_next_step(Job *job) {
        job_clear_wait(job->run);
        do
                job->step++;
        while (job->step < job->plan->steps->len &&
               job_is_passed_over(job, job->plan->steps->pdata[job->step]));
        if (job_is_stopping(job)) {
                job_stop_here(job);
                return;
        }
        if (job->step < job->plan->steps->len)
                job_emit_changed(job);
        job_run_step(job);
}

/* What it can't be done for now may pass in a moment: somebody lets go. */
static bool try_again(Job *job, const CarvedOutcome *outcome) {
        const CarvedStep *step = job_current_step(job);
        unsigned max = step->kind == CARVED_STEP_SRIOV_MANAGE ? UNLOCK_MAX : RETRIES_MAX;

        if (!outcome->again || job->run->retries >= max || job_is_stopping(job))
                return false;

        job->run->retries++;
        arm_timer(job, step->kind == CARVED_STEP_SRIOV_MANAGE ? job->run->retries * RETRY_USEC : RETRY_USEC);
        return true;
}

static void step_failed(Job *job) {
        const CarvedStep *step = job_current_step(job);

        if (job->run->phase == PHASE_UNDO) {
                const CarvedOutcome *o = &job->run->outcome;

                job_note_stayed(job, step, o->output ?: g_strerror(o->errnum));
                job->run->undo_failed = true;
                job_next_undo(job);
                return;
        }

        job->run->phase = PHASE_EXPLAIN;
        if (!job_ask_look(job, job_find_place(job, &step->gpu)))
                job_worker_failed(job, "The card can't be looked at");
}

void job_take_outcome(Job *job, CarvedOutcome *outcome) {
        JobRun *run = job->run;

        if (job_current_step(job)->kind == CARVED_STEP_SRIOV_MANAGE)
                manager_catch_up(job->manager);

        if (outcome->errnum == 0) {
                carved_outcome_clear(outcome);
                if (run->phase == PHASE_UNDO)
                        job_next_undo(job);
                else
                        job_next_step(job);
                return;
        }
        if (try_again(job, outcome)) {
                carved_outcome_clear(outcome);
                return;
        }

        carved_outcome_clear(&run->outcome);
        run->outcome = *outcome;
        step_failed(job);
}

/* The worker died, or there is none: nobody knows what it did. */
void job_worker_failed(Job *job, const char *text) {
        JobRun *run = job->run;
        const CarvedStep *step = job_current_step(job);

        switch (run->phase) {
        case PHASE_STEPS:
                carved_outcome_clear(&run->outcome);
                if (run->best_effort && step) {
                        job_pass_over(job, g_error_new(CARVED_ERROR, CARVED_ERROR_FAILED, "%s", text));
                        break;
                }
                job_set_error(job, g_error_new(CARVED_ERROR, CARVED_ERROR_FAILED, "%s", text));
                job_go_back(job);
                break;
        case PHASE_UNDO:
                if (run->deaths++ < DEATHS_MAX && job_find_place(job, &step->gpu)->reader) {
                        if (job_is_wait(step))
                                job_look_while_waiting(job);
                        else
                                ask_step(job, step);
                        break;
                }
                job_note_stayed(job, step, text);
                job_next_undo(job);
                break;
        case PHASE_EXPLAIN:
                if (run->best_effort) {
                        job_pass_over(job, carved_explain(step, &run->outcome, NULL));
                        break;
                }
                job_set_error(job, carved_explain(step, &run->outcome, NULL));
                job_go_back(job);
                break;
        case PHASE_VERIFY:
                job_set_error(job, g_error_new(CARVED_ERROR, CARVED_ERROR_FAILED,
                                               "What was done can't be seen: %s", text));
                carved_outcome_clear(&run->outcome);
                job_go_back(job);
                break;
        case PHASE_REST:
                run->look++;
                job_look_at_all(job, PHASE_REST);
                break;
        case PHASE_SURVEY:
                job_set_error(job, g_error_new(CARVED_ERROR, CARVED_ERROR_FAILED, "%s", text));
                job_finish_with_error(job);
                break;
        case PHASE_QUEUED:
        case PHASE_PREPARE:
        case PHASE_COMMIT:
                break;
        }
}
