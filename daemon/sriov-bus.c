/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "order.h"

GETTER(get_total_vfs, "u", t->gpu->total_vfs)
GETTER(get_num_vfs, "u", t->gpu->num_vfs)

static int get_vfs(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "o");
        for (unsigned i = 0; r >= 0 && i < t->gpu->vfs->len; i++) {
                const CarvedVf *vf = t->gpu->vfs->pdata[i];
                char vf_path[OBJECT_PATH_MAX];

                r = sd_bus_message_append_basic(reply, 'o',
                                                object_path_vf(&t->gpu->address, vf->index, vf_path));
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_enable_vfs(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = NULL;
        Target *t = userdata;
        JobCall call = { 0 };
        bool persist = true;
        const Option options[] = { ORDER_OPTIONS(&call), { "persist", OPTION_BOOL, &persist }, { NULL } };
        int r;

        order = order_new(CARVED_ORDER_ENABLE_VFS, &t->gpu->address);
        r = sd_bus_message_read(message, "u", &order->count);
        if (r >= 0)
                r = options_read(message, options, error);
        if (r < 0)
                return r;

        order->transient = !persist;
        return order_place(t->manager, g_steal_pointer(&order), &call, message, error);
}

static int method_disable_vfs(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = NULL;
        Target *t = userdata;
        JobCall call = { 0 };
        int r;

        order = order_new(CARVED_ORDER_DISABLE_VFS, &t->gpu->address);
        const Option options[] = { ORDER_OPTIONS(&call),
                                   { "destroy-vgpus", OPTION_BOOL, &order->destroy_vgpus },
                                   { NULL } };

        r = options_read(message, options, error);
        if (r < 0)
                return r;

        return order_place(t->manager, g_steal_pointer(&order), &call, message, error);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("TotalVfs", "u", get_total_vfs, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("NumVfs", "u", get_num_vfs, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Vfs", "ao", get_vfs, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("EnableVfs", SD_BUS_ARGS("u", count, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_enable_vfs, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("DisableVfs", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("o", job),
                                method_disable_vfs, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_TOTAL_VFS, "TotalVfs" },
        { CARVED_FIELD_NUM_VFS, "NumVfs" },
        { CARVED_FIELD_VFS, "Vfs" },
        { 0, NULL },
};

const ObjectInterface sriov_interface = { CARVED_FACET_SRIOV, CARVED_BUS_NAME ".Sriov", vtable, properties };
