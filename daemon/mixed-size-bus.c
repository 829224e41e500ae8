/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "order.h"

GETTER(get_enabled, "b", t->gpu->mixed_size > 0)

static int method_set_enabled(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return order_switch(message, userdata, CARVED_ORDER_SET_MIXED_SIZE, error);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Enabled", "b", get_enabled, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("SetEnabled", SD_BUS_ARGS("b", enabled, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_set_enabled, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_MIXED_SIZE, "Enabled" },
        { 0, NULL },
};

const ObjectInterface mixed_size_interface = { CARVED_FACET_MIXED_SIZE, CARVED_BUS_NAME ".MixedSize", vtable,
                                               properties };
