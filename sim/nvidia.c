/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "nvml.h"
#include "rules.h"

static void nvidia_finalize(void *object) {
        Nvidia *nvidia = object;

        nvidia_mig_wipe(nvidia);
        g_ptr_array_unref(nvidia->instances);
        g_ptr_array_unref(nvidia->vgpus);
        object_unref(nvidia->pf);
        g_free(nvidia->lock_text);
        node_unref(nvidia->proc_dir);
        dev_node_free(nvidia->node);
        g_free(nvidia);
}

unsigned nvidia_usage(const Nvidia *nvidia) {
        unsigned usage = nvidia->pf->users + nvml_users(nvidia->pf->device.kernel, nvidia);

        for (unsigned i = 0; i < nvidia->vgpus->len; i++)
                usage += nvidia_vgpu_in_use(nvidia->vgpus->pdata[i]);
        return usage;
}

void nvidia_new_generation(Nvidia *nvidia) {
        nvidia->generation = ++nvidia->pf->device.kernel->nvml_tokens;
}

/* Whether types are still to come here. Not on a VF that somebody unbound by hand once: the driver has lost
 * it until the VFs are made anew. */
static bool lacks_types(const PciDevice *on) {
        const GpuSpec *spec = on->spec;

        if (on->device.gone || on->lost || on->mdev || (on->physfn && on->nvidia))
                return false;
        if (spec->no_vgpu_driver || (on->physfn && !on->iommu_group))
                return false;
        return spec->framework != FRAMEWORK_NONE && (!spec->no_vgpud || on->device.kernel->vgpud_ran);
}

static void withdraw(PciDevice *on) {
        if (on->mdev)
                nvidia_mdev_withdraw(on);
        if (on->nvidia && on->physfn)
                nvidia_vendor_withdraw(on);
}

static bool still_there(Kernel *kernel, Nvidia *nvidia, uint64_t boot) {
        return kernel->boot == boot && nvidia->pf->nvidia == nvidia && !nvidia->leaving;
}

/* Its VFIO device is announced on the way: nobody may take the VF, or the driver from it, meanwhile. */
static void publish_vendor(Nvidia *nvidia, PciDevice *vf, uint64_t boot) {
        Driver *driver = nvidia->pf->device.driver;

        if (vf->device.driver != driver)
                return;

        device_lock(&vf->device);
        if (still_there(vf->device.kernel, nvidia, boot) && lacks_types(vf) && vf->device.driver == driver)
                nvidia_vendor_publish(nvidia, vf);
        device_unlock(&vf->device);
}

/* Shows the card's types on one function, as its framework does. A VF that has no driver by then is
 * registered as an mdev parent all the same, under its bus's name (`pci-713`): probe_vf() puts that right
 * when the driver comes. */
static void publish(Nvidia *nvidia, PciDevice *on, uint64_t boot) {
        if (on->spec->framework == FRAMEWORK_MDEV)
                nvidia_mdev_publish(nvidia, on);
        else
                publish_vendor(nvidia, on, boot);
}

typedef struct TypesWork {
        Nvidia *nvidia;
        PciDevice *on; /* NULL: the whole card */
} TypesWork;

/* One function's turn; its rule may make it wait or fail. */
static void types_of(Kernel *kernel, Nvidia *nvidia, PciDevice *on) {
        g_autofree char *operation = g_strdup_printf("/driver/nvidia/types/%s", on->device.name);
        uint64_t boot = kernel->boot;

        if (on->publishing || !lacks_types(on))
                return;

        on->publishing = true;
        if (rules_apply(kernel, RULE_WRITE, operation, NULL) == 0 && still_there(kernel, nvidia, boot) &&
            lacks_types(on))
                publish(nvidia, on, boot);
        on->publishing = false;
}

/* Types come some time after the driver, function by function. */
static void types_work(Kernel *kernel, void *data) {
        g_autofree TypesWork *work = data;
        Nvidia *nvidia = work->nvidia;
        PciDevice *pf = nvidia->pf;
        uint64_t boot = kernel->boot;

        kernel_sleep(kernel, kernel->pace.types);
        if (work->on) {
                if (still_there(kernel, nvidia, boot))
                        types_of(kernel, nvidia, work->on);
        } else if (pf->spec->total_vfs == 0) {
                if (still_there(kernel, nvidia, boot))
                        types_of(kernel, nvidia, pf);
        } else {
                for (unsigned i = 0; i < pf->num_vfs && still_there(kernel, nvidia, boot); i++) {
                        PciDevice *vf = object_ref(pf->vfs[i]);

                        if (vf)
                                types_of(kernel, nvidia, vf);
                        object_unref(vf);
                }
        }

        object_unref(work->on);
        object_unref(nvidia);
}

static void start_types(Nvidia *nvidia, PciDevice *on) {
        TypesWork *work = g_new(TypesWork, 1);

        *work = (TypesWork){ object_ref(nvidia), object_ref(on) };
        kernel_run(nvidia->pf->device.kernel, types_work, work);
}

