// SPDX-License-Identifier: GPL-2.0

#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "card.h"

/* The boards of the simulated host, number for number: one table of expectations is run on both. */
static const struct card_board boards[] = {
	{
		/* NVIDIA A2 */
		.mode = "mdev",
		.vendor = 0x10de, .device = 0x25b6,
		.sub_vendor = 0x10de, .sub_device = 0x157e,
		.vf_device = 0x25b6, .vf_sub_device = 0x0000,
		.class_rev = 0x030200a1,
		.total_vfs = 16, .vf_offset = 4,
		.framework = FRAMEWORK_MDEV,
		.types = a2_types, .num_types = ARRAY_SIZE(a2_types),
	},
	{
		/* NVIDIA L40S */
		.mode = "vendor",
		.vendor = 0x10de, .device = 0x26b9,
		.sub_vendor = 0x10de, .sub_device = 0x1851,
		.vf_device = 0x26b9, .vf_sub_device = 0x0000,
		.class_rev = 0x030200a1,
		.total_vfs = 32, .vf_offset = 4,
		.framework = FRAMEWORK_VENDOR,
		.types = l40s_types, .num_types = ARRAY_SIZE(l40s_types),
	},
	{
		/* Tesla T4: no VFs, vGPUs on the GPU itself */
		.mode = "legacy",
		.vendor = 0x10de, .device = 0x1eb8,
		.sub_vendor = 0x10de, .sub_device = 0x12a2,
		.class_rev = 0x030200a1,
		.framework = FRAMEWORK_MDEV,
		.types = t4_types, .num_types = ARRAY_SIZE(t4_types),
	},
	{
		/* A display controller with ordinary SR-IOV */
		.mode = "plain",
		.vendor = 0x1b36, .device = 0x0100,
		.sub_vendor = 0x1af4, .sub_device = 0x1100,
		.vf_device = 0x0101, .vf_sub_device = 0x1100,
		.class_rev = 0x03800001,
		.total_vfs = 8, .vf_offset = 1,
		.framework = FRAMEWORK_NONE,
	},
};

const struct card_board *card_board_by_mode(const char *mode)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(boards); i++)
		if (sysfs_streq(boards[i].mode, mode))
			return &boards[i];

	return NULL;
}
EXPORT_SYMBOL_GPL(card_board_by_mode);
