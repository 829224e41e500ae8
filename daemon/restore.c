/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <time.h>

#include <systemd/sd-daemon.h>

#include "bus.h"
#include "jobs.h"
#include "keeper.h"
#include "moved.h"
#include "restore.h"

typedef struct Patient {
        CarvedPciAddress gpu;
        bool due;
        bool settle; /* Restore=no: but what was interrupted is ended */
        bool running;
        char *tried; /* how the card looked when nothing more could be done */
} Patient;

struct Restore {
        Manager *manager;
        GHashTable *patients; /* address as text → Patient */
        bool begun, over;
        sd_event_source *deadline;
};

static void patient_free(void *p) {
        Patient *patient = p;

        g_free(patient->tried);
        g_free(patient);
}

Restore *restore_new(Manager *m) {
        Restore *restore = g_new0(Restore, 1);

        restore->manager = m;
        restore->patients = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, patient_free);
        return restore;
}

Restore *restore_free(Restore *restore) {
        if (!restore)
                return NULL;

        sd_event_source_disable_unref(restore->deadline);
        g_hash_table_unref(restore->patients);
        g_free(restore);
        return NULL;
}

bool restore_is_over(const Restore *restore) {
        return restore->over;
}

static Patient *find(Restore *restore, const CarvedPciAddress *gpu) {
        char address[CARVED_PCI_ADDRESS_MAX];

        return g_hash_table_lookup(restore->patients, carved_pci_address_format(gpu, address));
}

/* All that a plan depends on: what is the same again leads to the same end again. */
static char *describe(const CarvedGpu *gpu) {
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "%s %u %u %d %d\n", gpu->driver ?: "-", gpu->num_vfs, gpu->types->len,
                               gpu->settled, gpu->stalled);
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                g_string_append_printf(text, "%u %s %d %d %d\n", vf->index, vf->driver ?: "-", vf->settled,
                                       vf->vgpu, vf->iommu_group);
        }
        g_string_append_printf(text, "%d %s\n", gpu->mixed_size, gpu->nvml_error ?: "");
        if (gpu->mig)
                g_string_append_printf(text, "%d %d\n", gpu->mig->enabled, gpu->mig->pending);
        for (unsigned i = 0; gpu->mig && i < gpu->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = gpu->mig->instances->pdata[i];

                g_string_append_printf(text, "%u@%u ", instance->profile, instance->placement.start);
        }
        for (unsigned i = 0; i < gpu->vgpus->len; i++)
                g_string_append_printf(text, "%s ", ((CarvedVgpu *) gpu->vgpus->pdata[i])->uuid);
        return g_string_free(text, FALSE);
}

/* ---- the start ---- */

static void count(const CarvedModel *model, uint32_t *ret_ok, uint32_t *ret_failed) {
        *ret_ok = *ret_failed = 0;
        for (unsigned i = 0; i < carved_model_n_gpus(model); i++) {
                const CarvedGpu *gpu = carved_model_nth_gpu(model, i);

                for (unsigned j = 0; j < gpu->vgpus->len; j++)
                        *ret_ok += ((CarvedVgpu *) gpu->vgpus->pdata[j])->ours;
                *ret_failed += gpu->absent->len;
                /* Of a card in whose slot another one is, none is even shown. */
                if (gpu->mismatch)
                        *ret_failed += carved_model_intent(model, &gpu->address)->vgpus->len;
        }
}

static void end(Restore *restore) {
        uint32_t ok, failed;

        restore->over = true;
        restore->deadline = sd_event_source_disable_unref(restore->deadline);
        count(restore->manager->model, &ok, &failed);
        if (ok + failed > 0)
                g_message("Restored: %u vGPUs are there, %u are not", ok, failed);
        bus_emit_restored(restore->manager->bus, ok, failed);
        manager_check_started(restore->manager);
}

/* Is there anything that goes on by itself? */
void restore_check(Restore *restore) {
        GHashTableIter iter;
        void *p;

        if (restore->over || !restore->begun || !manager_has_looked(restore->manager) ||
            moved_is_busy(restore->manager->moved))
                return;

        g_hash_table_iter_init(&iter, restore->patients);
        while (g_hash_table_iter_next(&iter, NULL, &p)) {
                const Patient *patient = p;
                const CarvedGpu *gpu = carved_model_find_gpu(restore->manager->model, &patient->gpu);

                if (patient->running || (patient->due && gpu && !gpu->lost && !patient->tried))
                        return;
        }
        end(restore);
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        Restore *restore = userdata;

        g_warning("Restoring takes longer than RestoreTimeoutSec=; it goes on");
        end(restore);
        return 0;
}

