/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>

#include <glib.h>
#include <pci/pci.h>

#include "pci.h"

struct CarvedPciNames {
        struct pci_access *access;
};

/* libpci's error callback must not return, and gets no userdata: the only way out is a jump, and the only way
 * to know where to is this. Set for the time of one call into libpci, in which we own nothing; the process
 * has one thread. */
static sigjmp_buf *escape;

static void on_error(char *format, ...) G_GNUC_NORETURN;
static void on_error(char *format, ...) {
        g_assert(escape);
        siglongjmp(*escape, 1);
}

static void on_message(char *format, ...) {
}

static bool start(struct pci_access *access) {
        sigjmp_buf here;
        volatile bool ok = false;

        if (sigsetjmp(here, 0) == 0) {
                escape = &here;
                pci_init(access);
                ok = true;
        }
        escape = NULL;
        return ok;
}

CarvedPciNames *carved_pci_names_new(void) {
        CarvedPciNames *names = g_new0(CarvedPciNames, 1);

        names->access = pci_alloc();
        names->access->error = on_error;
        names->access->warning = on_message;
        names->access->debug = on_message;
        /* Not the automatic choice, which may end at port I/O. */
        names->access->method = PCI_ACCESS_SYS_BUS_PCI;
        if (!start(names->access)) {
                /* What a half-started libpci holds is lost; it has no way to give it back. */
                g_free(names);
                return NULL;
        }

        return names;
}

CarvedPciNames *carved_pci_names_free(CarvedPciNames *names) {
        if (!names)
                return NULL;

        pci_cleanup(names->access);
        g_free(names);
        return NULL;
}

static char *lookup(CarvedPciNames *names, int flags, uint16_t vendor, uint16_t device) {
        char buf[256];
        sigjmp_buf here;
        char *volatile found = NULL; /* lives over the jump */

        if (sigsetjmp(here, 0) == 0) {
                escape = &here;
                found = pci_lookup_name(names->access, buf, sizeof buf, flags | PCI_LOOKUP_NO_NUMBERS, vendor,
                                        device);
        }
        escape = NULL;
        return found && g_utf8_validate(found, -1, NULL) ? g_strdup(found) : NULL;
}

char *carved_pci_names_vendor(CarvedPciNames *names, uint16_t vendor) {
        return lookup(names, PCI_LOOKUP_VENDOR, vendor, 0);
}

char *carved_pci_names_device(CarvedPciNames *names, uint16_t vendor, uint16_t device) {
        return lookup(names, PCI_LOOKUP_DEVICE, vendor, device);
}
