// SPDX-License-Identifier: GPL-2.0

#include <linux/device.h>
#include <linux/iommu.h>
#include <linux/kernel.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "nvidia.h"

/* vGPUs as VFs with a type: NVIDIA's vendor-specific VFIO framework. */

struct vendor {
	struct func *func;
	struct gpu *gpu;
	struct mutex lock;	/* one write to current_vgpu_type at a time */
	struct vgpu *vgpu;
	struct vfio_gpu *vfio;
};

/* Files are there only while it is published, and published it is only while bound: drvdata is ours. */
static struct vendor *vendor_of(struct device *dev)
{
	struct func *func = dev_get_drvdata(dev);

	return func->published;
}

/* Header, then what can be had on this VF now, in the driver's order. */
static ssize_t creatable_vgpu_types_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vendor *vendor = vendor_of(dev);
	const struct card_board *board = vendor->gpu->board;
	ssize_t n = sysfs_emit(buf, "ID    : vGPU Name\n");
	unsigned int i;

	for (i = 0; i < board->num_types; i++) {
		const struct vgpu_type *type = &board->types[i];

		if (rm_may_create(vendor->gpu, vendor->func, type) == RM_OK)
			n += sysfs_emit_at(buf, n, "%-5u : %s\n", type->id, type->name);
	}
	return n;
}
static DEVICE_ATTR_RO(creatable_vgpu_types);

static ssize_t current_vgpu_type_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vendor *vendor = vendor_of(dev);
	ssize_t n;

	mutex_lock(&vendor->gpu->lock);
	n = sysfs_emit(buf, "%u\n", vendor->vgpu ? vendor->vgpu->type->id : 0);
	mutex_unlock(&vendor->gpu->lock);
	return n;
}

/* The errnos of the driver that ships, and of the one proposed upstream. */
static int refusal(enum rm_status status)
{
	if (!READ_ONCE(knobs.strict))
		return status == RM_TAKEN ? -EPERM : -EIO;

	switch (status) {
	case RM_OTHER_SIZE:
		return -EINVAL;
	case RM_FULL:
		return -ENOSPC;
	case RM_UNKNOWN:
		return -ENODEV;
	default:
		return -EPERM;
	}
}

static const struct vgpu_type *find_type(const struct card_board *board, unsigned int id)
{
	unsigned int i;

	for (i = 0; i < board->num_types; i++)
		if (board->types[i].id == id)
			return &board->types[i];

	return NULL;
}

static void remember(struct vendor *vendor, struct vgpu *vgpu)
{
	mutex_lock(&vendor->gpu->lock);
	vendor->vgpu = vgpu;
	mutex_unlock(&vendor->gpu->lock);
	vfio_gpu_set(vendor->vfio, vgpu);
}

static int set_type(struct vendor *vendor, unsigned int id)
{
	const struct vgpu_type *type = find_type(vendor->gpu->board, id);
	struct vgpu *vgpu;
	enum rm_status status = RM_UNKNOWN;

	if (vendor->vgpu) {
		pci_info(vendor->func->pdev, "vGPU device already created with type ID %u\n",
			 vendor->vgpu->type->id);
		return refusal(RM_TAKEN);
	}

	if (type)
		status = rm_create(vendor->gpu, vendor->func, type, &vgpu);
	else
		pr_info("NVRM: Failed to add vgpu create request: 0x%x\n", status);
	if (status != RM_OK)
		return refusal(status);

	remember(vendor, vgpu);
	return 0;
}

/* Takes it from VFIO, unless it is open there. */
static bool detach(struct vendor *vendor)
{
	bool open;

	mutex_lock(&vendor->vfio->lock);
	open = vendor->vgpu->open;
	if (!open)
		vendor->vfio->vgpu = NULL;
	mutex_unlock(&vendor->vfio->lock);
	return !open;
}

static int clear_type(struct vendor *vendor)
{
	struct vgpu *vgpu = vendor->vgpu;
	int r;

	if (!vgpu)
		return knobs.strict ? 0 : -EPERM;
	if (READ_ONCE(vgpu->open))
		return knobs.strict ? -EBUSY : -EPERM;

	r = rm_wait_plugin(vgpu);
	if (r < 0)
		return r;
	if (!detach(vendor))
		return knobs.strict ? -EBUSY : -EPERM;

	remember(vendor, NULL);
	rm_destroy(vgpu);
	return 0;
}

