/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "object.h"

GETTER(get_total_vfs, "u", t->gpu->total_vfs)
GETTER(get_num_vfs, "u", t->gpu->num_vfs)

static int get_vfs(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Target *t = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "o");
        for (unsigned i = 0; r >= 0 && i < t->gpu->vfs->len; i++) {
                const CarvedVf *vf = t->gpu->vfs->pdata[i];
                char vf_path[OBJECT_PATH_MAX];

                r = sd_bus_message_append_basic(reply, 'o',
                                                object_path_vf(&t->gpu->address, vf->index, vf_path));
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("TotalVfs", "u", get_total_vfs, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("NumVfs", "u", get_num_vfs, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Vfs", "ao", get_vfs, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE), SD_BUS_VTABLE_END
};

static const ObjectProperty properties[] = {
        { CARVED_FIELD_TOTAL_VFS, "TotalVfs" },
        { CARVED_FIELD_NUM_VFS, "NumVfs" },
        { CARVED_FIELD_VFS, "Vfs" },
        { 0, NULL },
};

const ObjectInterface sriov_interface = { CARVED_FACET_SRIOV, CARVED_BUS_NAME ".Sriov", vtable, properties };
