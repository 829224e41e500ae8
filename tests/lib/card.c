/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "card.h"

static void add_type(CarvedGpu *gpu, const char *id, const char *name, uint64_t mib) {
        CarvedType *type = carved_type_new(id);

        type->name = g_strdup(name);
        type->framebuffer_mib = mib;
        type->known = mib ? CARVED_TYPE_FRAMEBUFFER : 0;
        g_ptr_array_add(gpu->types, type);
}

static void add_vf(CarvedGpu *gpu, uint32_t i) {
        bool whole = gpu->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
        CarvedPciAddress at = { gpu->address.domain, gpu->address.bus, 0, (uint8_t) (4 + i) };
        CarvedVf *vf = carved_gpu_add_vf(gpu, i, &at);

        vf->driver = whole ? NULL : g_strdup("nvidia");
        vf->framework = gpu->framework;
        vf->iommu_group = 10 + (int32_t) i;
        vf->settled = true;
        vf->available = g_new0(uint16_t, 2);
        offer(gpu, i, !whole, !whole);
}

CarvedGpu *card_new(const CarvedPciAddress *at, CarvedFramework framework, uint32_t total_vfs, uint32_t vfs) {
        bool whole = framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
        CarvedGpu *gpu = carved_gpu_new(at);

        gpu->vendor_id = whole ? 0x8086 : 0x10de;
        gpu->driver = g_strdup(whole ? "xe" : "nvidia");
        gpu->iommu_group = 1;
        gpu->has_sriov = true;
        gpu->total_vfs = total_vfs;
        gpu->num_vfs = vfs;
        gpu->framework = framework;
        if (whole)
                add_type(gpu, CARVED_TYPE_VF, "Virtual function", 0);
        else {
                add_type(gpu, "nvidia-746", "NVIDIA A2-4Q", 4096);
                add_type(gpu, "nvidia-747", "NVIDIA A2-8Q", 8192);
        }
        for (uint32_t i = 0; i < vfs; i++)
                add_vf(gpu, i);
        return gpu;
}

CarvedGpu *card_new_t4(const CarvedPciAddress *at) {
        CarvedGpu *gpu = card_new(at, CARVED_FRAMEWORK_MDEV, /* total_vfs= */ 0, /* vfs= */ 0);

        gpu->has_sriov = false;
        gpu->has_mdev = true;
        gpu->available = g_new0(uint16_t, 2);
        gpu->available[CARD_4Q] = 2;
        return gpu;
}

CarvedType *card_type(CarvedGpu *gpu, unsigned i) {
        return gpu->types->pdata[i];
}

CarvedVf *vf_of(CarvedGpu *gpu, unsigned i) {
        return gpu->vfs->pdata[i];
}

void offer(CarvedGpu *gpu, unsigned vf, uint16_t of_4q, uint16_t of_8q) {
        vf_of(gpu, vf)->available[CARD_4Q] = of_4q;
        vf_of(gpu, vf)->available[CARD_8Q] = of_8q;
}

CarvedVgpu *hold(CarvedGpu *gpu, const char *uuid, int32_t vf) {
        CarvedVgpu *vgpu = carved_gpu_add_vgpu(gpu, uuid, vf);

        vgpu->framework = gpu->framework;
        vgpu->type = g_strdup("nvidia-746");
        vgpu->params = g_strdup("");
        if (vf >= 0)
                offer(gpu, (unsigned) vf, 0, 0);
        return vgpu;
}

void show(CarvedModel *model, CarvedGpu *gpu) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ, .address = gpu->address, .gpu = gpu };

        carved_gpu_finish(gpu);
        g_array_unref(carved_model_apply(model, &update));
}

CarvedModel *host(CarvedGpu *gpu) {
        CarvedModel *model = carved_model_new();

        show(model, gpu);
        return model;
}

CarvedIntent *want(const char *uuid, int32_t vf, CarvedFramework framework, const char *type) {
        CarvedIntent *intent = carved_intent_new();
        CarvedWanted *wanted = carved_wanted_new(uuid, vf, framework, type);

        wanted->labels = g_strdupv(LIST("team", "ml"));
        g_ptr_array_add(intent->vgpus, wanted);
        return intent;
}

CarvedStep *step_on(CarvedGpu *gpu, CarvedStepKind kind, const char *uuid) {
        CarvedStep *step = carved_step_new(kind, gpu);

        if (kind < CARVED_STEP_IDLE) {
                step->number = 4;
                return step;
        }
        step->vf_index = 1;
        step->vf = vf_of(gpu, 1)->address;
        g_strlcpy(step->uuid, uuid, sizeof step->uuid);
        g_free(step->type);
        step->type = g_strdup(((CarvedType *) gpu->types->pdata[0])->id);
        g_free(step->text);
        step->text = g_strdup("x=1");
        return step;
}
