/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cleanup.h"
#include "gate.h"
#include "nvml-lock.h"
#include "program.h"
#include "sriov.h"
#include "sysfs.h"
#include "vendor.h"

#define NVIDIA_BIND "bus/pci/drivers/nvidia/bind"
#define NVIDIA_GPUS "/proc/driver/nvidia/gpus"

/* -1: can't be read. */
static int64_t read_numvfs(const CarvedCarving *carving) {
        int64_t n = -1;

        carved_sysfs_read_number(carving->gpu_fd, NULL, CARVED_ATTR_SRIOV_NUMVFS, 0, UINT16_MAX, &n, NULL);
        return n;
}

/* Switching off removes all VFs: each must be idle. */
static bool shut_gate(CarvedGate *gate, const CarvedCarving *carving, int64_t n, CarvedOutcome *outcome) {
        for (int64_t i = 0; i < n; i++) {
                char virtfn[32];

                g_snprintf(virtfn, sizeof virtfn, "virtfn%d", (int) i);
                carved_gate_add(gate, carving->host, carving->gpu_fd, virtfn);
        }
        return carved_gate_shut(gate, outcome);
}

void carved_sriov_set_numvfs(const CarvedCarving *carving, CarvedOutcome *outcome) {
        const char *file = carved_attribute_name(CARVED_ATTR_SRIOV_NUMVFS);
        const CarvedStep *step = carving->step;
        g_auto(CarvedGate) gate = { 0 };
        int64_t before = read_numvfs(carving);
        char number[16];

        if (before == step->number)
                return;
        if (before > 0 && !shut_gate(&gate, carving, before, outcome))
                return;

        g_snprintf(number, sizeof number, "%u", step->number);
        carved_carve_write(outcome, carving->gpu_fd, file, number);
        /* The kernel says that all went well also when the driver made fewer. */
        if (outcome->errnum == 0 && read_numvfs(carving) != step->number) {
                carved_carve_failed(outcome, ERANGE, file, number);
                outcome->output = g_strdup_printf("The write succeeded, but %d VFs are there",
                                                  (int) read_numvfs(carving));
        }
}

bool carved_sriov_manage_is_locked_out(const char *output) {
        return output && strstr(output, "Cannot obtain unbindLock");
}

/* Held, it keeps every client from the card, and nobody else would let go of it. */
static void unlock(const char *address) {
        _cleanup_close_ int gpus = open(NVIDIA_GPUS, O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_autofree char *file = g_strdup_printf("%s/unbindLock", address);

        if (gpus >= 0)
                carved_sysfs_write(gpus, file, "0");
}

/* The program takes the card from its driver and gives it back. Where it stopped in between, we do the rest:
 * a card without driver can do nothing, and nobody else would notice. 0: it has one, 1: again, or -errno. */
static int rebind(const CarvedCarving *carving) {
        g_autofree char *driver = carved_sysfs_read_link(carving->gpu_fd, NULL, CARVED_LINK_DRIVER);
        char address[CARVED_PCI_ADDRESS_MAX];
        int r;

        carved_pci_address_format(&carving->step->gpu, address);
        if (!carved_vendor_is_astray(carving->step->vendor, driver)) {
                unlock(address);
                return 0;
        }

        if (driver)
                carved_sysfs_write(carving->gpu_fd, "driver/unbind", address);
        carved_sysfs_write(carving->gpu_fd, carved_attribute_name(CARVED_ATTR_DRIVER_OVERRIDE), "\n");
        r = carved_sysfs_write(carving->sysfs_fd, NVIDIA_BIND, address);
        return r < 0 ? r : 1;
}

void carved_sriov_rebind(const CarvedCarving *carving, CarvedOutcome *outcome) {
        char address[CARVED_PCI_ADDRESS_MAX];
        int r = rebind(carving);

        if (r < 0)
                carved_carve_failed(outcome, -r, NVIDIA_BIND,
                                    carved_pci_address_format(&carving->step->gpu, address));
}

/* After a failure, with a word about it. */
static void mend(const CarvedCarving *carving, CarvedOutcome *outcome) {
        g_autofree char *said = g_steal_pointer(&outcome->output);
        int r = rebind(carving);

        if (r == 0)
                outcome->output = g_steal_pointer(&said);
        else if (r > 0)
                outcome->output = g_strdup_printf(
                        "%s; the card was left without its driver, which was bound again", said ?: "");
        else
                outcome->output =
                        g_strdup_printf("%s; the card was left without its driver, and nvidia could not "
                                        "be bound again: %s",
                                        said ?: "", g_strerror(-r));
}

void carved_sriov_manage(const CarvedCarving *carving, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        char address[CARVED_PCI_ADDRESS_MAX];
        const char *argv[] = { carving->host->sriov_manage, step->number > 0 ? "-e" : "-d",
                               carved_pci_address_format(&step->gpu, address), NULL };
        CarvedNvmlLock lock = CARVED_NVML_UNLOCKED;
        g_auto(CarvedGate) gate = { 0 };
        int64_t before = read_numvfs(carving);

        /* Run on what is so already, it may unbind a card with live vGPUs. */
        if (before == step->number) {
                if (step->undo)
                        carved_sriov_rebind(carving, outcome);
                return;
        }
        if (before > 0 && !shut_gate(&gate, carving, before, outcome))
                return;

        carved_nvml_keep_out(&lock, carving->host->nvml_locks);
        outcome->status = carved_program_run(argv, &outcome->output);
        carved_nvml_unlock(&lock);
        if (outcome->status == 0 && read_numvfs(carving) == step->number)
                return;

        outcome->file = g_strdup(argv[0]);
        outcome->value = g_strdup(argv[1]);
        outcome->errnum = outcome->status < 0 ? -outcome->status : EIO;
        outcome->again = carved_sriov_manage_is_locked_out(outcome->output);
        if (outcome->status >= 0)
                mend(carving, outcome);
}
