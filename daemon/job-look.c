/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "explain.h"
#include "glance.h"
#include "job-run.h"

/* ---- back ---- */

void job_note_stayed(Job *job, const CarvedStep *step, const char *why) {
        g_autofree char *words = carved_step_describe(step);

        g_string_append_printf(job->run->stayed, "%s%s (%s)", job->run->stayed->len > 0 ? "; " : "", words,
                               why);
}

/* A write that the kernel refused has done nothing, and what it failed on may be another's. But not all steps
 * are one write, and of a worker that died nobody knows how far it came. */
bool job_may_have_acted(Job *job, const CarvedStep *step) {
        if (job->run->outcome.errnum == 0)
                return true;
        /* Our own word about it: the kernel took it, and it is not what was asked for. */
        if (step->kind == CARVED_STEP_NUMVFS)
                return job->run->outcome.output != NULL;
        if (step->kind == CARVED_STEP_CREATE || step->kind == CARVED_STEP_REMOVE)
                return step->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;

        return step->kind == CARVED_STEP_SRIOV_MANAGE && !job->run->outcome.in_use;
}

static void plan_undo(Job *job) {
        for (unsigned i = job->run->reached; i > 0; i--) {
                const CarvedStep *step = job->plan->steps->pdata[i - 1];
                g_autoptr(GPtrArray) back = NULL;

                if (i == job->step + 1 && !job_may_have_acted(job, step))
                        continue;
                back = carved_step_inverse(step);
                while (back->len > 0)
                        g_ptr_array_add(job->run->undo, g_ptr_array_steal_index(back, 0));
        }
}

/* With job->error set. */
void job_go_back(Job *job) {
        job_clear_wait(job->run);
        if (!job->run->best_effort)
                plan_undo(job);
        job->run->phase = PHASE_UNDO;
        job_set_state(job, JOB_RUNNING);
        job_run_step(job);
}

void job_next_undo(Job *job) {
        job_clear_wait(job->run);
        job->run->undone++;
        job_run_step(job);
}

/* ---- before ---- */

/* The plan was made when the job was: the world may not be what it was. */
static CarvedPlan *plan_anew(Job *job, GError **error) {
        g_autoptr(CarvedPlan) plan = carved_plan_make(job->manager->model, job->order, error);

        for (unsigned i = 0; plan && i < plan->gpus->len; i++)
                if (!job_find_place(job, &g_array_index(plan->gpus, CarvedPciAddress, i))) {
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_CONFLICT,
                                    "A vGPU is on another card than when it was asked for; try again");
                        return NULL;
                }
        return g_steal_pointer(&plan);
}

static void note_failures(Job *job, const CarvedPlan *plan) {
        GHashTableIter iter;
        void *uuid, *text;

        g_hash_table_iter_init(&iter, plan->failures);
        while (g_hash_table_iter_next(&iter, &uuid, &text))
                g_hash_table_replace(job->run->failures, g_strdup(uuid), g_strdup(text));
}

static void take_plan(Job *job, CarvedPlan *plan) {
        carved_plan_free(job->plan);
        job->plan = plan;
        job_describe(job);
        note_failures(job, plan);
}

static void begin(Job *job) {
        GError *error = NULL;
        CarvedPlan *plan = plan_anew(job, &error);

        if (!plan) {
                job_set_error(job, error);
                job_finish_with_error(job);
                return;
        }

        take_plan(job, plan);
        if (plan->steps->len == 0 && !carved_plan_changes_intent(plan) &&
            g_hash_table_size(job->run->failures) == 0)
                job_finish(job, JOB_DONE);
        else
                job_prepare(job);
}

/* Vendor VFIO, parameters and GPU instances change without an event; and switching VFs off takes all that is
 * on them. */
