/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "pci.h"
#include "sysfs.h"
#include "udev.h"

/* A display controller or accelerator, VF or not, as the scan meets it. */
typedef struct Function {
        CarvedFound found;
        bool is_vf;
        uint32_t total_vfs, offset, stride;
} Function;

void carved_found_clear(CarvedFound *found) {
        g_clear_pointer(&found->vendor, g_free);
        g_clear_pointer(&found->model, g_free);
}

static void clear_found(void *p) {
        carved_found_clear(p);
}

bool carved_pci_class_is_gpu(uint32_t class) {
        return class >> 16 == 0x03 || class >> 8 == 0x1200;
}

bool carved_pci_address_is_vf_of(const CarvedPciAddress *address, const CarvedPciAddress *pf, uint32_t offset,
                                 uint32_t stride, uint32_t total_vfs) {
        uint32_t a = (uint32_t) address->bus << 8 | carved_pci_address_devfn(address);
        uint32_t p = (uint32_t) pf->bus << 8 | carved_pci_address_devfn(pf);

        if (address->domain != pf->domain || total_vfs == 0 || offset == 0 || a < p + offset)
                return false;
        if (stride == 0) /* only one VF is possible then */
                return a == p + offset;

        return (a - p - offset) % stride == 0 && (a - p - offset) / stride < total_vfs;
}

bool carved_udev_path_address(const char *devpath, CarvedPciAddress *ret) {
        g_auto(GStrv) parts = g_strsplit(devpath, "/", -1);

        for (unsigned i = g_strv_length(parts); i > 0; i--) {
                const char *part = parts[i - 1];

                /* With a domain, as the kernel spells it: anything else that parses is no PCI function. */
                if (strchr(part, ':') != strrchr(part, ':') && carved_pci_address_parse(part, ret))
                        return true;
        }
        return false;
}

static uint32_t number_or_zero(int fd, CarvedAttribute attribute, int64_t max) {
        int64_t value;

        return carved_sysfs_read_number(fd, NULL, attribute, 0, max, &value, NULL) ? (uint32_t) value : 0;
}

/* False: not one of ours, or gone. */
static bool read_function(const char *syspath, Function *ret) {
        g_autofree char *name = g_path_get_basename(syspath), *physfn = NULL;
        Function f = { 0 };
        _cleanup_close_ int fd = -1;

        fd = carved_sysfs_open_dir(-1, syspath, NULL);
        if (fd < 0 || !carved_pci_address_parse(name, &f.found.address) ||
            !carved_pci_class_is_gpu(number_or_zero(fd, CARVED_ATTR_CLASS, 0xffffff)))
                return false;

        physfn = carved_sysfs_read_link(fd, NULL, CARVED_LINK_PHYSFN);
        f.is_vf = physfn != NULL;
        if (!f.is_vf) {
                f.found.vendor_id = (uint16_t) number_or_zero(fd, CARVED_ATTR_VENDOR, UINT16_MAX);
                f.found.device_id = (uint16_t) number_or_zero(fd, CARVED_ATTR_DEVICE, UINT16_MAX);
                f.found.subsystem_vendor_id =
                        (uint16_t) number_or_zero(fd, CARVED_ATTR_SUBSYSTEM_VENDOR, UINT16_MAX);
                f.found.subsystem_device_id =
                        (uint16_t) number_or_zero(fd, CARVED_ATTR_SUBSYSTEM_DEVICE, UINT16_MAX);
                f.total_vfs = number_or_zero(fd, CARVED_ATTR_SRIOV_TOTALVFS, UINT16_MAX);
                f.offset = number_or_zero(fd, CARVED_ATTR_SRIOV_OFFSET, UINT16_MAX);
                f.stride = number_or_zero(fd, CARVED_ATTR_SRIOV_STRIDE, UINT16_MAX);
        }

        *ret = f;
        return true;
}

