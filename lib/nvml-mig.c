/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <math.h>
#include <string.h>

#include "nvml-mig.h"

/* NVML ends the list of profiles itself; this ends it for a library that does not. */
#define PROFILES_MAX   64U
#define PLACEMENTS_MAX 64U

/* One profile in whichever version the library knows. */
typedef struct Profile {
        uint32_t id, slices, instances;
        uint64_t memory_mb;
        char name[NVML_TEXT]; /* "": not told */
} Profile;

/* Before version 2 profiles have no name: then it is made as nvidia-smi does. By NVML's own number of it. */
static const char *suffix_of(uint32_t number) {
        static const char *const suffixes[] = {
                [7] = "+me",  [8] = "+me",  [10] = "+gfx",    [11] = "+gfx",    [12] = "+gfx",
                [13] = "-me", [14] = "-me", [15] = "+me.all", [16] = "+me.all", [17] = "+gfx"
        };

        return number < G_N_ELEMENTS(suffixes) && suffixes[number] ? suffixes[number] : "";
}

/* A share of the memory in eighths, and of the gigabytes that people know the card by. */
static void make_name(const CarvedNvml *nvml, NvmlDevice *device, uint32_t number, Profile *p) {
        NvmlMemory memory = { 0 };
        double total, share;

        if (carved_nvml_call(nvml, get_memory, device, &memory) != NVML_SUCCESS || memory.total == 0) {
                g_snprintf(p->name, sizeof p->name, "%ug.%" G_GUINT64_FORMAT "mb%s", p->slices, p->memory_mb,
                           suffix_of(number));
                return;
        }

        total = (double) memory.total / (1024 * 1024);
        share = ceil((double) p->memory_mb / total * 8) / 8;
        g_snprintf(p->name, sizeof p->name, "%ug.%.0fgb%s", p->slices, round(share * ceil(total / 1024)),
                   suffix_of(number));
}

static NvmlReturn get_profile3(const CarvedNvml *nvml, NvmlDevice *device, uint32_t number, Profile *ret) {
        NvmlProfile3 p = { .version = NVML_PROFILE3 };
        NvmlReturn r = carved_nvml_call(nvml, get_profile_v, device, number, &p);

        if (r != NVML_SUCCESS)
                return r;
        *ret = (Profile){ p.id, p.slices, p.instances, p.memory_mb, "" };
        carved_nvml_take_text(ret->name, sizeof ret->name, p.name, sizeof p.name);
        return r;
}

static NvmlReturn get_profile2(const CarvedNvml *nvml, NvmlDevice *device, uint32_t number, Profile *ret) {
        NvmlProfile2 p = { .version = NVML_PROFILE2 };
        NvmlReturn r = carved_nvml_call(nvml, get_profile_v, device, number, &p);

        if (r != NVML_SUCCESS)
                return r;
        *ret = (Profile){ p.id, p.slices, p.instances, p.memory_mb, "" };
        carved_nvml_take_text(ret->name, sizeof ret->name, p.name, sizeof p.name);
        return r;
}

/* The newest that the library knows. The newer ones need MIG on, the first one does not; and what is no
 * longer a profile is told by all of them. */
static NvmlReturn get_profile(const CarvedNvml *nvml, NvmlDevice *device, uint32_t number, Profile *ret) {
        NvmlProfile1 p = { 0 };
        NvmlReturn r;

        if (get_profile3(nvml, device, number, ret) != NVML_SUCCESS &&
            get_profile2(nvml, device, number, ret) != NVML_SUCCESS) {
                r = carved_nvml_call(nvml, get_profile, device, number, &p);
                if (r != NVML_SUCCESS)
                        return r;
                *ret = (Profile){ p.id, p.slices, p.instances, p.memory_mb, "" };
        }
        /* nvidia-smi says "MIG 1g.5gb"; people leave it out. */
        if (g_str_has_prefix(ret->name, "MIG "))
                memmove(ret->name, ret->name + 4, strlen(ret->name + 4) + 1);
        if (!*ret->name)
                make_name(nvml, device, number, ret);
        return NVML_SUCCESS;
}

