/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "order.h"

GETTER(get_id, "u", t->instance->id)
GETTER(get_profile, "u", t->instance->profile)
GETTER(get_profile_name, "s", carved_mig_profile_name(t->gpu->mig, t->instance->profile))

static int get_gpu(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        char gpu[OBJECT_PATH_MAX];

        return sd_bus_message_append(reply, "o", object_path_gpu(&t->gpu->address, gpu));
}

static int get_placement(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;

        return sd_bus_message_append(reply, "(uu)", t->instance->placement.start,
                                     t->instance->placement.size);
}

static int get_uuids(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append_strv(reply, ((const Target *) userdata)->instance->uuids);
}

static int get_vgpus(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "o");
        for (unsigned i = 0; r >= 0 && i < t->gpu->vgpus->len; i++) {
                const CarvedVgpu *vgpu = t->gpu->vgpus->pdata[i];
                char vgpu_path[OBJECT_PATH_MAX];

                if (vgpu->gpu_instance >= 0 && (uint32_t) vgpu->gpu_instance == t->instance->id)
                        r = sd_bus_message_append(reply, "o", object_path_of_vgpu(vgpu, vgpu_path));
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_destroy(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Target *t = userdata;
        CarvedOrder *order = order_new(CARVED_ORDER_DESTROY_INSTANCE, &t->gpu->address);

        order->count = t->instance->id;
        return order_plain(message, t->manager, order, error);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "u", get_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Gpu", "o", get_gpu, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Profile", "u", get_profile, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("ProfileName", "s", get_profile_name, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Placement", "(uu)", get_placement, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Uuids", "as", get_uuids, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Vgpus", "ao", get_vgpus, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("Destroy", SD_BUS_ARGS("a{sv}", options), SD_BUS_RESULT("o", job),
                                method_destroy, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_GPU_INSTANCE, "Uuids" },
        { CARVED_FIELD_VGPU, "Vgpus" },
        { 0, NULL },
};

const ObjectInterface gpu_instance_interface = { CARVED_FACET_GPU_INSTANCE, CARVED_BUS_NAME ".GpuInstance",
                                                 vtable, properties };