static bool needs_look(Job *job, const Place *place) {
        const CarvedGpu *gpu = carved_model_find_gpu(job->manager->model, &place->address);

        return carved_order_is_mig(job->order) || job->order->kind == CARVED_ORDER_DISABLE_VFS ||
               (job->order->kind == CARVED_ORDER_ENABLE_VFS && gpu && gpu->mig && gpu->mig->enabled) ||
               job->order->kind == CARVED_ORDER_RESYNC ||
               (job->order->kind == CARVED_ORDER_DESTROY_VGPUS && gpu &&
                gpu->framework == CARVED_FRAMEWORK_VENDOR_VFIO);
}

void job_survey(Job *job) {
        JobRun *run = job->run;

        for (; run->look < run->places->len && !job_is_stopping(job); run->look++) {
                Place *place = &g_array_index(run->places, Place, run->look);

                if (needs_look(job, place) && job_ask_look(job, place))
                        return;
        }
        if (run->cancel)
                job_set_error(job, g_error_new_literal(CARVED_ERROR, CARVED_ERROR_CANCELLED,
                                                       "The job was cancelled"));
        if (job_is_stopping(job))
                job_finish_with_error(job);
        else
                begin(job);
}

static void survey_seen(Job *job, Place *place) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ,
                                .address = place->address,
                                .gpu = g_steal_pointer(&place->seen) };

        if (update.gpu)
                manager_apply(job->manager, &update);
        job->run->look++;
        job_survey(job);
}

/* ---- looks ---- */

/* Nothing was done yet, and the world is not what the plan was made for: once more, with another plan. */
static bool replan(Job *job, Place *place) {
        g_autoptr(CarvedPlan) plan = NULL;
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ, .address = place->address };

        if (job->step > 0 || job->run->replanned || job->run->outcome.in_use || job->run->places->len > 1 ||
            job->run->best_effort)
                return false;

        job->run->replanned = true;
        update.gpu = g_steal_pointer(&place->seen);
        manager_apply(job->manager, &update);
        plan = carved_plan_make(job->manager->model, job->order, NULL);
        if (!plan || carved_plan_equal(plan, job->plan))
                return false;

        take_plan(job, g_steal_pointer(&plan));
        carved_outcome_clear(&job->run->outcome);
        job_emit_changed(job);
        job_prepare(job); /* once more: it may make others now */
        return true;
}

static void explain(Job *job, Place *place) {
        const CarvedStep *step = job_current_step(job);

        if (place->seen)
                carved_model_merge(job->manager->model, place->seen);
        job_set_error(job, carved_explain(step, &job->run->outcome, place->seen));
        if (place->seen && !job_is_stopping(job) && !job_may_have_acted(job, step) && replan(job, place)) {
                g_clear_error(&job->error);
                return;
        }
        if (job->run->best_effort && !job_is_stopping(job))
                job_pass_over(job, g_steal_pointer(&job->error));
        else
                job_go_back(job);
}

/* Whatever was left of an earlier switch of its VFs. */
static bool has_rebound(Job *job, const CarvedPciAddress *gpu) {
        for (unsigned i = 0; i < job->plan->steps->len; i++) {
                const CarvedStep *step = job->plan->steps->pdata[i];

                if ((step->kind == CARVED_STEP_REBIND || step->kind == CARVED_STEP_SRIOV_MANAGE) &&
                    carved_pci_address_compare(&step->gpu, gpu) == 0)
                        return !g_hash_table_contains(job->run->failures, "");
        }
        return false;
}

static void show(Job *job, Place *place, bool committed) {
        CarvedIntentChange change = { 0 };
        const CarvedGpu *gpu = carved_model_find_gpu(job->manager->model, &place->address);
        CarvedUpdate update = { .kind = place->seen ? CARVED_UPDATE_READ : CARVED_UPDATE_INTENT,
                                .address = place->address,
                                .gpu = g_steal_pointer(&place->seen),
                                .failures = job->run->failures,
                                .rebound = has_rebound(job, &place->address) };

        if (committed && gpu) {
                change = carved_plan_change(job->plan, gpu);
                update.intent = &change;
        }
        manager_apply(job->manager, &update);
        if (place->reader && update.kind == CARVED_UPDATE_READ)
                reader_served(place->reader);
        if (place->reader && place->glanced)
                reader_poke(place->reader);
}

