/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include <json-glib/json-glib.h>

#include "error.h"
#include "intent.h"
#include "vfio-driver.h"

#define LABELS_MAX      64U
#define LABEL_KEY_MAX   63U
#define LABEL_VALUE_MAX 255U

CarvedWanted *carved_wanted_new(const char *uuid, int32_t vf_index, CarvedFramework framework,
                                const char *type) {
        CarvedWanted *wanted = g_new0(CarvedWanted, 1);

        g_strlcpy(wanted->uuid, uuid, sizeof wanted->uuid);
        wanted->vf_index = vf_index;
        wanted->framework = framework;
        wanted->type = g_strdup(type);
        return wanted;
}

CarvedWanted *carved_wanted_copy(const CarvedWanted *wanted) {
        CarvedWanted *copy = g_memdup2(wanted, sizeof *wanted);

        copy->type = g_strdup(wanted->type);
        copy->type_name = g_strdup(wanted->type_name);
        copy->params = g_strdup(wanted->params);
        copy->labels = g_strdupv(wanted->labels);
        copy->old_override = g_strdup(wanted->old_override);
        copy->rest = wanted->rest ? json_object_ref(wanted->rest) : NULL;
        copy->error = g_strdup(wanted->error);
        return copy;
}

void carved_wanted_free(CarvedWanted *wanted) {
        if (!wanted)
                return;

        g_free(wanted->type);
        g_free(wanted->type_name);
        g_free(wanted->params);
        g_strfreev(wanted->labels);
        g_free(wanted->old_override);
        g_clear_pointer(&wanted->rest, json_object_unref);
        g_free(wanted->error);
        g_free(wanted);
}

CarvedIntent *carved_intent_new(void) {
        CarvedIntent *intent = g_new0(CarvedIntent, 1);

        intent->vfs = intent->mig = intent->mixed_size = -1;
        intent->leftover_mig = intent->leftover_mixed_size = -1;
        intent->vgpus = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        return intent;
}

CarvedIntent *carved_intent_copy(const CarvedIntent *intent) {
        CarvedIntent *copy = g_memdup2(intent, sizeof *intent);

        copy->identity = g_strdup(intent->identity);
        copy->serial = g_strdup(intent->serial);
        copy->gpu_uuid = g_strdup(intent->gpu_uuid);
        copy->layout = intent->layout ? g_array_copy(intent->layout) : NULL;
        copy->leftover_instances =
                intent->leftover_instances ? g_array_copy(intent->leftover_instances) : NULL;
        copy->mig_error = g_strdup(intent->mig_error);
        copy->labels = g_strdupv(intent->labels);
        copy->rest = intent->rest ? json_object_ref(intent->rest) : NULL;
        copy->rest_transient = intent->rest_transient ? json_object_ref(intent->rest_transient) : NULL;
        copy->unreadable = g_strdup(intent->unreadable);
        copy->error = g_strdup(intent->error);
        copy->vgpus = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        for (unsigned i = 0; i < intent->vgpus->len; i++)
                g_ptr_array_add(copy->vgpus, carved_wanted_copy(intent->vgpus->pdata[i]));
        return copy;
}

void carved_intent_free(CarvedIntent *intent) {
        if (!intent)
                return;

        g_free(intent->identity);
        g_free(intent->serial);
        g_free(intent->gpu_uuid);
        g_clear_pointer(&intent->layout, g_array_unref);
        g_clear_pointer(&intent->leftover_instances, g_array_unref);
        g_free(intent->mig_error);
        g_strfreev(intent->labels);
        g_ptr_array_unref(intent->vgpus);
        g_clear_pointer(&intent->rest, json_object_unref);
        g_clear_pointer(&intent->rest_transient, json_object_unref);
        g_free(intent->unreadable);
        g_free(intent->error);
        g_free(intent);
}

