/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LAB_CARD_H
#define LAB_CARD_H

#include <linux/pci.h>
#include <linux/types.h>

/* What a card is, and how its driver shows vGPUs. */
enum card_framework {
	FRAMEWORK_NONE,		/* ordinary SR-IOV, whole VFs */
	FRAMEWORK_MDEV,		/* mediated devices on VFs, or on a GPU without VFs */
	FRAMEWORK_VENDOR,	/* a type per VF */
};

struct vgpu_type {
	unsigned int id;
	const char *name;
	unsigned int heads, frl, fb_mib, width, height, max;
};

struct card_board {
	const char *mode;	/* the word for it in nvidia's `mode` parameter */
	u16 vendor, device, sub_vendor, sub_device;
	u16 vf_device, vf_sub_device;
	u32 class_rev;
	u16 total_vfs;		/* 0: no SR-IOV to be seen */
	u16 vf_offset;
	enum card_framework framework;
	const struct vgpu_type *types;
	unsigned int num_types;
};

#define CARD_PORTS_MAX 64	/* root ports, with a card or without */

/* boards.c */
const struct card_board *card_board_by_mode(const char *mode);

/* types.c */
extern const struct vgpu_type a2_types[15], l40s_types[23], t4_types[17];

/*
 * A place for a card: the bus below a root port. The config space of what sits there is read through us
 * from before it comes until gpu-card goes.
 */
struct card_port {
	struct pci_bus *bus;
	struct pci_ops *ops;		/* the bus's own */
	const struct card_board *board;	/* what a card here looks like */

	/* Of the card that sits here, as it was when its ids were last read. */
	bool present;
	int sriov;			/* where its SR-IOV capability is, 0: none */
	u16 hw_offset, hw_stride, hw_total;
	bool vfs_coming;		/* VFs were switched on, none was read yet */
};

/* card.c */
int card_disguise(const struct card_board **boards, unsigned int n);
const struct card_board *card_board(struct pci_dev *pdev);
struct card_port *card_port(struct pci_bus *bus);

/* config.c */
extern struct pci_ops card_ops;
void card_look(struct card_port *port);
bool card_is_there(struct card_port *port);
void card_ops_drain(void);

#endif