static int compare_functions(const void *a, const void *b) {
        const Function *x = a, *y = b;

        return carved_pci_address_compare(&x->found.address, &y->found.address);
}

static GArray *list_functions(GError **error) {
        g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Function));
        g_autoptr(CarvedUdev) udev = udev_new();
        g_autoptr(CarvedUdevEnumerate) enumerate = udev ? udev_enumerate_new(udev) : NULL;
        struct udev_list_entry *entry;
        int r;

        if (!enumerate) {
                carved_error_set_errno(error, errno, "Failed to start libudev");
                return NULL;
        }

        r = udev_enumerate_add_match_subsystem(enumerate, "pci");
        if (r >= 0)
                r = udev_enumerate_scan_devices(enumerate);
        if (r < 0) {
                carved_error_set_errno(error, -r, "Failed to enumerate PCI functions");
                return NULL;
        }

        udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(enumerate)) {
                Function f;

                if (read_function(udev_list_entry_get_name(entry), &f))
                        g_array_append_val(list, f);
        }

        g_array_sort(list, compare_functions);
        return g_steal_pointer(&list);
}

/* The `physfn` link of a VF comes a moment after its directory, so a function may be one that does not show
 * it yet. */
static bool is_hidden_vf(GArray *functions, const Function *f) {
        for (unsigned i = 0; i < functions->len; i++) {
                const Function *pf = &g_array_index(functions, Function, i);

                if (pf != f && carved_pci_address_is_vf_of(&f->found.address, &pf->found.address, pf->offset,
                                                           pf->stride, pf->total_vfs))
                        return true;
        }
        return false;
}

GArray *carved_udev_scan(GError **error) {
        g_autoptr(GArray) functions = list_functions(error), list = NULL;
        CarvedPciNames *names = NULL;

        if (!functions)
                return NULL;

        list = g_array_new(FALSE, FALSE, sizeof(CarvedFound));
        g_array_set_clear_func(list, clear_found);
        for (unsigned i = 0; i < functions->len; i++) {
                Function *f = &g_array_index(functions, Function, i);

                if (f->is_vf || is_hidden_vf(functions, f))
                        continue;

                if (!names)
                        names = carved_pci_names_new();
                if (names) {
                        f->found.vendor = carved_pci_names_vendor(names, f->found.vendor_id);
                        f->found.model =
                                carved_pci_names_device(names, f->found.vendor_id, f->found.device_id);
                }
                g_array_append_val(list, f->found);
        }

        carved_pci_names_free(names);
        return g_steal_pointer(&list);
}

#define FOUND "((uyyy)(qqqq)msms)"

GVariant *carved_udev_scan_to_variant(GArray *list) {
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE("a" FOUND));
        for (unsigned i = 0; i < list->len; i++) {
                const CarvedFound *f = &g_array_index(list, CarvedFound, i);

                g_variant_builder_add(&builder, FOUND, f->address.domain, f->address.bus, f->address.device,
                                      f->address.function, f->vendor_id, f->device_id, f->subsystem_vendor_id,
                                      f->subsystem_device_id, f->vendor, f->model);
        }
        return g_variant_builder_end(&builder);
}

GArray *carved_udev_scan_from_variant(GVariant *variant) {
        GVariantIter iter;
        CarvedFound f;
        GArray *list;

        if (!g_variant_is_of_type(variant, G_VARIANT_TYPE("a" FOUND)) || !g_variant_is_normal_form(variant))
                return NULL;

        list = g_array_new(FALSE, FALSE, sizeof f);
        g_array_set_clear_func(list, clear_found);
        g_variant_iter_init(&iter, variant);
        while (g_variant_iter_next(&iter, FOUND, &f.address.domain, &f.address.bus, &f.address.device,
                                   &f.address.function, &f.vendor_id, &f.device_id, &f.subsystem_vendor_id,
                                   &f.subsystem_device_id, &f.vendor, &f.model))
                g_array_append_val(list, f);
        return list;
}
