/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "pci.h"

/* The files every PCI device has, with the texts of the kernel's PCI core. */

#define SHOW(name, ...)                                                                                      \
        static int name##_show(void *owner, const Attr *attr, GString *out) {                                \
                PciDevice *pci = owner;                                                                      \
                g_string_append_printf(out, __VA_ARGS__);                                                    \
                return 0;                                                                                    \
        }

SHOW(vendor, "0x%04x\n", pci->vendor)
SHOW(device, "0x%04x\n", pci->device_id)
SHOW(subsystem_vendor, "0x%04x\n", pci->subsystem_vendor)
SHOW(subsystem_device, "0x%04x\n", pci->subsystem_device)
SHOW(class, "0x%06x\n", pci->class)
SHOW(revision, "0x%02x\n", pci->revision)
SHOW(irq, "%d\n", pci->irq)
SHOW(numa_node, "%d\n", pci->numa_node)
SHOW(ari, "%d\n", pci->physfn || pci_is_pf(pci))
SHOW(link_speed, "%s\n", pci->physfn ? "Unknown" : "16.0 GT/s PCIe")
SHOW(link_width, "%d\n", pci->physfn ? 0 : 16)
SHOW(reset_method, "%s\n", pci->physfn ? "flr" : "flr bus")
SHOW(enable, "%d\n", pci->device.driver || pci->physfn ? 1 : 0)
SHOW(power_state, "%s\n", pci->device.driver ? "D0" : "unknown")

/* Attributes that only say one thing. */
static int constant_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%s\n", (const char *) attr->data);
        return 0;
}

static char *modalias(const PciDevice *pci) {
        return g_strdup_printf("pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02x", pci->vendor, pci->device_id,
                               pci->subsystem_vendor, pci->subsystem_device, pci->class >> 16,
                               pci->class >> 8 & 0xff, pci->class & 0xff);
}

static int modalias_show(void *owner, const Attr *attr, GString *out) {
        g_autofree char *text = modalias(owner);

        g_string_append_printf(out, "%s\n", text);
        return 0;
}

static int config_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_len(out, (const char *) ((PciDevice *) owner)->config, PCI_CONFIG_SIZE);
        return 0;
}

/* Start, end, flags of the seven regions. */
static int resource_show(void *owner, const Attr *attr, GString *out) {
        static const struct {
                unsigned region;
                uint64_t pf_size, vf_size, flags;
        } bars[] = {
                { 0, 16 << 20, 256 << 10, 0x40200 },
                { 1, 16ULL << 30, 2ULL << 30, 0x14220c },
                { 3, 32 << 20, 32 << 20, 0x14220c },
        };
        PciDevice *pci = owner;
        uint64_t base = 0x200000000000ULL + ((uint64_t) pci->address.bus << 38) +
                        ((uint64_t) carved_pci_address_devfn(&pci->address) << 32);

        for (unsigned region = 0, i = 0; region < 7; region++) {
                uint64_t size;

                if (!pci->spec || i == G_N_ELEMENTS(bars) || bars[i].region != region) {
                        g_string_append(out, "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
                        continue;
                }
                size = pci->physfn ? bars[i].vf_size : bars[i].pf_size;
                g_string_append_printf(out,
                                       "0x%016" G_GINT64_MODIFIER "x 0x%016" G_GINT64_MODIFIER
                                       "x 0x%016" G_GINT64_MODIFIER "x\n",
                                       base, base + size - 1, bars[i].flags);
                base += size;
                i++;
        }

        return 0;
}

static bool is_true(const char *text) {
        return g_ascii_strtoull(text, NULL, 0) != 0;
}

static PciDevice *card_below(PciDevice *port) {
        GPtrArray *devices = port->device.kernel->pci->devices;

        for (unsigned i = 0; i < devices->len; i++) {
                PciDevice *pci = devices->pdata[i];

                if (pci->device.parent == &port->device && !pci->physfn)
                        return object_ref(pci);
        }

        return NULL;
}

/* A port takes the cards below it along. */
static void remove_function(PciDevice *pci) {
        PciDevice *card;

        pci->leaving = true;
        while ((card = card_below(pci))) {
                remove_function(card);
                object_unref(card);
        }

        /* Noted only when it has gone: a rescan must not find it on its way out. */
        if (pci_unplug(pci) && pci->spec && !pci->physfn)
                g_ptr_array_add(pci->device.kernel->removed, gpu_spec_ref(pci->spec));
}

static int remove_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Device *device = owner;

        /* The file takes itself away first: a second writer finds none. */
        if (!is_true(text) || !node_child(device->dir, attr->name))
                return 0;
        node_remove_child(device->dir, attr->name);
        remove_function(pci_device(device));
        return 0;
}

