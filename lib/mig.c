/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "mig.h"
#include "sysfs.h"

static void profile_free(void *p) {
        CarvedMigProfile *profile = p;

        g_free(profile->name);
        g_array_unref(profile->placements);
        g_free(profile);
}

static void instance_free(void *p) {
        CarvedGpuInstance *instance = p;

        g_strfreev(instance->uuids);
        g_free(instance);
}

CarvedMig *carved_mig_new(void) {
        CarvedMig *mig = g_new0(CarvedMig, 1);

        mig->profiles = g_ptr_array_new_with_free_func(profile_free);
        mig->instances = g_ptr_array_new_with_free_func(instance_free);
        return mig;
}

void carved_mig_free(CarvedMig *mig) {
        if (!mig)
                return;

        g_ptr_array_unref(mig->profiles);
        g_ptr_array_unref(mig->instances);
        g_free(mig);
}

CarvedMigProfile *carved_mig_add_profile(CarvedMig *mig, uint32_t id, const char *name) {
        CarvedMigProfile *profile = g_new0(CarvedMigProfile, 1);

        profile->id = id;
        profile->name = g_strdup(name);
        profile->placements = g_array_new(FALSE, FALSE, sizeof(CarvedPlacement));
        g_ptr_array_add(mig->profiles, profile);
        return profile;
}

void carved_mig_profile_place(CarvedMigProfile *profile, uint32_t start, uint32_t size) {
        CarvedPlacement placement = { start, size };

        g_array_append_val(profile->placements, placement);
}

CarvedGpuInstance *carved_mig_add_instance(CarvedMig *mig, uint32_t id, uint32_t profile,
                                           CarvedPlacement placement) {
        CarvedGpuInstance *instance = g_new0(CarvedGpuInstance, 1);

        instance->id = id;
        instance->profile = profile;
        instance->placement = placement;
        instance->uuids = g_new0(char *, 1);
        g_ptr_array_add(mig->instances, instance);
        return instance;
}

static int compare_profiles(const void *a, const void *b) {
        const CarvedMigProfile *x = *(CarvedMigProfile *const *) a, *y = *(CarvedMigProfile *const *) b;

        return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_instances(const void *a, const void *b) {
        const CarvedGpuInstance *x = *(CarvedGpuInstance *const *) a, *y = *(CarvedGpuInstance *const *) b;

        return x->id < y->id ? -1 : x->id > y->id;
}

void carved_mig_finish(CarvedMig *mig) {
        g_ptr_array_sort(mig->profiles, compare_profiles);
        g_ptr_array_sort(mig->instances, compare_instances);
}

const CarvedMigProfile *carved_mig_find_profile(const CarvedMig *mig, uint32_t id) {
        for (unsigned i = 0; i < mig->profiles->len; i++)
                if (((CarvedMigProfile *) mig->profiles->pdata[i])->id == id)
                        return mig->profiles->pdata[i];

        return NULL;
}

const CarvedMigProfile *carved_mig_find_profile_by_text(const CarvedMig *mig, const char *text) {
        const char *name = g_ascii_strncasecmp(text, "MIG ", 4) == 0 ? text + 4 : text;
        int64_t id;

        for (unsigned i = 0; i < mig->profiles->len; i++)
                if (g_ascii_strcasecmp(((CarvedMigProfile *) mig->profiles->pdata[i])->name, name) == 0)
                        return mig->profiles->pdata[i];

        /* Decimal only: sysfs' spellings would take 0x13 as well. */
        if (!*text || strspn(text, "0123456789") != strlen(text) ||
            !carved_sysfs_parse_number(text, 0, UINT32_MAX, &id))
                return NULL;
        return carved_mig_find_profile(mig, (uint32_t) id);
}

const CarvedGpuInstance *carved_mig_find_instance(const CarvedMig *mig, uint32_t id) {
        for (unsigned i = 0; i < mig->instances->len; i++)
                if (((CarvedGpuInstance *) mig->instances->pdata[i])->id == id)
                        return mig->instances->pdata[i];

        return NULL;
}

const CarvedGpuInstance *carved_mig_find_placed(const CarvedMig *mig, uint32_t profile,
                                                CarvedPlacement placement) {
        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];

                if (instance->profile == profile && instance->placement.start == placement.start &&
                    instance->placement.size == placement.size)
                        return instance;
        }
        return NULL;
}

uint32_t carved_mig_wanted_profile(const CarvedMig *mig, const CarvedWantedInstance *wanted) {
        const CarvedMigProfile *profile =
                *wanted->name ? carved_mig_find_profile_by_text(mig, wanted->name) : NULL;

        return profile ? profile->id : wanted->profile;
}

const CarvedGpuInstance *carved_mig_find_wanted(const CarvedMig *mig, const CarvedWantedInstance *wanted) {
        return carved_mig_find_placed(mig, carved_mig_wanted_profile(mig, wanted), wanted->placement);
}

