/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "error.h"
#include "explain.h"
#include "explain-nvml.h"
#include "policy.h"
#include "reason.h"
#include "sriov.h"

G_GNUC_PRINTF(2, 3) static GError *say(CarvedError code, const char *format, ...) {
        va_list args;
        GError *error;

        va_start(args, format);
        error = g_error_new_valist(CARVED_ERROR, (int) code, format, args);
        va_end(args);
        return error;
}

/* "The kernel refused 'x' in 'file': EIO, Input/output error", and what was said beside. */
static GError *refused(const CarvedOutcome *o, const char *why) {
        g_autofree char *written = o->value ? g_strdup_printf("'%s' in ", o->value) : g_strdup("");
        const char *name = strerrorname_np(o->errnum);

        return say(CARVED_ERROR_KERNEL_REFUSED, "The kernel refused %s'%s' with %s (%s)%s%s%s%s", written,
                   o->file ?: "?", name ?: "an error", g_strerror(o->errnum), why ? ": " : "", why ?: "",
                   o->output ? "; " : "", o->output ?: "");
}

static GError *in_use(const CarvedStep *step, const CarvedOutcome *o) {
        g_autofree char *users = carved_users_to_text(o->users);
        g_autofree char *what = *step->uuid ? g_strdup_printf("vGPU %s is", step->uuid) : g_strdup("VFs are");

        if (users)
                return say(CARVED_ERROR_IN_USE, "%s in use by process %s", what, users);

        return say(CARVED_ERROR_IN_USE,
                   "%s in use: the kernel says so, though no process has it open; a VM that just ended may "
                   "take some "
                   "seconds to let go",
                   what);
}

/* ---- making a vGPU ---- */

static const CarvedVf *vf_of(const CarvedStep *step, const CarvedGpu *now) {
        return now && step->vf_index >= 0 ? carved_gpu_find_vf(now, (uint32_t) step->vf_index) : NULL;
}

/* The vGPUs of a card count together, unless each has a GPU instance of its own. */
static GError *too_many(const CarvedGpu *now, const CarvedType *type) {
        if (!(now->mig && now->mig->enabled) && type->known & CARVED_TYPE_MAX_INSTANCES &&
            now->vgpus->len >= type->max_instances)
                return say(CARVED_ERROR_NO_CAPACITY, "%s: the card takes %u of it, and %u vGPUs are there",
                           type->name ?: type->id, type->max_instances, now->vgpus->len);

        return NULL;
}

/* Only what the rules of the driver can tell; NULL: they allow it. */
static GError *explain_rules(const CarvedStep *step, const CarvedGpu *now) {
        const CarvedVf *vf = vf_of(step, now);
        int type = now ? carved_gpu_find_type(now, step->type) : -1;
        char address[CARVED_PCI_ADDRESS_MAX];
        GError *error = NULL;

        if (!now || (step->vf_index >= 0 && !vf))
                return say(CARVED_ERROR_NOT_READY, "The card, or its VF, is gone");
        if (!now->driver || (vf && !vf->driver && vf->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH))
                return say(
                        CARVED_ERROR_NOT_READY, "No driver is bound to %s %s",
                        vf && now->driver ? "VF" : "GPU",
                        carved_pci_address_format(vf && now->driver ? &vf->address : &now->address, address));
        if (vf && vf->vgpu >= 0) {
                const CarvedVgpu *vgpu = now->vgpus->pdata[vf->vgpu];

                return say(CARVED_ERROR_CONFLICT, "VF %s holds vGPU %s already, of type %s",
                           carved_pci_address_format(&vf->address, address), vgpu->uuid,
                           vgpu->type ?: "unknown");
        }
        if (vf && !vf->settled)
                return say(CARVED_ERROR_NOT_READY, "The driver has not published the vGPU types of VF %s yet",
                           carved_pci_address_format(&vf->address, address));
        if (type < 0)
                return say(CARVED_ERROR_NO_SUCH_TYPE, "The driver knows no type '%s'", step->type);

        error = too_many(now, now->types->pdata[type]);
        if (!error)
                carved_policy_may_create(now, vf, (unsigned) type, &error);
        return error;
}

