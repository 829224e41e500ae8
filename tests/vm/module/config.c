// SPDX-License-Identifier: GPL-2.0

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/pci.h>
#include <linux/preempt.h>

#include "card.h"
#include "knobs.h"

/*
 * The disguise: the config space of QEMU's NVMe controller with some bytes exchanged. Because the PCI core
 * itself reads it so, everything made from it (sysfs, uevents, modalias, lspci) agrees.
 */

#define REAL_ID 0x00101b36		/* QEMU's NVMe controller: device, vendor */

/* Accesses under way: they may sleep, and this code must not go away under them. */
static atomic_t accesses = ATOMIC_INIT(0);

void card_ops_drain(void)
{
	while (atomic_read(&accesses) > 0)
		msleep(20);
	/* The last few instructions of those that have counted down. */
	synchronize_rcu();
	msleep(20);
}

static u32 hw_read(struct card_port *port, unsigned int devfn, int where, int size)
{
	u32 value = ~0;

	port->ops->read(port->bus, devfn, where, size, &value);
	return value;
}

static int find_sriov(struct card_port *port)
{
	int pos = PCI_CFG_SPACE_SIZE, left = 64;

	while (pos >= PCI_CFG_SPACE_SIZE && left-- > 0) {
		u32 header = hw_read(port, 0, pos, 4);

		if (header == 0 || header == ~0u)
			return 0;
		if (PCI_EXT_CAP_ID(header) == PCI_EXT_CAP_ID_SRIOV)
			return pos;
		pos = PCI_EXT_CAP_NEXT(header);
	}

	return 0;
}

/* Whoever scans for a card reads its ids first: then we look what it really is. */
void card_look(struct card_port *port)
{
	port->present = false;
	if (hw_read(port, 0, PCI_VENDOR_ID, 4) != REAL_ID)
		return;

	port->sriov = find_sriov(port);
	if (port->sriov) {
		port->hw_total = hw_read(port, 0, port->sriov + PCI_SRIOV_TOTAL_VF, 2);
		port->hw_offset = hw_read(port, 0, port->sriov + PCI_SRIOV_VF_OFFSET, 2);
		port->hw_stride = hw_read(port, 0, port->sriov + PCI_SRIOV_VF_STRIDE, 2);
	}
	port->present = true;
}

bool card_is_there(struct card_port *port)
{
	return READ_ONCE(port->present);
}

static u16 shown_vfs(struct card_port *port)
{
	return min_t(u16, port->board->total_vfs, port->hw_total);
}

/* The hardware's function number for the one that the board would have there, or -1. */
static int hw_devfn(struct card_port *port, unsigned int devfn)
{
	int id = devfn - port->board->vf_offset;

	if (devfn == 0)
		return 0;
	if (!port->sriov || id < 0 || id >= shown_vfs(port))
		return -1;
	return port->hw_offset + id * port->hw_stride;
}

/* Puts `len` bytes of `with` at `pos` into what was read at `where`, as far as they overlap. */
static void overlay(u32 *value, int where, int size, int pos, int len, u32 with)
{
	int i;

	for (i = 0; i < size; i++) {
		int at = where + i - pos;

		if (at < 0 || at >= len)
			continue;
		*value &= ~(0xffu << (i * 8));
		*value |= ((with >> (at * 8)) & 0xff) << (i * 8);
	}
}

/* The kernel's own accesses come here with interrupts on; a user's, by a file, do not. */
static bool by_kernel(void)
{
	return !irqs_disabled() && !in_atomic();
}

static const char *card_name(struct card_port *port, char *name, size_t size)
{
	snprintf(name, size, "%04x:%02x:00.0", pci_domain_nr(port->bus), port->bus->number);
	return name;
}

static void read_pf(struct card_port *port, int where, int size, u32 *value)
{
	const struct card_board *board = port->board;
	int sriov = port->sriov;
	u16 vfs = shown_vfs(port), initial = vfs;
	char name[16];

	overlay(value, where, size, PCI_VENDOR_ID, 4, board->device << 16 | board->vendor);
	overlay(value, where, size, PCI_CLASS_REVISION, 4, board->class_rev);
	overlay(value, where, size, PCI_SUBSYSTEM_VENDOR_ID, 4, board->sub_device << 16 | board->sub_vendor);
	if (!sriov)
		return;

	/* More VFs at start than in all: the PCI core gives EIO to whoever wants to switch them on. */
	if (where == sriov + PCI_SRIOV_INITIAL_VF && size == 2 && by_kernel() &&
	    knob_error(&knobs.sriov_errno, card_name(port, name, sizeof(name))))
		initial = vfs + 1;

	overlay(value, where, size, sriov + PCI_SRIOV_INITIAL_VF, 2, initial);
	overlay(value, where, size, sriov + PCI_SRIOV_TOTAL_VF, 2, vfs);
	overlay(value, where, size, sriov + PCI_SRIOV_VF_OFFSET, 2, board->vf_offset);
	overlay(value, where, size, sriov + PCI_SRIOV_VF_DID, 2, board->vf_device);
}

