// SPDX-License-Identifier: GPL-2.0

#include <linux/export.h>
#include <linux/fs.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vfio.h>

#include "nvidia.h"

/*
 * What a virtual machine gets: a PCI device without BARs and interrupts. Its firmware finds it and reads its
 * ids; that is enough to be in use.
 */

#define REGION_SHIFT 40

static struct vfio_gpu *to_gpu(struct vfio_device *vdev)
{
	return container_of(vdev, struct vfio_gpu, vdev);
}

static int vfio_gpu_init(struct vfio_device *vdev)
{
	mutex_init(&to_gpu(vdev)->lock);
	return 0;
}

static void vfio_gpu_release(struct vfio_device *vdev)
{
	mutex_destroy(&to_gpu(vdev)->lock);
	vfio_free_device(vdev);
}

static int vfio_gpu_open(struct vfio_device *vdev)
{
	struct vfio_gpu *vfio = to_gpu(vdev);
	int r = -ENODEV;

	mutex_lock(&vfio->lock);
	if (vfio->vgpu)
		r = rm_open(vfio->vgpu);
	else
		dev_info(vdev->dev, "current_vgpu_type of VF not configured\n");
	mutex_unlock(&vfio->lock);
	return r;
}

static void vfio_gpu_close(struct vfio_device *vdev)
{
	struct vfio_gpu *vfio = to_gpu(vdev);

	/* A vGPU that is open is never taken away, so it is the one we opened. */
	mutex_lock(&vfio->lock);
	rm_close(vfio->vgpu);
	mutex_unlock(&vfio->lock);
}

/* The part of an access that lies in config space; 0: none of it does. */
static size_t in_config(loff_t at, size_t count, unsigned int *where)
{
	if (at >> REGION_SHIFT != VFIO_PCI_CONFIG_REGION_INDEX)
		return 0;

	at &= (1ULL << REGION_SHIFT) - 1;
	if (at >= PCI_CFG_SPACE_SIZE)
		return 0;

	*where = at;
	return min_t(size_t, count, PCI_CFG_SPACE_SIZE - at);
}

static ssize_t vfio_gpu_read(struct vfio_device *vdev, char __user *buf, size_t count, loff_t *at)
{
	struct vfio_gpu *vfio = to_gpu(vdev);
	unsigned int where;
	size_t n = in_config(*at, count, &where);

	if (n == 0)
		return -EINVAL;
	if (copy_to_user(buf, vfio->config + where, n))
		return -EFAULT;

	*at += n;
	return n;
}

static ssize_t vfio_gpu_write(struct vfio_device *vdev, const char __user *buf, size_t count, loff_t *at)
{
	struct vfio_gpu *vfio = to_gpu(vdev);
	u8 bytes[PCI_CFG_SPACE_SIZE];
	unsigned int where, i;
	size_t n = in_config(*at, count, &where);

	if (n == 0)
		return -EINVAL;
	if (copy_from_user(bytes, buf, n))
		return -EFAULT;

	/* Only the command register can be written: there are no BARs, and the rest is read-only. */
	for (i = 0; i < n; i++)
		if (where + i == PCI_COMMAND || where + i == PCI_COMMAND + 1 || where + i == PCI_INTERRUPT_LINE)
			vfio->config[where + i] = bytes[i];

	*at += n;
	return n;
}

static long device_info(void __user *arg)
{
	struct vfio_device_info info;
	size_t size = offsetofend(struct vfio_device_info, num_irqs);

	if (copy_from_user(&info, arg, size))
		return -EFAULT;
	if (info.argsz < size)
		return -EINVAL;

	info.flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
	info.num_regions = VFIO_PCI_NUM_REGIONS;
	info.num_irqs = VFIO_PCI_NUM_IRQS;
	return copy_to_user(arg, &info, size) ? -EFAULT : 0;
}

