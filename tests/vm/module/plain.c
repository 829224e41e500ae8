// SPDX-License-Identifier: GPL-2.0

#include <linux/module.h>
#include <linux/pci.h>

#include "nvidia.h"

/* The driver of a card with ordinary SR-IOV: it does what sriov_numvfs says. */

static int plain_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	if (!card_board(pdev))
		return -ENODEV;

	knob_delay(&knobs.probe_delay_ms, pci_name(pdev));
	if (!pdev->is_virtfn && knobs.driver_max_vfs >= 0)
		pci_sriov_set_totalvfs(pdev, knobs.driver_max_vfs);
	return knob_error(&knobs.probe_errno, pci_name(pdev));
}

/* As GPU drivers do: no driver, no VFs. */
static void plain_remove(struct pci_dev *pdev)
{
	if (pci_num_vf(pdev) > 0)
		pci_disable_sriov(pdev);
}

static int plain_sriov(struct pci_dev *pdev, int n)
{
	int r = knob_error(&knobs.sriov_errno, pci_name(pdev));

	if (r < 0)
		return r;
	return pci_sriov_configure_simple(pdev, min_t(int, n, knobs.vfs_at_most));
}

static const struct pci_device_id plain_ids[] = {
	{ PCI_DEVICE(0x1b36, 0x0100) },
	{ PCI_DEVICE(0x1b36, 0x0101) },
	{ }
};

struct pci_driver plain_driver = {
	.name = "plaingpu",
	.id_table = plain_ids,
	.probe = plain_probe,
	.remove = plain_remove,
	.sriov_configure = plain_sriov,
};