bool carved_intent_is_void(const CarvedIntent *intent) {
        return intent->vfs < 0 && intent->mig < 0 && !intent->layout && intent->mixed_size < 0 &&
               !intent->leftover_instances && intent->leftover_mig < 0 && intent->leftover_mixed_size < 0 &&
               intent->vgpus->len == 0 && !(intent->labels && *intent->labels) && !intent->unreadable &&
               !intent->leftover_vfs && !intent->leftover_quiet && !intent->leftover_unbound &&
               !intent->rest && !intent->rest_transient;
}

CarvedWanted *carved_intent_find(const CarvedIntent *intent, const char *uuid) {
        for (unsigned i = 0; i < intent->vgpus->len; i++) {
                CarvedWanted *wanted = intent->vgpus->pdata[i];

                if (g_ascii_strcasecmp(wanted->uuid, uuid) == 0)
                        return wanted;
        }
        return NULL;
}

void carved_intent_remove(CarvedIntent *intent, const char *uuid) {
        CarvedWanted *wanted = carved_intent_find(intent, uuid);

        if (wanted)
                g_ptr_array_remove(intent->vgpus, wanted);
}

static void change_labels(CarvedIntent *intent, const CarvedIntentChange *change) {
        CarvedWanted *wanted = *change->label ? carved_intent_find(intent, change->label) : NULL;
        GStrv *labels = !*change->label ? &intent->labels : wanted ? &wanted->labels : NULL;

        if (!labels)
                return;

        g_strfreev(*labels);
        *labels = change->labels && *change->labels ? g_strdupv(change->labels) : NULL;
}

static void forget_card(CarvedIntent *intent) {
        g_clear_pointer(&intent->identity, g_free);
        g_clear_pointer(&intent->serial, g_free);
        g_clear_pointer(&intent->gpu_uuid, g_free);
}

static void forget(CarvedIntent *intent) {
        g_ptr_array_set_size(intent->vgpus, 0);
        intent->vfs = intent->mig = intent->mixed_size = -1;
        intent->leftover_mig = intent->leftover_mixed_size = -1;
        g_clear_pointer(&intent->layout, g_array_unref);
        g_clear_pointer(&intent->leftover_instances, g_array_unref);
        g_clear_pointer(&intent->mig_error, g_free);
        intent->leftover_vfs = intent->leftover_quiet = intent->leftover_unbound = intent->contested = false;
        g_clear_pointer(&intent->labels, g_strfreev);
        g_clear_pointer(&intent->rest, json_object_unref);
        g_clear_pointer(&intent->rest_transient, json_object_unref);
        memset(intent->deleted, 0, sizeof intent->deleted);
        forget_card(intent);
        g_clear_pointer(&intent->unreadable, g_free);
        g_clear_pointer(&intent->error, g_free);
}

static bool is_kept(const CarvedIntent *intent, const char *uuid) {
        const CarvedWanted *wanted = carved_intent_find(intent, uuid);

        return wanted && !wanted->transient;
}

bool carved_intent_change_is_transient(const CarvedIntent *intent, const CarvedIntentChange *change) {
        if (change->anew || change->set_labels || change->set_mig || change->set_layout ||
            change->set_mixed_size)
                return false;
        if (change->set_vfs &&
            ((change->vfs >= 0 && !change->vfs_transient) || (intent->vfs >= 0 && !intent->vfs_transient)))
                return false;

        for (char **uuid = change->removes; uuid && *uuid; uuid++)
                if (is_kept(intent, *uuid))
                        return false;
        for (unsigned i = 0; change->adds && i < change->adds->len; i++) {
                const CarvedWanted *wanted = change->adds->pdata[i];

                if (!wanted->transient || is_kept(intent, wanted->uuid))
                        return false;
        }
        return true;
}

static void change_mig(CarvedIntent *intent, const CarvedIntentChange *change) {
        if (change->set_mig) {
                intent->mig = change->mig;
                intent->leftover_mig = -1;
        }
        if (change->set_layout) {
                g_clear_pointer(&intent->leftover_instances, g_array_unref);
                g_clear_pointer(&intent->layout, g_array_unref);
                intent->layout =
                        change->layout && change->layout->len > 0 ? g_array_copy(change->layout) : NULL;
        }
        if (change->set_mig || change->set_layout)
                g_clear_pointer(&intent->mig_error, g_free);
        if (change->set_mixed_size) {
                intent->mixed_size = change->mixed_size;
                intent->leftover_mixed_size = -1;
        }
}

