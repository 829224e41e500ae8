/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "bus-error.h"
#include "error.h"
#include "manager-bus.h"
#include "order.h"
#include "reason.h"
#include "stored-bus.h"

/* More than any host has. */
#define UUIDS_MAX 4096U

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", CARVED_VERSION);
}

static int get_state(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Manager *m = userdata;

        return sd_bus_message_append(reply, "s", manager_state_to_string(m->state));
}

static int read_address(sd_bus_message *message, const char **ret_text, CarvedPciAddress *ret,
                        sd_bus_error *error) {
        g_autofree char *quoted = NULL;
        const char *text = NULL;
        int r;

        r = sd_bus_message_read(message, "s", &text);
        if (r < 0)
                return r;
        quoted = carved_quote(text);
        if (!carved_pci_address_parse(text, ret))
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "%s is not a PCI address", quoted);

        *ret_text = text;
        return 0;
}

static int no_such(sd_bus_error *error, CarvedError code, const char *what, const char *text) {
        g_autofree char *quoted = carved_quote(text);
        g_autofree char *sentence = g_strdup_printf("There is no %s %s", what, quoted);

        return bus_error_set(error, code, sentence);
}

static int method_get_gpu(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;
        CarvedPciAddress address = { 0 };
        const CarvedGpu *gpu;
        char path[OBJECT_PATH_MAX];
        const char *text = NULL;
        int r;

        r = read_address(message, &text, &address, error);
        if (r < 0)
                return r;

        gpu = carved_model_find_gpu(m->model, &address);
        if (!gpu)
                return no_such(error, CARVED_ERROR_NO_SUCH_GPU, "GPU", text);

        return sd_bus_reply_method_return(message, "o", object_path_gpu(&gpu->address, path));
}

static int method_get_vf(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;
        CarvedPciAddress address = { 0 };
        char path[OBJECT_PATH_MAX];
        const CarvedVf *vf;
        const char *text = NULL;
        int r;

        r = read_address(message, &text, &address, error);
        if (r < 0)
                return r;

        vf = carved_model_find_vf(m->model, &address);
        if (!vf)
                return no_such(error, CARVED_ERROR_NO_SUCH_VF, "VF", text);

        return sd_bus_reply_method_return(message, "o", object_path_vf(&vf->gpu->address, vf->index, path));
}

/* By UUID, or by the address of the VF that it is on. */
static int method_get_vgpu(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const CarvedVgpu *vgpu = NULL;
        Manager *m = userdata;
        CarvedPciAddress address = { 0 };
        char path[OBJECT_PATH_MAX];
        const char *text = NULL;
        int r;

        r = sd_bus_message_read(message, "s", &text);
        if (r < 0)
                return r;

        if (carved_uuid_is_valid(text))
                vgpu = carved_model_find_vgpu(m->model, text);
        else if (carved_pci_address_parse(text, &address)) {
                const CarvedVf *vf = carved_model_find_vf(m->model, &address);

                if (vf && vf->vgpu >= 0)
                        vgpu = vf->gpu->vgpus->pdata[vf->vgpu];
        } else {
                g_autofree char *quoted = carved_quote(text);

                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "%s is neither a UUID nor a PCI address", quoted);
        }
        if (!vgpu)
                return no_such(error, CARVED_ERROR_NO_SUCH_VGPU, "vGPU", text);

        return sd_bus_reply_method_return(message, "o", object_path_of_vgpu(vgpu, path));
}

/* What is left out was told by nobody. */
static int append_counts(sd_bus_message *reply, const CarvedGpu *gpu, unsigned i) {
        const CarvedType *type = gpu->types->pdata[i];
        uint32_t available;
        int r = 0;

        if (type->known & CARVED_TYPE_MAX_INSTANCES)
                r = sd_bus_message_append(reply, "{sv}", "Total", "u", type->max_instances);
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}", "Used", "u", carved_gpu_used(gpu, i));
        if (r >= 0 && carved_gpu_available(gpu, i, &available))
                r = sd_bus_message_append(reply, "{sv}", "Available", "u", available);
        return r;
}

