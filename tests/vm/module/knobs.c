// SPDX-License-Identifier: GPL-2.0

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "knobs.h"

struct knobs knobs;
EXPORT_SYMBOL_GPL(knobs);

static DEFINE_SPINLOCK(times_lock);

void knobs_default(void)
{
	knobs = (struct knobs) {
		.types_delay_ms = 20,
		.stray_ms = 3000,
		.vgpud = true,
		.vfs_at_most = 0xffff,
		.driver_max_vfs = -1,
		.times = -1,
	};
}
EXPORT_SYMBOL_GPL(knobs_default);

bool knob_for(const char *device)
{
	/* `echo` leaves its newline in a string parameter. */
	size_t len = strcspn(knobs.only, "\n");

	return len == 0 || (strlen(device) == len && strncmp(knobs.only, device, len) == 0);
}
EXPORT_SYMBOL_GPL(knob_for);

void knob_delay(const unsigned int *ms, const char *device)
{
	unsigned int delay = READ_ONCE(*ms);

	/* Not interruptible: who waits for hardware is in D state. */
	if (delay && knob_for(device))
		msleep(delay);
}
EXPORT_SYMBOL_GPL(knob_delay);

int knob_error(const int *error, const char *device)
{
	int e = READ_ONCE(*error);

	if (e == 0 || !knob_for(device))
		return 0;

	/* `times` counts faults of all kinds; at 0 it is as if none were set, below it is for ever. */
	spin_lock(&times_lock);
	if (knobs.times == 0)
		e = 0;
	else if (knobs.times > 0)
		knobs.times--;
	spin_unlock(&times_lock);

	return e < 0 ? e : -e;
}
EXPORT_SYMBOL_GPL(knob_error);