static GError *explain_create(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        GError *error;

        if (o->errnum == EEXIST)
                return say(CARVED_ERROR_EXISTS,
                           "A mediated device %s exists already on this host, as something else", step->uuid);
        if (o->errnum == EINVAL && step->framework == CARVED_FRAMEWORK_MDEV)
                return refused(o, "it takes no such UUID");

        error = explain_rules(step, now);
        if (error)
                return error;
        if (o->errnum == ENODEV || o->errnum == ENOENT)
                return say(CARVED_ERROR_NOT_READY,
                           "The place for the vGPU was going away when it was to be made (%s)",
                           g_strerror(o->errnum));

        return refused(
                o, "size, number and place would fit, so it is the driver's own trouble; dmesg has a line "
                   "'Failed to add vgpu create request'");
}

static GError *explain_passthrough(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        const CarvedVf *vf = vf_of(step, now);

        if (!vf)
                return say(CARVED_ERROR_NOT_READY, "The VF is gone");
        if (vf->iommu_group < 0)
                return say(CARVED_ERROR_NOT_READY,
                           "The VF is in no IOMMU group: the IOMMU is off or missing");
        if (o->file && g_str_has_prefix(o->file, "bus/pci/drivers/"))
                return say(CARVED_ERROR_NOT_SUPPORTED,
                           "There is no driver %s, and its module could not be loaded%s%s",
                           strrchr(o->file, '/') + 1, o->output && *o->output ? ": " : "", o->output ?: "");

        return refused(o, "the vfio driver did not take the VF");
}

/* ---- the rest of a vGPU's life ---- */

static GError *explain_remove(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        if (!now)
                return say(CARVED_ERROR_NOT_READY, "The card is gone");
        if (o->errnum == EIO)
                return refused(o, "the driver could not take it away");

        return refused(o, NULL);
}

static GError *explain_params(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        if (o->errnum == E2BIG)
                return say(CARVED_ERROR_INVALID_ARGS, "The driver takes no parameters of %zu bytes",
                           strlen(step->text));
        if (o->errnum == ENXIO || o->errnum == ENODEV)
                return say(CARVED_ERROR_NOT_READY, "vGPU %s was gone when its parameters were to be set",
                           step->uuid);
        if (o->errnum == ENOENT)
                return say(CARVED_ERROR_NOT_SUPPORTED, "vGPU %s has no parameters: its driver offers none",
                           step->uuid);

        return refused(o, NULL);
}

/* ---- VFs ---- */

/* ENOENT of a file that is there: the most reported confusion of all. */
static GError *explain_no_configure(const CarvedStep *step, const CarvedGpu *now) {
        char address[CARVED_PCI_ADDRESS_MAX];

        carved_pci_address_format(&step->gpu, address);
        if (now && now->driver)
                return say(CARVED_ERROR_NOT_SUPPORTED,
                           "Driver %s of GPU %s can't switch SR-IOV through sysfs", now->driver, address);

        return say(CARVED_ERROR_NOT_READY, "No driver is bound to GPU %s, so nobody can switch its VFs",
                   address);
}

static GError *explain_numvfs(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        if (!now)
                return refused(o, NULL);

        switch (o->errnum) {
        case ENOENT:
                return explain_no_configure(step, now);
        case ERANGE:
                if (o->output && step->number == 0)
                        return say(CARVED_ERROR_KERNEL_REFUSED, "No VFs were asked for: %s", o->output);
                if (o->output)
                        return say(CARVED_ERROR_KERNEL_REFUSED,
                                   "%u VFs were asked for: %s; the driver takes no more", step->number,
                                   o->output);
                return say(CARVED_ERROR_INVALID_ARGS, "%u VFs are more than the driver takes now: %u",
                           step->number, now->total_vfs);
        case EBUSY:
                if (now->num_vfs == 0)
                        return refused(o, "the driver is not ready, or locked");
                return say(CARVED_ERROR_CONFLICT,
                           "%u VFs are enabled already, by somebody else, or the driver is locked",
                           now->num_vfs);
        case ENOMEM:
                return refused(
                        o, "there is no room for the VFs' memory or bus numbers; firmware settings 'Above 4G "
                           "decoding' and 'ARI' are the usual causes");
        case EIO:
                return refused(o, "the card's SR-IOV capability contradicts itself (InitialVFs)");
        case ENODEV:
                return refused(o, "a function that must be switched together with it is missing, or the "
                                  "driver is not in "
                                  "PF mode");
        case ENOSYS:
                return refused(o, "the function that it depends on is no PF");
        case ENOSPC:
                return refused(o, "the card has nothing left to share");
        case EPERM:
                return say(CARVED_ERROR_IN_USE, "The driver says that VFs are assigned to guests");
        case ECANCELED:
                return refused(o, "the GPU is wedged; it needs a reset");
        case EUCLEAN:
                return refused(o, "resources given to VFs by hand are left over");
        default:
                return refused(o, NULL);
        }
}

