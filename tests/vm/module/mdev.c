// SPDX-License-Identifier: GPL-2.0
/* nvidia-vgpu-vfio: vGPUs as mediated devices, on every VF, or on the GPU itself where it has no VFs. */

#include <linux/device.h>
#include <linux/mdev.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "nvidia.h"

struct type {
	struct mdev_type mdev;
	const struct vgpu_type *spec;
	char id[12];
};

struct parent {
	struct mdev_parent mdev;
	struct func *func;
	struct gpu *gpu;
	struct mdev_type **list;
	struct type types[];
};

/* One mediated device. */
struct mediated {
	struct vgpu *vgpu;
	struct vfio_gpu *vfio;
};

static struct type *to_type(struct mdev_type *type)
{
	return container_of(type, struct type, mdev);
}

static struct parent *to_parent(struct mdev_type *type)
{
	return container_of(type->parent, struct parent, mdev);
}

static unsigned int get_available(struct mdev_type *type)
{
	struct parent *parent = to_parent(type);

	return rm_available(parent->gpu, parent->func, to_type(type)->spec);
}

static ssize_t show_description(struct mdev_type *type, char *buf)
{
	const struct vgpu_type *spec = to_type(type)->spec;

	return sysfs_emit(buf, "num_heads=%u, frl_config=%u, framebuffer=%uM, max_resolution=%ux%u, max_instance=%u\n",
			  spec->heads, spec->frl, spec->fb_mib, spec->width, spec->height, rm_max(spec));
}

static ssize_t vgpu_params_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct mediated *mediated = dev_get_drvdata(dev);

	return rm_params_show(mediated->vgpu, buf);
}

static ssize_t vgpu_params_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct mediated *mediated = dev_get_drvdata(dev);

	return rm_params_store(mediated->vgpu, buf, count);
}
static DEVICE_ATTR_RW(vgpu_params);

/* Empty unless a VM runs; what it says then is not known here. */
static ssize_t vm_name_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "\n");
}
static DEVICE_ATTR_RO(vm_name);

static struct attribute *vgpu_attrs[] = {
	&dev_attr_vgpu_params.attr,
	&dev_attr_vm_name.attr,
	NULL,
};

static const struct attribute_group vgpu_group = {
	.name = "nvidia",
	.attrs = vgpu_attrs,
};

static const struct attribute_group *vgpu_groups[] = { &vgpu_group, NULL };

static int add_vfio(struct mediated *mediated, struct device *dev, const struct card_board *board)
{
	int r;

	mediated->vfio = vfio_gpu_new(dev, board, "No mdev vendor driver request callback support, "
						  "blocked until released by user");
	if (IS_ERR(mediated->vfio))
		return PTR_ERR(mediated->vfio);

	vfio_gpu_set(mediated->vfio, mediated->vgpu);
	r = vfio_gpu_register(mediated->vfio, true);
	if (r < 0)
		vfio_gpu_put(mediated->vfio);
	return r;
}

static int mediated_probe(struct mdev_device *mdev)
{
	struct parent *parent = to_parent(mdev->type);
	struct device *dev = mdev_dev(mdev);
	struct mediated *mediated;
	int r;

	mediated = kzalloc(sizeof(*mediated), GFP_KERNEL);
	if (!mediated)
		return -ENOMEM;

	r = rm_create(parent->gpu, parent->func, to_type(mdev->type)->spec, &mediated->vgpu) == RM_OK ? 0 : -EIO;
	if (r < 0)
		goto refused;

	/* It has its place; then it takes its time, or fails. */
	knob_delay(&knobs.create_delay_ms, dev_name(dev));
	r = knob_error(&knobs.create_errno, dev_name(dev));
	if (r == 0)
		r = add_vfio(mediated, dev, parent->gpu->board);
	if (r < 0)
		goto failed;

	dev_set_drvdata(dev, mediated);
	return 0;

failed:
	rm_destroy(mediated->vgpu);
refused:
	kfree(mediated);
	return r;
}

static void mediated_remove(struct mdev_device *mdev)
{
	struct mediated *mediated = dev_get_drvdata(mdev_dev(mdev));

	knob_delay(&knobs.remove_delay_ms, dev_name(mdev_dev(mdev)));
	vfio_gpu_unregister(mediated->vfio);	/* waits for the user */
	rm_destroy(mediated->vgpu);
	vfio_gpu_put(mediated->vfio);
	kfree(mediated);
}

static struct mdev_driver mdev_driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.probe = mediated_probe,
	.remove = mediated_remove,
	.get_available = get_available,
	.show_description = show_description,
	.driver = {
		.name = "nvidia-vgpu-vfio",
		.owner = THIS_MODULE,
		.mod_name = KBUILD_MODNAME,
		.dev_groups = vgpu_groups,
	},
};

static void parent_free(struct parent *parent)
{
	kfree(parent->list);
	kfree(parent);
}

static int mdev_publish(struct func *func)
{
	const struct card_board *board = func->gpu->board;
	struct parent *parent = kzalloc(struct_size(parent, types, board->num_types), GFP_KERNEL);
	unsigned int i;
	int r;

	if (!parent)
		return -ENOMEM;
	parent->list = kcalloc(board->num_types, sizeof(*parent->list), GFP_KERNEL);
	if (!parent->list) {
		kfree(parent);
		return -ENOMEM;
	}

	parent->func = func;
	parent->gpu = func->gpu;
	for (i = 0; i < board->num_types; i++) {
		struct type *type = &parent->types[i];

		type->spec = &board->types[i];
		snprintf(type->id, sizeof(type->id), "%u", type->spec->id);
		type->mdev.sysfs_name = type->id;
		type->mdev.pretty_name = type->spec->name;
		parent->list[i] = &type->mdev;
	}

	func->published = parent;
	r = mdev_register_parent(&parent->mdev, &func->pdev->dev, &mdev_driver, parent->list, board->num_types);
	if (r < 0) {
		func->published = NULL;
		parent_free(parent);
	}
	return r;
}

/* Its devices go with it; for one that is in use this waits. */
static void mdev_withdraw(struct func *func)
{
	struct parent *parent = func->published;

	mdev_unregister_parent(&parent->mdev);
	func->published = NULL;
	parent_free(parent);
}

static const struct framework mdev_framework = {
	.publish = mdev_publish,
	.withdraw = mdev_withdraw,
};

static int __init mdev_framework_init(void)
{
	int r = mdev_register_driver(&mdev_driver);

	return r < 0 ? r : framework_register(FRAMEWORK_MDEV, &mdev_framework);
}

static void __exit mdev_framework_exit(void)
{
	framework_unregister(FRAMEWORK_MDEV);
	mdev_unregister_driver(&mdev_driver);
}

module_init(mdev_framework_init);
module_exit(mdev_framework_exit);

MODULE_DESCRIPTION("vGPUs as mediated devices, for tests");
MODULE_AUTHOR("The carved authors");
MODULE_LICENSE("GPL");
