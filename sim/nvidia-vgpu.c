/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "nvidia-mig.h"

/* Which vGPU fits where: the resource manager's rules, the same for mdev and vendor VFIO. */

/* Longest plugin parameters. The real limit is not known; this is what others assume. */
#define PARAMS_MAX 1024

#define PLUGIN_WAIT_USEC (5 * G_USEC_PER_SEC)

const TypeSpec *nvidia_type(const GpuSpec *spec, unsigned id) {
        for (unsigned i = 0; i < spec->types->len; i++) {
                const TypeSpec *type = spec->types->pdata[i];

                if (type->id == id)
                        return type;
        }

        return NULL;
}

Vgpu *nvidia_vgpu_on(Nvidia *nvidia, const PciDevice *on) {
        for (unsigned i = 0; i < nvidia->vgpus->len; i++) {
                Vgpu *vgpu = nvidia->vgpus->pdata[i];

                if (vgpu->on == on)
                        return vgpu;
        }

        return NULL;
}

bool nvidia_vgpu_in_use(const Vgpu *vgpu) {
        return vgpu->mdev ? vgpu->mdev->users > 0 : vgpu->on->users > 0;
}

/* Mixed sizes: as long as there is a place. */
static RmStatus may_place(const Nvidia *nvidia, const TypeSpec *type) {
        g_autoptr(GArray) left = nvidia_free_placements(nvidia, NULL, type);

        return left->len > 0 ? RM_OK : RM_FULL;
}

RmStatus nvidia_may_create(Nvidia *nvidia, PciDevice *on, const TypeSpec *type) {
        unsigned count = nvidia->vgpus->len;

        if (on->physfn && nvidia_vgpu_on(nvidia, on))
                return RM_TAKEN;
        if (type->mig_backed != nvidia_mig_on(nvidia))
                return RM_MIG;
        if (type->mig_backed && !nvidia_mig_room(nvidia, type))
                return RM_MIG;
        if (count >= VGPUS_PER_GPU_MAX)
                return RM_FULL;
        if (type->mig_backed)
                return RM_OK;
        if (nvidia->mixed_size)
                return may_place(nvidia, type);

        /* All vGPUs of a card have one size; their series may differ. */
        if (count > 0) {
                const Vgpu *first = nvidia->vgpus->pdata[0];

                if (first->type->framebuffer_mib != type->framebuffer_mib)
                        return RM_OTHER_SIZE;
        }

        return count >= type->max ? RM_FULL : RM_OK;
}

static int first_placement(const Nvidia *nvidia, const GpuInstance *gi, const TypeSpec *type) {
        g_autoptr(GArray) left = NULL;

        if (!nvidia_is_mixed(nvidia, gi))
                return -1;

        left = nvidia_free_placements(nvidia, gi, type);
        return left->len > 0 ? (int) g_array_index(left, unsigned, 0) : -1;
}

Vgpu *nvidia_vgpu_new(Nvidia *nvidia, PciDevice *on, const TypeSpec *type) {
        Kernel *kernel = on->device.kernel;
        Vgpu *vgpu = g_new0(Vgpu, 1);

        vgpu->nvidia = nvidia;
        vgpu->on = on;
        vgpu->type = type;
        vgpu->gi = type->mig_backed ? nvidia_mig_room(nvidia, type) : NULL;
        vgpu->placement = first_placement(nvidia, vgpu->gi, type);
        vgpu->instance = ++kernel->nvml_tokens;
        vgpu->params = g_strdup("");
        g_ptr_array_add(nvidia->vgpus, vgpu);
        kernel_sleep(kernel, kernel->pace.vgpu);
        return vgpu;
}

void nvidia_vgpu_free(Vgpu *vgpu) {
        g_ptr_array_remove(vgpu->nvidia->vgpus, vgpu);
        g_free(vgpu->params);
        g_free(vgpu);
}

int nvidia_wait_plugin(Kernel *kernel, int64_t until) {
        int64_t end = g_get_monotonic_time() + PLUGIN_WAIT_USEC;

        while (until > g_get_monotonic_time()) {
                if (g_get_monotonic_time() >= end)
                        return -EBUSY;
                kernel_wait_until(kernel, MIN(end, until));
        }

        return 0;
}

/* The older way to say where a vGPU shall be. */
static void place_as_told(Vgpu *vgpu) {
        g_auto(GStrv) params = g_strsplit(vgpu->params, ",", -1);

        for (char **param = params; *param; param++) {
                g_strstrip(*param);
                if (g_str_has_prefix(*param, "vgpu-placement-id="))
                        nvidia_placement_store(vgpu, *param + strlen("vgpu-placement-id="));
        }
}

/* One write replaces all; a single space clears; the text itself is looked at only when a VM starts. */
int nvidia_params_store(Vgpu *vgpu, const char *text, size_t len) {
        g_autofree char *line = g_strndup(text, strcspn(text, "\n"));

        if (nvidia_vgpu_in_use(vgpu))
                return -EPERM;
        if (strlen(line) > PARAMS_MAX)
                return -E2BIG;

        g_free(vgpu->params);
        vgpu->params = g_str_equal(line, " ") ? g_strdup("") : g_steal_pointer(&line);
        place_as_told(vgpu);
        return 0;
}

void nvidia_params_show(const Vgpu *vgpu, GString *out) {
        g_string_append_printf(out, "%s\n", vgpu->params);
}
