/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LAB_NVIDIA_H
#define LAB_NVIDIA_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/vfio.h>
#include <linux/workqueue.h>

#include "card.h"
#include "knobs.h"

/* RM's own limit per physical GPU, whatever the types say. */
#define VGPUS_PER_GPU_MAX 32
/* Longest plugin parameters. The real limit is not known; this is what others assume. */
#define PARAMS_MAX 1024

/* Why the resource manager says no: the status it logs. */
enum rm_status {
	RM_OK = 0,
	RM_FULL = 0x1a,
	RM_TAKEN = 0x38,
	RM_OTHER_SIZE = 0x56,
	RM_UNKNOWN = 0x57,
};

struct func;

/* A GPU while its PF is bound to the driver. */
struct gpu {
	struct list_head list;
	struct kref ref;
	struct pci_dev *pdev;
	const struct card_board *board;
	unsigned long since;		/* jiffies: when the driver took it */
	struct delayed_work types_work;

	struct mutex lock;		/* for all that follows */
	struct list_head vgpus;
	unsigned int num_vgpus;
	unsigned int usage;		/* VMs on its vGPUs, and clients of the GPU itself */
	bool unbind_lock;
	bool leaving;			/* nothing new any more */

	struct proc_dir_entry *proc;
	struct miscdevice node;
	char node_name[16];
	int node_index;
};

struct vgpu {
	struct list_head list;
	struct gpu *gpu;
	struct func *func;
	const struct vgpu_type *type;
	char params[PARAMS_MAX + 1];
	bool open;
	unsigned long plugin_until;	/* jiffies: the VM has gone, its plugin process has not */
	bool plugin;
};

/* How vGPUs are shown on a function. */
struct framework {
	int (*publish)(struct func *func);
	void (*withdraw)(struct func *func);	/* waits for users */
};

/* A function that can show vGPUs: a VF, or a GPU without VFs. As long as the PCI device is there. */
struct func {
	struct list_head list;
	struct kref ref;
	struct pci_dev *pdev;
	struct delayed_work types_work;

	struct mutex lock;		/* held while types come and go, which may take long */
	struct gpu *gpu;		/* while they are shown */
	const struct framework *framework;
	void *published;
	bool bound;			/* to our driver */
	bool lost;			/* was unbound once: no types until the VF is made anew */
};

/* main.c */
int framework_register(enum card_framework which, const struct framework *framework);
void framework_unregister(enum card_framework which);
const struct framework *framework_get(enum card_framework which);
void framework_put(void);
extern bool unloading;

/* pf.c */
extern struct pci_driver nvidia_driver;
struct gpu *gpu_find(struct pci_dev *pf);	/* with a reference */
void gpu_unref(struct gpu *gpu);
void gpus_kick(void);
bool gpu_busy(struct gpu *gpu);			/* with its lock */

/* vf.c */
int func_init(void);
void func_exit(void);
struct func *func_find(struct pci_dev *pdev, bool make);
void func_unref(struct func *func);
void func_publish(struct func *func, bool stray);
void func_withdraw(struct func *func);
bool funcs_publish(struct gpu *gpu, bool stray);
void funcs_withdraw(struct pci_dev *pf, const struct framework *framework);
int vf_probe(struct pci_dev *vf);
void vf_remove(struct pci_dev *vf);

/* rm.c */
enum rm_status rm_may_create(struct gpu *gpu, struct func *func, const struct vgpu_type *type);
enum rm_status rm_create(struct gpu *gpu, struct func *func, const struct vgpu_type *type, struct vgpu **ret);
void rm_destroy(struct vgpu *vgpu);
unsigned int rm_available(struct gpu *gpu, struct func *func, const struct vgpu_type *type);
unsigned int rm_max(const struct vgpu_type *type);
int rm_open(struct vgpu *vgpu);
void rm_close(struct vgpu *vgpu);
int rm_wait_plugin(struct vgpu *vgpu);
ssize_t rm_params_show(struct vgpu *vgpu, char *buf);
ssize_t rm_params_store(struct vgpu *vgpu, const char *buf, size_t count);

/* vfio.c: a PCI device for virtual machines, with nothing but config space. */
struct vfio_gpu {
	struct vfio_device vdev;
	struct mutex lock;		/* of the vGPU: it may come and go while the device stays */
	struct vgpu *vgpu;
	const char *asked;		/* what to say when somebody waits for the user to go */
	u8 config[PCI_CFG_SPACE_SIZE];
};

struct vfio_gpu *vfio_gpu_new(struct device *dev, const struct card_board *board, const char *asked);
int vfio_gpu_register(struct vfio_gpu *vfio, bool mediated);
void vfio_gpu_set(struct vfio_gpu *vfio, struct vgpu *vgpu);
void vfio_gpu_unregister(struct vfio_gpu *vfio);
void vfio_gpu_put(struct vfio_gpu *vfio);

/* vendor.c */
extern const struct framework vendor_framework;

/* proc.c */
int proc_init(void);
void proc_exit(void);
void proc_add(struct gpu *gpu);
void proc_del(struct gpu *gpu);

/* node.c */
int node_add(struct gpu *gpu);
void node_del(struct gpu *gpu);

/* plain.c */
extern struct pci_driver plain_driver;

#endif