static int pcie_cap(struct card_port *port, unsigned int devfn)
{
	int pos = hw_read(port, devfn, PCI_CAPABILITY_LIST, 1), left = 48;

	while (pos >= PCI_STD_HEADER_SIZEOF && pos != 0xff && left-- > 0) {
		if (hw_read(port, devfn, pos, 1) == PCI_CAP_ID_EXP)
			return pos;
		pos = hw_read(port, devfn, pos + 1, 1) & ~3;
	}

	return 0;
}

static void read_vf(struct card_port *port, unsigned int devfn, int where, int size, u32 *value)
{
	const struct card_board *board = port->board;
	int exp;

	overlay(value, where, size, PCI_CLASS_REVISION, 4, board->class_rev);
	overlay(value, where, size, PCI_SUBSYSTEM_VENDOR_ID, 4, board->vf_sub_device << 16 | board->sub_vendor);

	/* A VF has no interrupt pin, though QEMU's says so, and no link of its own. */
	overlay(value, where, size, PCI_INTERRUPT_PIN, 1, 0);
	exp = where >= PCI_STD_HEADER_SIZEOF && where < PCI_CFG_SPACE_SIZE ? pcie_cap(port, devfn) : 0;
	if (exp)
		overlay(value, where, size, exp + PCI_EXP_LNKSTA, 2, 0);
}

/* After VFs were switched on the PCI core reads the first of them: that is where enabling takes its time. */
static void first_vf_read(struct card_port *port)
{
	char name[16];

	if (!READ_ONCE(port->vfs_coming) || !by_kernel())
		return;

	WRITE_ONCE(port->vfs_coming, false);
	knob_delay(&knobs.sriov_delay_ms, card_name(port, name, sizeof(name)));
}

static int read_card(struct card_port *port, unsigned int devfn, int where, int size, u32 *value)
{
	int hw, r;

	if (devfn == 0 && where < 4)
		card_look(port);
	if (!port->present)
		return port->ops->read(port->bus, devfn, where, size, value);

	hw = hw_devfn(port, devfn);
	if (hw < 0) {
		*value = ~0;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	if (devfn != 0)
		first_vf_read(port);

	r = port->ops->read(port->bus, hw, where, size, value);
	if (r != PCIBIOS_SUCCESSFUL)
		return r;

	if (devfn == 0)
		read_pf(port, where, size, value);
	else
		read_vf(port, hw, where, size, value);
	return r;
}

static void switch_vfs(struct card_port *port, u32 value)
{
	bool on = hw_read(port, 0, port->sriov + PCI_SRIOV_CTRL, 2) & PCI_SRIOV_CTRL_VFE;
	char name[16];

	if (!on && (value & PCI_SRIOV_CTRL_VFE))
		WRITE_ONCE(port->vfs_coming, true);
	else if (on && !(value & PCI_SRIOV_CTRL_VFE) && by_kernel())
		knob_delay(&knobs.sriov_delay_ms, card_name(port, name, sizeof(name)));
}

static int write_card(struct card_port *port, unsigned int devfn, int where, int size, u32 value)
{
	int hw;

	if (!port->present)
		return port->ops->write(port->bus, devfn, where, size, value);

	hw = hw_devfn(port, devfn);
	if (hw < 0)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (devfn == 0 && port->sriov && where == port->sriov + PCI_SRIOV_CTRL)
		switch_vfs(port, value);
	return port->ops->write(port->bus, hw, where, size, value);
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	struct card_port *port;
	int r;

	atomic_inc(&accesses);
	port = card_port(bus);
	r = port ? read_card(port, devfn, where, size, value) : PCIBIOS_DEVICE_NOT_FOUND;
	atomic_dec(&accesses);
	return r;
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	struct card_port *port;
	int r;

	atomic_inc(&accesses);
	port = card_port(bus);
	r = port ? write_card(port, devfn, where, size, value) : PCIBIOS_DEVICE_NOT_FOUND;
	atomic_dec(&accesses);
	return r;
}

struct pci_ops card_ops = {
	.read = config_read,
	.write = config_write,
};
