/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-error.h"
#include "order.h"

/* On a GPU, and on a VF: the same question, asked one level up. */
static int get_creatable_types(sd_bus *bus, const char *path, const char *interface, const char *property,
                               sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{ss}");
        for (unsigned i = 0; r >= 0 && i < t->gpu->types->len; i++) {
                const CarvedType *type = t->gpu->types->pdata[i];

                if (t->vf ? carved_vf_is_creatable(t->vf, i) : carved_gpu_is_creatable(t->gpu, i))
                        r = sd_bus_message_append(reply, "{ss}", type->id, type->name ?: "");
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* One name in one spelling. Without one, we choose. */
static int set_uuid(CarvedOrder *order, const char *uuid, sd_bus_error *error) {
        g_autofree char *chosen = uuid ? g_ascii_strdown(uuid, -1) : g_uuid_string_random();

        if (!carved_uuid_is_valid(chosen))
                return bus_error_no_uuid(error, uuid);

        order->uuids = g_new0(char *, 2);
        order->uuids[0] = g_steal_pointer(&chosen);
        order->uuid_given = uuid != NULL;
        return 0;
}

static int method_create_vgpu(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = NULL;
        const char *type, *uuid = NULL, *params = "";
        Target *t = userdata;
        JobCall call = { 0 };
        int64_t placement = -1;
        bool persist = true;
        int r;

        order = order_new(CARVED_ORDER_CREATE_VGPU, &t->gpu->address);
        const Option options[] = { ORDER_OPTIONS(&call),
                                   { "uuid", OPTION_STRING, &uuid },
                                   { "params", OPTION_STRING, &params },
                                   { "placement-id", OPTION_NUMBER, &placement },
                                   { "labels", OPTION_LABELS, &order->labels },
                                   { "persist", OPTION_BOOL, &persist },
                                   { NULL } };

        r = sd_bus_message_read(message, "s", &type);
        if (r >= 0)
                r = options_read(message, options, error);
        if (r >= 0)
                r = set_uuid(order, uuid, error);
        if (r < 0)
                return r;

        order->type = g_strdup(type);
        order->params = g_strdup(params);
        order->placed = placement >= 0;
        order->placement_id = order->placed ? (uint32_t) placement : 0;
        order->transient = !persist;
        order->vf_index = t->vf ? (int32_t) t->vf->index : -1;
        return order_place(t->manager, g_steal_pointer(&order), &call, message, error);
}

static const sd_bus_vtable vtable[] = { SD_BUS_VTABLE_START(0),
                                        SD_BUS_PROPERTY("CreatableTypes", "a{ss}", get_creatable_types, 0,
                                                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
                                        SD_BUS_METHOD_WITH_ARGS(
                                                "CreateVgpu", SD_BUS_ARGS("s", type, "a{sv}", options),
                                                SD_BUS_RESULT("o", vgpu, "o", job), method_create_vgpu,
                                                SD_BUS_VTABLE_UNPRIVILEGED),
                                        SD_BUS_VTABLE_END };

static const ObjectProperty properties[] = {
        { CARVED_FIELD_CREATABLE, "CreatableTypes" },
        { 0, NULL },
};

const ObjectInterface vgpu_host_interface = { CARVED_FACET_VGPU_HOST, CARVED_BUS_NAME ".VgpuHost", vtable,
                                              properties };
