/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "nvidia-mig.h"

/* Where vGPUs of mixed sizes may be in a card's memory, or in a GPU instance's: in units of a GiB, from 0 to
 * the size of the type that takes all of it. */

#define MIB_PER_SLOT 1024

unsigned nvidia_placement_size(const TypeSpec *type) {
        return MAX(type->framebuffer_mib / MIB_PER_SLOT, 1U);
}

/* The size of the largest type of its kind. */
static unsigned region_of(const GpuSpec *spec, const TypeSpec *type) {
        unsigned region = 0;

        for (unsigned i = 0; i < spec->types->len; i++) {
                const TypeSpec *other = spec->types->pdata[i];

                if (other->mig_backed == type->mig_backed &&
                    (!type->mig_backed || other->gi_profile == type->gi_profile))
                        region = MAX(region, nvidia_placement_size(other));
        }

        return region;
}

/* How many at most; never more than there is memory for, whatever a file says. */
static unsigned max_of(const GpuSpec *spec, const TypeSpec *type) {
        unsigned fit = region_of(spec, type) / nvidia_placement_size(type);

        return MIN(fit, type->mig_backed ? type->max_per_gi : type->max);
}

static bool is_denied(const GpuSpec *spec, unsigned size, unsigned id) {
        for (unsigned i = 0; size == 1 && i < spec->denied->len; i++)
                if (g_array_index(spec->denied, unsigned, i) == id)
                        return true;

        return false;
}

/* Halves [@left, @right) until there are @parts of it. A part has one at its left edge, one at its right
 * edge, or both. */
typedef struct Halving {
        const GpuSpec *spec;
        unsigned size;
        bool both;
        unsigned index;
        GArray *ids;
} Halving;

static void halve(Halving *h, unsigned left, unsigned right, unsigned parts) {
        unsigned middle = (left + right) / 2, edges[] = { left, right - h->size };
        bool odd;

        if (parts > 1) {
                halve(h, left, middle, parts / 2);
                halve(h, middle, right, parts / 2);
                return;
        }

        odd = h->index++ % 2 == 1;
        for (unsigned i = 0; i < G_N_ELEMENTS(edges); i++)
                if ((h->both || odd == (i == 1)) && !is_denied(h->spec, h->size, edges[i]))
                        g_array_append_val(h->ids, edges[i]);
}

GArray *nvidia_placements(const GpuSpec *spec, const TypeSpec *type) {
        unsigned region = region_of(spec, type), size = nvidia_placement_size(type), max = max_of(spec, type),
                 parts = 1;
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(unsigned));
        Halving h = { spec, size, false, 0, ids };

        if (spec->even_placements) {
                for (unsigned i = 0; i < max; i++) {
                        unsigned id = region * i / max;

                        g_array_append_val(ids, id);
                }
                return g_steal_pointer(&ids);
        }

        while (parts * 2 <= max)
                parts *= 2;
        h.both = parts == max && max > 1;
        halve(&h, 0, region, h.both ? parts / 2 : parts);
        return g_steal_pointer(&ids);
}

GArray *nvidia_equal_placements(const GpuSpec *spec, const TypeSpec *type) {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(unsigned));

        for (unsigned i = 0; i < max_of(spec, type); i++) {
                unsigned id = i * nvidia_placement_size(type);

                g_array_append_val(ids, id);
        }

        return g_steal_pointer(&ids);
}

/* Whether nobody else is there. */
static bool is_free(const Nvidia *nvidia, const GpuInstance *gi, const TypeSpec *type, int id,
                    const Vgpu *except) {
        int size = (int) nvidia_placement_size(type);

        for (unsigned i = 0; i < nvidia->vgpus->len; i++) {
                const Vgpu *vgpu = nvidia->vgpus->pdata[i];
                int other = (int) nvidia_placement_size(vgpu->type);

                if (vgpu != except && vgpu->gi == gi && vgpu->placement >= 0 && vgpu->placement < id + size &&
                    id < vgpu->placement + other)
                        return false;
        }

        return true;
}

GArray *nvidia_free_placements(const Nvidia *nvidia, const GpuInstance *gi, const TypeSpec *type) {
        g_autoptr(GArray) all = nvidia_placements(nvidia->pf->spec, type),
                          list = g_array_new(FALSE, FALSE, sizeof(unsigned));

        for (unsigned i = 0; i < all->len; i++) {
                unsigned id = g_array_index(all, unsigned, i);

                if (is_free(nvidia, gi, type, (int) id, NULL))
                        g_array_append_val(list, id);
        }

        return g_steal_pointer(&list);
}

/* A card's or a GPU instance's. */
bool nvidia_is_mixed(const Nvidia *nvidia, const GpuInstance *gi) {
        return gi ? gi->mixed_size : nvidia->mixed_size;
}

int nvidia_placement_check(const Vgpu *vgpu) {
        g_autoptr(GArray) all = NULL;

        if (!nvidia_is_mixed(vgpu->nvidia, vgpu->gi))
                return 0;

        all = nvidia_placements(vgpu->nvidia->pf->spec, vgpu->type);
        for (unsigned i = 0; i < all->len; i++)
                if (vgpu->placement == (int) g_array_index(all, unsigned, i) &&
                    is_free(vgpu->nvidia, vgpu->gi, vgpu->type, vgpu->placement, vgpu))
                        return 0;

        kernel_log(vgpu->on->device.kernel, "nvidia-vgpu-vfio: vGPU on %s can't be placed at %d",
                   vgpu->on->device.name, vgpu->placement);
        return -EINVAL;
}

/* Believed as it is written: whether it can be is looked at when a VM starts. */
int nvidia_placement_store(Vgpu *vgpu, const char *text) {
        guint64 id;
        g_autofree char *line = g_strndup(text, strcspn(text, "\n"));

        if (nvidia_vgpu_in_use(vgpu))
                return -EPERM;
        if (!g_ascii_string_to_unsigned(line, 10, 0, NVML_NO_PLACEMENT, &id, NULL) ||
            !nvidia_is_mixed(vgpu->nvidia, vgpu->gi))
                return -EINVAL;

        vgpu->placement = (int) id;
        return 0;
}

void nvidia_placement_show(const Vgpu *vgpu, GString *out) {
        if (vgpu->placement >= 0)
                g_string_append_printf(out, "%d\n", vgpu->placement);
        else
                g_string_append(out, "Not Applicable\n");
}

void nvidia_gi_show(const Vgpu *vgpu, GString *out) {
        if (vgpu->gi)
                g_string_append_printf(out, "%u\n", vgpu->gi->id);
        else
                g_string_append(out, "Not Applicable\n");
}

nvmlReturn_t nvidia_set_mixed(Nvidia *nvidia, GpuInstance *gi, bool on) {
        for (unsigned i = 0; i < nvidia->vgpus->len; i++)
                if (!gi || ((Vgpu *) nvidia->vgpus->pdata[i])->gi == gi)
                        return NVML_ERROR_IN_USE;

        if (gi)
                gi->mixed_size = on;
        else
                nvidia->mixed_size = on;
        return NVML_SUCCESS;
}
