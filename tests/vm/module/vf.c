// SPDX-License-Identifier: GPL-2.0

#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "nvidia.h"

/* Functions that can show vGPUs, and when they do. */

static LIST_HEAD(funcs);
static DEFINE_MUTEX(funcs_lock);

static void func_free(struct kref *ref)
{
	struct func *func = container_of(ref, struct func, ref);

	mutex_destroy(&func->lock);
	kfree(func);
}

void func_unref(struct func *func)
{
	if (func)
		kref_put(&func->ref, func_free);
}

static void vf_types_work(struct work_struct *work)
{
	struct func *func = container_of(to_delayed_work(work), struct func, types_work);

	func_publish(func, false);
}

/* With a reference; or NULL. */
struct func *func_find(struct pci_dev *pdev, bool make)
{
	struct func *func;

	mutex_lock(&funcs_lock);
	list_for_each_entry(func, &funcs, list)
		if (func->pdev == pdev) {
			kref_get(&func->ref);
			goto out;
		}

	func = make ? kzalloc(sizeof(*func), GFP_KERNEL) : NULL;
	if (func) {
		kref_init(&func->ref);	/* the list's */
		kref_get(&func->ref);
		mutex_init(&func->lock);
		INIT_DELAYED_WORK(&func->types_work, vf_types_work);
		func->pdev = pdev;
		list_add_tail(&func->list, &funcs);
	}
out:
	mutex_unlock(&funcs_lock);
	return func;
}

/* The PCI device goes, and all we know of it. */
static void func_forget(struct pci_dev *pdev)
{
	struct func *func = func_find(pdev, false);

	if (!func)
		return;

	mutex_lock(&funcs_lock);
	list_del_init(&func->list);
	mutex_unlock(&funcs_lock);

	cancel_delayed_work_sync(&func->types_work);
	func_withdraw(func);	/* types of a VF without driver, if there are */
	func_unref(func);
	func_unref(func);
}

static int going(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == BUS_NOTIFY_DEL_DEVICE)
		func_forget(to_pci_dev(data));
	return NOTIFY_OK;
}

static struct notifier_block going_block = { .notifier_call = going };

int func_init(void)
{
	return bus_register_notifier(&pci_bus_type, &going_block);
}

/* The drivers have gone already: nothing is shown, nothing under way. */
void func_exit(void)
{
	struct func *func, *next;

	bus_unregister_notifier(&pci_bus_type, &going_block);
	list_for_each_entry_safe(func, next, &funcs, list) {
		cancel_delayed_work_sync(&func->types_work);
		list_del(&func->list);
		func_unref(func);
	}
}

/*
 * Shows the types here, if it is time. A VF that has no driver is registered as an mdev parent all the same when
 * it has waited long enough (`stray`), under its bus's name (`pci-746`); vf_probe() puts that right.
 */
void func_publish(struct func *func, bool stray)
{
	struct pci_dev *pdev = func->pdev;
	const struct framework *framework;
	struct gpu *gpu;

	mutex_lock(&func->lock);
	gpu = gpu_find(pci_physfn(pdev));
	if (!gpu || gpu->leaving || func->framework || func->lost || !READ_ONCE(knobs.vgpud))
		goto out;
	if (!func->bound && !(stray && gpu->board->framework == FRAMEWORK_MDEV))
		goto out;

	framework = framework_get(gpu->board->framework);
	if (framework && knob_error(&knobs.types_errno, pci_name(pdev)) == 0) {
		func->gpu = gpu;
		func->framework = framework;
		if (framework->publish(func) == 0)
			gpu = NULL;	/* the reference is func's now */
		else
			func->framework = NULL;
	}
	framework_put();
out:
	gpu_unref(gpu);
	mutex_unlock(&func->lock);
}

static void withdraw(struct func *func)
{
	if (!func->framework)
		return;
	func->framework->withdraw(func);
	func->framework = NULL;
	gpu_unref(func->gpu);
	func->gpu = NULL;
}

void func_withdraw(struct func *func)
{
	mutex_lock(&func->lock);
	withdraw(func);
	mutex_unlock(&func->lock);
}