/* The VFs' probe was put off while the PF had no driver: now their turn has come. */
static void bind_vfs_work(Kernel *kernel, void *data) {
        Nvidia *nvidia = data;
        PciDevice *pf = nvidia->pf;
        uint64_t boot = kernel->boot;

        for (unsigned i = 0; i < pf->num_vfs && still_there(kernel, nvidia, boot); i++) {
                PciDevice *vf = object_ref(pf->vfs[i]);

                if (!vf)
                        continue; /* VFs are being switched off */
                kernel_sleep(kernel, kernel->pace.vf_probe);
                device_lock(&vf->device);
                if (!vf->device.gone && vf->device.deferred && still_there(kernel, nvidia, boot))
                        device_attach(&vf->device);
                device_unlock(&vf->device);
                object_unref(vf);
        }
        object_unref(nvidia);
}

static bool minor_taken(const Kernel *kernel, unsigned minor) {
        for (unsigned i = 0; i < kernel->pci->devices->len; i++) {
                const PciDevice *pci = kernel->pci->devices->pdata[i];

                if (pci->nvidia && !pci->physfn && pci->nvidia->minor == minor)
                        return true;
        }

        return false;
}

/* The lowest that no card has: a card may have another one after each probe. */
static unsigned free_minor(const Kernel *kernel) {
        unsigned minor = 0;

        while (minor_taken(kernel, minor))
                minor++;
        return minor;
}

/* Open to all, as the real ones are. */
static DevNode *make_node(Kernel *kernel, unsigned minor) {
        g_autofree char *name = g_strdup_printf("nvidia%u", minor);
        DevNode *node = dev_node_new(kernel, name);

        if (node->path && chmod(node->path, 0666) < 0)
                g_warning("Failed to open '%s' to all, ignoring: %s", node->path, g_strerror(errno));
        return node;
}

static int probe_pf(PciDevice *pf) {
        Kernel *kernel = pf->device.kernel;
        Nvidia *nvidia;

        kernel_sleep(kernel, kernel->pace.pf_probe);

        nvidia = g_new0(Nvidia, 1);
        object_init(nvidia, nvidia_finalize);
        nvidia->pf = object_ref(pf);
        nvidia->vgpus = g_ptr_array_new();
        nvidia->instances = g_ptr_array_new();
        nvidia->minor = free_minor(kernel);
        nvidia->node = make_node(kernel, nvidia->minor);
        nvidia_new_generation(nvidia);
        pf->nvidia = nvidia;
        nvidia_proc_add(nvidia);

        kernel_run(kernel, bind_vfs_work, object_ref(nvidia));
        start_types(nvidia, NULL);
        return 0;
}

static int probe_vf(PciDevice *vf) {
        Kernel *kernel = vf->device.kernel;

        if (vf->spec->no_vgpu_driver) {
                kernel_log(kernel, "NVRM: Ignoring probe for VF %s", vf->device.name);
                return -ENODEV;
        }
        if (!vf->iommu_group) {
                kernel_log(kernel, "NVRM: Aborting probe for VF %s since IOMMU is not present on the system.",
                           vf->device.name);
                return -EPERM;
        }

        /* Types that were registered too early carry the wrong name. That may wait, and the PF lose its
         * driver. */
        if (vf->mdev)
                nvidia_mdev_withdraw(vf);
        if (!vf->physfn->nvidia)
                return -EAGAIN; /* put off until the PF has its driver */

        start_types(vf->physfn->nvidia, vf);
        return 0;
}

static int nvidia_probe(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        if (!pci->spec)
                return -ENODEV; /* a bridge, bound by hand */
        return pci->physfn ? probe_vf(pci) : probe_pf(pci);
}

static void remove_pf(PciDevice *pf) {
        Kernel *kernel = pf->device.kernel;
        Nvidia *nvidia = pf->nvidia;
        bool said = false;

        /* Uninterruptible, until the last client has gone. */
        nvml_note(nvidia, "unbind");
        while (nvidia_usage(nvidia) > 0) {
                if (!said)
                        kernel_log(kernel, "NVRM: Attempting to remove device %s with non-zero usage count!",
                                   pf->device.name);
                said = true;
                kernel_wait(kernel);
        }

        nvidia->leaving = true;
        for (unsigned i = 0; i < pf->num_vfs; i++)
                if (pf->vfs[i])
                        withdraw(pf->vfs[i]);
        withdraw(pf);
        nvidia_proc_remove(nvidia);
        dev_node_close(nvidia->node);
        pf->nvidia = NULL;
        object_unref(nvidia);
}

static void nvidia_remove(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        if (!pci->physfn) {
                remove_pf(pci);
                return;
        }

        withdraw(pci);
        pci->lost = true;
}

static bool nvidia_match(Driver *driver, Device *device) {
        PciDevice *pci = pci_device(device);

        if (device->driver_override)
                return g_str_equal(device->driver_override, driver->name);
        return pci->vendor == 0x10de && pci->class >> 16 == 0x03;
}

