/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "nvidia.h"

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

RmStatus nvidia_may_create(Nvidia *nvidia, PciDevice *on, const TypeSpec *type) {
        unsigned count = nvidia->vgpus->len;

        if (on->physfn && nvidia_vgpu_on(nvidia, on))
                return RM_TAKEN;

        /* All vGPUs of a card have one size; their series may differ. */
        if (count > 0) {
                const Vgpu *first = nvidia->vgpus->pdata[0];

                if (first->type->framebuffer_mib != type->framebuffer_mib)
                        return RM_OTHER_SIZE;
        }

        if (count >= type->max || count >= VGPUS_PER_GPU_MAX)
                return RM_FULL;

        return RM_OK;
}

Vgpu *nvidia_vgpu_new(Nvidia *nvidia, PciDevice *on, const TypeSpec *type) {
        Kernel *kernel = on->device.kernel;
        Vgpu *vgpu = g_new0(Vgpu, 1);

        vgpu->nvidia = nvidia;
        vgpu->on = on;
        vgpu->type = type;
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

/* One write replaces all; a single space clears; the text itself is looked at only when a VM starts. */
int nvidia_params_store(Vgpu *vgpu, const char *text, size_t len) {
        g_autofree char *line = g_strndup(text, strcspn(text, "\n"));

        if (nvidia_vgpu_in_use(vgpu))
                return -EPERM;
        if (strlen(line) > PARAMS_MAX)
                return -E2BIG;

        g_free(vgpu->params);
        vgpu->params = g_str_equal(line, " ") ? g_strdup("") : g_steal_pointer(&line);
        return 0;
}

void nvidia_params_show(const Vgpu *vgpu, GString *out) {
        g_string_append_printf(out, "%s\n", vgpu->params);
}
