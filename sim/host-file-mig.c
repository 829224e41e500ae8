/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host-file.h"
#include "nvml-abi.h"

/* How a card can be cut by MIG, as its file has it. */

#define MEMORY_SLICES_MAX 16

static bool read_start(Place *at, JsonNode *node, void *target) {
        int64_t n = 0;
        unsigned start;

        if (!host_file_number(at, node, 0, MEMORY_SLICES_MAX - 1, &n))
                return false;

        start = (unsigned) n;
        g_array_append_val(((MigProfile *) target)->starts, start);
        return true;
}

static bool read_starts(Place *at, JsonNode *node, void *target, size_t offset) {
        g_array_set_size(((MigProfile *) target)->starts, 0);
        return host_file_list(at, node, read_start, target);
}

static bool check_profile(Place *at, const MigSpec *mig, const MigProfile *profile) {
        if (!profile->name || profile->max == 0 || profile->slices == 0 || profile->size == 0 ||
            profile->starts->len == 0)
                return host_file_refuse(at, "a profile needs id, enum, name, max, slices, size and starts");
        if (profile->index >= NVML_GPU_INSTANCE_PROFILE_COUNT)
                return host_file_refuse(at, "enum must be a number from 0 to %d",
                                        NVML_GPU_INSTANCE_PROFILE_COUNT - 1);

        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const MigProfile *other = mig->profiles->pdata[i];

                if (other->id == profile->id || other->index == profile->index)
                        return host_file_refuse(at, "%s has this id or enum", other->name);
        }
        return true;
}

static bool read_profile(Place *at, JsonNode *node, void *target) {
        static const Key keys[] = {
                { "id", host_file_count, G_STRUCT_OFFSET(MigProfile, id) },
                { "enum", host_file_count, G_STRUCT_OFFSET(MigProfile, index) },
                { "name", host_file_word, G_STRUCT_OFFSET(MigProfile, name) },
                { "max", host_file_count, G_STRUCT_OFFSET(MigProfile, max) },
                { "slices", host_file_count, G_STRUCT_OFFSET(MigProfile, slices) },
                { "size", host_file_count, G_STRUCT_OFFSET(MigProfile, size) },
                { "starts", read_starts },
                { "memory-mib", host_file_count, G_STRUCT_OFFSET(MigProfile, memory_mib) },
                { "sm", host_file_count, G_STRUCT_OFFSET(MigProfile, multiprocessors) },
                { "ce", host_file_count, G_STRUCT_OFFSET(MigProfile, copy_engines) },
                { "dec", host_file_count, G_STRUCT_OFFSET(MigProfile, decoders) },
                { "enc", host_file_count, G_STRUCT_OFFSET(MigProfile, encoders) },
                { "jpeg", host_file_count, G_STRUCT_OFFSET(MigProfile, jpegs) },
                { "ofa", host_file_count, G_STRUCT_OFFSET(MigProfile, ofas) },
                { "media", host_file_bool, G_STRUCT_OFFSET(MigProfile, media) },
                { "gfx", host_file_bool, G_STRUCT_OFFSET(MigProfile, gfx) },
                {},
        };
        g_autoptr(MigProfile) profile = g_new0(MigProfile, 1);
        MigSpec *mig = target;

        profile->index = NVML_GPU_INSTANCE_PROFILE_COUNT;
        profile->starts = g_array_new(FALSE, FALSE, sizeof(unsigned));
        if (!host_file_object(at, node, keys, profile) || !check_profile(at, mig, profile))
                return false;

        g_ptr_array_add(mig->profiles, g_steal_pointer(&profile));
        return true;
}

static bool read_profiles(Place *at, JsonNode *node, void *target, size_t offset) {
        return host_file_list(at, node, read_profile, target);
}

/* Each start of each profile must be on the card, and at a multiple of its size: that is what ids are made
 * of. */
static bool check_starts(Place *at, const MigSpec *mig) {
        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const MigProfile *profile = mig->profiles->pdata[i];

                if (mig->memory_slices % profile->size != 0 || profile->slices > mig->compute_slices)
                        return host_file_refuse(at, "%s is too large, or no even part", profile->name);
                for (unsigned j = 0; j < profile->starts->len; j++) {
                        unsigned start = g_array_index(profile->starts, unsigned, j);

                        for (unsigned k = 0; k < j; k++)
                                if (g_array_index(profile->starts, unsigned, k) == start)
                                        return host_file_refuse(at, "%s starts at %u twice", profile->name,
                                                                start);
                        if (start % profile->size != 0 || start + profile->size > mig->memory_slices)
                                return host_file_refuse(at, "%s can't start at %u", profile->name, start);
                }
        }

        return true;
}

bool host_file_mig(Place *at, JsonNode *node, void *target, size_t offset) {
        static const Key keys[] = {
                { "memory-slices", host_file_count, G_STRUCT_OFFSET(MigSpec, memory_slices) },
                { "compute-slices", host_file_count, G_STRUCT_OFFSET(MigSpec, compute_slices) },
                { "keeps-mode", host_file_bool, G_STRUCT_OFFSET(MigSpec, keeps_mode) },
                { "mode-resets", host_file_bool, G_STRUCT_OFFSET(MigSpec, mode_resets) },
                { "profiles", read_profiles },
                {},
        };
        g_autoptr(MigSpec) mig = g_new0(MigSpec, 1);
        GpuSpec *gpu = target;

        mig->profiles = g_ptr_array_new_with_free_func((GDestroyNotify) mig_profile_free);
        if (!host_file_object(at, node, keys, mig))
                return false;
        if (mig->memory_slices == 0 || mig->memory_slices > MEMORY_SLICES_MAX || mig->compute_slices == 0 ||
            mig->compute_slices > mig->memory_slices || mig->profiles->len == 0)
                return host_file_refuse(at, "needs memory-slices (1 to %d), compute-slices and profiles",
                                        MEMORY_SLICES_MAX);
        if (!check_starts(at, mig))
                return false;

        mig_spec_free(gpu->mig);
        gpu->mig = g_steal_pointer(&mig);
        return true;
}
