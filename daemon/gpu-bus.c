/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-error.h"
#include "intent-change.h"
#include "order.h"
#include "policy.h"
#include "reader.h"

GETTER(get_serial, "s", t->gpu->serial ?: "")
GETTER(get_gpu_uuid, "s", t->gpu->gpu_uuid ?: "")
GETTER(get_stored_identity, "s", t->gpu->stored_identity ?: "")
GETTER(get_sync_state, "s", carved_sync_state_to_string(t->gpu->sync))

GETTER(get_identity, "s", t->gpu->identity)
GETTER(get_vendor_id, "q", t->gpu->vendor_id)
GETTER(get_device_id, "q", t->gpu->device_id)
GETTER(get_subsystem_vendor_id, "q", t->gpu->subsystem_vendor_id)
GETTER(get_subsystem_device_id, "q", t->gpu->subsystem_device_id)
GETTER(get_vendor, "s", t->gpu->vendor ?: "")
GETTER(get_model, "s", t->gpu->model ?: "")
GETTER(get_driver, "s", t->gpu->driver ?: "")
GETTER(get_numa_node, "i", t->gpu->numa_node)
GETTER(get_iommu_group, "i", t->gpu->iommu_group)
GETTER(get_framework, "s", carved_framework_to_string(t->gpu->framework))
GETTER(get_state, "s", carved_gpu_state_to_string(t->gpu->state))
GETTER(get_last_error, "s", carved_gpu_last_error(t->gpu) ?: "")

static int get_address(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char address[CARVED_PCI_ADDRESS_MAX];

        return sd_bus_message_append(reply, "s", carved_pci_address_format(&t->gpu->address, address));
}

static int get_reasons(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;

        return object_append_reason(reply, &t->gpu->reason);
}

static int get_labels(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return object_append_labels(reply, ((const Target *) userdata)->gpu->labels);
}

static int append_text(sd_bus_message *reply, const char *key, const char *value) {
        return value ? sd_bus_message_append(reply, "{sv}", key, "s", value) : 0;
}

static int append_number(sd_bus_message *reply, const CarvedType *type, CarvedTypeFact fact, const char *key,
                         uint32_t value) {
        return type->known & fact ? sd_bus_message_append(reply, "{sv}", key, "u", value) : 0;
}

/* What is not told is left out. */
static int append_type(sd_bus_message *reply, const CarvedType *type) {
        int r;

        r = sd_bus_message_open_container(reply, 'e', "sa{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", type->id);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = append_text(reply, "Name", type->name);
        if (r >= 0)
                r = append_text(reply, "Resource", type->resource);
        if (r >= 0 && type->known & CARVED_TYPE_FRAMEBUFFER)
                r = sd_bus_message_append(reply, "{sv}", "FramebufferMiB", "t", type->framebuffer_mib);
        if (r >= 0)
                r = append_number(reply, type, CARVED_TYPE_HEADS, "Heads", type->heads);
        if (r >= 0)
                r = append_number(reply, type, CARVED_TYPE_FRAME_RATE_LIMIT, "FrameRateLimit",
                                  type->frame_rate_limit);
        if (r >= 0)
                r = append_text(reply, "MaxResolution", type->max_resolution);
        if (r >= 0)
                r = append_number(reply, type, CARVED_TYPE_MAX_INSTANCES, "MaxInstances",
                                  type->max_instances);
        if (r >= 0)
                r = append_text(reply, "DeviceApi", type->device_api);
        if (r >= 0)
                r = append_number(reply, type, CARVED_TYPE_MIG_PROFILE, "MigProfile", type->mig_profile);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int get_types(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sa{sv}}");
        for (unsigned i = 0; r >= 0 && i < t->gpu->types->len; i++)
                r = append_type(reply, t->gpu->types->pdata[i]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int get_available(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{su}");
        for (unsigned i = 0; r >= 0 && i < t->gpu->types->len; i++) {
                const CarvedType *type = t->gpu->types->pdata[i];
                uint32_t n;

                if (carved_gpu_available(t->gpu, i, &n))
                        r = sd_bus_message_append(reply, "{su}", type->id, n);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_refresh(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Target *t = userdata;
        int r;

        r = options_read_none(message, error);
        if (r < 0)
                return r;

        if (t->gpu->lost)
                return bus_error_set(error, CARVED_ERROR_NO_SUCH_GPU, "The card is gone");

        return reader_refresh(manager_find_reader(t->manager, &t->gpu->address), message, error);
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
        /* They would be written on another card than this. */
        if ((t->gpu->mismatch || t->gpu->unreadable) &&
            !carved_policy_refuse(&e, &t->gpu->reason, "Nothing can be written on it"))
                return bus_error_from_gerror(error, e);

        return intent_change(t->manager, &t->gpu->address,
                             &(CarvedIntentChange){ .set_labels = true, .label = "", .labels = labels },
                             message);
}

static int place(sd_bus_message *message, Target *t, CarvedOrderKind kind, sd_bus_error *error) {
        return order_plain(message, t->manager, order_new(kind, &t->gpu->address), error);
}

static int method_resync(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return place(message, userdata, CARVED_ORDER_RESYNC, error);
}

static int method_adopt(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return place(message, userdata, CARVED_ORDER_ADOPT, error);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Address", "s", get_address, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Identity", "s", get_identity, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Serial", "s", get_serial, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("GpuUuid", "s", get_gpu_uuid, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("StoredIdentity", "s", get_stored_identity, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("VendorId", "q", get_vendor_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("DeviceId", "q", get_device_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("SubsystemVendorId", "q", get_subsystem_vendor_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("SubsystemDeviceId", "q", get_subsystem_device_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Vendor", "s", get_vendor, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Model", "s", get_model, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Driver", "s", get_driver, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("NumaNode", "i", get_numa_node, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("IommuGroup", "i", get_iommu_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Framework", "s", get_framework, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Reasons", "a(ss)", get_reasons, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("SyncState", "s", get_sync_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LastError", "s", get_last_error, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Labels", "a{ss}", get_labels, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Types", "a{sa{sv}}", get_types, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Available", "a{su}", get_available, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("SetLabels", SD_BUS_ARGS("a{ss}", labels, "a{sv}", options), SD_BUS_NO_RESULT,
                                method_set_labels, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Refresh", SD_BUS_ARGS("a{sv}", options), SD_BUS_NO_RESULT, method_refresh,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Resync", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("o", job),
                                method_resync, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Adopt", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("o", job), method_adopt,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_DRIVER, "Driver" },
        { CARVED_FIELD_NUMA_NODE, "NumaNode" },
        { CARVED_FIELD_IOMMU_GROUP, "IommuGroup" },
        { CARVED_FIELD_FRAMEWORK, "Framework" },
        { CARVED_FIELD_STATE, "State" },
        { CARVED_FIELD_REASONS, "Reasons" },
        { CARVED_FIELD_LABELS, "Labels" },
        { CARVED_FIELD_SYNC, "SyncState" },
        { CARVED_FIELD_STORED_IDENTITY, "StoredIdentity" },
        { CARVED_FIELD_ERROR, "LastError" },
        { CARVED_FIELD_SERIAL, "Serial" },
        { CARVED_FIELD_SERIAL, "GpuUuid" },
        { CARVED_FIELD_TYPES, "Types" },
        { CARVED_FIELD_AVAILABLE, "Available" },
        { 0, NULL },
};

const ObjectInterface gpu_interface = { CARVED_FACET_GPU, CARVED_BUS_NAME ".Gpu", vtable, properties };