static GError *explain_sriov_manage(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        if (o->status < 0)
                return say(CARVED_ERROR_NOT_SUPPORTED,
                           "'%s' can't be run (%s): it comes with NVIDIA's vGPU host driver", o->file,
                           g_strerror(o->errnum));
        if (carved_sriov_manage_is_locked_out(o->output))
                return say(CARVED_ERROR_IN_USE, "A client of NVIDIA's driver has the card open, so its "
                                                "driver can't be unbound (unbindLock): "
                                                "a VM, DCGM, nvidia-smi or CUDA");
        if (o->status == 0)
                return say(CARVED_ERROR_KERNEL_REFUSED,
                           "sriov-manage %s said that all went well, but %u VFs are enabled, not %u; a "
                           "driver that has "
                           "just come up may need half a minute",
                           o->value, now ? now->num_vfs : 0, step->number);

        return say(CARVED_ERROR_KERNEL_REFUSED, "sriov-manage %s ended with status %d: %s", o->value,
                   o->status, o->output ?: "");
}

GError *carved_explain(const CarvedStep *step, const CarvedOutcome *o, const CarvedGpu *now) {
        /* A card that is gone was not even opened. */
        if (carved_step_is_nvml(step) && (o->in_use || o->status != 0))
                return carved_explain_nvml(step, o, now);
        if (o->in_use)
                return in_use(step, o);

        switch (step->kind) {
        case CARVED_STEP_SRIOV_MANAGE:
                return explain_sriov_manage(step, o, now);
        case CARVED_STEP_NUMVFS:
                return explain_numvfs(step, o, now);
        case CARVED_STEP_CREATE:
                return step->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH ? explain_passthrough(step, o, now)
                                                                          : explain_create(step, o, now);
        case CARVED_STEP_REMOVE:
                return explain_remove(step, o, now);
        case CARVED_STEP_PARAMS:
                return explain_params(step, o, now);
        default:
                return refused(o, NULL);
        }
}

/* VFs that have no driver got none: this is why, as far as can be told; else which. */
static char *why_no_driver(const CarvedVf *bare, bool all) {
        char address[CARVED_PCI_ADDRESS_MAX];

        if (bare->iommu_group < 0)
                return g_strdup("the IOMMU is off or missing");
        if (all)
                return g_strdup(
                        "it may be the ordinary driver, not the vGPU host driver, which takes no VFs");

        return g_strdup(carved_pci_address_format(&bare->address, address));
}

GError *carved_explain_wait(const CarvedStep *step, const CarvedGpu *now) {
        unsigned without_driver = 0, unsettled = 0;
        const CarvedVf *bare = NULL;
        g_autofree char *why = NULL;

        if (!now)
                return say(CARVED_ERROR_NOT_READY, "The card is gone");
        if (now->vfs->len != step->number || now->num_vfs != step->number)
                return say(CARVED_ERROR_NOT_READY, "%u VFs are there, not %u",
                           now->vfs->len != step->number ? now->vfs->len : now->num_vfs, step->number);
        if (!now->driver)
                return say(CARVED_ERROR_NOT_READY, "The card has lost its driver");

        for (unsigned i = 0; i < now->vfs->len; i++) {
                const CarvedVf *vf = now->vfs->pdata[i];

                unsettled += !vf->settled;
                if (!vf->driver && vf->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH) {
                        without_driver++;
                        bare = bare ?: vf;
                }
        }
        if (bare) {
                why = why_no_driver(bare, without_driver == now->vfs->len);
                return say(CARVED_ERROR_NOT_READY, "%u of %u VFs got no driver: %s", without_driver,
                           now->vfs->len, why);
        }
        if (now->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                return say(CARVED_ERROR_NOT_READY, "%u of %u VFs could not be read", unsettled,
                           now->vfs->len);
        if (unsettled == 0)
                return say(CARVED_ERROR_NOT_READY,
                           "The driver has published no vGPU types: has nvidia-vgpud run?");

        return say(CARVED_ERROR_NOT_READY,
                   "The vGPU types of %u of %u VFs were not published in time: has nvidia-vgpud run?",
                   unsettled, now->vfs->len);
}