void carved_intent_change(CarvedIntent *intent, const CarvedIntentChange *change) {
        if (change->anew)
                forget(intent);
        for (char **uuid = change->removes; uuid && *uuid; uuid++)
                carved_intent_remove(intent, *uuid);
        for (unsigned i = 0; change->adds && i < change->adds->len; i++) {
                CarvedWanted *wanted = carved_wanted_copy(change->adds->pdata[i]);

                carved_intent_remove(intent, wanted->uuid);
                g_ptr_array_add(intent->vgpus, wanted);
        }
        if (change->set_vfs) {
                intent->vfs = change->vfs;
                intent->vfs_transient = change->vfs_transient;
                intent->leftover_vfs = false;
        }
        change_mig(intent, change);
        if (change->set_labels)
                change_labels(intent, change);

        intent->generation++;
        if (carved_intent_is_void(intent))
                forget_card(intent);
        else if (!intent->identity) {
                intent->identity = g_strdup(change->identity);
                intent->serial = g_strdup(change->serial);
                intent->gpu_uuid = g_strdup(change->gpu_uuid);
        }
}

/* The name decides: a driver may number its types anew. */
static bool is_type(const CarvedVgpu *vgpu, const CarvedWanted *wanted) {
        const CarvedType *type = carved_vgpu_type(vgpu);

        /* One not told yet is no other. */
        if (!vgpu->type)
                return true;
        if (type && type->name && wanted->type_name)
                return strcmp(type->name, wanted->type_name) == 0;

        return strcmp(vgpu->type, wanted->type) == 0;
}

/* The vGPU that @wanted is, as the hardware shows it; NULL: not there. */
static CarvedVgpu *find_shown(const CarvedGpu *gpu, const CarvedWanted *wanted) {
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                if (vgpu->framework != wanted->framework || vgpu->vf_index != wanted->vf_index)
                        continue;
                /* The kernel's own name, where it has one. */
                if (wanted->framework == CARVED_FRAMEWORK_MDEV && strcmp(vgpu->uuid, wanted->uuid) != 0)
                        continue;
                if (is_type(vgpu, wanted))
                        return vgpu;
        }
        return NULL;
}

/* A whole VF is a vGPU only because we say so: as long as it is on a vfio driver. One that we were about to
 * bind is bespoken, and somebody must take that off. */
static CarvedVgpu *show_vf(CarvedGpu *gpu, const CarvedWanted *wanted) {
        const CarvedVf *vf =
                wanted->vf_index < 0 ? NULL : carved_gpu_find_vf(gpu, (uint32_t) wanted->vf_index);
        CarvedVgpu *vgpu;

        if (!vf || vf->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH ||
            !(carved_vfio_is_driver(vf->driver) ||
              (wanted->leftover && !vf->driver && carved_vfio_is_driver(vf->override))))
                return NULL;

        vgpu = carved_gpu_add_vgpu(gpu, wanted->uuid, wanted->vf_index);
        vgpu->framework = CARVED_FRAMEWORK_VF_PASSTHROUGH;
        vgpu->type = g_strdup(CARVED_TYPE_VF);
        vgpu->iommu_group = vf->iommu_group;
        return vgpu;
}

/* Is the place there where it would be? */
static bool has_place(const CarvedGpu *gpu, const CarvedWanted *wanted) {
        if (gpu->lost || !gpu->driver)
                return false;

        return wanted->vf_index < 0 ? gpu->has_mdev
                                    : carved_gpu_find_vf(gpu, (uint32_t) wanted->vf_index) != NULL;
}

