/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LAB_KNOBS_H
#define LAB_KNOBS_H

#include <linux/types.h>

/*
 * Delays and faults. They are nvidia's parameters, but live in gpu-card, which needs some of them while it
 * answers for a card that nvidia has not got.
 */
struct knobs {
	unsigned int create_delay_ms, remove_delay_ms, type_delay_ms;
	unsigned int sriov_delay_ms, probe_delay_ms, types_delay_ms;
	int create_errno, type_errno, sriov_errno, probe_errno, types_errno;
	unsigned int unbind_busy, linger_ms, stray_ms, total_fb;
	unsigned int vfs_at_most;
	int driver_max_vfs;
	bool need_iommu, no_vgpu, vgpud, strict;
	char only[48];
	int times;
};

extern struct knobs knobs;

void knobs_default(void);
/* Sleeps, if this operation on this device is to take longer. */
void knob_delay(const unsigned int *ms, const char *device);
/* The error to give, negative, or 0. Counts. */
int knob_error(const int *error, const char *device);
/* Whether a knob that is set is meant for this device. */
bool knob_for(const char *device);

#endif
