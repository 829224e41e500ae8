/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "nvidia-mig.h"
#include "rules.h"

/* Which GPU instance fits where. It takes memory slices [start, start + size) and some of the compute slices,
 * of which there may be fewer; the media extension is there once. */

static const MigSpec *spec_of(const Nvidia *nvidia) {
        return nvidia->pf->spec->mig;
}

void nvidia_mig_cold(PciDevice *pf) {
        const GpuSpec *spec = pf->spec;

        pf->mig_mode = pf->mig_pending = spec->mig && spec->mig->keeps_mode && spec->inforom_mig;
}

void nvidia_mig_reset(PciDevice *pf) {
        pf->mig_mode = pf->mig_pending;
}

bool nvidia_mig_on(const Nvidia *nvidia) {
        return nvidia->pf->mig_mode;
}

/* Why a mode that was asked for has to wait. */
static nvmlReturn_t may_activate(const Nvidia *nvidia, unsigned others) {
        const PciDevice *pf = nvidia->pf;
        int injected = rules_apply_nvml(pf->device.kernel, "activationStatus", pf->device.name, NULL);

        if (injected != 0)
                return injected > 0 ? (nvmlReturn_t) injected : NVML_ERROR_UNKNOWN;
        if (others > 0 || nvidia->vgpus->len > 0)
                return NVML_ERROR_IN_USE;
        /* A reset would take the VFs along. */
        if (spec_of(nvidia)->mode_resets && pf->num_vfs > 0)
                return NVML_ERROR_IN_USE;
        return NVML_SUCCESS;
}

nvmlReturn_t nvidia_mig_set_mode(Nvidia *nvidia, bool on, unsigned others, nvmlReturn_t *ret_activation) {
        PciDevice *pf = nvidia->pf;

        *ret_activation = NVML_SUCCESS;
        if (on != pf->mig_mode) {
                if (nvidia->instances->len > 0)
                        return NVML_ERROR_IN_USE;
                if (!on && pf->num_vfs > 0)
                        return NVML_ERROR_IN_USE;
        }

        pf->mig_pending = on;
        if (spec_of(nvidia)->keeps_mode && pf->spec->inforom_mig != on) {
                pf->spec->inforom_mig = on;
                if (pf->device.kernel->save_inforom)
                        pf->device.kernel->save_inforom(pf->device.kernel, pf->spec);
        }
        if (on == pf->mig_mode)
                return NVML_SUCCESS;

        *ret_activation = may_activate(nvidia, others);
        if (*ret_activation != NVML_SUCCESS)
                return NVML_SUCCESS;

        nvidia_mig_reset(pf);
        nvidia->mixed_size = false;
        nvidia_new_generation(nvidia);
        return NVML_SUCCESS;
}

const MigProfile *nvidia_mig_profile(const MigSpec *mig, unsigned id) {
        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const MigProfile *profile = mig->profiles->pdata[i];

                if (profile->id == id)
                        return profile;
        }

        return NULL;
}

/* What the instances there are take. */
typedef struct Taken {
        uint32_t memory; /* a bit for each slice */
        unsigned compute;
        bool media;
} Taken;

static uint32_t slices_at(unsigned start, unsigned size) {
        return ((1U << size) - 1) << start;
}

static Taken taken(const Nvidia *nvidia) {
        Taken t = {};

        for (unsigned i = 0; i < nvidia->instances->len; i++) {
                const GpuInstance *gi = nvidia->instances->pdata[i];

                t.memory |= slices_at(gi->start, gi->profile->size);
                t.compute += gi->profile->slices;
                t.media |= gi->profile->media;
        }

        return t;
}

static bool fits(const MigSpec *mig, const Taken *t, const MigProfile *profile, unsigned start) {
        return !(t->memory & slices_at(start, profile->size)) &&
               t->compute + profile->slices <= mig->compute_slices && !(t->media && profile->media);
}

unsigned nvidia_mig_capacity(const Nvidia *nvidia, const MigProfile *profile) {
        const MigSpec *mig = spec_of(nvidia);
        Taken t = taken(nvidia);
        unsigned n = 0;

        /* All of one size, and on multiples of it: no two starts overlap, so none is better than another. */
        for (unsigned i = 0; i < profile->starts->len; i++) {
                unsigned start = g_array_index(profile->starts, unsigned, i);

                if (!fits(mig, &t, profile, start))
                        continue;
                t.memory |= slices_at(start, profile->size);
                t.compute += profile->slices;
                t.media |= profile->media;
                n++;
        }

        return n;
}

