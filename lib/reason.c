/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "reason.h"
#include "vfio-driver.h"

void carved_reason_clear(CarvedReason *reason) {
        reason->code = NULL;
        g_clear_pointer(&reason->text, g_free);
}

G_GNUC_PRINTF(2, 3) static CarvedReason reason(const char *code, const char *format, ...) {
        va_list args;
        char *text;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        return (CarvedReason){ code, text };
}

static CarvedReason no_reason(void) {
        return (CarvedReason){ NULL, NULL };
}

static bool any_creatable(const CarvedGpu *gpu) {
        for (unsigned i = 0; i < gpu->types->len; i++)
                if (carved_gpu_is_creatable(gpu, i))
                        return true;

        return false;
}

/* What keeps the whole card from having vGPUs, however many are there. */
static CarvedReason for_card(const CarvedGpu *gpu) {
        if (gpu->lost)
                return reason("lost", "The card is gone; what is wanted of it is kept");
        if (gpu->stalled)
                return reason("stalled",
                              "The driver does not answer: somebody holds the card's lock in the kernel");
        if (gpu->mismatch)
                return reason("mismatch",
                              "Another card is in this slot than the one that vGPUs are wanted of, %s%s%s; "
                              "Adopt this "
                              "one, or Forget that",
                              gpu->stored_identity, gpu->stored_serial ? ", serial number " : "",
                              gpu->stored_serial ?: "");
        if (gpu->unreadable)
                return reason("state-unreadable",
                              "What is wanted of the card can't be read: %s; Adopt what is "
                              "there, or Forget it",
                              gpu->unreadable);
        if (!gpu->driver)
                return reason("no-driver", "No driver is bound to the card");
        if (carved_vfio_is_driver(gpu->driver))
                return reason("on-vfio-pci", "The card is bound to %s, to be passed through whole",
                              gpu->driver);
        if (gpu->framework == CARVED_FRAMEWORK_NONE)
                return reason("no-sriov", "The card has no SR-IOV, and driver %s offers no mediated devices",
                              gpu->driver);
        if (gpu->iommu_group < 0 && !gpu->has_mdev)
                return reason("no-iommu", "The card is in no IOMMU group: the IOMMU is off or missing");
        if (gpu->has_sriov && !gpu->has_mdev && gpu->num_vfs == 0)
                return reason("vfs-off", "SR-IOV is off: none of %u VFs is enabled", gpu->total_vfs);

        return no_reason();
}

static CarvedReason types_pending(void) {
        return reason("types-pending", "The driver has not published its vGPU types yet");
}

static bool is_cut(const CarvedGpu *gpu) {
        return gpu->mig && gpu->mig->enabled;
}

static unsigned count_free(const CarvedGpu *gpu) {
        unsigned n = 0;

        for (unsigned i = 0; i < gpu->mig->instances->len; i++)
                n += !carved_gpu_instance_vgpu(gpu, gpu->mig->instances->pdata[i]);
        return n;
}

/* With MIG on, a vGPU needs a GPU instance to itself. */
static CarvedReason no_instance(const CarvedGpu *gpu) {
        if (gpu->mig->instances->len == 0)
                return reason("no-gpu-instance",
                              "MIG is on, and there is no GPU instance: ApplyLayout makes some");
        if (count_free(gpu) == 0)
                return reason("no-gpu-instance", "MIG is on, and each of %u GPU instances holds a vGPU",
                              gpu->mig->instances->len);
        return reason("no-gpu-instance",
                      "MIG is on, and the driver offers no vGPU type for the %u GPU instances "
                      "that are free",
                      count_free(gpu));
}

