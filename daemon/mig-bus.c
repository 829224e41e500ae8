/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "order.h"

GETTER(get_enabled, "b", t->gpu->mig->enabled)
GETTER(get_pending, "b", t->gpu->mig->pending)
GETTER(get_reset_required, "b", t->gpu->mig->enabled != t->gpu->mig->pending)
GETTER(get_sync_state, "s", carved_mig_sync_to_string(t->gpu->mig_sync))
GETTER(get_last_error, "s", t->gpu->mig_trouble ?: "")

static uint32_t count_requested(const CarvedGpu *gpu, uint32_t profile) {
        uint32_t n = 0;

        for (unsigned i = 0; gpu->layout && i < gpu->layout->len; i++)
                n += carved_mig_wanted_profile(
                             gpu->mig, &g_array_index(gpu->layout, CarvedWantedInstance, i)) == profile;
        return n;
}

static int append_placements(sd_bus_message *reply, const CarvedMigProfile *profile) {
        int r;

        r = sd_bus_message_open_container(reply, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", "Placements");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'v', "a(uu)");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(uu)");
        for (unsigned i = 0; r >= 0 && i < profile->placements->len; i++) {
                const CarvedPlacement *p = &g_array_index(profile->placements, CarvedPlacement, i);

                r = sd_bus_message_append(reply, "(uu)", p->start, p->size);
        }
        for (unsigned i = 0; r >= 0 && i < 3; i++)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int append_instances(sd_bus_message *reply, const CarvedMig *mig, uint32_t profile) {
        int r;

        r = sd_bus_message_open_container(reply, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", "Instances");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'v', "au");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "u");
        for (unsigned i = 0; r >= 0 && i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];

                if (instance->profile == profile)
                        r = sd_bus_message_append(reply, "u", instance->id);
        }
        for (unsigned i = 0; r >= 0 && i < 3; i++)
                r = sd_bus_message_close_container(reply);
        return r;
}

/* What is not told is left out. */
static int append_profile(sd_bus_message *reply, const CarvedGpu *gpu, const CarvedMigProfile *p) {
        char id[16];
        int r;

        g_snprintf(id, sizeof id, "%u", p->id);
        r = sd_bus_message_open_container(reply, 'e', "sa{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", id);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "Name", "s", p->name, "Total", "u",
                                          p->max, "Requested", "u", count_requested(gpu, p->id), "Slices",
                                          "u", p->slices, "MemoryMiB", "t", p->memory_mib);
        if (r >= 0 && p->knows_available)
                r = sd_bus_message_append(reply, "{sv}", "Available", "u", p->available);
        if (r >= 0)
                r = append_placements(reply, p);
        if (r >= 0)
                r = append_instances(reply, gpu->mig, p->id);
        for (unsigned i = 0; r >= 0 && i < 2; i++)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int get_profiles(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sa{sv}}");
        for (unsigned i = 0; r >= 0 && i < t->gpu->mig->profiles->len; i++)
                r = append_profile(reply, t->gpu, t->gpu->mig->profiles->pdata[i]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_set_mode(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return order_switch(message, userdata, CARVED_ORDER_SET_MIG, error);
}

/* Profiles and how many, as an order has them. */
static int read_layout(sd_bus_message *message, GStrv *ret) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        const char *profile;
        uint32_t count;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{su}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(message, "{su}", &profile, &count)) > 0) {
                char number[16];

                g_snprintf(number, sizeof number, "%u", count);
                g_strv_builder_add(builder, profile);
                g_strv_builder_add(builder, number);
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        if (r >= 0)
                *ret = g_strv_builder_end(builder);
        return r;
}

static int method_apply_layout(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = NULL;
        Target *t = userdata;
        JobCall call = { 0 };
        int r;

        order = order_new(CARVED_ORDER_APPLY_LAYOUT, &t->gpu->address);
        order->compute = true;
        const Option options[] = { ORDER_OPTIONS(&call),
                                   { "replace", OPTION_BOOL, &order->replace },
                                   { "compute-instances", OPTION_BOOL, &order->compute },
                                   { NULL } };

        r = read_layout(message, &order->layout);
        if (r >= 0)
                r = options_read(message, options, error);
        if (r < 0)
                return r;

        return order_place(t->manager, g_steal_pointer(&order), &call, message, error);
}

static int method_clear(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Target *t = userdata;

        return order_plain(message, t->manager, order_new(CARVED_ORDER_CLEAR_MIG, &t->gpu->address), error);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Enabled", "b", get_enabled, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Pending", "b", get_pending, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ResetRequired", "b", get_reset_required, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("SyncState", "s", get_sync_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LastError", "s", get_last_error, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Profiles", "a{sa{sv}}", get_profiles, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("SetMode", SD_BUS_ARGS("b", enabled, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_set_mode, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ApplyLayout", SD_BUS_ARGS("a{su}", layout, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_apply_layout, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Clear", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("o", job), method_clear,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_MIG_MODE, "Enabled" },
        { CARVED_FIELD_MIG_MODE, "Pending" },
        { CARVED_FIELD_MIG_MODE, "ResetRequired" },
        { CARVED_FIELD_MIG_SYNC, "SyncState" },
        { CARVED_FIELD_MIG_ERROR, "LastError" },
        { CARVED_FIELD_PROFILES, "Profiles" },
        { 0, NULL },
};

const ObjectInterface mig_interface = { CARVED_FACET_MIG, CARVED_BUS_NAME ".Mig", vtable, properties };
