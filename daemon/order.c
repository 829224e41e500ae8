/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "auth.h"
#include "order.h"

CarvedOrder *order_new(CarvedOrderKind kind, const CarvedPciAddress *gpu) {
        CarvedOrder *order = g_new0(CarvedOrder, 1);

        order->kind = kind;
        order->vf_index = -1;
        if (gpu)
                order->gpu = *gpu;
        return order;
}

int order_place(Manager *m, CarvedOrder *given, JobCall *call, sd_bus_message *message, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = given;
        int r;

        call->message = message;
        r = call->dry_run ? auth_get_uid(m->auth, message, &call->uid, error)
                          : auth_check(m->auth, message, &call->uid, error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1; /* this handler will be run again from the top */

        return jobs_order(m->jobs, g_steal_pointer(&order), call, error);
}

int order_authorise(Manager *m, sd_bus_message *message, sd_bus_error *error, int *ret) {
        uint32_t uid;
        int r;

        r = auth_check(m->auth, message, &uid, error);
        *ret = r == 0 ? 1 : r;
        return r > 0;
}
