/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "object.h"

/* Until carved makes any itself, each vGPU is somebody else's: there, not kept by us, and leased to nobody.
 */
GETTER(get_active, "s", "active")
GETTER(get_foreign, "s", "foreign")
GETTER(get_false, "b", false)
GETTER(get_nothing, "s", "")
GETTER(get_never, "t", UINT64_C(0))
GETTER(get_no_labels, "a{ss}", 0)

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

        return sd_bus_message_append(reply, "s", type && type->name ? type->name : "");
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

/* An mdev has no PCI address of its own. */
static int get_address(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char address[CARVED_PCI_ADDRESS_MAX] = "";

        if (t->vgpu->framework != CARVED_FRAMEWORK_MDEV)
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
        char address[CARVED_PCI_ADDRESS_MAX], name[128];

        address_of(t, address);
        if (t->vgpu->framework == CARVED_FRAMEWORK_MDEV)
                g_snprintf(name, sizeof name, "mdev_%s_%s", t->vgpu->uuid, address);
        else
                g_snprintf(name, sizeof name, "pci_%s", address);
        return sd_bus_message_append(reply, "s", g_strdelimit(name, ":.-", '_'));
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
        SD_BUS_PROPERTY("State", "s", get_active, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Origin", "s", get_foreign, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Persistent", "b", get_false, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Owner", "s", get_nothing, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LeaseExpires", "t", get_never, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Address", "s", get_address, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("DeviceNode", "s", get_device_node, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("IommuGroup", "i", get_iommu_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("GpuInstance", "i", get_gpu_instance, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("PlacementId", "i", get_placement_id, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Params", "s", get_params, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Labels", "a{ss}", get_no_labels, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LibvirtName", "s", get_libvirt_name, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("LastError", "s", get_last_error, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
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
        { CARVED_FIELD_ERROR, "LastError" },
        { 0, NULL },
};

const ObjectInterface vgpu_interface = { CARVED_FACET_VGPU, CARVED_BUS_NAME ".Vgpu", vtable, properties };