static int rescan_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Kernel *kernel = ((Bus *) owner)->kernel;

        while (is_true(text) && kernel->removed->len > 0) {
                GpuSpec *spec = g_ptr_array_steal_index(kernel->removed, 0);

                pci_plug(kernel, spec);
                gpu_spec_unref(spec);
        }

        return 0;
}

/* Resets the function. Its vGPUs are the driver's business; a free VF has nothing to lose. */
static int reset_store(void *owner, const Attr *attr, const char *text, size_t len) {
        return g_ascii_strtoull(text, NULL, 0) == 1 ? 0 : -EINVAL;
}

const Attr pci_attrs[] = {
        { "vendor", 0444, vendor_show, .cached = true },
        { "device", 0444, device_show, .cached = true },
        { "subsystem_vendor", 0444, subsystem_vendor_show, .cached = true },
        { "subsystem_device", 0444, subsystem_device_show, .cached = true },
        { "class", 0444, class_show, .cached = true },
        { "revision", 0444, revision_show, .cached = true },
        { "modalias", 0444, modalias_show, .cached = true },
        { "irq", 0444, irq_show },
        { "numa_node", 0644, numa_node_show },
        { "ari_enabled", 0444, ari_show, .cached = true },
        { "current_link_speed", 0444, link_speed_show },
        { "current_link_width", 0444, link_width_show },
        { "max_link_speed", 0444, link_speed_show, .cached = true },
        { "max_link_width", 0444, link_width_show, .cached = true },
        { "local_cpulist", 0444, constant_show, .data = "0-7", .cached = true },
        { "local_cpus", 0444, constant_show, .data = "ff", .cached = true },
        { "dma_mask_bits", 0444, constant_show, .data = "47", .cached = true },
        { "consistent_dma_mask_bits", 0444, constant_show, .data = "47", .cached = true },
        { "broken_parity_status", 0644, constant_show, .data = "0" },
        { "d3cold_allowed", 0644, constant_show, .data = "1" },
        { "msi_bus", 0644, constant_show, .data = "1" },
        { "enable", 0644, enable_show },
        { "power_state", 0444, power_state_show },
        { "reset", 0200, NULL, reset_store },
        { "reset_method", 0644, reset_method_show },
        { "resource", 0444, resource_show, .cached = true },
        { "config", 0644, config_show, .unprivileged_max = 64 },
        {},
};

/* VFs have none: they come and go with their number only. */
const Attr pci_remove_attr = { "remove", 0220, NULL, remove_store };

const Attr pci_bus_attrs[] = {
        { "rescan", 0200, NULL, rescan_store },
        {},
};

void pci_add_env(Device *device, GPtrArray *env) {
        PciDevice *pci = pci_device(device);
        g_autofree char *alias = modalias(pci);

        g_ptr_array_add(env, g_strdup_printf("PCI_CLASS=%X", pci->class));
        g_ptr_array_add(env, g_strdup_printf("PCI_ID=%04X:%04X", pci->vendor, pci->device_id));
        g_ptr_array_add(env, g_strdup_printf("PCI_SUBSYS_ID=%04X:%04X", pci->subsystem_vendor,
                                             pci->subsystem_device));
        g_ptr_array_add(env, g_strdup_printf("PCI_SLOT_NAME=%s", device->name));
        g_ptr_array_add(env, g_strdup_printf("MODALIAS=%s", alias));
}
