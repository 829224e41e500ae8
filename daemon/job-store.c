/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "error.h"
#include "job-run.h"
#include "keeper.h"

static bool is_on(const CarvedStep *step, const CarvedGpu *gpu) {
        return carved_pci_address_compare(&step->gpu, &gpu->address) == 0;
}

static const CarvedWanted *find_add(const CarvedPlan *plan, const char *uuid) {
        for (unsigned i = 0; i < plan->adds->len; i++) {
                const CarvedWanted *wanted = plan->adds->pdata[i];

                if (g_str_equal(wanted->uuid, uuid))
                        return wanted;
        }
        return NULL;
}

/* What is dropped and wanted is made again by whoever finds it missing. */
static void list_mig(CarvedEntryGpu *entry, const CarvedStep *step) {
        CarvedWantedInstance made = { .profile = step->profile,
                                      .placement = step->placement,
                                      .compute = step->compute };

        if (step->kind == CARVED_STEP_MIG)
                entry->mig_was = step->old_number > 0;
        if (step->kind == CARVED_STEP_MIXED_SIZE)
                entry->mixed_size_was = step->old_number > 0;
        if (step->kind != CARVED_STEP_MAKE_INSTANCE)
                return;
        if (!entry->makes_instances)
                entry->makes_instances = g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));
        g_array_append_val(entry->makes_instances, made);
}

/* Also of the way back: what was removed and is made again is wanted all the time, and needs no mention. */
static void list_makes(CarvedEntryGpu *entry, const CarvedPlan *plan, const CarvedGpu *gpu) {
        for (unsigned i = 0; i < plan->steps->len; i++) {
                const CarvedStep *step = plan->steps->pdata[i];
                const CarvedWanted *wanted;

                if (!is_on(step, gpu))
                        continue;
                wanted = step->kind == CARVED_STEP_CREATE ? find_add(plan, step->uuid) : NULL;
                if (wanted)
                        g_ptr_array_add(entry->makes, carved_wanted_copy(wanted));
                list_mig(entry, step);
                entry->unbinds |= step->kind == CARVED_STEP_SRIOV_MANAGE;
                entry->quiets |= step->kind == CARVED_STEP_AUTOPROBE && step->number == 0;
                entry->makes_vfs |=
                        (step->kind == CARVED_STEP_SRIOV_MANAGE || step->kind == CARVED_STEP_NUMVFS) &&
                        step->old_number == 0 && step->number > 0;
        }
}

/* What is wanted of each card when all is done, from what is wanted of it now: labels do not wait for us. */
static CarvedEntry *form_entry(void *userdata) {
        Job *job = userdata;
        CarvedEntry *entry = carved_entry_new();

        /* Once for good, always for good: what was prepared must be found again. */
        entry->transient = !job->run->prepared || job->run->transient;
        for (unsigned i = 0; i < job->plan->gpus->len; i++) {
                const CarvedPciAddress *address = &g_array_index(job->plan->gpus, CarvedPciAddress, i);
                const CarvedGpu *gpu = carved_model_find_gpu(job->manager->model, address);
                const CarvedIntent *now = carved_model_intent(job->manager->model, address);
                g_autoptr(CarvedIntent) intent = now ? carved_intent_copy(now) : carved_intent_new();
                CarvedIntentChange change;

                if (!gpu)
                        continue; /* pulled, and nothing was ever wanted of it */
                change = carved_plan_change(job->plan, gpu);
                entry->transient = entry->transient && carved_intent_change_is_transient(intent, &change);
                carved_intent_change(intent, &change);
                if (!intent->identity)
                        intent->identity = g_strdup(gpu->identity);
                list_makes(carved_entry_add_gpu(entry, intent), job->plan, gpu);
        }
        job->run->transient = entry->transient;
        return entry;
}

static GError *store_error(const char *text, const char *and) {
        return g_error_new(CARVED_ERROR, CARVED_ERROR_FAILED, "What is wanted can't be kept, so %s: %s", and,
                           text);
}