static long region_info(void __user *arg)
{
	struct vfio_region_info info;
	size_t size = offsetofend(struct vfio_region_info, offset);

	if (copy_from_user(&info, arg, size))
		return -EFAULT;
	if (info.argsz < size || info.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;

	info.cap_offset = 0;
	info.offset = (u64)info.index << REGION_SHIFT;
	info.size = 0;
	info.flags = 0;
	if (info.index == VFIO_PCI_CONFIG_REGION_INDEX) {
		info.size = PCI_CFG_SPACE_SIZE;
		info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	}
	return copy_to_user(arg, &info, size) ? -EFAULT : 0;
}

static long irq_info(void __user *arg)
{
	struct vfio_irq_info info;
	size_t size = offsetofend(struct vfio_irq_info, count);

	if (copy_from_user(&info, arg, size))
		return -EFAULT;
	/* Those beyond MSI-X are for PCIe and for requests; who asks takes an error for "none". */
	if (info.argsz < size || info.index >= VFIO_PCI_ERR_IRQ_INDEX)
		return -EINVAL;

	info.flags = 0;
	info.count = 0;
	return copy_to_user(arg, &info, size) ? -EFAULT : 0;
}

static long vfio_gpu_ioctl(struct vfio_device *vdev, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case VFIO_DEVICE_GET_INFO:
		return device_info((void __user *)arg);
	case VFIO_DEVICE_GET_REGION_INFO:
		return region_info((void __user *)arg);
	case VFIO_DEVICE_GET_IRQ_INFO:
		return irq_info((void __user *)arg);
	case VFIO_DEVICE_RESET:
		return 0;
	default:
		return -ENOTTY;
	}
}

/* Somebody wants the device gone and waits; asked again every ten seconds. */
static void vfio_gpu_request(struct vfio_device *vdev, unsigned int count)
{
	if (count == 0)
		dev_info(vdev->dev, "%s\n", to_gpu(vdev)->asked);
}

static const struct vfio_device_ops ops = {
	.name = "nvidia-vgpu",
	.init = vfio_gpu_init,
	.release = vfio_gpu_release,
	.open_device = vfio_gpu_open,
	.close_device = vfio_gpu_close,
	.read = vfio_gpu_read,
	.write = vfio_gpu_write,
	.ioctl = vfio_gpu_ioctl,
	.request = vfio_gpu_request,
};

static void put16(u8 *config, int where, u16 value)
{
	config[where] = value & 0xff;
	config[where + 1] = value >> 8;
}

struct vfio_gpu *vfio_gpu_new(struct device *dev, const struct card_board *board, const char *asked)
{
	struct vfio_gpu *vfio = vfio_alloc_device(vfio_gpu, vdev, dev, &ops);

	if (IS_ERR(vfio))
		return vfio;

	vfio->asked = asked;
	put16(vfio->config, PCI_VENDOR_ID, board->vendor);
	put16(vfio->config, PCI_DEVICE_ID, board->device);
	/* Not VGA, as a real vGPU is: QEMU then wants to patch a BAR, and we have none. */
	put16(vfio->config, PCI_CLASS_DEVICE, PCI_CLASS_DISPLAY_3D);
	vfio->config[PCI_REVISION_ID] = board->class_rev & 0xff;
	put16(vfio->config, PCI_SUBSYSTEM_VENDOR_ID, board->sub_vendor);
	put16(vfio->config, PCI_SUBSYSTEM_ID, board->sub_device);
	return vfio;
}
EXPORT_SYMBOL_GPL(vfio_gpu_new);

/* A mediated device, or a VF on a host without IOMMU, brings its own group; else it is the VF's. */
int vfio_gpu_register(struct vfio_gpu *vfio, bool mediated)
{
	return mediated ? vfio_register_emulated_iommu_dev(&vfio->vdev) : vfio_register_group_dev(&vfio->vdev);
}
EXPORT_SYMBOL_GPL(vfio_gpu_register);

void vfio_gpu_set(struct vfio_gpu *vfio, struct vgpu *vgpu)
{
	mutex_lock(&vfio->lock);
	vfio->vgpu = vgpu;
	mutex_unlock(&vfio->lock);
}
EXPORT_SYMBOL_GPL(vfio_gpu_set);

void vfio_gpu_unregister(struct vfio_gpu *vfio)
{
	vfio_unregister_group_dev(&vfio->vdev);
}
EXPORT_SYMBOL_GPL(vfio_gpu_unregister);

void vfio_gpu_put(struct vfio_gpu *vfio)
{
	vfio_put_device(&vfio->vdev);
}
EXPORT_SYMBOL_GPL(vfio_gpu_put);
