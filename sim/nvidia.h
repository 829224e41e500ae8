/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mdev.h"

/* NVIDIA's driver as a vGPU host: what it does to a GPU and its VFs, and when it refuses. */

typedef struct Nvidia Nvidia;
typedef struct Vgpu Vgpu;

/* A GPU while its PF is bound to the driver. */
struct Nvidia {
        Object object;
        PciDevice *pf;
        GPtrArray *vgpus;     /* of Vgpu: all of this card */
        GPtrArray *instances; /* of GpuInstance, by id */
        uint32_t generation;  /* which life of the card: handles of NVML are for one */
        unsigned minor;
        DevNode *node;   /* /dev/nvidiaN */
        bool mixed_size; /* vGPUs of several sizes: with the driver gone, it is too */
        bool unbind_lock;
        bool leaving;    /* the PF is being unbound: nothing new */
        char *lock_text; /* written to unbindLock, acted on at close */
        Node *proc_dir;
};

struct Vgpu {
        Nvidia *nvidia;
        PciDevice *on; /* a VF, or a GPU without SR-IOV */
        const TypeSpec *type;
        Mdev *mdev;             /* NULL: vendor VFIO */
        struct GpuInstance *gi; /* MIG-backed: what it lives in */
        int placement;          /* -1: none, all are of one size */
        uint32_t instance;      /* NVML's number for it */
        char *params;
        int64_t plugin_until; /* the VM has gone, its plugin process has not: until then */
};

/* Why the resource manager says no: the status it logs. */
typedef enum RmStatus {
        RM_OK = 0,
        RM_FULL = 0x1a,       /* INSUFFICIENT_RESOURCES: the maximum is reached */
        RM_TAKEN = 0x38,      /* INVALID_OPERATION: this VF has one */
        RM_OTHER_SIZE = 0x56, /* NOT_SUPPORTED */
        RM_UNKNOWN = 0x57,    /* OBJECT_NOT_FOUND */
        RM_MIG = 0x138,       /* INVALID_OPERATION, too: the other kind of type, or no instance free for it */
} RmStatus;

/* As it is logged. */
#define RM_CODE(status) ((status) &0xffU)

/* RM's own limit per physical GPU, whatever the types say. */
#define VGPUS_PER_GPU_MAX 32

void nvidia_init(Kernel *kernel);

/* The card has been reset, or begins. */
void nvidia_new_generation(Nvidia *nvidia);

/* nvidia-smi --gpu-reset: back as after power on, VFs off, MIG mode as asked for. -EBUSY while in use,
 * -ENODEV without the driver. */
int nvidia_reset(PciDevice *pf);

/* rmmod and modprobe: all cards at once. -EBUSY while one is in use. */
int nvidia_reload(Kernel *kernel, unsigned away_ms);
/* nvidia-vgpud has run now. */
void nvidia_vgpud(Kernel *kernel);

/* How many have the card open: VMs on its vGPUs, and clients of the GPU itself. */
unsigned nvidia_usage(const Nvidia *nvidia);

/* nvidia-vgpu.c */
RmStatus nvidia_may_create(Nvidia *nvidia, PciDevice *on, const TypeSpec *type);
Vgpu *nvidia_vgpu_new(Nvidia *nvidia, PciDevice *on, const TypeSpec *type); /* takes its place; then sleeps */
void nvidia_vgpu_free(Vgpu *vgpu);
Vgpu *nvidia_vgpu_on(Nvidia *nvidia, const PciDevice *on);
bool nvidia_vgpu_in_use(const Vgpu *vgpu);
/* The VM has ended, its plugin process may still be about: waits a while for it, then -EBUSY. */
int nvidia_wait_plugin(Kernel *kernel, int64_t until);
const TypeSpec *nvidia_type(const GpuSpec *spec, unsigned id);
int nvidia_params_store(Vgpu *vgpu, const char *text, size_t len);
void nvidia_params_show(const Vgpu *vgpu, GString *out);

/* nvidia-placement.c: the files placement_id and gpu_instance_id; and whether a VM can start with it. */
int nvidia_placement_store(Vgpu *vgpu, const char *text);
void nvidia_placement_show(const Vgpu *vgpu, GString *out);
void nvidia_gi_show(const Vgpu *vgpu, GString *out);
int nvidia_placement_check(const Vgpu *vgpu); /* 0 or -EINVAL */

/* nvidia-mdev.c, nvidia-vendor.c: the two ways to show vGPUs on a function of the card. */
void nvidia_mdev_publish(Nvidia *nvidia, PciDevice *on);
void nvidia_mdev_withdraw(PciDevice *on);
void nvidia_vendor_publish(Nvidia *nvidia, PciDevice *vf); /* with the device lock */
void nvidia_vendor_withdraw(PciDevice *vf);

/* nvidia-proc.c */
void nvidia_proc_add(Nvidia *nvidia);
void nvidia_proc_remove(Nvidia *nvidia);
