/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "object.h"

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

static const sd_bus_vtable vtable[] = { SD_BUS_VTABLE_START(0),
                                        SD_BUS_PROPERTY("CreatableTypes", "a{ss}", get_creatable_types, 0,
                                                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
                                        SD_BUS_VTABLE_END };

static const ObjectProperty properties[] = {
        { CARVED_FIELD_CREATABLE, "CreatableTypes" },
        { 0, NULL },
};

const ObjectInterface vgpu_host_interface = { CARVED_FACET_VGPU_HOST, CARVED_BUS_NAME ".VgpuHost", vtable,
                                              properties };
