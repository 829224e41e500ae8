// SPDX-License-Identifier: GPL-2.0

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernfs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "nvidia.h"

/* The driver and its GPUs. It has no sriov_configure: the real one has none, which is why sriov-manage exists. */

#define BUSY_POLL_MS 500
#define STRAY_POLL_MS 200

static LIST_HEAD(gpus);
static DEFINE_MUTEX(gpus_lock);

static void gpu_free(struct kref *ref)
{
	struct gpu *gpu = container_of(ref, struct gpu, ref);

	mutex_destroy(&gpu->lock);
	kfree(gpu);
}

void gpu_unref(struct gpu *gpu)
{
	if (gpu)
		kref_put(&gpu->ref, gpu_free);
}

/* The GPU on this PF, if the driver has it. */
struct gpu *gpu_find(struct pci_dev *pf)
{
	struct gpu *gpu;

	mutex_lock(&gpus_lock);
	list_for_each_entry(gpu, &gpus, list)
		if (gpu->pdev == pf) {
			kref_get(&gpu->ref);
			goto out;
		}

	gpu = NULL;
out:
	mutex_unlock(&gpus_lock);
	return gpu;
}

bool gpu_busy(struct gpu *gpu)
{
	return gpu->usage > 0 || (READ_ONCE(knobs.unbind_busy) && knob_for(pci_name(gpu->pdev)));
}

/* Types that could not be shown before may be shown now. */
void gpus_kick(void)
{
	struct gpu *gpu;

	mutex_lock(&gpus_lock);
	list_for_each_entry(gpu, &gpus, list)
		mod_delayed_work(system_long_wq, &gpu->types_work, 0);
	mutex_unlock(&gpus_lock);
}

/*
 * Types come some time after the driver. VFs come by themselves when they are bound; here it is the turn of those
 * that were all the time, of a GPU without VFs, and, after a while, of VFs that no driver has taken.
 */
static void types_work(struct work_struct *work)
{
	struct gpu *gpu = container_of(to_delayed_work(work), struct gpu, types_work);
	bool stray = time_after_eq(jiffies, gpu->since + msecs_to_jiffies(knobs.stray_ms));

	if (funcs_publish(gpu, stray))
		queue_delayed_work(system_long_wq, &gpu->types_work, msecs_to_jiffies(STRAY_POLL_MS));
}

static int pf_probe(struct pci_dev *pdev)
{
	struct gpu *gpu;
	int r;

	gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);
	if (!gpu)
		return -ENOMEM;

	kref_init(&gpu->ref);
	gpu->pdev = pdev;
	gpu->board = card_board(pdev);
	gpu->since = jiffies;
	mutex_init(&gpu->lock);
	INIT_LIST_HEAD(&gpu->vgpus);
	INIT_DELAYED_WORK(&gpu->types_work, types_work);
	r = node_add(gpu);
	if (r < 0) {
		gpu_unref(gpu);
		return r;
	}
	proc_add(gpu);
	pci_set_drvdata(pdev, gpu);

	/* A GPU without VFs shows vGPUs itself. */
	if (!pdev->is_physfn) {
		struct func *func = func_find(pdev, true);

		if (func)
			func->bound = true;
		func_unref(func);
	}

	mutex_lock(&gpus_lock);
	list_add_tail(&gpu->list, &gpus);
	mutex_unlock(&gpus_lock);
	queue_delayed_work(system_long_wq, &gpu->types_work, msecs_to_jiffies(knobs.types_delay_ms));
	return 0;
}

/* Until the last client has gone; nothing ends this wait. From then on there are no new ones. */
static void wait_idle(struct gpu *gpu)
{
	bool said = false, busy = true;

	for (;;) {
		mutex_lock(&gpu->lock);
		busy = gpu_busy(gpu);
		if (!busy)
			gpu->leaving = true;
		mutex_unlock(&gpu->lock);
		if (!busy)
			return;

		if (!said)
			pr_info("NVRM: Attempting to remove device %s with non-zero usage count!\n",
				pci_name(gpu->pdev));
		said = true;
		msleep(BUSY_POLL_MS);
	}
}

/* Whether the device itself is about to go, not only its driver: nobody tells a driver which it is. */
static bool going_away(struct pci_dev *pdev)
{
	struct kernfs_node *remove;
	struct pci_dev *vf;

	/* Hot-unplug takes VFs first ... */
	vf = pci_get_domain_bus_and_slot(pci_domain_nr(pdev->bus), pdev->bus->number, pci_iov_virtfn_devfn(pdev, 0));
	if (!vf)
		return true;
	pci_dev_put(vf);

	/* ... and the file `remove` removes itself first. */
	remove = sysfs_get_dirent(pdev->dev.kobj.sd, "remove");
	if (!remove)
		return true;
	sysfs_put(remove);
	return false;
}

static void pf_remove(struct pci_dev *pdev)
{
	struct gpu *gpu = pci_get_drvdata(pdev);

	wait_idle(gpu);

	mutex_lock(&gpus_lock);
	list_del(&gpu->list);
	mutex_unlock(&gpus_lock);
	cancel_delayed_work_sync(&gpu->types_work);
	funcs_withdraw(pdev, NULL);
	if (!pdev->is_physfn) {
		struct func *func = func_find(pdev, false);

		if (func)
			func->bound = false;
		func_unref(func);
	}
	proc_del(gpu);
	node_del(gpu);

	/* Rebinding the PF keeps VFs; taking card or driver away does not. */
	if (pci_num_vf(pdev) > 0 && (unloading || going_away(pdev)))
		pci_disable_sriov(pdev);
	gpu_unref(gpu);
}

static int nvidia_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int r;

	if (!card_board(pdev) || card_board(pdev)->framework == FRAMEWORK_NONE)
		return -ENODEV;

	knob_delay(&knobs.probe_delay_ms, pci_name(pdev));
	r = knob_error(&knobs.probe_errno, pci_name(pdev));
	if (r < 0)
		return r;
	return pdev->is_virtfn ? vf_probe(pdev) : pf_probe(pdev);
}

static void nvidia_remove(struct pci_dev *pdev)
{
	if (pdev->is_virtfn)
		vf_remove(pdev);
	else
		pf_remove(pdev);
}

static const struct pci_device_id nvidia_ids[] = {
	{
		PCI_DEVICE(0x10de, PCI_ANY_ID),
		.class = PCI_BASE_CLASS_DISPLAY << 16,
		.class_mask = 0xff0000,
	},
	{ }
};

struct pci_driver nvidia_driver = {
	.name = "nvidia",
	.id_table = nvidia_ids,
	.probe = nvidia_probe,
	.remove = nvidia_remove,
	.driver_managed_dma = true,	/* a VF's group is VFIO's */
};
