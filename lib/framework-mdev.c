/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "framework-mdev.h"
#include "gate.h"
#include "sysfs.h"
#include "vgpu-type.h"

/* What is the same on all VFs of the card, so from whichever has it first. */
static void read_mdev_type(CarvedLook *look, int types_fd, CarvedType *type) {
        g_autofree char *name = NULL, *description = NULL;
        GError *error = NULL;

        name = carved_sysfs_read(types_fd, type->id, CARVED_ATTR_NAME, &error);
        carved_look_note(&look->gpu->error, g_steal_pointer(&error));
        carved_look_name_type(look, type, name);

        description = carved_sysfs_read(types_fd, type->id, CARVED_ATTR_DESCRIPTION, &error);
        carved_look_note(&look->gpu->error, g_steal_pointer(&error));
        if (description)
                carved_type_parse_description(type, description);

        type->device_api = carved_sysfs_read(types_fd, type->id, CARVED_ATTR_DEVICE_API, &error);
        carved_look_note(&look->gpu->error, g_steal_pointer(&error));
}

static bool is_settled_type(CarvedLook *look, const char *driver, const char *id) {
        size_t len;

        if (look->vendor->type_prefix)
                return g_str_has_prefix(id, look->vendor->type_prefix);

        len = driver ? strlen(driver) : 0;
        return len > 0 && strncmp(id, driver, len) == 0 && id[len] == '-';
}

bool carved_mdev_read_types(CarvedLook *look, int dir_fd, const char *driver, uint16_t **target,
                            char **ret_error) {
        g_autoptr(GPtrArray) names = NULL;
        _cleanup_close_ int types_fd = -1;
        bool settled = true;
        GError *error = NULL;
        GArray *offers;

        types_fd = carved_sysfs_open_dir(dir_fd, CARVED_MDEV_TYPES, &error);
        if (types_fd >= 0)
                names = carved_sysfs_list(types_fd, ".", &error);
        carved_look_note(ret_error, error);
        if (!names || names->len == 0)
                return false;

        offers = carved_look_offers(look, target);
        for (unsigned i = 0; i < names->len; i++) {
                const char *id = names->pdata[i];
                CarvedType *fresh;
                int64_t count = 0;
                uint32_t type;

                if (!is_settled_type(look, driver, id)) {
                        settled = false;
                        continue;
                }

                type = carved_look_type(look, id, &fresh);
                if (fresh && !look->brief)
                        read_mdev_type(look, types_fd, fresh);

                error = NULL;
                carved_sysfs_read_number(types_fd, id, CARVED_ATTR_AVAILABLE_INSTANCES, 0, UINT16_MAX, &count,
                                         &error);
                carved_look_note(ret_error, error);
                carved_look_offer(offers, type, (uint16_t) count);
        }
        return settled;
}

void carved_mdev_read_vgpus(CarvedLook *look, int dir_fd, GPtrArray *names, int32_t vf_index) {
        for (unsigned i = 0; i < names->len; i++) {
                const char *uuid = names->pdata[i];
                CarvedVgpu *vgpu;

                if (!carved_uuid_is_valid(uuid))
                        continue;

                vgpu = carved_gpu_add_vgpu(look->gpu, uuid, vf_index);
                vgpu->framework = CARVED_FRAMEWORK_MDEV;
                vgpu->iommu_group = carved_look_group(dir_fd, uuid);
                carved_look_vgpu(vgpu, dir_fd, uuid);

                /* The link comes after `add` and `bind`, and no event after it: see
                 * carved_gpu_has_half_made(). */
                vgpu->type = carved_sysfs_read_link(dir_fd, uuid, CARVED_LINK_MDEV_TYPE);
                if (!vgpu->type)
                        look->gpu->settled = false;
        }
}

static bool has_type(int dir_fd, const CarvedStep *step) {
        g_autofree char *type = carved_sysfs_read_link(dir_fd, step->uuid, CARVED_LINK_MDEV_TYPE);

        return g_strcmp0(type, step->type) == 0;
}

void carved_mdev_create(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        g_autofree char *path = g_strdup_printf(CARVED_MDEV_TYPES "/%s/create", step->type);

        carved_carve_write(outcome, dir_fd, path, step->uuid);

        /* Somebody was faster with the very same: mdevctl, libvirt, or we, before a crash. */
        if (outcome->errnum == EEXIST && has_type(dir_fd, step))
                carved_outcome_clear(outcome);
}

static bool is_there(int dir_fd, const char *uuid) {
        struct stat st;

        return fstatat(dir_fd, uuid, &st, 0) == 0;
}

void carved_mdev_remove(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        g_autofree char *path = g_strdup_printf("%s/remove", step->uuid);
        g_auto(CarvedGate) gate = { 0 };

        /* Some drivers take an mdev away by themselves when its VM ends. */
        if (!is_there(dir_fd, step->uuid))
                return;
        /* A create that was refused may have found another's of that name. */
        if (step->undo && !has_type(dir_fd, step))
                return;

        carved_gate_add(&gate, carving->host, dir_fd, step->uuid);
        if (!carved_gate_shut(&gate, outcome))
                return;

        carved_carve_write(outcome, dir_fd, path, "1");
        if (outcome->errnum != 0 && !is_there(dir_fd, step->uuid))
                carved_outcome_clear(outcome);
        if (outcome->errnum == EPERM || outcome->errnum == EBUSY || outcome->errnum == EAGAIN)
                outcome->in_use = outcome->again = true;
}