static void show_absent(CarvedGpu *gpu, const CarvedWanted *wanted) {
        CarvedVgpu *vgpu = carved_gpu_add_absent(gpu, wanted->uuid, wanted->vf_index);

        vgpu->framework = wanted->framework;
        vgpu->type = g_strdup(wanted->type);
        vgpu->type_name = g_strdup(wanted->type_name);
        vgpu->params = g_strdup(wanted->params);
        vgpu->error = g_strdup(wanted->error);
        vgpu->ours = true;
        vgpu->persistent = !wanted->transient;
        vgpu->labels = g_strdupv(wanted->labels);
        vgpu->state = !has_place(gpu, wanted) ? CARVED_VGPU_DEFINED
                      : wanted->error         ? CARVED_VGPU_FAILED
                      : wanted->missing       ? CARVED_VGPU_MISSING
                                              : CARVED_VGPU_DEFINED;
}

/* False: it is there, and not as it is wanted. */
static bool show(CarvedGpu *gpu, const CarvedWanted *wanted) {
        CarvedVgpu *vgpu = find_shown(gpu, wanted);

        if (!vgpu && wanted->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                vgpu = show_vf(gpu, wanted);
        if (!vgpu) {
                if (!wanted->leftover)
                        show_absent(gpu, wanted);
                return wanted->leftover;
        }

        vgpu->ours = true;
        vgpu->persistent = !wanted->transient && !wanted->leftover;
        memcpy(vgpu->uuid, wanted->uuid, sizeof vgpu->uuid);
        g_strfreev(vgpu->labels);
        vgpu->labels = g_strdupv(wanted->labels);
        return !wanted->leftover && (!wanted->params || g_strcmp0(vgpu->params, wanted->params) == 0);
}

static CarvedSyncState sync_of(const CarvedIntent *intent, const CarvedGpu *gpu, bool all_there) {
        if (!intent->identity && !intent->unreadable)
                return CARVED_SYNC_UNMANAGED;
        if (all_there && !gpu->lost && !intent->unreadable && !intent->leftover_vfs &&
            !intent->leftover_instances && intent->leftover_mig < 0 && intent->leftover_mixed_size < 0 &&
            (intent->mixed_size < 0 || intent->mixed_size == gpu->mixed_size) && !intent->leftover_quiet &&
            !intent->leftover_unbound && (intent->vfs < 0 || (uint32_t) intent->vfs == gpu->num_vfs))
                return CARVED_SYNC_SYNCED;

        return intent->contested ? CARVED_SYNC_CONTESTED : CARVED_SYNC_OUT_OF_SYNC;
}

void carved_intent_apply(const CarvedIntent *intent, CarvedGpu *gpu) {
        bool all_there;

        g_ptr_array_set_size(gpu->absent, 0);
        g_free(gpu->stored_identity);
        gpu->stored_identity = g_strdup(intent->identity);
        g_free(gpu->stored_serial);
        gpu->stored_serial = g_strdup(intent->serial);
        g_free(gpu->unreadable);
        gpu->unreadable = g_strdup(intent->unreadable);
        g_clear_pointer(&gpu->labels, g_strfreev);
        g_clear_pointer(&gpu->trouble, g_free);
        gpu->mismatch = intent->identity && !carved_intent_is_for(intent, gpu);
        all_there = carved_intent_apply_mig(intent, gpu);
        if (gpu->mismatch) {
                gpu->sync = CARVED_SYNC_OUT_OF_SYNC;
                return;
        }

        gpu->labels = g_strdupv(intent->labels);
        for (unsigned i = 0; i < intent->vgpus->len; i++)
                all_there &= show(gpu, intent->vgpus->pdata[i]);
        gpu->sync = sync_of(intent, gpu, all_there);
        if (gpu->sync != CARVED_SYNC_SYNCED && gpu->sync != CARVED_SYNC_UNMANAGED)
                gpu->trouble = g_strdup(intent->error);
}

#define CONTEST_USEC (600 * G_USEC_PER_SEC)

/* Somebody removed one. */
static void note_deletion(CarvedIntent *intent, uint64_t now) {
        intent->deleted[0] = intent->deleted[1];
        intent->deleted[1] = intent->deleted[2];
        intent->deleted[2] = now;
        if (intent->deleted[0] > 0 && now - intent->deleted[0] <= CONTEST_USEC)
                intent->contested = true;
}

#define RETRACT_USEC (10 * G_USEC_PER_SEC)

/* With its VF went what was on it, a moment before: nobody removed that one by itself. */
static void retract_deletion(CarvedIntent *intent, uint64_t now) {
        if (intent->deleted[2] == 0 || now - intent->deleted[2] > RETRACT_USEC)
                return;

        intent->deleted[2] = intent->deleted[1];
        intent->deleted[1] = intent->deleted[0];
        intent->deleted[0] = 0;
        intent->contested = false;
}

static bool was_active(const CarvedGpu *old, const CarvedWanted *wanted) {
        const CarvedVgpu *vgpu = old ? carved_gpu_find_vgpu(old, wanted->uuid) : NULL;

        return vgpu && vgpu->ours && vgpu->state == CARVED_VGPU_ACTIVE;
}

void carved_intent_note(CarvedIntent *intent, const CarvedGpu *old, const CarvedGpu *gpu, uint64_t now,
                        bool ours) {
        for (unsigned i = intent->vgpus->len; !gpu->mismatch && i > 0; i--) {
                CarvedWanted *wanted = intent->vgpus->pdata[i - 1];

                if (find_shown(gpu, wanted)) {
                        wanted->missing = false;
                        g_clear_pointer(&wanted->error, g_free);
                } else if (wanted->leftover)
                        g_ptr_array_remove_index(intent->vgpus, i - 1);
                else if (!ours && was_active(old, wanted) && has_place(gpu, wanted)) {
                        wanted->missing = true;
                        note_deletion(intent, now);
                } else if (wanted->missing && !has_place(gpu, wanted)) {
                        wanted->missing = false;
                        retract_deletion(intent, now);
                }
        }
        /* Peace: what comes now is counted anew, but not as if nothing had been. */
        if (gpu->sync == CARVED_SYNC_SYNCED) {
                intent->contested = false;
                g_clear_pointer(&intent->error, g_free);
        }
        if (!gpu->mismatch)
                carved_intent_note_mig(intent, gpu);
        if (gpu->num_vfs == 0)
                intent->leftover_vfs = false;
        if (gpu->autoprobe)
                intent->leftover_quiet = false;
        if (carved_intent_is_void(intent))
                forget_card(intent); /* what was left over was all */
}

static bool is_label_text(const char *text, size_t max) {
        if (strlen(text) > max)
                return false;

        for (; *text; text++)
                if (g_ascii_iscntrl(*text))
                        return false;
        return true;
}

static int compare_pairs(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

GStrv carved_labels_new(const char *const *pairs, GError **error) {
        unsigned n = pairs ? g_strv_length((char **) pairs) / 2 : 0;
        g_auto(GStrv) sorted = g_strdupv((char **) pairs);

        if (n > LABELS_MAX) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_LIMITS_EXCEEDED,
                            "%u labels are too many: at most %u", n, LABELS_MAX);
                return NULL;
        }
        for (unsigned i = 0; i < n; i++)
                if (!*pairs[2 * i] || !is_label_text(pairs[2 * i], LABEL_KEY_MAX) ||
                    !is_label_text(pairs[2 * i + 1], LABEL_VALUE_MAX)) {
                        g_autofree char *quoted = carved_quote(pairs[2 * i]);

                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS,
                                    "Label %s can't be: a key has 1 to %u bytes, a value at most %u, "
                                    "neither "
                                    "has control characters",
                                    quoted, LABEL_KEY_MAX, LABEL_VALUE_MAX);
                        return NULL;
                }

        if (n > 0)
                qsort(sorted, n, 2 * sizeof *sorted, compare_pairs);
        for (unsigned i = 1; i < n; i++)
                if (strcmp(sorted[2 * i - 2], sorted[2 * i]) == 0) {
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS,
                                    "Label '%s' is given twice", sorted[2 * i]);
                        return NULL;
                }

        return sorted ? g_steal_pointer(&sorted) : g_new0(char *, 1);
}
