/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "ident.h"
#include "mig.h"

/* What there is, as plain values: a GPU, its VFs, its vGPUs and the types that it knows. A CarvedGpu is made
 * whole by whoever reads the hardware and never edited afterwards. */

typedef enum CarvedFramework {
        CARVED_FRAMEWORK_NONE,
        CARVED_FRAMEWORK_UNKNOWN, /* NVIDIA before VFs: the driver decides, and shows it only then */
        CARVED_FRAMEWORK_MDEV,
        CARVED_FRAMEWORK_VENDOR_VFIO,
        CARVED_FRAMEWORK_VF_PASSTHROUGH,
        _CARVED_FRAMEWORK_MAX
} CarvedFramework;

typedef enum CarvedGpuState {
        CARVED_GPU_READY,
        CARVED_GPU_NO_DRIVER,
        CARVED_GPU_UNSETTLED, /* the driver is not through: VFs missing, types not published or half named */
        CARVED_GPU_BUSY,      /* carved works on it */
        CARVED_GPU_STALLED,   /* somebody sits in the kernel with its lock */
        CARVED_GPU_LOST,      /* what is wanted of it is known, and it is not there */
        CARVED_GPU_MISMATCH,  /* another card is where one is wanted */
        _CARVED_GPU_STATE_MAX
} CarvedGpuState;

typedef enum CarvedVfRole {
        CARVED_VF_FREE,
        CARVED_VF_VGPU,
        CARVED_VF_PASSTHROUGH, /* on a vfio driver, whole */
        CARVED_VF_HOST,        /* the host's own driver uses it */
        _CARVED_VF_ROLE_MAX
} CarvedVfRole;

typedef enum CarvedVgpuState {
        CARVED_VGPU_ACTIVE,
        CARVED_VGPU_DEFINED, /* wanted, and can't be there now */
        CARVED_VGPU_MISSING, /* somebody removed it */
        CARVED_VGPU_FAILED,  /* we tried */
        _CARVED_VGPU_STATE_MAX
} CarvedVgpuState;

/* Is the card what was asked for? */
typedef enum CarvedSyncState {
        CARVED_SYNC_UNMANAGED, /* nobody asked for anything */
        CARVED_SYNC_SYNCED,
        CARVED_SYNC_OUT_OF_SYNC,
        CARVED_SYNC_CONTESTED, /* somebody keeps removing what is ours */
        _CARVED_SYNC_STATE_MAX
} CarvedSyncState;

const char *carved_framework_to_string(CarvedFramework framework);
bool carved_framework_from_string(const char *text, CarvedFramework *ret);
const char *carved_gpu_state_to_string(CarvedGpuState state);
const char *carved_vf_role_to_string(CarvedVfRole role);
const char *carved_vgpu_state_to_string(CarvedVgpuState state);
const char *carved_sync_state_to_string(CarvedSyncState state);

/* Is the card cut as was asked for? */
typedef enum CarvedMigSync {
        CARVED_MIG_DISABLED, /* it is not cut, and nobody asked for it */
        CARVED_MIG_SYNCED,
        CARVED_MIG_OUT_OF_SYNC,
        _CARVED_MIG_SYNC_MAX
} CarvedMigSync;

const char *carved_mig_sync_to_string(CarvedMigSync sync);

/* Facts of a type that the driver may tell or not. What it does not tell is left out, never guessed from a
 * name. */
typedef enum CarvedTypeFact {
        CARVED_TYPE_FRAMEBUFFER = 1 << 0,
        CARVED_TYPE_HEADS = 1 << 1,
        CARVED_TYPE_FRAME_RATE_LIMIT = 1 << 2,
        CARVED_TYPE_MAX_INSTANCES = 1 << 3,
        CARVED_TYPE_MIG_PROFILE = 1 << 4,
} CarvedTypeFact;