static NvmlReturn read_placements(const CarvedNvml *nvml, NvmlDevice *device, CarvedMigProfile *profile) {
        NvmlPlacement places[PLACEMENTS_MAX] = { 0 };
        uint32_t n = 0;
        NvmlReturn r;

        r = carved_nvml_call(nvml, get_placements, device, profile->id, NULL, &n);
        if (r != NVML_SUCCESS && r != NVML_INSUFFICIENT_SIZE)
                return r;
        if (n > PLACEMENTS_MAX)
                return NVML_INSUFFICIENT_SIZE;
        r = carved_nvml_call(nvml, get_placements, device, profile->id, places, &n);
        for (uint32_t i = 0; r == NVML_SUCCESS && i < MIN(n, PLACEMENTS_MAX); i++)
                carved_mig_profile_place(profile, places[i].start, places[i].size);
        return r;
}

static NvmlReturn read_profiles(const CarvedNvml *nvml, NvmlDevice *device, CarvedMig *mig) {
        for (uint32_t number = 0; number < PROFILES_MAX; number++) {
                Profile p = { 0 };
                NvmlReturn r = get_profile(nvml, device, number, &p);
                CarvedMigProfile *profile;

                if (r == NVML_INVALID_ARGUMENT)
                        break; /* that was all */
                if (r == NVML_NOT_SUPPORTED)
                        continue; /* not on this card */
                if (r != NVML_SUCCESS)
                        return r;

                profile = carved_mig_add_profile(mig, p.id, p.name);
                profile->slices = p.slices;
                profile->max = p.instances;
                profile->memory_mib = p.memory_mb;
                r = read_placements(nvml, device, profile);
                if (r != NVML_SUCCESS)
                        return r;
                if (mig->enabled)
                        profile->knows_available = carved_nvml_call(nvml, get_capacity, device, p.id,
                                                                    &profile->available) == NVML_SUCCESS;
        }
        return NVML_SUCCESS;
}

/* ---- instances ---- */

NvmlReturn carved_nvml_each_compute(const CarvedNvml *nvml, NvmlGpuInstance *instance, CarvedNvmlEach each,
                                    void *userdata) {
        for (uint32_t number = 0; number < NVML_COMPUTE_PROFILES; number++) {
                NvmlComputeInstance *list[NVML_INSTANCES_MAX] = { 0 };
                NvmlComputeProfile1 p = { 0 };
                uint32_t n = 0;
                NvmlReturn r;

                r = carved_nvml_call(nvml, get_compute_profile, instance, number, NVML_ENGINE_SHARED, &p);
                if (r == NVML_INVALID_ARGUMENT || r == NVML_NOT_SUPPORTED)
                        continue;
                if (r == NVML_SUCCESS)
                        r = carved_nvml_call(nvml, list_compute, instance, p.id, list, &n);
                for (uint32_t i = 0; r == NVML_SUCCESS && i < MIN(n, NVML_INSTANCES_MAX); i++)
                        r = each(nvml, list[i], userdata);
                if (r != NVML_SUCCESS)
                        return r;
        }
        return NVML_SUCCESS;
}

static NvmlReturn count_compute(const CarvedNvml *nvml, NvmlComputeInstance *compute, void *userdata) {
        *(bool *) userdata = true;
        return NVML_SUCCESS;
}

static NvmlReturn read_instances_of(const CarvedNvml *nvml, NvmlDevice *device, CarvedMig *mig,
                                    uint32_t profile) {
        NvmlGpuInstance *list[NVML_INSTANCES_MAX] = { 0 };
        uint32_t n = 0;
        NvmlReturn r;

        r = carved_nvml_call(nvml, list_instances, device, profile, list, &n);
        for (uint32_t i = 0; r == NVML_SUCCESS && i < MIN(n, NVML_INSTANCES_MAX); i++) {
                NvmlGpuInstanceInfo info = { 0 };
                CarvedGpuInstance *instance;

                r = carved_nvml_call(nvml, get_instance, list[i], &info);
                if (r != NVML_SUCCESS)
                        return r;
                instance = carved_mig_add_instance(
                        mig, info.id, info.profile,
                        (CarvedPlacement){ info.placement.start, info.placement.size });
                r = carved_nvml_each_compute(nvml, list[i], count_compute, &instance->has_compute);
        }
        return r;
}