CarvedReason carved_reason_for_gpu(const CarvedGpu *gpu) {
        CarvedReason r = for_card(gpu);

        if (r.code || any_creatable(gpu))
                return r;
        if (is_cut(gpu) && gpu->settled)
                return no_instance(gpu);
        if (gpu->vgpus->len > 0)
                return reason("full", "All that the card can hold is there: %u vGPUs", gpu->vgpus->len);
        if (gpu->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                return reason("full", "Each of its %u VFs is taken", gpu->vfs->len);

        return types_pending();
}

static bool vf_any_creatable(const CarvedVf *vf) {
        for (unsigned i = 0; i < vf->gpu->types->len; i++)
                if (carved_vf_is_creatable(vf, i))
                        return true;

        return false;
}

CarvedReason carved_reason_for_vf(const CarvedVf *vf) {
        const CarvedGpu *gpu = vf->gpu;

        if (vf->error)
                return reason("unreadable", "%s", vf->error);
        if (gpu->stalled || gpu->mismatch || gpu->unreadable)
                return for_card(gpu);
        if (vf->vgpu >= 0)
                return reason("occupied", "The VF holds vGPU %s",
                              ((CarvedVgpu *) gpu->vgpus->pdata[vf->vgpu])->uuid);
        if (vf->role == CARVED_VF_PASSTHROUGH)
                return reason("on-vfio-pci", "The VF is bound to %s, to be passed through whole", vf->driver);
        if (vf->role == CARVED_VF_HOST)
                return reason("host-driver", "The host itself uses the VF, by driver %s", vf->driver);
        if (vf->iommu_group < 0)
                return reason("no-iommu", "The VF is in no IOMMU group: the IOMMU is off or missing");
        if (vf_any_creatable(vf))
                return no_reason();
        if (!vf->driver && vf->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH)
                return reason("no-driver", "No driver is bound to the VF");
        if (vf->settled && is_cut(gpu))
                return no_instance(gpu);
        if (!vf->settled || gpu->types->len == 0)
                return types_pending();

        return reason("full", "All that the card can hold is there: %u vGPUs", gpu->vgpus->len);
}

/* The first vGPU of another size than @type, which fixes the card to its own. */
static const CarvedVgpu *other_size(const CarvedGpu *gpu, const CarvedType *type) {
        if (!(type->known & CARVED_TYPE_FRAMEBUFFER) || gpu->mixed_size > 0 || is_cut(gpu))
                return NULL;

        for (unsigned i = 0; i < gpu->vgpus->len; i++) {
                const CarvedType *t = carved_vgpu_type(gpu->vgpus->pdata[i]);

                if (t && (t->known & CARVED_TYPE_FRAMEBUFFER) && t->framebuffer_mib != type->framebuffer_mib)
                        return gpu->vgpus->pdata[i];
        }
        return NULL;
}

/* What MIG has to say to a type. */
static CarvedReason for_cut(const CarvedGpu *gpu, const CarvedType *type) {
        bool needs_instance = type->known & CARVED_TYPE_MIG_PROFILE;

        if (!gpu->mig)
                return no_reason();
        if (needs_instance && !gpu->mig->enabled)
                return reason("mig-off", "it needs a GPU instance %s, and MIG is off",
                              carved_mig_profile_name(gpu->mig, type->mig_profile));
        if (needs_instance)
                return reason("no-gpu-instance", "it needs a free GPU instance %s, and there is none",
                              carved_mig_profile_name(gpu->mig, type->mig_profile));

        return gpu->mig->enabled ? reason("mig-on", "MIG is on, and it is a time-sliced type") : no_reason();
}

CarvedReason carved_reason_for_type(const CarvedGpu *gpu, unsigned index) {
        const CarvedType *type = gpu->types->pdata[index];
        CarvedReason r = for_card(gpu);
        const CarvedVgpu *other;

        if (r.code || carved_gpu_is_creatable(gpu, index))
                return r;

        r = for_cut(gpu, type);
        if (r.code)
                return r;
        other = other_size(gpu, type);
        if (other)
                return reason("size-fixed",
                              "vGPU %s fixes the card to its own size, %" G_GUINT64_FORMAT " MiB",
                              other->uuid, carved_vgpu_type(other)->framebuffer_mib);
        if (gpu->vgpus->len > 0 || gpu->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                return reason("full", "All that the card can hold of this type is there");

        return gpu->settled ? reason("not-offered", "the driver does not offer it now") : types_pending();
}
