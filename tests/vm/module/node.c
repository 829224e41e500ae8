// SPDX-License-Identifier: GPL-2.0

#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/miscdevice.h>

#include "nvidia.h"

/* /dev/nvidiaN: a process that has it open is a client of the GPU, which keeps unbindLock and unbinding away. */

static DEFINE_IDA(indices);

static struct gpu *to_gpu(struct file *file)
{
	return container_of((struct miscdevice *)file->private_data, struct gpu, node);
}

static int node_open(struct inode *inode, struct file *file)
{
	struct gpu *gpu = to_gpu(file);
	int r = 0;

	mutex_lock(&gpu->lock);
	if (gpu->leaving)
		r = -ENODEV;
	else if (gpu->unbind_lock)
		r = -EBUSY;
	else
		gpu->usage++;
	mutex_unlock(&gpu->lock);
	return r;
}

static int node_release(struct inode *inode, struct file *file)
{
	struct gpu *gpu = to_gpu(file);

	mutex_lock(&gpu->lock);
	gpu->usage--;
	mutex_unlock(&gpu->lock);
	return 0;
}

static const struct file_operations node_ops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.release = node_release,
	.llseek = no_llseek,
};

int node_add(struct gpu *gpu)
{
	int r;

	gpu->node_index = ida_alloc(&indices, GFP_KERNEL);
	if (gpu->node_index < 0)
		return gpu->node_index;

	snprintf(gpu->node_name, sizeof(gpu->node_name), "nvidia%d", gpu->node_index);
	gpu->node = (struct miscdevice) {
		.minor = MISC_DYNAMIC_MINOR,
		.name = gpu->node_name,
		.fops = &node_ops,
		.mode = 0666,
	};
	r = misc_register(&gpu->node);
	if (r)
		ida_free(&indices, gpu->node_index);
	return r;
}

void node_del(struct gpu *gpu)
{
	misc_deregister(&gpu->node);
	ida_free(&indices, gpu->node_index);
}
