// SPDX-License-Identifier: GPL-2.0
/* The driver's module: its parameters, what it registers. What all this is: card.c. */

#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>

#include "nvidia.h"

static char *mode[CARD_PORTS_MAX] = { "mdev" };
static int num_modes = 1;
module_param_array(mode, charp, &num_modes, 0444);
MODULE_PARM_DESC(mode, "mdev, vendor, legacy or plain; several: by root port, the last for the rest");

#define KNOB(name, type, text) \
	module_param_named(name, knobs.name, type, 0644); \
	MODULE_PARM_DESC(name, text)

KNOB(create_delay_ms, uint, "creating an mdev takes so much longer");
KNOB(create_errno, int, "creating an mdev fails with this error number");
KNOB(remove_delay_ms, uint, "removing an mdev takes so much longer");
KNOB(type_delay_ms, uint, "writing current_vgpu_type takes so much longer");
KNOB(type_errno, int, "writing current_vgpu_type fails with this error number");
KNOB(sriov_delay_ms, uint, "switching VFs on or off takes so much longer, whatever driver does it");
KNOB(sriov_errno, int, "switching VFs on fails: with this error number by plaingpu, else always with EIO");
KNOB(probe_delay_ms, uint, "binding a PF or VF takes so much longer");
KNOB(probe_errno, int, "binding a PF or VF fails with this error number");
KNOB(types_delay_ms, uint, "types appear so long after the driver (default 20)");
KNOB(types_errno, int, "if not 0, types do not appear");
KNOB(stray_ms, uint, "a VF without driver gets types called pci-N after so long (default 3000)");
KNOB(unbind_busy, uint, "if not 0, GPUs have a client: no unbindLock, and unbinding waits");
KNOB(linger_ms, uint, "a vGPU's plugin process outlives its VM so long");
KNOB(need_iommu, bool, "VFs are not bound without an IOMMU, as on real hosts (default N)");
KNOB(no_vgpu, bool, "the ordinary driver: it ignores VFs");
KNOB(strict, bool, "current_vgpu_type has the errors of the driver proposed upstream");
KNOB(total_fb, uint, "MiB of a GPU, if less than its board has: maxima follow");
KNOB(driver_max_vfs, int, "plaingpu lowers sriov_totalvfs to this when it binds (default -1: no)");
KNOB(vfs_at_most, uint, "plaingpu switches on at most so many VFs");
KNOB(times, int, "so many *_errno faults, of all kinds, then none (default -1: no end)");

module_param_string(only, knobs.only, sizeof(knobs.only), 0644);
MODULE_PARM_DESC(only, "delays, faults and unbind_busy are for this PCI address or mdev UUID only");

static int set_vgpud(const char *text, const struct kernel_param *param)
{
	int r = param_set_bool(text, param);

	/* Not while parameters are read at load: there are no GPUs then. */
	if (r == 0)
		gpus_kick();
	return r;
}

static const struct kernel_param_ops vgpud_ops = {
	.set = set_vgpud,
	.get = param_get_bool,
};
module_param_cb(vgpud, &vgpud_ops, &knobs.vgpud, 0644);
MODULE_PARM_DESC(vgpud, "nvidia-vgpud has run: types may appear (default Y)");

bool unloading;

static const struct framework *frameworks[] = {
	[FRAMEWORK_NONE] = NULL,
	[FRAMEWORK_MDEV] = NULL,
	[FRAMEWORK_VENDOR] = &vendor_framework,
};
static DECLARE_RWSEM(frameworks_lock);

/* Locked until framework_put(), which is due in any case. */
const struct framework *framework_get(enum card_framework which)
{
	down_read(&frameworks_lock);
	return frameworks[which];
}

void framework_put(void)
{
	up_read(&frameworks_lock);
}

int framework_register(enum card_framework which, const struct framework *framework)
{
	down_write(&frameworks_lock);
	frameworks[which] = framework;
	up_write(&frameworks_lock);
	gpus_kick();
	return 0;
}
EXPORT_SYMBOL_GPL(framework_register);

void framework_unregister(enum card_framework which)
{
	const struct framework *framework;

	down_write(&frameworks_lock);
	framework = frameworks[which];
	frameworks[which] = NULL;
	up_write(&frameworks_lock);
	funcs_withdraw(NULL, framework);
}
EXPORT_SYMBOL_GPL(framework_unregister);

static bool any_framework(const struct card_board **boards, unsigned int n, enum card_framework which)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (boards[i]->framework == which)
			return true;

	return false;
}

static int register_drivers(bool plain, bool nvidia)
{
	int r = 0;

	if (nvidia)
		r = pci_register_driver(&nvidia_driver);
	if (r == 0 && plain) {
		r = pci_register_driver(&plain_driver);
		if (r < 0 && nvidia)
			pci_unregister_driver(&nvidia_driver);
	}
	return r;
}

static bool have_plain, have_nvidia;

static int __init nvidia_init(void)
{
	const struct card_board *boards[CARD_PORTS_MAX];
	int i, r;

	for (i = 0; i < num_modes; i++) {
		boards[i] = card_board_by_mode(mode[i]);
		if (!boards[i]) {
			pr_err("nvidia: no such mode: %s\n", mode[i]);
			return -EINVAL;
		}
	}
	have_plain = any_framework(boards, num_modes, FRAMEWORK_NONE);
	have_nvidia = any_framework(boards, num_modes, FRAMEWORK_MDEV) ||
		      any_framework(boards, num_modes, FRAMEWORK_VENDOR);

	r = have_nvidia ? proc_init() : 0;
	if (r < 0)
		return r;
	r = func_init();
	if (r < 0)
		goto no_func;
	r = register_drivers(have_plain, have_nvidia);
	if (r < 0)
		goto no_drivers;

	card_disguise(boards, num_modes);
	if (any_framework(boards, num_modes, FRAMEWORK_MDEV))
		request_module_nowait("nvidia-vgpu-vfio");
	return 0;

no_drivers:
	func_exit();
no_func:
	if (have_nvidia)
		proc_exit();
	knobs_default();
	return r;
}

static void __exit nvidia_exit(void)
{
	unloading = true;
	if (have_plain)
		pci_unregister_driver(&plain_driver);
	if (have_nvidia)
		pci_unregister_driver(&nvidia_driver);
	func_exit();
	if (have_nvidia)
		proc_exit();
	knobs_default();
}

module_init(nvidia_init);
module_exit(nvidia_exit);

MODULE_SOFTDEP("pre: pci-pf-stub");	/* sriov-manage needs it */
MODULE_DESCRIPTION("A driver that behaves as NVIDIA's on a vGPU host, for tests");
MODULE_AUTHOR("The carved authors");
MODULE_LICENSE("GPL");