/* Ids tell the position: the whole is 0, halves are 1 and 2, quarters 3 to 6, and so on. */
static unsigned id_at(const MigSpec *mig, unsigned start, unsigned size) {
        return mig->memory_slices / size - 1 + start / size;
}

static int by_id(const void *a, const void *b) {
        unsigned ia = (*(GpuInstance *const *) a)->id, ib = (*(GpuInstance *const *) b)->id;

        return ia < ib ? -1 : ia > ib;
}

static void add(Nvidia *nvidia, const MigProfile *profile, unsigned start, GpuInstance **ret) {
        GpuInstance *gi = g_new0(GpuInstance, 1);

        gi->token = ++nvidia->pf->device.kernel->nvml_tokens;
        gi->id = id_at(spec_of(nvidia), start, profile->size);
        gi->start = start;
        gi->profile = profile;
        gi->computes = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(nvidia->instances, gi);
        g_ptr_array_sort(nvidia->instances, by_id);
        *ret = gi;
}

nvmlReturn_t nvidia_mig_create(Nvidia *nvidia, const MigProfile *profile, const nvmlPlacement_t *placement,
                               GpuInstance **ret) {
        Taken t = taken(nvidia);
        bool known = !placement;

        for (unsigned i = 0; i < profile->starts->len; i++) {
                unsigned start = g_array_index(profile->starts, unsigned, i);

                if (placement && (placement->start != start || placement->size != profile->size))
                        continue;
                known = true;
                if (fits(spec_of(nvidia), &t, profile, start)) {
                        add(nvidia, profile, start, ret);
                        return NVML_SUCCESS;
                }
        }

        return known ? NVML_ERROR_INSUFFICIENT_RESOURCES : NVML_ERROR_INVALID_ARGUMENT;
}

static void instance_free(GpuInstance *gi) {
        g_ptr_array_unref(gi->computes);
        g_free(gi);
}

nvmlReturn_t nvidia_mig_destroy(Nvidia *nvidia, GpuInstance *gi) {
        if (gi->computes->len > 0)
                return NVML_ERROR_IN_USE;
        for (unsigned i = 0; i < nvidia->vgpus->len; i++)
                if (((Vgpu *) nvidia->vgpus->pdata[i])->gi == gi)
                        return NVML_ERROR_IN_USE;

        g_ptr_array_remove(nvidia->instances, gi);
        instance_free(gi);
        return NVML_SUCCESS;
}

void nvidia_mig_wipe(Nvidia *nvidia) {
        for (unsigned i = 0; i < nvidia->instances->len; i++)
                instance_free(nvidia->instances->pdata[i]);
        g_ptr_array_set_size(nvidia->instances, 0);
}

static bool has_room(const Nvidia *nvidia, const GpuInstance *gi, const TypeSpec *type) {
        unsigned count = 0;

        for (unsigned i = 0; i < nvidia->vgpus->len; i++) {
                const Vgpu *vgpu = nvidia->vgpus->pdata[i];

                if (vgpu->gi != gi)
                        continue;
                if (!gi->mixed_size && vgpu->type->framebuffer_mib != type->framebuffer_mib)
                        return false;
                count++;
        }
        if (gi->mixed_size) {
                g_autoptr(GArray) left = nvidia_free_placements(nvidia, gi, type);

                return left->len > 0;
        }

        return count < type->max_per_gi;
}

/* Nobody can choose, and nobody has said how the driver does: the last one. */
GpuInstance *nvidia_mig_room(const Nvidia *nvidia, const TypeSpec *type) {
        for (unsigned i = nvidia->instances->len; i > 0; i--) {
                GpuInstance *gi = nvidia->instances->pdata[i - 1];

                if (gi->profile->id == type->gi_profile && has_room(nvidia, gi, type))
                        return gi;
        }

        return NULL;
}

GpuInstance *nvidia_mig_find(const Nvidia *nvidia, unsigned id) {
        for (unsigned i = 0; i < nvidia->instances->len; i++) {
                GpuInstance *gi = nvidia->instances->pdata[i];

                if (gi->id == id)
                        return gi;
        }

        return NULL;
}
