/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pci.h"

/* SR-IOV of the PCI core: the rules of sriov_numvfs, the order of what happens, and its events. */

static void virtfn_name(char buf[static 16], unsigned index) {
        g_snprintf(buf, 16, "virtfn%u", index);
}

static void add_vf(PciDevice *pf, unsigned index) {
        Kernel *kernel = pf->device.kernel;
        PciDevice *vf = pci_new_vf(pf, index);
        char name[16];

        virtfn_name(name, index);
        pf->vfs[index] = vf;

        /* The links come after `add`: who reads at `add` may miss them. */
        device_announce(&vf->device);
        node_add_link(pf->device.dir, name, vf->device.dir);
        node_add_link(vf->device.dir, "physfn", pf->device.dir);
        device_uevent(&vf->device, "change", NULL);

        if (!pf->autoprobe && !vf->device.driver_override)
                return;
        kernel_sleep(kernel, kernel->pace.vf_probe);
        device_attach(&vf->device);
}

static void remove_vf(PciDevice *pf, unsigned index) {
        PciDevice *vf = pf->vfs[index];
        char name[16];

        virtfn_name(name, index);
        node_remove_child(pf->device.dir, name);
        node_remove_child(vf->device.dir, "physfn");
        pci_unplug(vf);
        pf->vfs[index] = NULL;
        object_unref(vf);
}

int sriov_enable(PciDevice *pf, unsigned n) {
        Kernel *kernel = pf->device.kernel;

        pci_config_set_vfs(pf, n);
        kernel_sleep(kernel, kernel->pace.vfs_on);

        for (unsigned i = 0; i < n; i++)
                add_vf(pf, i);

        /* Said before it is stored: a reader waits for the device lock meanwhile. */
        device_uevent(&pf->device, "change", NULL);
        pf->num_vfs = n;
        kernel_wake(kernel);
        return (int) n;
}

void sriov_disable(PciDevice *pf) {
        Kernel *kernel = pf->device.kernel;

        for (unsigned i = 0; i < pf->num_vfs; i++)
                remove_vf(pf, i);

        kernel_sleep(kernel, kernel->pace.vfs_off);
        pf->num_vfs = 0; /* without a word: disabling sends no event of the PF */
        pci_config_set_vfs(pf, 0);
        kernel_wake(kernel);
}

/* kstrtou16() with base 0: one number, at most a newline behind it. */
static bool parse_u16(const char *text, unsigned *ret) {
        char *end;
        unsigned long n;

        if (!g_ascii_isdigit(*text))
                return false;

        n = strtoul(text, &end, 0);
        if (*end == '\n')
                end++;
        if (end == text || *end != '\0' || n > UINT16_MAX)
                return false;

        *ret = (unsigned) n;
        return true;
}

/* The hardware's number, or less if the card's own driver says so. */
static unsigned total_vfs(const PciDevice *pf) {
        const Driver *driver = pf->device.driver;
        bool own = driver && g_strcmp0(driver->name, pf->spec->home_driver) == 0;

        return own ? MIN(pf->spec->total_vfs, pf->spec->driver_max_vfs) : pf->spec->total_vfs;
}

static int configure(PciDevice *pf, unsigned n) {
        Device *device = &pf->device;
        int r;

        if (n == pf->num_vfs)
                return 0;
        if (!device->driver) {
                kernel_log(device->kernel, "pci %s: no driver bound to device; cannot configure SR-IOV",
                           device->name);
                return -ENOENT;
        }
        if (!device->driver->sriov_configure) {
                kernel_log(device->kernel, "%s %s: driver does not support SR-IOV configuration via sysfs",
                           device->driver->name, device->name);
                return -ENOENT;
        }
        if (n == 0)
                return device->driver->sriov_configure(device, 0);
        if (pf->num_vfs > 0) {
                kernel_log(device->kernel, "%s %s: %u VFs already enabled. Disable before enabling %u VFs",
                           device->driver->name, device->name, pf->num_vfs, n);
                return -EBUSY;
        }

        r = device->driver->sriov_configure(device, n);
        if (r < 0)
                return r;
        if ((unsigned) r != n)
                kernel_log(device->kernel, "%s %s: %u VFs requested; only %d enabled", device->driver->name,
                           device->name, n, r);
        return 0;
}

static int numvfs_store(void *owner, const Attr *attr, const char *text, size_t len) {
        PciDevice *pf = owner;
        unsigned n;
        int r;

        if (!parse_u16(text, &n))
                return -EINVAL;
        if (n > total_vfs(pf))
                return -ERANGE;

        device_lock(&pf->device);
        r = pf->device.gone ? -ENODEV : configure(pf, n);
        device_unlock(&pf->device);
        return r;
}

/* Takes the device lock: a read waits as long as somebody's write takes. */
static int numvfs_show(void *owner, const Attr *attr, GString *out) {
        PciDevice *pf = owner;

        device_lock(&pf->device);
        g_string_append_printf(out, "%u\n", pf->num_vfs);
        device_unlock(&pf->device);
        return 0;
}

static int totalvfs_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%u\n", total_vfs(owner));
        return 0;
}

static int offset_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%u\n", ((PciDevice *) owner)->spec->vf_offset);
        return 0;
}

static int stride_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%u\n", ((PciDevice *) owner)->spec->vf_stride);
        return 0;
}

static int vf_device_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%x\n", ((PciDevice *) owner)->spec->vf_device);
        return 0;
}

static int msix_show(void *owner, const Attr *attr, GString *out) {
        g_string_append(out, "0\n");
        return 0;
}

static int autoprobe_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%u\n", ((PciDevice *) owner)->autoprobe);
        return 0;
}

/* kstrtobool(): the first letter decides. */
static int autoprobe_store(void *owner, const Attr *attr, const char *text, size_t len) {
        PciDevice *pf = owner;

        if (strchr("yY1tT", *text) && *text)
                pf->autoprobe = true;
        else if (strchr("nN0fF", *text) && *text)
                pf->autoprobe = false;
        else if (g_ascii_strncasecmp(text, "on", 2) == 0)
                pf->autoprobe = true;
        else if (g_ascii_strncasecmp(text, "off", 3) == 0)
                pf->autoprobe = false;
        else
                return -EINVAL;
        return 0;
}

static int msix_count_store(void *owner, const Attr *attr, const char *text, size_t len) {
        unsigned n;

        if (!parse_u16(text, &n))
                return -EINVAL;
        return -EOPNOTSUPP; /* no GPU driver has the callback */
}

const Attr sriov_pf_attrs[] = {
        { "sriov_totalvfs", 0444, totalvfs_show },
        { "sriov_numvfs", 0644, numvfs_show, numvfs_store },
        { "sriov_offset", 0444, offset_show },
        { "sriov_stride", 0444, stride_show },
        { "sriov_vf_device", 0444, vf_device_show, .cached = true },
        { "sriov_vf_total_msix", 0444, msix_show },
        { "sriov_drivers_autoprobe", 0644, autoprobe_show, autoprobe_store },
        {},
};

const Attr sriov_vf_attrs[] = {
        { "sriov_vf_msix_count", 0200, NULL, msix_count_store },
        {},
};