CarvedWantedInstance carved_mig_want(const CarvedMig *mig, uint32_t profile, CarvedPlacement placement,
                                     bool compute) {
        const CarvedMigProfile *known = carved_mig_find_profile(mig, profile);
        CarvedWantedInstance wanted = { .profile = profile, .placement = placement, .compute = compute };

        /* One that does not fit would name another. */
        if (known && strlen(known->name) < sizeof wanted.name)
                memcpy(wanted.name, known->name, strlen(known->name) + 1);
        return wanted;
}

bool carved_mig_is_wanted(const CarvedMig *mig, const GArray *layout, const CarvedGpuInstance *instance) {
        for (unsigned i = 0; layout && i < layout->len; i++)
                if (carved_mig_find_wanted(mig, &g_array_index(layout, CarvedWantedInstance, i)) == instance)
                        return true;

        return false;
}

const char *carved_mig_profile_name(const CarvedMig *mig, uint32_t id) {
        const CarvedMigProfile *profile = carved_mig_find_profile(mig, id);

        return profile ? profile->name : "an unknown profile";
}

/* ---- on its way ---- */

static GVariant *profiles_to_variant(const CarvedMig *mig) {
        GVariantBuilder profiles;

        g_variant_builder_init(&profiles, G_VARIANT_TYPE("a(usuutmua(uu))"));
        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const CarvedMigProfile *p = mig->profiles->pdata[i];
                GVariantBuilder placements;

                g_variant_builder_init(&placements, G_VARIANT_TYPE("a(uu)"));
                for (unsigned j = 0; j < p->placements->len; j++) {
                        const CarvedPlacement *place = &g_array_index(p->placements, CarvedPlacement, j);

                        g_variant_builder_add(&placements, "(uu)", place->start, place->size);
                }
                g_variant_builder_add(&profiles, "(usuutmua(uu))", p->id, p->name, p->slices, p->max,
                                      p->memory_mib, p->knows_available, p->available, &placements);
        }
        return g_variant_builder_end(&profiles);
}

GVariant *carved_mig_to_variant(const CarvedMig *mig) {
        GVariantBuilder instances;

        g_variant_builder_init(&instances, G_VARIANT_TYPE("a(uu(uu)bas)"));
        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *g = mig->instances->pdata[i];

                g_variant_builder_add(&instances, "(uu(uu)b^as)", g->id, g->profile, g->placement.start,
                                      g->placement.size, g->has_compute, g->uuids);
        }
        return g_variant_new("(bb@a(usuutmua(uu))a(uu(uu)bas))", mig->enabled, mig->pending,
                             profiles_to_variant(mig), &instances);
}

static void take_profile(CarvedMig *mig, GVariant *item) {
        g_autoptr(GVariantIter) placements = NULL;
        uint32_t id, slices, max, available, start, size;
        CarvedMigProfile *profile;
        gboolean knows;
        uint64_t memory;
        const char *name;

        g_variant_get(item, "(u&suutmua(uu))", &id, &name, &slices, &max, &memory, &knows, &available,
                      &placements);
        profile = carved_mig_add_profile(mig, id, name);
        profile->slices = slices;
        profile->max = max;
        profile->memory_mib = memory;
        profile->knows_available = knows;
        profile->available = knows ? available : 0;
        while (g_variant_iter_next(placements, "(uu)", &start, &size))
                carved_mig_profile_place(profile, start, size);
}

static void take_instance(CarvedMig *mig, GVariant *item) {
        CarvedPlacement placement;
        CarvedGpuInstance *instance;
        uint32_t id, profile;
        gboolean has_compute;
        GStrv uuids;

        g_variant_get(item, "(uu(uu)b^as)", &id, &profile, &placement.start, &placement.size, &has_compute,
                      &uuids);
        instance = carved_mig_add_instance(mig, id, profile, placement);
        instance->has_compute = has_compute;
        g_strfreev(instance->uuids);
        instance->uuids = uuids;
}

CarvedMig *carved_mig_from_variant(GVariant *variant) {
        g_autoptr(GVariantIter) profiles = NULL, instances = NULL;
        CarvedMig *mig = carved_mig_new();
        gboolean enabled, pending;
        GVariant *item;

        g_variant_get(variant, CARVED_MIG_TYPE, &enabled, &pending, &profiles, &instances);
        mig->enabled = enabled;
        mig->pending = pending;
        for (; (item = g_variant_iter_next_value(profiles)); g_variant_unref(item))
                take_profile(mig, item);
        for (; (item = g_variant_iter_next_value(instances)); g_variant_unref(item))
                take_instance(mig, item);
        carved_mig_finish(mig);
        return mig;
}

bool carved_mig_equal(const CarvedMig *a, const CarvedMig *b) {
        g_autoptr(GVariant) x = NULL, y = NULL;

        if (!a || !b)
                return a == b;

        x = g_variant_ref_sink(carved_mig_to_variant(a));
        y = g_variant_ref_sink(carved_mig_to_variant(b));
        return g_variant_equal(x, y);
}
