/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "error.h"
#include "explain-nvml.h"
#include "nvml.h"

/* What the step is about, for the middle of a sentence. */
static char *what(const CarvedStep *step) {
        char gpu[CARVED_PCI_ADDRESS_MAX];

        carved_pci_address_format(&step->gpu, gpu);
        switch (step->kind) {
        case CARVED_STEP_MIG:
                return g_strdup_printf("MIG of GPU %s can't be switched %s", gpu,
                                       step->number ? "on" : "off");
        case CARVED_STEP_MIXED_SIZE:
                return g_strdup_printf("Mixed sizes of GPU %s can't be switched %s", gpu,
                                       step->number ? "on" : "off");
        default:
                return g_strdup_printf("GPU instance %s at %u:%u of GPU %s can't be %s", step->text,
                                       step->placement.start, step->placement.size, gpu,
                                       step->kind == CARVED_STEP_MAKE_INSTANCE ? "created" : "destroyed");
        }
}

static CarvedError error_for(NvmlReturn r) {
        switch (r) {
        case NVML_IN_USE:
                return CARVED_ERROR_IN_USE;
        case NVML_INSUFFICIENT_RESOURCES:
                return CARVED_ERROR_NO_CAPACITY;
        case NVML_NOT_SUPPORTED:
        case NVML_LIBRARY_NOT_FOUND:
        case NVML_FUNCTION_NOT_FOUND:
        case NVML_DEPRECATED:
                return CARVED_ERROR_NOT_SUPPORTED;
        case NVML_DRIVER_NOT_LOADED:
        case NVML_GPU_IS_LOST:
        case NVML_GPU_NOT_FOUND:
        case NVML_NOT_READY:
        case NVML_RESET_REQUIRED:
        case NVML_LIB_RM_VERSION_MISMATCH:
                return CARVED_ERROR_NOT_READY;
        default:
                return CARVED_ERROR_KERNEL_REFUSED;
        }
}

/* The instance that is where this one should go. */
static const CarvedGpuInstance *rival(const CarvedStep *step, const CarvedGpu *now) {
        const CarvedPlacement *a = &step->placement;

        for (unsigned i = 0; now && now->mig && i < now->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = now->mig->instances->pdata[i];
                const CarvedPlacement *b = &instance->placement;

                if (a->start < b->start + b->size && b->start < a->start + a->size)
                        return instance;
        }
        return NULL;
}

static GError *in_use(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now,
                      const char *text) {
        g_autofree char *users = carved_users_to_text(o->users);
        const CarvedGpuInstance *instance =
                now && now->mig ? carved_mig_find_placed(now->mig, step->profile, step->placement) : NULL;
        const CarvedVgpu *vgpu = instance ? carved_gpu_instance_vgpu(now, instance) : NULL;

        if (vgpu)
                return g_error_new(CARVED_ERROR, CARVED_ERROR_IN_USE, "%s: it holds vGPU %s", text,
                                   vgpu->uuid);
        if (users)
                return g_error_new(CARVED_ERROR, CARVED_ERROR_IN_USE, "%s: process %s has the card open",
                                   text, users);
        return g_error_new(
                CARVED_ERROR, CARVED_ERROR_IN_USE,
                "%s: NVIDIA's driver says that it is in use, though no process of this host has the "
                "card open",
                text);
}

GError *carved_explain_nvml(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        const CarvedGpuInstance *other = step->kind == CARVED_STEP_MAKE_INSTANCE ? rival(step, now) : NULL;
        g_autofree char *text = what(step);

        if (o->in_use)
                return in_use(step, o, now, text);
        if (o->status == NVML_INSUFFICIENT_RESOURCES && other)
                return g_error_new(CARVED_ERROR, CARVED_ERROR_CONFLICT,
                                   "%s: GPU instance %u, %s at %u:%u, is there", text, other->id,
                                   carved_mig_profile_name(now->mig, other->profile), other->placement.start,
                                   other->placement.size);
        if (now && now->mig && !now->mig->enabled && o->status == NVML_NOT_SUPPORTED &&
            step->kind != CARVED_STEP_MIG && step->kind != CARVED_STEP_MIXED_SIZE)
                return g_error_new(CARVED_ERROR, CARVED_ERROR_NOT_READY, "%s: MIG is off", text);

        return g_error_new(CARVED_ERROR, (int) error_for(o->status),
                           "%s: NVIDIA's driver refused %s: %s (%d)%s%s", text, o->file ?: "it",
                           carved_nvml_text(o->status), o->status, o->output ? "; " : "", o->output ?: "");
}