static ssize_t current_vgpu_type_store(struct device *dev, struct device_attribute *attr, const char *buf,
				       size_t count)
{
	struct vendor *vendor = vendor_of(dev);
	unsigned int id;
	int r;

	r = kstrtouint(buf, 10, &id);
	if (r < 0)
		return r;

	knob_delay(&knobs.type_delay_ms, dev_name(dev));
	r = knob_error(&knobs.type_errno, dev_name(dev));
	if (r < 0)
		return r;

	mutex_lock(&vendor->lock);
	r = id == 0 ? clear_type(vendor) : set_type(vendor, id);
	mutex_unlock(&vendor->lock);
	return r < 0 ? r : count;
}
static DEVICE_ATTR_RW(current_vgpu_type);

static ssize_t vgpu_params_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vendor *vendor = vendor_of(dev);
	ssize_t r = -ENXIO;

	mutex_lock(&vendor->lock);
	if (vendor->vgpu)
		r = rm_params_show(vendor->vgpu, buf);
	mutex_unlock(&vendor->lock);
	return r;
}

static ssize_t vgpu_params_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct vendor *vendor = vendor_of(dev);
	ssize_t r = -ENXIO;

	mutex_lock(&vendor->lock);
	if (vendor->vgpu)
		r = rm_params_store(vendor->vgpu, buf, count);
	mutex_unlock(&vendor->lock);
	return r;
}
static DEVICE_ATTR_RW(vgpu_params);

/* ENXIO without a vGPU is known; the text with one is not. mdev's wording is the best guess there is. */
static ssize_t not_applicable(struct device *dev, char *buf)
{
	struct vendor *vendor = vendor_of(dev);

	return READ_ONCE(vendor->vgpu) ? sysfs_emit(buf, "Not Applicable\n") : -ENXIO;
}

static ssize_t gpu_instance_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return not_applicable(dev, buf);
}

static ssize_t placement_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return not_applicable(dev, buf);
}

/* There, of unknown meaning: it never says anything. */
static ssize_t warm_update_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return -ENXIO;
}

static ssize_t unknown_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	return -EIO;
}

static DEVICE_ATTR(gpu_instance_id, 0644, gpu_instance_id_show, unknown_store);
static DEVICE_ATTR(placement_id, 0644, placement_id_show, unknown_store);
static DEVICE_ATTR(warm_update, 0644, warm_update_show, unknown_store);

static struct attribute *vendor_attrs[] = {
	&dev_attr_creatable_vgpu_types.attr,
	&dev_attr_current_vgpu_type.attr,
	&dev_attr_vgpu_params.attr,
	&dev_attr_gpu_instance_id.attr,
	&dev_attr_placement_id.attr,
	&dev_attr_warm_update.attr,
	NULL,
};

static const struct attribute_group vendor_group = {
	.name = "nvidia",
	.attrs = vendor_attrs,
};

static int vendor_publish(struct func *func)
{
	struct device *dev = &func->pdev->dev;
	struct vendor *vendor = kzalloc(sizeof(*vendor), GFP_KERNEL);
	int r;

	if (!vendor)
		return -ENOMEM;
	vendor->func = func;
	vendor->gpu = func->gpu;
	mutex_init(&vendor->lock);

	vendor->vfio = vfio_gpu_new(dev, func->gpu->board, "Relaying device request to user (#0)");
	if (IS_ERR(vendor->vfio)) {
		r = PTR_ERR(vendor->vfio);
		goto no_vfio;
	}
	func->published = vendor;
	r = vfio_gpu_register(vendor->vfio, !device_iommu_mapped(dev));
	if (r < 0)
		goto not_registered;
	r = sysfs_create_group(&dev->kobj, &vendor_group);
	if (r == 0)
		return 0;

	vfio_gpu_unregister(vendor->vfio);
not_registered:
	func->published = NULL;
	vfio_gpu_put(vendor->vfio);
no_vfio:
	kfree(vendor);
	pci_err(func->pdev, "no vGPUs here: %d\n", r);
	return r;
}

static void vendor_withdraw(struct func *func)
{
	struct vendor *vendor = func->published;

	/* Waits for the user. Then nobody can open it, and files go only when nobody is in them. */
	vfio_gpu_unregister(vendor->vfio);
	sysfs_remove_group(&func->pdev->dev.kobj, &vendor_group);
	if (vendor->vgpu)
		rm_destroy(vendor->vgpu);
	vfio_gpu_put(vendor->vfio);
	func->published = NULL;
	kfree(vendor);
}

const struct framework vendor_framework = {
	.publish = vendor_publish,
	.withdraw = vendor_withdraw,
};