/* MIG devices have holes in their numbers. */
static void read_uuids(const CarvedNvml *nvml, NvmlDevice *device, CarvedMig *mig) {
        uint32_t max = 0;

        if (carved_nvml_call(nvml, count_mig_devices, device, &max) != NVML_SUCCESS)
                return;

        for (uint32_t i = 0; i < MIN(max, NVML_INSTANCES_MAX); i++) {
                CarvedGpuInstance *instance;
                NvmlDevice *part = NULL;
                char raw[NVML_TEXT] = "", uuid[NVML_TEXT] = "";
                uint32_t id = 0;

                if (carved_nvml_call(nvml, get_mig_device, device, i, &part) != NVML_SUCCESS ||
                    carved_nvml_call(nvml, get_instance_id, part, &id) != NVML_SUCCESS ||
                    carved_nvml_call(nvml, get_uuid, part, raw, sizeof raw) != NVML_SUCCESS)
                        continue;
                carved_nvml_take_text(uuid, sizeof uuid, raw, sizeof raw);
                instance = (CarvedGpuInstance *) carved_mig_find_instance(mig, id);
                if (instance && *uuid) {
                        unsigned n = g_strv_length(instance->uuids);

                        instance->uuids = g_renew(char *, instance->uuids, n + 2);
                        instance->uuids[n] = g_strdup(uuid);
                        instance->uuids[n + 1] = NULL;
                }
        }
}

CarvedMig *carved_nvml_read_mig(const CarvedNvml *nvml, NvmlDevice *device, NvmlReturn *ret) {
        g_autoptr(CarvedMig) mig = carved_mig_new();
        uint32_t current = 0, pending = 0;
        NvmlReturn r;

        r = carved_nvml_call(nvml, get_mig_mode, device, &current, &pending);
        /* A library that knows nothing of MIG is older than all cards that have it. */
        if (r == NVML_NOT_SUPPORTED || r == NVML_FUNCTION_NOT_FOUND) {
                *ret = NVML_SUCCESS;
                return NULL;
        }
        mig->enabled = current != 0;
        mig->pending = pending != 0;
        if (r == NVML_SUCCESS)
                r = read_profiles(nvml, device, mig);
        for (unsigned i = 0; mig->enabled && r == NVML_SUCCESS && i < mig->profiles->len; i++)
                r = read_instances_of(nvml, device, mig, ((CarvedMigProfile *) mig->profiles->pdata[i])->id);
        *ret = r;
        if (r != NVML_SUCCESS)
                return NULL;

        if (mig->enabled)
                read_uuids(nvml, device, mig);
        carved_mig_finish(mig);
        return g_steal_pointer(&mig);
}

NvmlReturn carved_nvml_find_instance(const CarvedNvml *nvml, NvmlDevice *device, uint32_t profile,
                                     CarvedPlacement placement, NvmlGpuInstance **ret) {
        NvmlGpuInstance *list[NVML_INSTANCES_MAX] = { 0 };
        uint32_t n = 0;
        NvmlReturn r;

        r = carved_nvml_call(nvml, list_instances, device, profile, list, &n);
        for (uint32_t i = 0; r == NVML_SUCCESS && i < MIN(n, NVML_INSTANCES_MAX); i++) {
                NvmlGpuInstanceInfo info = { 0 };

                r = carved_nvml_call(nvml, get_instance, list[i], &info);
                if (r == NVML_SUCCESS && info.profile == profile && info.placement.start == placement.start &&
                    info.placement.size == placement.size) {
                        *ret = list[i];
                        return r;
                }
        }
        return r == NVML_SUCCESS ? NVML_NOT_FOUND : r;
}
