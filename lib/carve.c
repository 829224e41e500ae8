/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "carve.h"
#include "cleanup.h"
#include "framework-mdev.h"
#include "framework-passthrough.h"
#include "framework-vendor-vfio.h"
#include "gate.h"
#include "nvml-carve.h"
#include "sriov.h"
#include "sysfs.h"

void carved_carve_failed(CarvedOutcome *outcome, int errnum, const char *file, const char *value) {
        carved_outcome_clear(outcome);
        outcome->errnum = errnum;
        outcome->file = g_strdup(file);
        outcome->value = g_strdup(value);
}

void carved_carve_write(CarvedOutcome *outcome, int dir_fd, const char *path, const char *value) {
        int r = carved_sysfs_write(dir_fd, path, value);

        if (r < 0)
                carved_carve_failed(outcome, -r, path, value);
}

static bool has_id(int fd, CarvedAttribute attribute, uint16_t id) {
        int64_t value;

        return carved_sysfs_read_number(fd, NULL, attribute, 0, UINT16_MAX, &value, NULL) && value == id;
}

/* Through the very descriptor that will be written below: what the plan was made for may have been pulled. */
static int open_gpu(int sysfs_fd, const CarvedStep *step, CarvedOutcome *outcome) {
        char address[CARVED_PCI_ADDRESS_MAX];
        _cleanup_close_ int fd = -1;
        g_autofree char *path =
                g_strdup_printf("bus/pci/devices/%s", carved_pci_address_format(&step->gpu, address));

        fd = carved_sysfs_open_dir(sysfs_fd, path, NULL);
        if (fd < 0 || !has_id(fd, CARVED_ATTR_VENDOR, step->vendor) ||
            !has_id(fd, CARVED_ATTR_DEVICE, step->device) ||
            !has_id(fd, CARVED_ATTR_SUBSYSTEM_VENDOR, step->subsystem_vendor) ||
            !has_id(fd, CARVED_ATTR_SUBSYSTEM_DEVICE, step->subsystem_device)) {
                carved_carve_failed(outcome, ENODEV, path, NULL);
                outcome->output = g_strdup(fd < 0 ? "The card is gone" : "Another card is in its place");
                return -1;
        }
        return steal_fd(&fd);
}

/* The VF's directory, or the GPU's own. */
static int open_parent(const CarvedCarving *carving, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        g_autofree char *link = NULL;
        CarvedPciAddress address;
        char virtfn[32] = ".";
        int fd;

        if (step->vf_index >= 0) {
                g_snprintf(virtfn, sizeof virtfn, "virtfn%d", step->vf_index);
                link = carved_sysfs_read_virtfn(carving->gpu_fd, (unsigned) step->vf_index);
                if (!link || !carved_pci_address_parse(link, &address) ||
                    carved_pci_address_compare(&address, &step->vf) != 0) {
                        carved_carve_failed(outcome, ENODEV, virtfn, NULL);
                        outcome->output = g_strdup("The VF is gone");
                        return -1;
                }
        }

        fd = carved_sysfs_open_dir(carving->gpu_fd, virtfn, NULL);
        if (fd < 0)
                carved_carve_failed(outcome, ENODEV, virtfn, NULL);
        return fd;
}

/* One write replaces all of them; a single space clears them. */
static void set_params(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        bool mdev = step->framework == CARVED_FRAMEWORK_MDEV;
        g_autofree char *path = g_strdup_printf("%s%s%s", mdev ? step->uuid : "", mdev ? "/" : "",
                                                carved_attribute_name(CARVED_ATTR_VGPU_PARAMS));

        carved_carve_write(outcome, dir_fd, path, *step->text ? step->text : " ");
        if (outcome->errnum == EPERM) {
                g_auto(CarvedGate) gate = { 0 };

                outcome->in_use = true;
                carved_gate_add(&gate, carving->host, dir_fd, mdev ? step->uuid : NULL);
                outcome->users = carved_gate_users(&gate);
        }
        /* On the way back, from a vGPU that did not survive the way there. */
        if (step->undo && (outcome->errnum == ENOENT || outcome->errnum == ENXIO))
                carved_outcome_clear(outcome);
}

