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

/* What is not known to be about vGPUs alone needs more. */
static AuthAction action_of(const CarvedOrder *order) {
        switch (order->kind) {
        case CARVED_ORDER_CREATE_VGPU:
        case CARVED_ORDER_DESTROY_VGPUS:
        case CARVED_ORDER_SET_PARAMS:
                return AUTH_MANAGE_VGPUS;
        case CARVED_ORDER_ADOPT:
                return order->uuids ? AUTH_MANAGE_VGPUS : AUTH_CONFIGURE_GPU;
        default:
                return AUTH_CONFIGURE_GPU;
        }
}

/* Of vGPUs anywhere, those that they are on, each once. */
static char *list_gpus(Manager *m, const CarvedOrder *order) {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GString) list = g_string_new(NULL);
        char address[CARVED_PCI_ADDRESS_MAX];

        if (order->kind != CARVED_ORDER_DESTROY_VGPUS)
                return g_strdup(carved_pci_address_format(&order->gpu, address));

        for (char **uuid = order->uuids; uuid && *uuid; uuid++) {
                const CarvedVgpu *vgpu = carved_model_find_vgpu(m->model, *uuid);

                if (!vgpu || !g_hash_table_add(
                                     seen, g_strdup(carved_pci_address_format(&vgpu->gpu->address, address))))
                        continue;
                g_string_append_printf(list, "%s%s", list->len > 0 ? " " : "", address);
        }
        return g_strdup(list->str);
}

int order_check(Manager *m, const CarvedOrder *order, const char *verb, sd_bus_message *message, Caller **ret,
                sd_bus_error *error) {
        /* One that we chose ourselves is another at the second turn, and nobody asked for it. */
        bool named = order->uuids && (order->kind != CARVED_ORDER_CREATE_VGPU || order->uuid_given);
        g_autofree char *uuids = named ? g_strjoinv(" ", order->uuids) : g_strdup("");
        g_autofree char *gpus = list_gpus(m, order);

        return auth_check(m->auth, message, &(AuthRequest){ action_of(order), verb, gpus, uuids }, ret,
                          error);
}

int order_place(Manager *m, CarvedOrder *given, JobCall *call, sd_bus_message *message, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = given;
        int r;

        call->message = message;
        r = call->dry_run ? auth_identify(m->auth, message, &call->caller, error)
                          : order_check(m, order, carved_order_kind_to_string(order->kind), message,
                                        &call->caller, error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1; /* this handler will be run again from the top */

        return jobs_order(m->jobs, g_steal_pointer(&order), call, error);
}

/* "SetLabels" as "set-labels". */
char *order_verb(sd_bus_message *message) {
        const char *member = sd_bus_message_get_member(message);
        g_autoptr(GString) verb = g_string_new(NULL);

        for (const char *c = member; *c; c++) {
                if (g_ascii_isupper(*c) && c > member)
                        g_string_append_c(verb, '-');
                g_string_append_c(verb, g_ascii_tolower(*c));
        }
        return g_strdup(verb->str);
}

int order_authorise(Manager *m, sd_bus_message *message, sd_bus_error *error, int *ret) {
        g_autofree char *verb = order_verb(message);
        char address[CARVED_PCI_ADDRESS_MAX] = "";
        AuthRequest request = { AUTH_CONFIGURE_GPU, verb, address, "" };
        CarvedObject object;
        Caller *caller;
        int r;

        if (object_parse_path(sd_bus_message_get_path(message), &object)) {
                carved_pci_address_format(&object.gpu, address);
                if (object.kind == CARVED_OBJECT_VGPU) {
                        request.action = AUTH_MANAGE_VGPUS;
                        request.uuid = object.uuid;
                }
        }
        r = auth_check(m->auth, message, &request, &caller, error);
        *ret = r == 0 ? 1 : r;
        return r > 0;
}

int order_plain(sd_bus_message *message, Manager *m, CarvedOrder *given, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = given;
        JobCall call = { 0 };
        const Option options[] = { ORDER_OPTIONS(&call), { NULL } };
        int r;

        r = options_read(message, options, error);
        if (r < 0)
                return r;

        return order_place(m, g_steal_pointer(&order), &call, message, error);
}

int order_switch(sd_bus_message *message, Target *t, CarvedOrderKind kind, sd_bus_error *error) {
        CarvedOrder *order;
        int r, on;

        r = sd_bus_message_read(message, "b", &on);
        if (r < 0)
                return r;

        order = order_new(kind, &t->gpu->address);
        order->count = on ? 1 : 0;
        return order_plain(message, t->manager, order, error);
}
