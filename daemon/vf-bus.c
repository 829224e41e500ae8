/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "object.h"

GETTER(get_index, "u", t->vf->index)
GETTER(get_driver, "s", t->vf->driver ?: "")
GETTER(get_iommu_group, "i", t->vf->iommu_group)
GETTER(get_role, "s", carved_vf_role_to_string(t->vf->role))

static int get_address(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char address[CARVED_PCI_ADDRESS_MAX];

        return sd_bus_message_append(reply, "s", carved_pci_address_format(&t->vf->address, address));
}

static int get_gpu(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char gpu[OBJECT_PATH_MAX];

        return sd_bus_message_append(reply, "o", object_path_gpu(&t->gpu->address, gpu));
}

static int get_vgpu(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char vgpu[OBJECT_PATH_MAX] = "/";

        if (t->vf->vgpu >= 0)
                object_path_of_vgpu(t->gpu->vgpus->pdata[t->vf->vgpu], vgpu);
        return sd_bus_message_append(reply, "o", vgpu);
}

static int get_reasons(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;

        return object_append_reason(reply, &t->vf->reason);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Address", "s", get_address, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Index", "u", get_index, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Gpu", "o", get_gpu, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Driver", "s", get_driver, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("IommuGroup", "i", get_iommu_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Role", "s", get_role, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Vgpu", "o", get_vgpu, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Reasons", "a(ss)", get_reasons, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_DRIVER, "Driver" },   { CARVED_FIELD_IOMMU_GROUP, "IommuGroup" },
        { CARVED_FIELD_ROLE, "Role" },       { CARVED_FIELD_VGPU, "Vgpu" },
        { CARVED_FIELD_REASONS, "Reasons" }, { 0, NULL },
};

const ObjectInterface vf_interface = { CARVED_FACET_VF, CARVED_BUS_NAME ".VirtualFunction", vtable,
                                       properties };