static void on_prepared(KeeperResult result, const char *text, void *userdata) {
        Job *job = userdata;

        /* Unsure is not enough: the next start may know nothing of it. But what is there must go. */
        job->run->prepared = result != KEEPER_FAILED;
        if (result != KEEPER_KEPT)
                job_set_error(job, store_error(text, "nothing was done"));
        else if (job->run->cancel)
                job_set_error(job, g_error_new_literal(CARVED_ERROR, CARVED_ERROR_CANCELLED,
                                                       "The job was cancelled"));
        if (result != KEEPER_KEPT || job_is_stopping(job)) {
                job_finish_with_error(job);
                return;
        }

        job->run->phase = PHASE_STEPS;
        job_run_step(job);
}

/* Meanwhile the card is as nobody wants it, and nothing that is wanted tells. */
static bool is_risky(const CarvedPlan *plan) {
        for (unsigned i = 0; i < plan->steps->len; i++) {
                CarvedStepKind kind = ((CarvedStep *) plan->steps->pdata[i])->kind;

                if (kind == CARVED_STEP_AUTOPROBE || kind == CARVED_STEP_SRIOV_MANAGE)
                        return true;
        }
        return false;
}

void job_prepare(Job *job) {
        job_set_state(job, JOB_RUNNING);
        if (job->plan->steps->len == 0) {
                job_commit(job);
                return;
        }
        /* What restore makes is wanted, and so written down, already. */
        if (job->run->best_effort && !is_risky(job->plan)) {
                job->run->phase = PHASE_STEPS;
                job_run_step(job);
                return;
        }

        job->run->phase = PHASE_PREPARE;
        keeper_prepare(job->manager->keeper, job->run->entry, form_entry, on_prepared, job);
}

static void on_committed(KeeperResult result, const char *text, void *userdata) {
        Job *job = userdata;

        if (result != KEEPER_FAILED) {
                job->run->prepared = false; /* it goes by itself */
                /* There is no way back from what is written: it is done, but that is no promise. */
                if (result == KEEPER_UNSURE)
                        job_set_error(job, g_error_new(CARVED_ERROR, CARVED_ERROR_FAILED,
                                                       "It is done, but may be lost with power: %s", text));
                job_committed(job);
                return;
        }

        job_set_error(job, store_error(text, "all was undone"));
        carved_outcome_clear(&job->run->outcome);
        job_go_back(job);
}

void job_commit(Job *job) {
        job->run->phase = PHASE_COMMIT;
        if (carved_plan_changes_intent(job->plan) && !job->run->continued)
                keeper_commit(job->manager->keeper, job->run->entry, form_entry, on_committed, job);
        else
                job_committed(job);
}

/* What stayed is ours, and not wanted: until somebody destroys it, or the next start does. */
static void note_leftovers(Job *job) {
        g_autoptr(GPtrArray) adds = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        const CarvedGpu *gpu = carved_model_find_gpu(job->manager->model, &job->order->gpu);
        CarvedIntentChange change = { .adds = adds, .identity = gpu ? gpu->identity : NULL };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .address = job->order->gpu, .intent = &change };

        for (unsigned i = 0; i < job->plan->adds->len; i++) {
                const CarvedWanted *wanted = job->plan->adds->pdata[i];
                const CarvedVgpu *vgpu = carved_model_find_vgpu(job->manager->model, wanted->uuid);

                if (vgpu && vgpu->ours)
                        continue;
                g_ptr_array_add(adds, carved_wanted_copy(wanted));
                ((CarvedWanted *) adds->pdata[adds->len - 1])->leftover = true;
        }
        if (adds->len > 0 && gpu)
                manager_apply(job->manager, &update);
}

void job_close_entry(Job *job) {
        if (!job->run->prepared)
                return;

        if (job->run->stayed->len > 0)
                note_leftovers(job);
        else
                keeper_drop(job->manager->keeper, job->run->entry, job->run->transient);
}
