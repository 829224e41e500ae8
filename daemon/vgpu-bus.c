/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "bus-error.h"
#include "intent-change.h"
#include "libvirt-xml.h"
#include "order.h"
#include "policy.h"
#include "usage.h"

/* Until there are leases. */
GETTER(get_origin, "s", t->vgpu->ours ? "carved" : "foreign")
GETTER(get_in_use, "b", t->vgpu->in_use)
GETTER(get_state, "s", carved_vgpu_state_to_string(t->vgpu->state))
GETTER(get_persistent, "b", t->vgpu->persistent)
GETTER(get_nothing, "s", "")
GETTER(get_never, "t", UINT64_C(0))

GETTER(get_uuid, "s", t->vgpu->uuid)
GETTER(get_vf_index, "i", t->vgpu->vf_index)
GETTER(get_type, "s", t->vgpu->type ?: "")
GETTER(get_framework, "s", carved_framework_to_string(t->vgpu->framework))
GETTER(get_iommu_group, "i", t->vgpu->iommu_group)
GETTER(get_gpu_instance, "i", t->vgpu->gpu_instance)
GETTER(get_placement_id, "i", t->vgpu->placement_id)
GETTER(get_params, "s", t->vgpu->params ?: "")
GETTER(get_last_error, "s", t->vgpu->error ?: "")

static int get_gpu(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char gpu[OBJECT_PATH_MAX];

        return sd_bus_message_append(reply, "o", object_path_gpu(&t->gpu->address, gpu));
}

static int get_parent(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char parent[OBJECT_PATH_MAX];

        if (t->vf)
                object_path_vf(&t->gpu->address, t->vf->index, parent);
        else
                object_path_gpu(&t->gpu->address, parent);
        return sd_bus_message_append(reply, "o", parent);
}

static int get_type_name(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        const CarvedType *type = carved_vgpu_type(t->vgpu);

        return sd_bus_message_append(reply, "s", type && type->name ? type->name : t->vgpu->type_name ?: "");
}

static int get_resource(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        const CarvedType *type = carved_vgpu_type(t->vgpu);

        return sd_bus_message_append(reply, "s", type && type->resource ? type->resource : "");
}

/* The function it is on: its VF, or the card. */
static const char *address_of(const Target *t, char buf[static CARVED_PCI_ADDRESS_MAX]) {
        return carved_pci_address_format(t->vf ? &t->vf->address : &t->gpu->address, buf);
}

/* On no VF now, though it is wanted on one: its address is not known. */
static bool is_nowhere(const Target *t) {
        return t->vgpu->vf_index >= 0 && !t->vf;
}

/* An mdev has no PCI address of its own. */
static int get_address(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char address[CARVED_PCI_ADDRESS_MAX] = "";

        if (t->vgpu->framework != CARVED_FRAMEWORK_MDEV && !is_nowhere(t))
                address_of(t, address);
        return sd_bus_message_append(reply, "s", address);
}

static int get_device_node(sd_bus *bus, const char *path, const char *interface, const char *property,
                           sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char node[64] = "";

        if (t->vgpu->iommu_group >= 0)
                g_snprintf(node, sizeof node, "/dev/vfio/%d", t->vgpu->iommu_group);
        return sd_bus_message_append(reply, "s", node);
}

/* As `virsh nodedev-list` spells it. */
static int get_libvirt_name(sd_bus *bus, const char *path, const char *interface, const char *property,
                            sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char address[CARVED_PCI_ADDRESS_MAX], name[128] = "";

        address_of(t, address);
        if (is_nowhere(t))
                *name = '\0';
        else if (t->vgpu->framework == CARVED_FRAMEWORK_MDEV)
                g_snprintf(name, sizeof name, "mdev_%s_%s", t->vgpu->uuid, address);
        else
                g_snprintf(name, sizeof name, "pci_%s", address);
        return sd_bus_message_append(reply, "s", g_strdelimit(name, ":.-", '_'));
}