static int append_row(sd_bus_message *reply, const CarvedGpu *gpu, unsigned i) {
        g_auto(CarvedReason) reason = carved_reason_for_type(gpu, i);
        const CarvedType *type = gpu->types->pdata[i];
        char path[OBJECT_PATH_MAX], address[CARVED_PCI_ADDRESS_MAX];
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}{sv}", "Gpu", "o",
                                          object_path_gpu(&gpu->address, path), "Address", "s",
                                          carved_pci_address_format(&gpu->address, address), "NumaNode", "i",
                                          gpu->numa_node, "Type", "s", type->id, "Name", "s",
                                          type->name ?: "", "Resource", "s", type->resource ?: "");
        if (r >= 0)
                r = append_counts(reply, gpu, i);
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}{sv}", "ReasonCode", "s", reason.code ?: "", "Reason",
                                          "s", reason.text ?: "");
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_rows(sd_bus_message *reply, const CarvedModel *model) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "a{sv}");
        for (unsigned i = 0; r >= 0 && i < carved_model_n_gpus(model); i++) {
                const CarvedGpu *gpu = carved_model_nth_gpu(model, i);

                for (unsigned j = 0; r >= 0 && j < gpu->types->len; j++)
                        r = append_row(reply, gpu, j);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_get_inventory(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(sd_bus_message) reply = NULL;
        Manager *m = userdata;
        int r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r < 0)
                return r;
        r = append_rows(reply, m->model);
        if (r < 0)
                return r;

        return sd_bus_send(NULL, reply, NULL);
}

/* Each once, in one spelling. */
static int read_uuids(sd_bus_message *message, GStrv *ret, sd_bus_error *error) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_auto(GStrv) given = NULL;
        int r;

        r = sd_bus_message_read_strv(message, &given);
        if (r < 0)
                return r;
        if (!given || !*given)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "No vGPU is named");

        if (g_strv_length(given) > UUIDS_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%u vGPUs at a time are too many: at most %u", g_strv_length(given),
                                         UUIDS_MAX);

        for (char **uuid = given; *uuid; uuid++) {
                char *lower = g_ascii_strdown(*uuid, -1);

                if (!carved_uuid_is_valid(lower)) {
                        g_free(lower);
                        return bus_error_no_uuid(error, *uuid);
                }
                if (g_hash_table_add(seen, lower))
                        g_strv_builder_add(builder, lower);
        }
        *ret = g_strv_builder_end(builder);
        return 0;
}

static int method_destroy_vgpus(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = order_new(CARVED_ORDER_DESTROY_VGPUS, NULL);
        JobCall call = { 0 };
        const Option options[] = { ORDER_OPTIONS(&call), { NULL } };
        int r;

        r = read_uuids(message, &order->uuids, error);
        if (r >= 0)
                r = options_read(message, options, error);
        if (r < 0)
                return r;

        return order_place(userdata, g_steal_pointer(&order), &call, message, error);
}

const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("GetGpu", SD_BUS_ARGS("s", address), SD_BUS_RESULT("o", gpu), method_get_gpu,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetVf", SD_BUS_ARGS("s", address), SD_BUS_RESULT("o", vf), method_get_vf,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetVgpu", SD_BUS_ARGS("s", uuid), SD_BUS_RESULT("o", vgpu), method_get_vgpu,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetInventory", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", rows),
                                method_get_inventory, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("DestroyVgpus", SD_BUS_ARGS("as", uuids, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_destroy_vgpus, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListStored", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(ssos)", stored),
                                method_list_stored, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Forget", SD_BUS_ARGS("s", identity, "a{sv}", options), SD_BUS_NO_RESULT,
                                method_forget, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_ARGS("Restored", SD_BUS_ARGS("u", ok, "u", failed), 0),
        SD_BUS_SIGNAL_WITH_ARGS(
                "JobFinished",
                SD_BUS_ARGS("t", id, "o", job, "s", result, "s", error_name, "s", error_message), 0),
        SD_BUS_VTABLE_END
};
