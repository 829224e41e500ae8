// SPDX-License-Identifier: GPL-2.0

#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nvidia.h"

/* /proc/driver/nvidia/gpus/ADDRESS/unbindLock: what sriov-manage must get before it may touch the card. */

struct lock_file {
	struct gpu *gpu;
	bool written;
	char text[32];
};

static struct proc_dir_entry *top, *gpus;

static int lock_show(struct seq_file *seq, void *data)
{
	struct lock_file *file = seq->private;

	seq_printf(seq, "%d\n", READ_ONCE(file->gpu->unbind_lock));
	return 0;
}

static int lock_begin(struct inode *inode, struct file *file)
{
	struct lock_file *lock = kzalloc(sizeof(*lock), GFP_KERNEL);
	int r;

	if (!lock)
		return -ENOMEM;
	lock->gpu = pde_data(inode);
	r = single_open(file, lock_show, lock);
	if (r)
		kfree(lock);
	return r;
}

/* A write never fails: it is acted on at close. */
static ssize_t lock_write(struct file *file, const char __user *buf, size_t count, loff_t *at)
{
	struct lock_file *lock = ((struct seq_file *)file->private_data)->private;
	size_t n = min(count, sizeof(lock->text) - 1);

	if (copy_from_user(lock->text, buf, n))
		return -EFAULT;
	lock->text[n] = '\0';
	lock->written = true;
	return count;
}

static void lock_act(struct gpu *gpu, const char *text)
{
	long value;

	if (kstrtol(text, 0, &value) < 0)
		return;

	mutex_lock(&gpu->lock);
	if (value == 0 && gpu->unbind_lock) {
		gpu->unbind_lock = false;
		pr_info("NVRM: UnbindLock released\n");
	} else if (value != 0 && !gpu->unbind_lock) {
		gpu->unbind_lock = !gpu_busy(gpu);
		pr_info("NVRM: %s\n", gpu->unbind_lock ? "UnbindLock acquired" : "Could not acquire UnbindLock");
	}
	mutex_unlock(&gpu->lock);
}

/* What this returns nobody sees: close(2) does not fail on a file in /proc, whatever was written. */
static int lock_close(struct inode *inode, struct file *file)
{
	struct lock_file *lock = ((struct seq_file *)file->private_data)->private;

	if (lock->written)
		lock_act(lock->gpu, lock->text);
	kfree(lock);
	return single_release(inode, file);
}

static const struct proc_ops lock_ops = {
	.proc_open = lock_begin,
	.proc_read = seq_read,
	.proc_write = lock_write,
	.proc_lseek = seq_lseek,
	.proc_release = lock_close,
};

void proc_add(struct gpu *gpu)
{
	gpu->proc = proc_mkdir(pci_name(gpu->pdev), gpus);
	if (gpu->proc)
		proc_create_data("unbindLock", 0644, gpu->proc, &lock_ops, gpu);
}

/* Closes what is still open. */
void proc_del(struct gpu *gpu)
{
	proc_remove(gpu->proc);
}

int proc_init(void)
{
	top = proc_mkdir("driver/nvidia", NULL);
	gpus = top ? proc_mkdir("gpus", top) : NULL;
	if (gpus)
		return 0;

	proc_remove(top);
	return -ENOMEM;
}

void proc_exit(void)
{
	proc_remove(top);
}
