/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "framework-passthrough.h"
#include "gate.h"
#include "program.h"
#include "sysfs.h"
#include "vfio-driver.h"

#define MODPROBE "/sbin/modprobe"

void carved_passthrough_read(int dir_fd, CarvedVf *vf) {
        g_autofree char *text = carved_sysfs_read(dir_fd, NULL, CARVED_ATTR_DRIVER_OVERRIDE, NULL);

        if (text && *text && !g_str_equal(text, "(null)"))
                vf->override = g_steal_pointer(&text);
}

static bool has_driver(const CarvedCarving *carving, const char *driver) {
        g_autofree char *path = g_strdup_printf("bus/pci/drivers/%s", driver);
        struct stat st;

        return fstatat(carving->sysfs_fd, path, &st, 0) == 0;
}

/* The driver of a module that is loaded: under its name with dashes, as most, or as it is. */
static char *find_driver(const CarvedCarving *carving, const char *module) {
        g_autofree char *dashed = carved_vfio_driver_name(module);

        if (has_driver(carving, dashed))
                return g_steal_pointer(&dashed);

        return has_driver(carving, module) ? g_strdup(module) : NULL;
}

/* The driver to use, loaded. NULL: there is none, and @outcome says so. */
static char *choose_driver(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        g_autofree char *modalias = carved_sysfs_read(dir_fd, NULL, CARVED_ATTR_MODALIAS, NULL);
        g_autofree char *module = carved_vfio_module_for(modalias);
        g_autofree char *driver = NULL;
        const char *argv[] = { MODPROBE, "--", module ?: "vfio_pci", NULL };

        driver = find_driver(carving, argv[2]);
        if (driver)
                return g_steal_pointer(&driver);

        outcome->status = carved_program_run(argv, &outcome->output);
        driver = find_driver(carving, argv[2]);
        if (driver) {
                carved_outcome_clear(outcome);
                return g_steal_pointer(&driver);
        }

        outcome->errnum = ENODEV;
        outcome->file = g_strdup_printf("bus/pci/drivers/%s", argv[2]);
        return NULL;
}

static bool is_bound_to(int dir_fd, const char *driver) {
        g_autofree char *bound = carved_sysfs_read_link(dir_fd, NULL, CARVED_LINK_DRIVER);

        return g_strcmp0(bound, driver) == 0;
}

static void write_override(CarvedOutcome *outcome, int dir_fd, const char *driver) {
        carved_carve_write(outcome, dir_fd, carved_attribute_name(CARVED_ATTR_DRIVER_OVERRIDE),
                           *driver ? driver : "\n");
}

static void probe(const CarvedCarving *carving, CarvedOutcome *outcome) {
        char address[CARVED_PCI_ADDRESS_MAX];

        carved_carve_write(outcome, carving->sysfs_fd, "bus/pci/drivers_probe",
                           carved_pci_address_format(&carving->step->vf, address));
}

void carved_passthrough_create(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        g_autofree char *driver = choose_driver(carving, dir_fd, outcome);

        if (!driver)
                return;

        write_override(outcome, dir_fd, driver);
        if (outcome->errnum == 0 && is_bound_to(dir_fd, driver))
                return; /* on the way back, from an unbind that did not happen */
        if (outcome->errnum == 0)
                probe(carving, outcome);
        /* The kernel says that all went well also when no driver took it. */
        if (outcome->errnum == 0 && !is_bound_to(dir_fd, driver)) {
                carved_carve_failed(outcome, ENODEV, "bus/pci/drivers_probe", driver);
                outcome->output = g_strdup_printf("The write succeeded, but %s did not take the VF", driver);
        }
}

void carved_passthrough_remove(const CarvedCarving *carving, int dir_fd, CarvedOutcome *outcome) {
        g_autofree char *driver = carved_sysfs_read_link(dir_fd, NULL, CARVED_LINK_DRIVER);
        char address[CARVED_PCI_ADDRESS_MAX];
        g_auto(CarvedGate) gate = { 0 };

        carved_gate_add(&gate, carving->host, dir_fd, NULL);
        if (!carved_gate_shut(&gate, outcome))
                return;

        /* First: where we are interrupted, it is wanted and plainly not there, or not wanted and still
         * bespoken, and both show. */
        if (carved_vfio_is_driver(driver))
                carved_carve_write(outcome, dir_fd, "driver/unbind",
                                   carved_pci_address_format(&carving->step->vf, address));
        if (outcome->errnum == ENODEV || outcome->errnum == ENOENT)
                carved_outcome_clear(outcome); /* somebody was faster */
        if (outcome->errnum == EBUSY)
                outcome->in_use = outcome->again = true;
        if (outcome->errnum == 0)
                write_override(outcome, dir_fd, carving->step->old_text);
        /* Whoever kept it for a driver of his own gets it back. */
        if (outcome->errnum == 0 && carved_vfio_is_driver(driver) && *carving->step->old_text)
                probe(carving, outcome);
}
