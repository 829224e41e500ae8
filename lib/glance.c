/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "glance.h"
#include "snapshot.h"
#include "vendor.h"

/* ---- which ---- */

static bool is_chosen(const GArray *vfs, uint32_t index) {
        for (unsigned i = 0; i < vfs->len; i++)
                if (g_array_index(vfs, uint32_t, i) == index)
                        return true;

        return false;
}

/* Can another VF's offers be its own? */
static bool is_free(const CarvedVf *vf) {
        return vf->role == CARVED_VF_FREE && vf->settled && vf->driver && !vf->error;
}

static const CarvedVf *find_witness(const CarvedGpu *gpu, const GArray *vfs) {
        for (unsigned i = 0; i < gpu->vfs->len; i++)
                if (is_free(gpu->vfs->pdata[i]) && !is_chosen(vfs, ((CarvedVf *) gpu->vfs->pdata[i])->index))
                        return gpu->vfs->pdata[i];

        return NULL;
}

static bool changes_one_vf(const CarvedStep *step) {
        return step->vf_index >= 0 && (step->kind == CARVED_STEP_CREATE || step->kind == CARVED_STEP_REMOVE ||
                                       step->kind == CARVED_STEP_PARAMS || step->kind == CARVED_STEP_IDLE);
}

GArray *carved_glance_choose(const CarvedPlan *plan, const CarvedGpu *gpu) {
        g_autoptr(GArray) vfs = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        const CarvedVendor *vendor = carved_vendor_find(gpu->vendor_id);
        const CarvedVf *witness;

        if (!gpu->settled || gpu->error ||
            !(vendor->vfs_offer_alike || gpu->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH))
                return NULL;

        for (unsigned i = 0; i < plan->steps->len; i++) {
                const CarvedStep *step = plan->steps->pdata[i];

                if (carved_pci_address_compare(&step->gpu, &gpu->address) != 0)
                        continue;
                if (!changes_one_vf(step))
                        return NULL;
                if (!is_chosen(vfs, (uint32_t) step->vf_index))
                        g_array_append_val(vfs, step->vf_index);
        }
        if (vfs->len == 0)
                return NULL;

        witness = vendor->vfs_offer_alike ? find_witness(gpu, vfs) : NULL;
        if (witness)
                g_array_append_val(vfs, witness->index);
        return g_steal_pointer(&vfs);
}

/* ---- what it says of the rest ---- */

/* Places of the glance's types among @gpu's; NULL: one is new. */
static unsigned *match_types(const CarvedGpu *gpu, const CarvedGpu *glance) {
        g_autofree unsigned *places = g_new0(unsigned, glance->types->len + 1);

        for (unsigned i = 0; i < glance->types->len; i++) {
                int place = carved_gpu_find_type(gpu, ((CarvedType *) glance->types->pdata[i])->id);

                if (place < 0)
                        return NULL;
                places[i] = (unsigned) place;
        }
        return g_steal_pointer(&places);
}

static void replace(char **target, const char *text) {
        g_free(*target);
        *target = g_strdup(text);
}

static void take_offers(CarvedVf *vf, const CarvedVf *from, const unsigned *places) {
        g_clear_pointer(&vf->available, g_free);
        if (!from->available)
                return;

        vf->available = g_new0(uint16_t, vf->gpu->types->len + 1);
        for (unsigned i = 0; i < from->gpu->types->len; i++)
                vf->available[places[i]] = from->available[i];
}

static void take_vf(CarvedVf *vf, const CarvedVf *from, const unsigned *places) {
        replace(&vf->driver, from->driver);
        replace(&vf->override, from->override);
        replace(&vf->error, from->error);
        vf->iommu_group = from->iommu_group;
        vf->framework = from->framework;
        vf->settled = from->settled;
        take_offers(vf, from, places);
}

static void take_vgpus(CarvedGpu *gpu, const CarvedGpu *glance) {
        for (unsigned i = gpu->vgpus->len; i > 0; i--) {
                const CarvedVgpu *vgpu = gpu->vgpus->pdata[i - 1];

                if (vgpu->vf_index >= 0 && carved_gpu_find_vf(glance, (uint32_t) vgpu->vf_index))
                        g_ptr_array_remove_index(gpu->vgpus, i - 1);
        }
        for (unsigned i = 0; i < glance->vgpus->len; i++) {
                const CarvedVgpu *from = glance->vgpus->pdata[i];
                CarvedVgpu *vgpu = carved_gpu_add_vgpu(gpu, from->uuid, from->vf_index);

                vgpu->framework = from->framework;
                vgpu->type = g_strdup(from->type);
                vgpu->params = g_strdup(from->params);
                vgpu->error = g_strdup(from->error);
                vgpu->iommu_group = from->iommu_group;
                vgpu->gpu_instance = from->gpu_instance;
                vgpu->placement_id = from->placement_id;
        }
}

/* What one free VF offers, all free ones of its kind do. */
static void share_offers(CarvedGpu *gpu, const CarvedGpu *glance, const unsigned *places) {
        const CarvedVf *witness = NULL;

        for (unsigned i = 0; i < glance->vfs->len && !witness; i++)
                if (is_free(glance->vfs->pdata[i]))
                        witness = glance->vfs->pdata[i];

        for (unsigned i = 0; witness && i < gpu->vfs->len; i++) {
                CarvedVf *vf = gpu->vfs->pdata[i];

                if (is_free(vf) && vf->framework == witness->framework &&
                    strcmp(vf->driver, witness->driver) == 0 && !carved_gpu_find_vf(glance, vf->index))
                        take_offers(vf, witness, places);
        }
}

CarvedGpu *carved_glance_merge(const CarvedGpu *gpu, const CarvedGpu *glance) {
        g_autofree unsigned *places = match_types(gpu, glance);
        g_autoptr(CarvedGpu) now = places ? carved_snapshot_copy(gpu) : NULL;

        if (!now || glance->error)
                return NULL;

        for (unsigned i = 0; i < glance->vfs->len; i++) {
                const CarvedVf *from = glance->vfs->pdata[i];
                CarvedVf *vf = (CarvedVf *) carved_gpu_find_vf(now, from->index);

                if (!vf || carved_pci_address_compare(&vf->address, &from->address) != 0)
                        return NULL;
                take_vf(vf, from, places);
        }
        now->settled = now->settled && glance->settled;
        take_vgpus(now, glance);
        if (carved_vendor_find(gpu->vendor_id)->vfs_offer_alike)
                share_offers(now, glance, places);
        carved_gpu_finish(now);
        return g_steal_pointer(&now);
}