static int get_labels(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return object_append_labels(reply, ((const Target *) userdata)->vgpu->labels);
}

static CarvedOrder *order_for(const Target *t, CarvedOrderKind kind) {
        CarvedOrder *order = order_new(kind, &t->gpu->address);

        order->uuids = g_new0(char *, 2);
        order->uuids[0] = g_strdup(t->vgpu->uuid);
        return order;
}

static int method_destroy(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Target *t = userdata;

        return order_plain(message, t->manager, order_for(t, CARVED_ORDER_DESTROY_VGPUS), error);
}

static int method_set_params(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = NULL;
        Target *t = userdata;
        JobCall call = { 0 };
        const Option options[] = { ORDER_OPTIONS(&call), { NULL } };
        const char *params;
        int r;

        r = sd_bus_message_read(message, "s", &params);
        if (r >= 0)
                r = options_read(message, options, error);
        if (r < 0)
                return r;

        order = order_for(t, CARVED_ORDER_SET_PARAMS);
        order->params = g_strdup(params);
        return order_place(t->manager, g_steal_pointer(&order), &call, message, error);
}

static int method_set_labels(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_auto(GStrv) labels = NULL;
        g_autoptr(GError) e = NULL;
        Target *t = userdata;
        int r;

        r = options_read_labels(message, &labels, error);
        if (r >= 0)
                r = options_read_none(message, error);
        if (r < 0)
                return r;
        if (!order_authorise(t->manager, message, error, &r))
                return r;
        if (!carved_policy_is_ours(t->vgpu, &e))
                return bus_error_from_gerror(error, e);

        return intent_change(
                t->manager, &t->gpu->address,
                &(CarvedIntentChange){ .set_labels = true, .label = t->vgpu->uuid, .labels = labels },
                message);
}

/* A vGPU that is kept needs its VFs kept, too. */
static CarvedIntentChange persistence(const Target *t, const CarvedWanted *now, bool persistent) {
        const CarvedIntent *intent = carved_model_intent(t->manager->model, &t->gpu->address);
        CarvedIntentChange change = { .adds = g_ptr_array_new_with_free_func(
                                              (GDestroyNotify) carved_wanted_free) };
        CarvedWanted *wanted = carved_wanted_copy(now);

        wanted->transient = !persistent;
        g_ptr_array_add(change.adds, wanted);
        if (persistent && wanted->vf_index >= 0 && intent->vfs_transient) {
                change.set_vfs = true;
                change.vfs = intent->vfs;
        }
        return change;
}

static int method_set_persistent(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Target *t = userdata;
        const CarvedIntent *intent = carved_model_intent(t->manager->model, &t->gpu->address);
        const CarvedWanted *now = intent ? carved_intent_find(intent, t->vgpu->uuid) : NULL;
        g_autoptr(GError) e = NULL;
        CarvedIntentChange change;
        int r, persistent;

        r = sd_bus_message_read(message, "b", &persistent);
        if (r >= 0)
                r = options_read_none(message, error);
        if (r < 0)
                return r;
        if (!order_authorise(t->manager, message, error, &r))
                return r;
        if (!carved_policy_is_ours(t->vgpu, &e))
                return bus_error_from_gerror(error, e);
        if (!now || now->transient == !persistent)
                return sd_bus_reply_method_return(message, NULL);

        change = persistence(t, now, persistent);
        r = intent_change(t->manager, &t->gpu->address, &change, message);
        g_ptr_array_unref(change.adds);
        return r;
}

