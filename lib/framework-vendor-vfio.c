/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "framework-vendor-vfio.h"
#include "gate.h"
#include "sysfs.h"
#include "vgpu-type.h"

/* What can be made here now. */
static void read_creatable(CarvedLook *look, int dir_fd, CarvedVf *vf) {
        g_autoptr(GArray) creatable = NULL;
        g_autofree char *text = NULL;
        GError *error = NULL;
        GArray *offers;

        text = carved_sysfs_read(dir_fd, NULL, CARVED_ATTR_CREATABLE_VGPU_TYPES, &error);
        carved_look_note(&vf->error, error);
        creatable = carved_creatable_parse(text ?: "");

        offers = carved_look_offers(look, &vf->available);
        for (unsigned i = 0; i < creatable->len; i++) {
                CarvedCreatable *c = &g_array_index(creatable, CarvedCreatable, i);
                g_autofree char *id = g_strdup_printf("nvidia-%u", c->id);
                CarvedType *fresh;
                uint32_t type = carved_look_type(look, id, &fresh);

                if (fresh)
                        carved_look_name_type(look, fresh, c->name);
                carved_look_offer(offers, type, 1);
        }
}

/* The kernel gives it no UUID: it gets one of its VF's address, the same each time on this host. */
static void add_vgpu(CarvedLook *look, int dir_fd, const CarvedVf *vf, int64_t type) {
        char address[CARVED_PCI_ADDRESS_MAX], uuid[CARVED_UUID_LEN + 1];
        CarvedType *fresh;
        CarvedVgpu *vgpu;

        carved_pci_address_format(&vf->address, address);
        carved_uuid_v5(look->host->machine_id, address, uuid);
        vgpu = carved_gpu_add_vgpu(look->gpu, uuid, (int32_t) vf->index);
        vgpu->framework = CARVED_FRAMEWORK_VENDOR_VFIO;
        vgpu->iommu_group = vf->iommu_group;
        vgpu->type = g_strdup_printf("nvidia-%" G_GINT64_FORMAT, type);
        carved_look_type(look, vgpu->type, &fresh);
        carved_look_vgpu(vgpu, dir_fd, NULL);
}

bool carved_vendor_vfio_read(CarvedLook *look, int dir_fd, CarvedVf *vf) {
        GError *error = NULL;
        int64_t current = 0;

        if (!carved_sysfs_read_number(dir_fd, NULL, CARVED_ATTR_CURRENT_VGPU_TYPE, 0, UINT32_MAX, &current,
                                      &error) &&
            carved_sysfs_is_absent(error)) {
                g_error_free(error);
                return false;
        }

        carved_look_note(&vf->error, error);
        read_creatable(look, dir_fd, vf);
        if (current > 0)
                add_vgpu(look, dir_fd, vf, current);
        return true;
}

/* -1: can't be read. */
static int64_t current_type(int dir_fd) {
        int64_t current = -1;

        carved_sysfs_read_number(dir_fd, NULL, CARVED_ATTR_CURRENT_VGPU_TYPE, 0, UINT32_MAX, &current, NULL);
        return current;
}

void carved_vendor_vfio_create(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        char number[16];
        uint32_t id = 0;

        carved_type_id_number(step->type, &id);
        g_snprintf(number, sizeof number, "%u", id);
        carved_carve_write(outcome, dir_fd, carved_attribute_name(CARVED_ATTR_CURRENT_VGPU_TYPE), number);

        /* Only on the way back can it be ours: the kernel has no name for whose it is. */
        if (outcome->errnum != 0 && step->undo && current_type(dir_fd) == id)
                carved_outcome_clear(outcome);
}

void carved_vendor_vfio_remove(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        g_auto(CarvedGate) gate = { 0 };
        uint32_t id = 0;

        /* Gone already, or another's by now: there is nothing of ours to remove. */
        carved_type_id_number(carving->step->type, &id);
        if (current_type(dir_fd) != id)
                return;

        carved_gate_add(&gate, carving->host, dir_fd, NULL);
        if (!carved_gate_shut(&gate, outcome))
                return;

        carved_carve_write(outcome, dir_fd, carved_attribute_name(CARVED_ATTR_CURRENT_VGPU_TYPE), "0");
        if (outcome->errnum == 0)
                return;

        /* The driver says EPERM also where there is nothing to clear. */
        if (current_type(dir_fd) == 0)
                carved_outcome_clear(outcome);
        if (outcome->errnum == EPERM || outcome->errnum == EBUSY)
                outcome->in_use = outcome->again = true;
}