typedef struct CarvedType {
        char *id;             /* `nvidia-746`, in every framework: the numbers are one space */
        char *name;           /* `NVIDIA A2-4Q`; NULL like the other texts: not told */
        char *resource;       /* `nvidia.com/NVIDIA_A2-4Q` */
        char *max_resolution; /* `7680x4320` */
        char *device_api;
        uint32_t known; /* CarvedTypeFact, which of these are told */
        uint64_t framebuffer_mib;
        uint32_t heads;
        uint32_t frame_rate_limit;
        uint32_t max_instances;
        uint32_t mig_profile; /* of the GPU instance that it needs; not known: it is time-sliced, or not told
                               */
} CarvedType;

/* Why something can't be had: a code for programs, a sentence for people. */
typedef struct CarvedReason {
        const char *code; /* one of a fixed set, see reason.c */
        char *text;
} CarvedReason;

typedef struct CarvedGpu CarvedGpu;

typedef struct CarvedVf {
        const CarvedGpu *gpu;
        CarvedPciAddress address;
        uint32_t index;
        char *driver;   /* NULL: none */
        char *override; /* whole VFs: the one driver it may have; NULL: any */
        int32_t iommu_group;
        CarvedFramework framework;
        bool settled;        /* its types are published, under the name of the right driver */
        uint16_t *available; /* how many more of gpu->types[i]; NULL: none of any */
        char *error;         /* what could not be read; NULL: nothing */
        /* worked out by carved_gpu_finish() */
        CarvedVfRole role;
        int32_t vgpu;        /* index into gpu->vgpus, -1: none */
        CarvedReason reason; /* code NULL: a vGPU can be had here */
} CarvedVf;

typedef struct CarvedVgpu {
        const CarvedGpu *gpu;
        char uuid[CARVED_UUID_LEN + 1];
        int32_t vf_index; /* -1: straight on the GPU */
        CarvedFramework framework;
        char *type; /* NULL: not told yet */
        char *params;
        int32_t iommu_group;
        int32_t gpu_instance;
        int32_t placement_id;
        char *error;
        /* from what is wanted: no part of what is read from the hardware */
        CarvedVgpuState state;
        bool ours, persistent;
        bool in_use;     /* as of the last look at who has its node open */
        char *type_name; /* of one that is not there: its type may be unknown by now; else NULL */
        GStrv labels;    /* key, value, key, value …, by key; NULL: none */
} CarvedVgpu;

struct CarvedGpu {
        CarvedPciAddress address;
        uint16_t vendor_id, device_id, subsystem_vendor_id, subsystem_device_id;
        char *vendor, *model; /* names for people; NULL: unknown */
        char *driver;
        int32_t numa_node;
        int32_t iommu_group;
        bool has_sriov;
        bool has_mdev;  /* types straight on the GPU */
        bool autoprobe; /* new VFs are given to drivers at once */
        uint32_t total_vfs, num_vfs;
        CarvedFramework framework;
        bool stalled;
        bool settled;
        /* from NVIDIA's library */
        char *serial, *gpu_uuid; /* NULL: not told */
        CarvedMig *mig;          /* NULL: the card has no MIG, or nobody tells */
        int32_t mixed_size;      /* vGPUs of several sizes at once: on or off; -1: not offered */
        bool nvml_deferred;      /* that is of an earlier look: it could not be asked now */
        char *nvml_error;        /* why it tells less than it could; NULL: it does not */
        /* from what is wanted, as in CarvedVgpu */
        bool busy, lost, mismatch;
        char *stored_identity; /* of the card that something is wanted of; NULL: of none */
        char *stored_serial;   /* the same; NULL: not known */
        char *unreadable;      /* what is stored of it can't be read, and why; NULL: it can */
        CarvedSyncState sync;
        char *trouble; /* why it is not as it is wanted, as far as it is the card's own; NULL: nothing is
                          known */
        CarvedMigSync mig_sync;
        GArray *layout;    /* CarvedWantedInstance: how it is to be cut; NULL: nobody asked */
        char *mig_trouble; /* why it is not cut so; NULL: nothing is known */
        GStrv labels;
        char *error;

        GPtrArray *types;    /* CarvedType, sorted by id */
        GPtrArray *vfs;      /* CarvedVf, by index */
        GPtrArray *vgpus;    /* CarvedVgpu, by UUID */
        GPtrArray *absent;   /* CarvedVgpu, by UUID: wanted, and not there */
        uint16_t *available; /* of types straight on the GPU, as in CarvedVf; NULL: none */

