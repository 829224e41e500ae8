// SPDX-License-Identifier: GPL-2.0
/*
 * gpu-card: QEMU's NVMe controller with SR-IOV, disguised as a GPU. For tests in a virtual machine only.
 *
 * Three modules are made here, as there are three parties on a real host. gpu-card is the hardware: it wraps
 * the config space of every bus below a root port, so that an NVMe controller that sits there, or is plugged
 * in later, is read by the PCI core as the board that nvidia's `mode` parameter names. nvidia is the driver
 * (for mode=plain one called plaingpu). nvidia-vgpu-vfio shows vGPUs as mediated devices; it is a module of
 * its own because without it there must be no sign of mdev.
 *
 *   modprobe nvidia mode=mdev      an A2: 16 VFs, each an mdev parent
 *   modprobe nvidia mode=vendor    an L40S: 32 VFs (or as many as QEMU's device has), each with nvidia/
 *   modprobe nvidia mode=legacy    a T4: no VFs, mdevs on the GPU itself
 *   modprobe nvidia mode=plain     a card with 8 ordinary VFs, driver plaingpu
 *   modprobe nvidia mode=mdev,vendor   by root port, in the order of buses; the last is for the rest
 *
 * Where there is no modprobe: insmod vfio, mdev, gpu-card, nvidia, nvidia-vgpu-vfio (mdev and legacy only).
 * rmmod nvidia leaves GPUs without driver, and switches their VFs off; rmmod gpu-card gives the NVMe
 * controllers back. Delays and faults: /sys/module/nvidia/parameters, explained by modinfo nvidia.
 *
 * Needs q35, and per card
 *   -device pcie-root-port,id=rpN,chassis=N,slot=N -device nvme-subsys,id=subN
 *   -device nvme,serial=N,bus=rpN,subsys=subN,sriov_max_vfs=V,max_ioqpairs=2V+2,msix_qsize=V+3,
 *           sriov_vq_flexible=2V,sriov_vi_flexible=V
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>

#include "card.h"
#include "knobs.h"

static struct card_port ports[CARD_PORTS_MAX];
static unsigned int num_ports;
static DEFINE_MUTEX(ports_lock);	/* who changes boards; readers of config space take no lock */

struct card_port *card_port(struct pci_bus *bus)
{
	unsigned int i;

	for (i = 0; i < num_ports; i++)
		if (ports[i].bus == bus)
			return &ports[i];

	return NULL;
}

/* The board that a function belongs to, or NULL if it is none of ours. */
const struct card_board *card_board(struct pci_dev *pdev)
{
	struct card_port *port = card_port(pdev->bus);

	return port && card_is_there(port) ? READ_ONCE(port->board) : NULL;
}
EXPORT_SYMBOL_GPL(card_board);

/* Takes the card out. VFs first: a PF that goes while it has some is a BUG to the PCI core. */
static void pull(struct card_port *port)
{
	struct pci_dev *pdev = pci_get_slot(port->bus, PCI_DEVFN(0, 0));

	if (!pdev)
		return;
	if (pci_num_vf(pdev) > 0)
		pci_disable_sriov(pdev);
	pci_stop_and_remove_bus_device(pdev);
	pci_dev_put(pdev);
}

static void push(struct card_port *port)
{
	if (pci_scan_slot(port->bus, PCI_DEVFN(0, 0)) == 0)
		return;
	pci_assign_unassigned_bridge_resources(port->bus->self);
	pci_bus_add_devices(port->bus);
}

static bool is_port(struct pci_dev *pdev)
{
	int type;

	if (!pdev->subordinate || !pci_is_pcie(pdev))
		return false;
	type = pci_pcie_type(pdev);
	return type == PCI_EXP_TYPE_ROOT_PORT || type == PCI_EXP_TYPE_DOWNSTREAM;
}

static void find_ports(void)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev) {
		if (!is_port(pdev) || num_ports == CARD_PORTS_MAX)
			continue;
		get_device(&pdev->subordinate->dev);
		ports[num_ports].bus = pdev->subordinate;
		ports[num_ports].ops = pdev->subordinate->ops;
		num_ports++;
	}
}

/* Port by port; where there is a card it is taken out and read anew under its other name. */
int card_disguise(const struct card_board **boards, unsigned int n)
{
	unsigned int i;

	mutex_lock(&ports_lock);
	for (i = 0; i < num_ports; i++) {
		struct card_port *port = &ports[i];
		const struct card_board *board = boards[min(i, n - 1)];

		if (port->board == board)
			continue;

		pci_lock_rescan_remove();
		card_look(port);
		if (port->present)
			pull(port);
		WRITE_ONCE(port->board, board);
		pci_bus_set_ops(port->bus, &card_ops);
		if (port->present)
			push(port);
		pci_unlock_rescan_remove();
	}
	mutex_unlock(&ports_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(card_disguise);

static void undisguise(struct card_port *port)
{
	pci_lock_rescan_remove();
	card_look(port);
	if (port->present)
		pull(port);
	pci_bus_set_ops(port->bus, port->ops);
	if (port->present)
		push(port);
	pci_unlock_rescan_remove();
}

/*
 * The last moment at which the VFs of a card that goes can be switched off. Its driver should have done so, but
 * pci-pf-stub does not, and without a driver nobody does; then the PCI core would stop the machine.
 */
static int going(struct notifier_block *block, unsigned long event, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (event == BUS_NOTIFY_DEL_DEVICE && !pdev->is_virtfn && card_port(pdev->bus) && pci_num_vf(pdev) > 0)
		pci_disable_sriov(pdev);
	return NOTIFY_OK;
}

static struct notifier_block going_block = { .notifier_call = going };

static int __init card_init(void)
{
	knobs_default();
	find_ports();
	if (num_ports == 0)
		return -ENODEV;
	return bus_register_notifier(&pci_bus_type, &going_block);
}

static void __exit card_exit(void)
{
	unsigned int i;

	for (i = 0; i < num_ports; i++)
		if (ports[i].board)
			undisguise(&ports[i]);
	bus_unregister_notifier(&pci_bus_type, &going_block);
	card_ops_drain();
	for (i = 0; i < num_ports; i++)
		put_device(&ports[i].bus->dev);
}

module_init(card_init);
module_exit(card_exit);

MODULE_DESCRIPTION("QEMU's NVMe controller disguised as a GPU, for tests");
MODULE_AUTHOR("The carved authors");
MODULE_LICENSE("GPL");