/* All functions of a card, each with a reference; of all cards if none is given. To be freed. */
static struct func **collect(struct pci_dev *pf, unsigned int *n)
{
	struct func *func, **list;

	mutex_lock(&funcs_lock);
	*n = 0;
	list_for_each_entry(func, &funcs, list)
		++*n;
	list = kcalloc(*n + 1, sizeof(*list), GFP_KERNEL | __GFP_NOFAIL);
	*n = 0;
	list_for_each_entry(func, &funcs, list)
		if (!pf || pci_physfn(func->pdev) == pf) {
			kref_get(&func->ref);
			list[(*n)++] = func;
		}
	mutex_unlock(&funcs_lock);
	return list;
}

/* VFs that were there before the driver are not known to us yet. */
static void meet_vfs(struct pci_dev *pf)
{
	int i, n = pf->is_physfn ? pci_num_vf(pf) : 0;

	for (i = 0; i < n; i++) {
		struct pci_dev *vf = pci_get_domain_bus_and_slot(pci_domain_nr(pf->bus), pf->bus->number,
								 pci_iov_virtfn_devfn(pf, i));

		if (vf)
			func_unref(func_find(vf, true));
		pci_dev_put(vf);
	}
}

/* True while there are VFs whose driver may still come. */
bool funcs_publish(struct gpu *gpu, bool stray)
{
	struct func **list;
	unsigned int i, n;
	bool more = false;

	meet_vfs(gpu->pdev);
	list = collect(gpu->pdev, &n);
	for (i = 0; i < n; i++) {
		func_publish(list[i], stray);
		more |= !list[i]->bound && !list[i]->framework && !list[i]->lost && !stray;
		func_unref(list[i]);
	}
	kfree(list);
	return more;
}

/* All that is shown on a card, or by a framework. Not before it is sure that nothing is published anew. */
void funcs_withdraw(struct pci_dev *pf, const struct framework *framework)
{
	unsigned int i, n;
	struct func **list = collect(pf, &n);

	for (i = 0; i < n; i++) {
		mutex_lock(&list[i]->lock);
		if (!framework || list[i]->framework == framework)
			withdraw(list[i]);
		mutex_unlock(&list[i]->lock);
		func_unref(list[i]);
	}
	kfree(list);
}

static bool has_iommu(struct pci_dev *pdev)
{
	struct iommu_group *group = iommu_group_get(&pdev->dev);

	iommu_group_put(group);
	return group;
}

int vf_probe(struct pci_dev *vf)
{
	struct func *func;
	struct gpu *gpu;

	if (READ_ONCE(knobs.no_vgpu)) {
		pr_info("NVRM: Ignoring probe for VF %s\n", pci_name(vf));
		return -ENODEV;
	}
	if (READ_ONCE(knobs.need_iommu) && !has_iommu(vf)) {
		pr_info("NVRM: Aborting probe for VF %s since IOMMU is not present on the system.\n", pci_name(vf));
		return -EPERM;
	}

	/* Put off until the PF has its driver: the core tries again when it binds. */
	gpu = gpu_find(pci_physfn(vf));
	gpu_unref(gpu);
	if (!gpu)
		return -EPROBE_DEFER;

	func = func_find(vf, true);
	if (!func)
		return -ENOMEM;

	/* Types that were registered too early carry the wrong name. */
	func_withdraw(func);
	func->bound = true;
	pci_set_drvdata(vf, func);
	queue_delayed_work(system_long_wq, &func->types_work, msecs_to_jiffies(knobs.types_delay_ms));
	func_unref(func);	/* the list has one for as long as the device is there */
	return 0;
}

void vf_remove(struct pci_dev *vf)
{
	struct func *func = pci_get_drvdata(vf);

	/* First: what is queued must see it. Unbound by hand it is lost; made anew it is another one. */
	func->lost = true;
	cancel_delayed_work_sync(&func->types_work);
	func_withdraw(func);
	func->bound = false;

	/* And still claimed: vfio-pci's probe gives EINVAL. So it does for what is no ordinary device. */
	if (!unloading && card_board(vf) && card_board(vf)->framework == FRAMEWORK_VENDOR)
		vf->hdr_type = PCI_HEADER_TYPE_MASK;
}