static void only_settle(Restore *restore) {
        GHashTableIter iter;
        void *patient;

        g_hash_table_iter_init(&iter, restore->patients);
        while (g_hash_table_iter_next(&iter, NULL, &patient))
                ((Patient *) patient)->settle = true;
}

void restore_begin(Restore *restore) {
        Manager *m = restore->manager;
        int r;

        restore->begun = true;
        restore_all_due(restore);
        if (!m->config.restore)
                only_settle(restore);
        r = sd_event_add_time_relative(m->event, &restore->deadline, CLOCK_MONOTONIC,
                                       m->config.restore_timeout_usec, 0, on_deadline, restore);
        if (r < 0)
                g_warning("Failed to arm a deadline, ignoring: %s", g_strerror(-r));
}

/* ---- one card ---- */

void restore_due(Restore *restore, const CarvedPciAddress *gpu) {
        char address[CARVED_PCI_ADDRESS_MAX];
        Patient *patient = find(restore, gpu);

        if (!patient) {
                patient = g_new0(Patient, 1);
                patient->gpu = *gpu;
                g_hash_table_insert(restore->patients, g_strdup(carved_pci_address_format(gpu, address)),
                                    patient);
        }
        patient->due = true;
        patient->settle = false;
        g_clear_pointer(&patient->tried, g_free);
}

void restore_all_due(Restore *restore) {
        g_autoptr(GArray) gpus = carved_model_wanted_gpus(restore->manager->model);

        for (unsigned i = 0; i < gpus->len; i++)
                restore_due(restore, &g_array_index(gpus, CarvedPciAddress, i));
}

static bool can_start(Restore *restore, const CarvedGpu *gpu, bool settle) {
        CarvedOrder order = {
                .kind = CARVED_ORDER_RESTORE, .gpu = gpu->address, .vf_index = -1, .settle = settle
        };
        g_autoptr(CarvedPlan) plan = carved_plan_make(restore->manager->model, &order, NULL);

        return plan && (plan->steps->len > 0 || g_hash_table_size(plan->failures) > 0);
}

/* Somebody removed one of ours, and we shall mend that; but VFs that somebody switched off stay off. */
static bool is_to_be_mended(Restore *restore, const CarvedGpu *gpu) {
        const CarvedIntent *intent = carved_model_intent(restore->manager->model, &gpu->address);

        if (restore->manager->config.repair != REPAIR_ALL || gpu->sync != CARVED_SYNC_OUT_OF_SYNC ||
            !intent || (intent->vfs >= 0 && (uint32_t) intent->vfs != gpu->num_vfs))
                return false;

        for (unsigned i = 0; i < gpu->absent->len; i++)
                if (((CarvedVgpu *) gpu->absent->pdata[i])->state == CARVED_VGPU_MISSING)
                        return true;
        return false;
}

void restore_consider(Restore *restore, const CarvedPciAddress *address) {
        const CarvedGpu *gpu = carved_model_find_gpu(restore->manager->model, address);
        Patient *patient = find(restore, address);
        g_autofree char *now = NULL;

        if (restore->manager->state == MANAGER_STARTING)
                return;
        if (gpu && !(patient && patient->due) && is_to_be_mended(restore, gpu)) {
                restore_due(restore, address);
                patient = find(restore, address);
        }

        if (!patient || !patient->due || patient->running || !gpu || gpu->lost || gpu->busy ||
            !manager_find_reader(restore->manager, address)) {
                restore_check(restore);
                return;
        }

        now = describe(gpu);
        if (g_strcmp0(now, patient->tried) == 0)
                return;
        if (gpu->sync == CARVED_SYNC_SYNCED || gpu->sync == CARVED_SYNC_UNMANAGED)
                patient->due = false;
        if (patient->due && manager_manages(restore->manager, gpu) &&
            can_start(restore, gpu, patient->settle)) {
                patient->running = true;
                jobs_restore(restore->manager->jobs, address, patient->settle);
                return;
        }

        g_free(patient->tried);
        patient->tried = g_steal_pointer(&now);
        if (patient->settle)
                patient->due = false;
        if (!patient->due)
                keeper_settled(restore->manager->keeper, address);
        restore_check(restore);
}