/* A look, nothing more: the gate of each write decides. But of several, none shall go while one must stay. */
static void check_idle(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        bool mdev = carving->step->framework == CARVED_FRAMEWORK_MDEV;
        g_auto(CarvedGate) gate = { 0 };
        g_autoptr(GArray) users = NULL;

        carved_gate_add(&gate, carving->host, dir_fd, mdev ? carving->step->uuid : NULL);
        users = carved_gate_users(&gate);
        if (users->len == 0)
                return;

        outcome->errnum = EBUSY;
        outcome->in_use = true;
        outcome->users = g_steal_pointer(&users);
}

typedef void (*Carver)(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome);

static const Carver creators[_CARVED_FRAMEWORK_MAX] = {
        [CARVED_FRAMEWORK_MDEV] = carved_mdev_create,
        [CARVED_FRAMEWORK_VENDOR_VFIO] = carved_vendor_vfio_create,
        [CARVED_FRAMEWORK_VF_PASSTHROUGH] = carved_passthrough_create,
};

static const Carver removers[_CARVED_FRAMEWORK_MAX] = {
        [CARVED_FRAMEWORK_MDEV] = carved_mdev_remove,
        [CARVED_FRAMEWORK_VENDOR_VFIO] = carved_vendor_vfio_remove,
        [CARVED_FRAMEWORK_VF_PASSTHROUGH] = carved_passthrough_remove,
};

/* On a vGPU's parent. */
static void carve_vgpu(const CarvedCarving *carving, Carver carver, CarvedOutcome *outcome) {
        _cleanup_close_ int fd = -1;

        g_assert(carver);
        fd = open_parent(carving, outcome);
        if (fd >= 0)
                carver(carving, fd, outcome);
        /* With the VF or the card, all that was on it is gone: there is nothing to remove. */
        else if (carving->step->undo && carving->step->kind != CARVED_STEP_CREATE)
                carved_outcome_clear(outcome);
}

static void dispatch(const CarvedCarving *carving, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;

        switch (step->kind) {
        case CARVED_STEP_SRIOV_MANAGE:
                carved_sriov_manage(carving, outcome);
                break;
        case CARVED_STEP_REBIND:
                carved_sriov_rebind(carving, outcome);
                break;
        case CARVED_STEP_NUMVFS:
                carved_sriov_set_numvfs(carving, outcome);
                break;
        case CARVED_STEP_AUTOPROBE:
                carved_carve_write(outcome, carving->gpu_fd,
                                   carved_attribute_name(CARVED_ATTR_SRIOV_AUTOPROBE),
                                   step->number ? "1" : "0");
                break;
        case CARVED_STEP_CREATE:
                carve_vgpu(carving, creators[step->framework], outcome);
                break;
        case CARVED_STEP_REMOVE:
                carve_vgpu(carving, removers[step->framework], outcome);
                break;
        case CARVED_STEP_PARAMS:
                carve_vgpu(carving, set_params, outcome);
                break;
        case CARVED_STEP_IDLE:
                carve_vgpu(carving, check_idle, outcome);
                break;
        case CARVED_STEP_MIG:
                carved_nvml_set_mig(carving, outcome);
                break;
        case CARVED_STEP_MAKE_INSTANCE:
                carved_nvml_make_instance(carving, outcome);
                break;
        case CARVED_STEP_DROP_INSTANCE:
                carved_nvml_drop_instance(carving, outcome);
                break;
        case CARVED_STEP_MIXED_SIZE:
                carved_nvml_set_mixed_size(carving, outcome);
                break;
        case CARVED_STEP_WAIT:
        case _CARVED_STEP_KIND_MAX:
                break;
        }
}

void carved_carve(const CarvedHost *host, const CarvedStep *step, CarvedOutcome *ret) {
        CarvedCarving carving = { .host = host, .step = step };
        _cleanup_close_ int sysfs_fd = -1, gpu_fd = -1;

        *ret = (CarvedOutcome){ 0 };
        carving.sysfs_fd = sysfs_fd = carved_sysfs_open_dir(-1, host->sysfs, NULL);
        if (sysfs_fd < 0) {
                carved_carve_failed(ret, ENOENT, host->sysfs, NULL);
                return;
        }

        carving.gpu_fd = gpu_fd = open_gpu(sysfs_fd, step, ret);
        if (gpu_fd >= 0)
                dispatch(&carving, ret);
        /* A card that is gone has nothing left to undo. */
        else if (step->undo)
                carved_outcome_clear(ret);
}