/* Somebody else's becomes ours, as it is. */
static int method_adopt(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        g_autoptr(CarvedOrder) order = NULL;
        Target *t = userdata;
        const char *uuid = NULL;
        const Option options[] = { { "uuid", OPTION_STRING, &uuid }, { NULL } };
        JobCall call = { 0 };
        int r;

        r = options_read(message, options, error);
        if (r < 0)
                return r;
        if (uuid && !carved_uuid_is_valid(uuid))
                return bus_error_no_uuid(error, uuid);

        order = order_for(t, CARVED_ORDER_ADOPT);
        order->adopt_as = uuid ? g_ascii_strdown(uuid, -1) : NULL;
        if (uuid && strcmp(order->adopt_as, t->vgpu->uuid) != 0 &&
            carved_model_find_vgpu(t->manager->model, order->adopt_as))
                return bus_error_set(error, CARVED_ERROR_EXISTS, "Another vGPU has this UUID");

        return order_place(t->manager, g_steal_pointer(&order), &call, message, error);
}

static int method_get_users(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Target *t = userdata;
        int r;

        r = options_read_none(message, error);
        if (r < 0)
                return r;

        return usage_ask(t->manager->usage, t->vgpu, message, error);
}

static int method_get_libvirt_xml(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        bool display = false, ramfb = false;
        const Option options[] = { { "display", OPTION_BOOL, &display },
                                   { "ramfb", OPTION_BOOL, &ramfb },
                                   { NULL } };
        g_autoptr(GError) e = NULL;
        g_autofree char *xml = NULL;
        const Target *t = userdata;
        int r;

        r = options_read(message, options, error);
        if (r < 0)
                return r;

        xml = carved_libvirt_xml(t->vgpu, display, ramfb, &e);
        if (!xml)
                return bus_error_from_gerror(error, e);

        return sd_bus_reply_method_return(message, "s", xml);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Uuid", "s", get_uuid, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Gpu", "o", get_gpu, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Parent", "o", get_parent, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("VfIndex", "i", get_vf_index, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Type", "s", get_type, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("TypeName", "s", get_type_name, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Resource", "s", get_resource, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Framework", "s", get_framework, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Origin", "s", get_origin, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Persistent", "b", get_persistent, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("InUse", "b", get_in_use, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Owner", "s", get_nothing, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LeaseExpires", "t", get_never, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Address", "s", get_address, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("DeviceNode", "s", get_device_node, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("IommuGroup", "i", get_iommu_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("GpuInstance", "i", get_gpu_instance, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("PlacementId", "i", get_placement_id, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Params", "s", get_params, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Labels", "a{ss}", get_labels, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LibvirtName", "s", get_libvirt_name, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("LastError", "s", get_last_error, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("Destroy", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("o", job),
                                method_destroy, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetUsers", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("a(us)", users),
                                method_get_users, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetParams", SD_BUS_ARGS("s", params, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_set_params, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetPersistent", SD_BUS_ARGS("b", persistent, "a{sv}", options),
                                SD_BUS_NO_RESULT, method_set_persistent, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetLabels", SD_BUS_ARGS("a{ss}", labels, "a{sv}", options), SD_BUS_NO_RESULT,
                                method_set_labels, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Adopt", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("o", vgpu),
                                method_adopt, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetLibvirtXml", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("s", xml),
                                method_get_libvirt_xml, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_TYPE, "Type" },
        { CARVED_FIELD_TYPE_NAME, "TypeName" },
        { CARVED_FIELD_TYPE_NAME, "Resource" },
        { CARVED_FIELD_IOMMU_GROUP, "IommuGroup" },
        { CARVED_FIELD_IOMMU_GROUP, "DeviceNode" },
        { CARVED_FIELD_GPU_INSTANCE, "GpuInstance" },
        { CARVED_FIELD_PLACEMENT, "PlacementId" },
        { CARVED_FIELD_PARAMS, "Params" },
        { CARVED_FIELD_ORIGIN, "Origin" },
        { CARVED_FIELD_STATE, "State" },
        { CARVED_FIELD_PERSISTENT, "Persistent" },
        { CARVED_FIELD_IN_USE, "InUse" },
        { CARVED_FIELD_LABELS, "Labels" },
        { CARVED_FIELD_ERROR, "LastError" },
        { 0, NULL },
};

const ObjectInterface vgpu_interface = { CARVED_FACET_VGPU, CARVED_BUS_NAME ".Vgpu", vtable, properties };