void restore_consider_all(Restore *restore) {
        g_autoptr(GList) patients = g_hash_table_get_values(restore->patients);

        for (GList *i = patients; i; i = i->next)
                restore_consider(restore, &((Patient *) i->data)->gpu);
        restore_check(restore);
}

/* The same of how it is cut: an instance that holds a vGPU by now. */
static void keep_cut(const CarvedGpu *gpu, const CarvedIntent *intent, GArray *layout,
                     CarvedIntentChange *change) {
        const GArray *left = intent ? intent->leftover_instances : NULL;

        if (left && left->len > 0) {
                if (intent->layout)
                        g_array_append_vals(layout, intent->layout->data, intent->layout->len);
                g_array_append_vals(layout, left->data, left->len);
                change->set_layout = true;
                change->layout = layout;
        }
        if (intent && gpu->mig && (change->set_layout || intent->leftover_mig >= 0) && intent->mig < 0) {
                change->set_mig = true;
                change->mig = gpu->mig->pending;
        }
}

/* What was half made and is in use by now stays, and is wanted from now on: nothing in use is ever removed.
 */
static void keep_leftovers(Manager *m, const CarvedGpu *gpu) {
        const CarvedIntent *intent = carved_model_intent(m->model, &gpu->address);
        g_autoptr(GPtrArray) adds = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        g_autoptr(GArray) layout = g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));
        CarvedIntentChange change = { .adds = adds, .identity = gpu->identity };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .address = gpu->address, .intent = &change };

        for (unsigned i = 0; intent && i < intent->vgpus->len; i++) {
                const CarvedWanted *wanted = intent->vgpus->pdata[i];
                CarvedWanted *kept;

                if (!wanted->leftover)
                        continue;
                kept = carved_wanted_copy(wanted);
                kept->leftover = false;
                g_ptr_array_add(adds, kept);
        }
        keep_cut(gpu, intent, layout, &change);
        if (intent && (adds->len > 0 || intent->leftover_vfs || change.set_layout || change.set_mig)) {
                change.set_vfs =
                        gpu->num_vfs > 0 && intent->vfs < 0 && (adds->len > 0 || intent->leftover_vfs);
                change.vfs = (int32_t) gpu->num_vfs;
                manager_apply(m, &update);
        }
}

/* All that the job did was to give it back to its driver, and now there is more to do. */
static bool goes_on(Restore *restore, const Patient *patient, const Job *job, const CarvedGpu *gpu) {
        const CarvedStep *step = job->plan && job->plan->steps->len == 1 ? job->plan->steps->pdata[0] : NULL;

        return step && step->kind == CARVED_STEP_REBIND && carved_step_is_done(step, gpu) &&
               can_start(restore, gpu, patient->settle);
}

static bool is_unbound(Restore *restore, const CarvedPciAddress *address) {
        const CarvedIntent *intent = carved_model_intent(restore->manager->model, address);

        return intent && intent->leftover_unbound;
}

void restore_job_over(Restore *restore, const Job *job) {
        Patient *patient = find(restore, &job->order->gpu);
        const CarvedGpu *gpu = carved_model_find_gpu(restore->manager->model, &job->order->gpu);

        if (!carved_order_is_best_effort(job->order) || !patient)
                return;

        patient->running = false;
        g_free(patient->tried);
        patient->tried = gpu && !goes_on(restore, patient, job, gpu) ? describe(gpu) : NULL;
        if (patient->settle || (gpu && gpu->sync == CARVED_SYNC_SYNCED))
                patient->due = false;
        if (gpu && !gpu->lost && job->state != JOB_CANCELLED) {
                keep_leftovers(restore->manager, gpu); /* which may put another in its place */
                if (!is_unbound(restore, &job->order->gpu))
                        keeper_settled(restore->manager->keeper, &job->order->gpu);
        }
        restore_check(restore);
}

void restore_progress(Restore *restore, const Job *job) {
        if (restore->over || !carved_order_is_best_effort(job->order))
                return;

        sd_notifyf(/* unset_environment= */ false, "EXTEND_TIMEOUT_USEC=%" G_GUINT64_FORMAT,
                   restore->manager->config.step_timeout_usec + 10 * G_USEC_PER_SEC);
}
