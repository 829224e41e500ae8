/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include <json-glib/json-glib.h>

#include "error.h"
#include "intent.h"

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

        intent->vfs = -1;
        intent->vgpus = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        return intent;
}

CarvedIntent *carved_intent_copy(const CarvedIntent *intent) {
        CarvedIntent *copy = g_memdup2(intent, sizeof *intent);

        copy->identity = g_strdup(intent->identity);
        copy->labels = g_strdupv(intent->labels);
        copy->rest = intent->rest ? json_object_ref(intent->rest) : NULL;
        copy->unreadable = g_strdup(intent->unreadable);
        copy->vgpus = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        for (unsigned i = 0; i < intent->vgpus->len; i++)
                g_ptr_array_add(copy->vgpus, carved_wanted_copy(intent->vgpus->pdata[i]));
        return copy;
}

void carved_intent_free(CarvedIntent *intent) {
        if (!intent)
                return;

        g_free(intent->identity);
        g_strfreev(intent->labels);
        g_ptr_array_unref(intent->vgpus);
        g_clear_pointer(&intent->rest, json_object_unref);
        g_free(intent->unreadable);
        g_free(intent);
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

/* The vGPU that @wanted is, as the hardware shows it; NULL: not there. */
static CarvedVgpu *find_shown(const CarvedGpu *gpu, const CarvedWanted *wanted) {
        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                CarvedVgpu *vgpu = gpu->vgpus->pdata[i];

                if (vgpu->framework != wanted->framework || vgpu->vf_index != wanted->vf_index)
                        continue;
                /* The kernel's own name, where it has one. A type not told yet is no other type. */
                if (wanted->framework == CARVED_FRAMEWORK_MDEV && strcmp(vgpu->uuid, wanted->uuid) != 0)
                        continue;
                if (!vgpu->type || strcmp(vgpu->type, wanted->type) == 0)
                        return vgpu;
        }
        return NULL;
}

/* A whole VF is a vGPU only because we say so: as long as it is on a vfio driver. */
static CarvedVgpu *show_vf(CarvedGpu *gpu, const CarvedWanted *wanted) {
        const CarvedVf *vf =
                wanted->vf_index < 0 ? NULL : carved_gpu_find_vf(gpu, (uint32_t) wanted->vf_index);
        CarvedVgpu *vgpu;

        if (!vf || vf->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH || !vf->driver ||
            !strstr(vf->driver, "vfio"))
                return NULL;

        vgpu = carved_gpu_add_vgpu(gpu, wanted->uuid, wanted->vf_index);
        vgpu->framework = CARVED_FRAMEWORK_VF_PASSTHROUGH;
        vgpu->type = g_strdup(CARVED_TYPE_VF);
        vgpu->iommu_group = vf->iommu_group;
        return vgpu;
}

void carved_intent_apply(const CarvedIntent *intent, CarvedGpu *gpu) {
        g_strfreev(gpu->labels);
        gpu->labels = g_strdupv(intent->labels);

        for (unsigned i = 0; i < intent->vgpus->len; i++) {
                const CarvedWanted *wanted = intent->vgpus->pdata[i];
                CarvedVgpu *vgpu = find_shown(gpu, wanted);

                if (!vgpu && wanted->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                        vgpu = show_vf(gpu, wanted);
                if (!vgpu)
                        continue;

                vgpu->ours = true;
                memcpy(vgpu->uuid, wanted->uuid, sizeof vgpu->uuid);
                g_strfreev(vgpu->labels);
                vgpu->labels = g_strdupv(wanted->labels);
        }
}

void carved_intent_prune(CarvedIntent *intent, const CarvedGpu *gpu) {
        for (unsigned i = intent->vgpus->len; i > 0; i--)
                if (!find_shown(gpu, intent->vgpus->pdata[i - 1]))
                        g_ptr_array_remove_index(intent->vgpus, i - 1);
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