        /* worked out by carved_gpu_finish() */
        CarvedGpuState state;
        CarvedReason reason; /* code NULL: a vGPU can be had */
        char *identity;      /* vvvv:dddd:ssss:ssss@address */
};

CarvedGpu *carved_gpu_new(const CarvedPciAddress *address);
void carved_gpu_free(CarvedGpu *gpu);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedGpu, carved_gpu_free)

CarvedType *carved_type_new(const char *id);
void carved_type_free(CarvedType *type);
CarvedVf *carved_gpu_add_vf(CarvedGpu *gpu, uint32_t index, const CarvedPciAddress *address);
CarvedVgpu *carved_gpu_add_vgpu(CarvedGpu *gpu, const char *uuid, int32_t vf_index);
CarvedVgpu *carved_gpu_add_absent(CarvedGpu *gpu, const char *uuid, int32_t vf_index);

/* Sorts, ties VFs to their vGPUs, and works out states and reasons. Once, when all values are in. */
void carved_gpu_finish(CarvedGpu *gpu);

/* Index into gpu->types, -1: none. */
int carved_gpu_find_type(const CarvedGpu *gpu, const char *id);
/* Whether a vGPU was seen before the kernel was through with it: its type is linked last, without a word. */
bool carved_gpu_has_half_made(const CarvedGpu *gpu);

const CarvedVf *carved_gpu_find_vf(const CarvedGpu *gpu, uint32_t index);
const CarvedVf *carved_gpu_find_vf_by_address(const CarvedGpu *gpu, const CarvedPciAddress *address);
/* Also one that is absent. */
const CarvedVgpu *carved_gpu_find_vgpu(const CarvedGpu *gpu, const char *uuid);
/* The absent one that has this VF for itself; NULL: none has. */
const CarvedVgpu *carved_gpu_find_claim(const CarvedGpu *gpu, int32_t vf_index);
/* The index of the VF below which it is shown; -1: below the GPU, since it is on it, or nowhere. */
int32_t carved_vgpu_place(const CarvedVgpu *vgpu);
const CarvedType *carved_vgpu_type(const CarvedVgpu *vgpu); /* NULL: not among the known ones */

/* Why it is not as it should be, or not all is known of it; NULL: nothing is wrong. */
const char *carved_gpu_last_error(const CarvedGpu *gpu);

/* The first vGPU that is in this GPU instance; NULL: none is. */
const CarvedVgpu *carved_gpu_instance_vgpu(const CarvedGpu *gpu, const CarvedGpuInstance *instance);

/* vvvv:dddd:ssss:ssss@address */
char *carved_gpu_identity(const CarvedGpu *gpu);

/* What kind of state it is in, by its flags. */
CarvedGpuState carved_gpu_state(const CarvedGpu *gpu);

/* Can it have vGPUs at all, now or when something is switched on? The GPU, and a VF. */
bool carved_gpu_hosts_vgpus(const CarvedGpu *gpu);
bool carved_vf_hosts_vgpus(const CarvedVf *vf);

/* Is type number @type creatable here right now? On a GPU with VFs: on any of them. */
bool carved_gpu_is_creatable(const CarvedGpu *gpu, unsigned type);
bool carved_vf_is_creatable(const CarvedVf *vf, unsigned type);

/* How many more of type number @type. Follows the driver's maximum, never the number of VFs; false: not told.
 */
bool carved_gpu_available(const CarvedGpu *gpu, unsigned type, uint32_t *ret);
uint32_t carved_gpu_used(const CarvedGpu *gpu, unsigned type);

/* Numeric parts by value: nvidia-99 before nvidia-742. */
int carved_type_id_compare(const char *a, const char *b);

/* `nvidia.com/NVIDIA_A2-4Q`: how Kubernetes device plugins spell it. */
char *carved_resource_name(const char *domain, const char *type_name);

#define CARVED_TYPE_VF "vf" /* the one type of vf-passthrough GPUs */
