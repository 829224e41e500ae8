// SPDX-License-Identifier: GPL-2.0

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "nvidia.h"

/* Which vGPU fits where: the resource manager's rules, the same for mdev and vendor VFIO. */

#define PLUGIN_WAIT_MS 5000
#define PLUGIN_POLL_MS 20

unsigned int rm_max(const struct vgpu_type *type)
{
	unsigned int total = READ_ONCE(knobs.total_fb), max = type->max;

	if (total)
		max = min(max, total / type->fb_mib);
	return min_t(unsigned int, max, VGPUS_PER_GPU_MAX);
}
EXPORT_SYMBOL_GPL(rm_max);

static bool taken(struct gpu *gpu, struct func *func)
{
	struct vgpu *vgpu;

	list_for_each_entry(vgpu, &gpu->vgpus, list)
		if (vgpu->func == func)
			return true;

	return false;
}

static enum rm_status check(struct gpu *gpu, struct func *func, const struct vgpu_type *type)
{
	struct vgpu *first = list_first_entry_or_null(&gpu->vgpus, struct vgpu, list);

	/* A VF that the driver has not got is half set up: nothing works. */
	if (!func->bound || (func->pdev->is_virtfn && taken(gpu, func)))
		return RM_TAKEN;
	/* All vGPUs of a card have one size; their series may differ. */
	if (first && first->type->fb_mib != type->fb_mib)
		return RM_OTHER_SIZE;
	if (gpu->num_vgpus >= rm_max(type))
		return RM_FULL;
	return RM_OK;
}

enum rm_status rm_may_create(struct gpu *gpu, struct func *func, const struct vgpu_type *type)
{
	enum rm_status status;

	mutex_lock(&gpu->lock);
	status = check(gpu, func, type);
	mutex_unlock(&gpu->lock);
	return status;
}

unsigned int rm_available(struct gpu *gpu, struct func *func, const struct vgpu_type *type)
{
	unsigned int n = 0;

	/* A VF takes one; a GPU without VFs counts down. */
	mutex_lock(&gpu->lock);
	if (check(gpu, func, type) == RM_OK)
		n = func->pdev->is_virtfn ? 1 : rm_max(type) - gpu->num_vgpus;
	mutex_unlock(&gpu->lock);
	return n;
}
EXPORT_SYMBOL_GPL(rm_available);

enum rm_status rm_create(struct gpu *gpu, struct func *func, const struct vgpu_type *type, struct vgpu **ret)
{
	struct vgpu *vgpu = kzalloc(sizeof(*vgpu), GFP_KERNEL);
	enum rm_status status;

	if (!vgpu)
		return RM_FULL;
	vgpu->gpu = gpu;
	vgpu->func = func;
	vgpu->type = type;

	mutex_lock(&gpu->lock);
	status = check(gpu, func, type);
	if (status == RM_OK) {
		list_add_tail(&vgpu->list, &gpu->vgpus);
		gpu->num_vgpus++;
	}
	mutex_unlock(&gpu->lock);

	if (status == RM_OK) {
		*ret = vgpu;
	} else {
		pr_info("NVRM: Failed to add vgpu create request: 0x%x\n", status);
		kfree(vgpu);
	}
	return status;
}
EXPORT_SYMBOL_GPL(rm_create);

void rm_destroy(struct vgpu *vgpu)
{
	struct gpu *gpu = vgpu->gpu;

	mutex_lock(&gpu->lock);
	list_del(&vgpu->list);
	gpu->num_vgpus--;
	mutex_unlock(&gpu->lock);
	kfree(vgpu);
}
EXPORT_SYMBOL_GPL(rm_destroy);

/* A VM starts on it: the card is in use. */
int rm_open(struct vgpu *vgpu)
{
	struct gpu *gpu = vgpu->gpu;
	int r = -ENODEV;

	mutex_lock(&gpu->lock);
	if (!gpu->leaving) {
		vgpu->open = true;
		gpu->usage++;
		r = 0;
	}
	mutex_unlock(&gpu->lock);
	return r;
}

void rm_close(struct vgpu *vgpu)
{
	struct gpu *gpu = vgpu->gpu;
	unsigned int linger = READ_ONCE(knobs.linger_ms);

	mutex_lock(&gpu->lock);
	vgpu->open = false;
	gpu->usage--;
	vgpu->plugin = linger > 0;
	vgpu->plugin_until = jiffies + msecs_to_jiffies(linger);
	mutex_unlock(&gpu->lock);
}

/* The VM has ended, its plugin process may still be about: waits a while for it. */
int rm_wait_plugin(struct vgpu *vgpu)
{
	unsigned long end = jiffies + msecs_to_jiffies(PLUGIN_WAIT_MS);

	while (vgpu->plugin && time_before(jiffies, vgpu->plugin_until)) {
		if (time_after_eq(jiffies, end))
			return -EBUSY;
		msleep(PLUGIN_POLL_MS);
	}
	return 0;
}

ssize_t rm_params_show(struct vgpu *vgpu, char *buf)
{
	ssize_t n;

	mutex_lock(&vgpu->gpu->lock);
	n = sysfs_emit(buf, "%s\n", vgpu->params);
	mutex_unlock(&vgpu->gpu->lock);
	return n;
}
EXPORT_SYMBOL_GPL(rm_params_show);

/* One write replaces all; a single space clears; the text itself is looked at only when a VM starts. */
ssize_t rm_params_store(struct vgpu *vgpu, const char *buf, size_t count)
{
	size_t len = strcspn(buf, "\n");
	ssize_t r = count;

	mutex_lock(&vgpu->gpu->lock);
	if (vgpu->open)
		r = -EPERM;
	else if (len > PARAMS_MAX)
		r = -E2BIG;
	else if (len == 1 && buf[0] == ' ')
		vgpu->params[0] = '\0';
	else
		strscpy(vgpu->params, buf, len + 1);
	mutex_unlock(&vgpu->gpu->lock);
	return r;
}
EXPORT_SYMBOL_GPL(rm_params_store);