void nvidia_init(Kernel *kernel) {
        Driver *driver = g_new0(Driver, 1);

        driver->name = "nvidia";
        driver->match = nvidia_match;
        driver->probe = nvidia_probe;
        driver->remove = nvidia_remove;
        /* No sriov_configure: the real one has none, which is why sriov-manage exists. */
        driver_register(kernel->pci, driver);
}

/* PFs on the driver, referenced; those it has just begun to probe too. */
static GPtrArray *cards(Kernel *kernel, Driver *driver) {
        GPtrArray *list = g_ptr_array_new_with_free_func(object_unref);

        for (unsigned i = 0; i < kernel->pci->devices->len; i++) {
                PciDevice *pci = kernel->pci->devices->pdata[i];

                if (!pci->physfn && pci->device.driver == driver)
                        g_ptr_array_add(list, object_ref(pci));
        }

        return list;
}

static bool any_in_use(GPtrArray *list) {
        for (unsigned i = 0; i < list->len; i++) {
                PciDevice *pf = list->pdata[i];

                if (pf->nvidia && nvidia_usage(pf->nvidia) > 0)
                        return true;
        }

        return false;
}

/* Takes the driver from a function; the VFs of a card go with it. */
static void strip(PciDevice *pci, Driver *driver) {
        device_lock(&pci->device);
        if (pci->device.driver == driver)
                device_release(&pci->device);
        if (pci->num_vfs > 0)
                sriov_disable(pci);
        device_unlock(&pci->device);
}

/* Any function that still has the driver: a VF whose card is elsewhere, say. */
static PciDevice *next_bound(Kernel *kernel, Driver *driver) {
        for (unsigned i = 0; i < kernel->pci->devices->len; i++) {
                PciDevice *pci = kernel->pci->devices->pdata[i];

                if (pci->device.driver == driver)
                        return object_ref(pci);
        }

        return NULL;
}

/* A driver that is loaded takes whatever has none and matches. */
static void attach_all(Kernel *kernel, Driver *driver) {
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(object_unref);

        for (unsigned i = 0; i < kernel->pci->devices->len; i++)
                g_ptr_array_add(list, object_ref(kernel->pci->devices->pdata[i]));

        for (unsigned i = 0; i < list->len; i++) {
                Device *device = list->pdata[i];

                device_lock(device);
                if (!device->gone && !device->driver && driver->match(driver, device)) {
                        pci_device(device)->lost = false; /* it knows nothing of what was before */
                        device_bind(device, driver);
                }
                device_unlock(device);
        }
}

int nvidia_reload(Kernel *kernel, unsigned away_ms) {
        Driver *driver = bus_find_driver(kernel->pci, "nvidia");
        g_autoptr(GPtrArray) list = NULL;

        if (!driver || driver->unloading)
                return -ENOENT;

        list = cards(kernel, driver);
        if (any_in_use(list))
                return -EBUSY;

        /* From here on it takes no card any more; those it has must let go. */
        driver->unloading = true;
        object_ref(driver);
        for (unsigned i = 0; i < list->len; i++) {
                strip(list->pdata[i], driver);
                nvidia_mig_cold(list->pdata[i]);
        }
        while (driver->bound > 0) {
                PciDevice *pci = next_bound(kernel, driver);

                if (pci)
                        strip(pci, driver);
                else
                        kernel_wait(kernel);
                object_unref(pci);
        }
        driver_unregister(driver);
        object_unref(driver);

        kernel_sleep(kernel, away_ms);
        nvidia_init(kernel);
        driver = object_ref(bus_find_driver(kernel->pci, "nvidia"));
        attach_all(kernel, driver);
        driver_uevent(driver, "add");
        object_unref(driver);
        return 0;
}

/* With the device lock. */
static int reset(PciDevice *pf) {
        Driver *driver = pf->device.driver;
        int r;

        if (!pf->nvidia || pf->nvidia->leaving || pf->device.gone)
                return -ENODEV;
        if (nvidia_usage(pf->nvidia) > 0)
                return -EBUSY;

        object_ref(driver); /* it may be unloaded meanwhile */
        strip(pf, driver);
        nvidia_mig_reset(pf);
        pf->spec->gpu_lost = false;
        r = pf->device.gone || pf->device.driver ? -ENODEV : device_bind(&pf->device, driver);
        object_unref(driver);
        return MIN(r, 0);
}

int nvidia_reset(PciDevice *pf) {
        int r;

        device_lock(&pf->device);
        r = reset(pf);
        device_unlock(&pf->device);
        return r;
}

void nvidia_vgpud(Kernel *kernel) {
        Driver *driver = bus_find_driver(kernel->pci, "nvidia");
        g_autoptr(GPtrArray) list = NULL;

        kernel->vgpud_ran = true;
        if (!driver)
                return;

        list = cards(kernel, driver);
        for (unsigned i = 0; i < list->len; i++) {
                PciDevice *pf = list->pdata[i];

                if (pf->nvidia)
                        start_types(pf->nvidia, NULL);
        }
}