/* What could not be made before now can: best effort, on top of what is done for good. */
static bool go_on(Job *job) {
        g_autoptr(CarvedPlan) more = NULL;

        if (job->run->continued || job->plan->steps->len == 0)
                return false;
        more = carved_plan_continue(job->manager->model, job->order);
        if (!more || (more->steps->len == 0 && g_hash_table_size(more->failures) == 0))
                return false;

        job->run->continued = job->run->best_effort = true;
        note_failures(job, more);
        while (more->steps->len > 0)
                g_ptr_array_add(job->plan->steps, g_ptr_array_steal_index(more->steps, 0));
        job_describe(job);
        job->run->phase = PHASE_STEPS;
        job_emit_changed(job);
        job_run_step(job);
        return true;
}

/* Of a best effort: the first thing that failed, and how many. */
static void set_failed(Job *job) {
        GHashTableIter iter;
        void *first;
        const char *text;

        g_hash_table_iter_init(&iter, job->run->failures);
        if (!carved_order_is_best_effort(job->order) || !g_hash_table_iter_next(&iter, NULL, &first))
                return;
        /* What failed for the card is why the rest did. */
        text = g_hash_table_lookup(job->run->failures, "");

        job_set_error(job,
                      g_error_new(CARVED_ERROR, CARVED_ERROR_FAILED, "%u could not be made as wanted: %s",
                                  g_hash_table_size(job->run->failures), text ?: (const char *) first));
}

void job_committed(Job *job) {
        bool changed = carved_plan_changes_intent(job->plan) && !job->run->continued;

        for (unsigned i = 0; i < job->run->places->len; i++)
                show(job, &g_array_index(job->run->places, Place, i), changed);
        if (go_on(job))
                return;

        job->step = job->plan->steps->len;
        job_close_entry(job); /* of a best effort that had one */
        set_failed(job);
        job_finish(job, job->error ? JOB_FAILED : JOB_DONE);
}

/* Was it only waited for on the way to something else? */
static bool is_on_the_way(const Job *job, unsigned i) {
        const CarvedStep *step = job->plan->steps->pdata[i];

        for (unsigned j = i + 1; job_is_wait(step) && j < job->plan->steps->len; j++) {
                const CarvedStep *later = job->plan->steps->pdata[j];

                if (job_is_wait(later) && carved_pci_address_compare(&later->gpu, &step->gpu) == 0)
                        return true;
        }
        return false;
}

/* By a fresh look, not by what the kernel said. */
static void verify(Job *job) {
        /* Who asked was told that it is undone, or one of the cards is gone: all or nothing. */
        if (job->run->late) {
                carved_outcome_clear(&job->run->outcome);
                job_go_back(job);
                return;
        }

        for (unsigned i = 0; i < job->plan->steps->len; i++) {
                const CarvedStep *step = job->plan->steps->pdata[i];
                g_autofree char *words = NULL;
                GError *error;

                if (job_is_passed_over(job, step) || is_on_the_way(job, i) ||
                    carved_step_is_done(step, job_find_place(job, &step->gpu)->seen))
                        continue;

                words = carved_step_describe(step);
                error = g_error_new(CARVED_ERROR, CARVED_ERROR_KERNEL_REFUSED,
                                    "The kernel said that all went well, but it did not happen: %s", words);
                if (job->run->best_effort) {
                        job_note_failure(job, step->uuid, error);
                        continue;
                }
                job_set_error(job, error);
                job_go_back(job);
                return;
        }
        job_commit(job);
}

/* Does a later step of the way back have the last word on the same thing? */
static bool is_superseded(Job *job, unsigned i) {
        const CarvedStep *step = job->run->undo->pdata[i];

        for (unsigned j = i + 1; j < job->run->undo->len; j++) {
                const CarvedStep *later = job->run->undo->pdata[j];

                if (carved_pci_address_compare(&later->gpu, &step->gpu) == 0 &&
                    strcmp(later->uuid, step->uuid) == 0 && (later->kind == step->kind || *step->uuid))
                        return true;
        }
        return false;
}

/* Back is where we came from, or it is said what stayed. */
static void rest(Job *job) {
        bool failed = job->run->stayed->len > 0; /* what is not done is said already */

        for (unsigned i = 0; i < job->run->undo->len; i++) {
                const CarvedStep *step = job->run->undo->pdata[i];
                const CarvedGpu *seen = job_find_place(job, &step->gpu)->seen;

                if (seen && !failed && !is_superseded(job, i) && !carved_step_is_done(step, seen))
                        job_note_stayed(job, step, "it did not happen");
        }
        for (unsigned i = 0; i < job->run->places->len; i++) {
                Place *place = &g_array_index(job->run->places, Place, i);
                CarvedUpdate update = { .kind = CARVED_UPDATE_READ,
                                        .address = place->address,
                                        .gpu = g_steal_pointer(&place->seen),
                                        .failures = job->run->best_effort ? job->run->failures : NULL };

                if (!place->reader || !update.gpu)
                        continue;
                manager_apply(job->manager, &update);
                reader_served(place->reader);
        }
        job_finish_with_error(job);
}

static bool is_last_on_card(Job *job, const CarvedStep *step) {
        for (unsigned i = job->step + 1; i < job->plan->steps->len; i++) {
                const CarvedStep *later = job->plan->steps->pdata[i];

                if (carved_pci_address_compare(&later->gpu, &step->gpu) == 0)
                        return false;
        }
        return true;
}

/* A vGPU more or less is seen at a glance, with the last step on its card. */
GVariant *job_choose_glance(Job *job, const CarvedStep *step) {
        const CarvedGpu *gpu = carved_model_find_gpu(job->manager->model, &step->gpu);
        g_autoptr(GArray) vfs = NULL;

        if (gpu && job->run->phase == PHASE_STEPS && !job->run->best_effort && is_last_on_card(job, step))
                vfs = carved_glance_choose(job->plan, gpu);
        return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT32, vfs ? vfs->data : NULL, vfs ? vfs->len : 0,
                                         sizeof(uint32_t));
}

/* False: there was none, or it does not fit what was seen before. */
static bool take_glance(Job *job, Place *place) {
        const CarvedGpu *gpu = carved_model_find_gpu(job->manager->model, &place->address);
        g_autoptr(CarvedGpu) glance = g_steal_pointer(&place->glance);

        carved_gpu_free(place->seen);
        place->seen = glance && gpu ? carved_glance_merge(gpu, glance) : NULL;
        place->glanced = place->seen != NULL;
        return place->glanced;
}

void job_look_at_all(Job *job, Phase phase) {
        JobRun *run = job->run;

        if (run->phase != phase) {
                run->phase = phase;
                run->look = 0;
        }
        for (; run->look < run->places->len; run->look++) {
                Place *place = &g_array_index(run->places, Place, run->look);

                if (phase == PHASE_VERIFY && take_glance(job, place))
                        continue;
                if (job_ask_look(job, place))
                        return;
                if (phase == PHASE_VERIFY) {
                        job_worker_failed(job, "The card is gone");
                        return;
                }
        }
        if (phase == PHASE_VERIFY)
                verify(job);
        else
                rest(job);
}

void job_take_look(Job *job, Place *place) {
        switch (job->run->phase) {
        case PHASE_SURVEY:
                survey_seen(job, place);
                break;
        case PHASE_STEPS:
        case PHASE_UNDO:
                job_seen_while_waiting(job, place);
                break;
        case PHASE_EXPLAIN:
                explain(job, place);
                break;
        case PHASE_VERIFY:
        case PHASE_REST:
                if (!place->seen) {
                        job_worker_failed(job, "The worker process answered nonsense");
                        return;
                }
                job->run->look++;
                job_look_at_all(job, job->run->phase);
                break;
        case PHASE_QUEUED:
        case PHASE_PREPARE:
        case PHASE_COMMIT:
                break;
        }
}
