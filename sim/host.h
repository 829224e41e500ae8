/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "ident.h"

/* What a simulated host is made of, as read from its JSON file. Data only; nothing here runs. */

typedef enum Framework {
        FRAMEWORK_NONE,
        FRAMEWORK_MDEV,        /* types in mdev_supported_types: on VFs, or on a GPU without SR-IOV */
        FRAMEWORK_VENDOR_VFIO, /* types in nvidia/ on VFs */
} Framework;

typedef struct TypeSpec {
        unsigned id;
        char *name;
        char *class; /* as vgpuConfig.xml has it: Quadro, NVS, Compute */
        unsigned heads;
        unsigned frame_rate_limit;
        unsigned framebuffer_mib;
        unsigned width, height;
        unsigned max;
        bool mig_backed;
        unsigned gi_profile; /* MIG-backed: the id of the profile whose GPU instances can have it */
        unsigned max_per_gi; /* … and how many of it such an instance takes */
} TypeSpec;

/* A kind of GPU instance. */
typedef struct MigProfile {
        unsigned id;    /* what nvidia-smi prints and most calls take */
        unsigned index; /* where it is in the enumeration: NVML_GPU_INSTANCE_PROFILE_* */
        char *name;
        unsigned max;
        unsigned slices; /* of compute */
        unsigned size;   /* in memory slices */
        GArray *starts;  /* of unsigned: where it can be, in the order in which the driver tries */
        unsigned memory_mib;
        unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
        bool media; /* +me: a card has that once */
        bool gfx;
} MigProfile;

typedef struct MigSpec {
        unsigned memory_slices, compute_slices;
        bool keeps_mode;     /* in the card's InfoROM: it outlives a reboot */
        bool mode_resets;    /* a change of mode resets the card */
        GPtrArray *profiles; /* of MigProfile */
} MigSpec;

typedef struct GpuSpec {
        unsigned refs;
        CarvedPciAddress address;
        char *board; /* which board file it came from, or NULL */
        uint16_t vendor, device, subsystem_vendor, subsystem_device;
        uint32_t class;
        uint8_t revision;
        char *driver;      /* bound at boot; NULL: none */
        char *home_driver; /* the one that knows the card */
        int numa_node;

        unsigned total_vfs; /* 0: no SR-IOV */
        unsigned vf_offset, vf_stride;
        uint16_t vf_device;
        bool vfs_on;              /* already at boot */
        unsigned driver_max_vfs;  /* what its driver lowers sriov_totalvfs to, while bound */
        unsigned enables_at_most; /* how many VFs its driver makes, however many are asked for */

        Framework framework;
        GPtrArray *types; /* of TypeSpec, in the driver's order */

        char *product;       /* as NVML names it */
        char *serial, *uuid; /* of this very card; serial "none": it has none to tell */
        unsigned memory_mib;
        MigSpec *mig;          /* NULL: it can't */
        bool mixed_size;       /* it can have vGPUs of several sizes at once */
        bool equal_placements; /* it tells places for vGPUs of one size, too */
        bool even_placements;  /* … at even distances, as Blackwell has it */
        GArray *denied;        /* of unsigned: where none of 1 GiB may be then */
        bool gpu_lost;         /* fell off the bus: the driver has it, and reaches nothing */

        bool inforom_mig; /* no description: what the card itself remembers */

        bool strict_errnos;  /* vendor VFIO: the errnos of the upstream RFC driver */
        bool remove_refuses; /* mdev: an old kernel whose remove fails instead of waiting */
        bool no_vgpud;       /* nvidia-vgpud has not run: no types until `carved-simctl vgpud` */
        bool no_vgpu_driver; /* the ordinary driver: VFs stay without driver */
} GpuSpec;

/* What programs find when they look for libnvidia-ml.so.1. */
typedef enum NvmlState {
        NVML_PRESENT,
        NVML_NOT_LOADED, /* it is there and finds no driver */
        NVML_MISMATCH,   /* … or one of another version, as after an upgrade without reboot */
        NVML_ABSENT,
} NvmlState;

typedef struct HostSpec {
        char *name;
        char *description;
        char *driver_version;
        NvmlState nvml;
        GPtrArray *nvml_lacks; /* names of functions that an older library has not got */
        bool iommu;
        bool vfio_cdev;
        bool mtty;
        GPtrArray *gpus; /* of GpuSpec, by address */
} HostSpec;

HostSpec *host_spec_new(const char *name);
void host_spec_free(HostSpec *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostSpec, host_spec_free)

GpuSpec *gpu_spec_new(void);
GpuSpec *gpu_spec_ref(GpuSpec *gpu);
void gpu_spec_unref(GpuSpec *gpu);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GpuSpec, gpu_spec_unref)

void mig_spec_free(MigSpec *mig);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MigSpec, mig_spec_free)

void mig_profile_free(MigProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MigProfile, mig_profile_free)

/* In bytes: slightly less than nominal, some is kept back for the host. */
uint64_t type_spec_framebuffer(const TypeSpec *type);
void type_spec_free(TypeSpec *type);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TypeSpec, type_spec_free)

/* A UUID with @prefix, always the same for the same @text. */
char *uuid_of(const char *prefix, const char *text);

/* Serial number and UUID of a card that has none yet: always the same for the same @which. */
void gpu_spec_identify(GpuSpec *gpu, const char *which);

/* Whether somebody has installed NVIDIA's driver on it. */
bool host_spec_has_nvidia(const HostSpec *host);

/* The PCI address of a VF: the PF's, moved on by offset and stride over functions, devices and buses. */
CarvedPciAddress gpu_spec_vf_address(const GpuSpec *gpu, unsigned index);

/* @name is a host shipped in @data_dir, `scale:GxVxT`, or a file (it has a slash or ends in .json).
 * On failure the error says: file, where in it, why. */
HostSpec *host_spec_load(const char *data_dir, const char *name, GError **error);

/* One more card, in the order of addresses: the order in which the kernel finds them. */
void host_spec_add(HostSpec *host, GpuSpec *gpu);

/* Whether there is room for it and all its VFs. */
bool host_spec_may_add(const HostSpec *host, const GpuSpec *gpu, GError **error);

/* Adds the GPUs of @other to @host; the same address twice is an error. */
bool host_spec_merge(HostSpec *host, HostSpec *other, GError **error);

/* A board by its name, without an address: for `carved-simctl plug`. */
GpuSpec *board_load(const char *data_dir, const char *name, GError **error);

/* From the text of a file; for the fuzzer too. */
HostSpec *host_spec_parse(const char *data_dir, const char *file, const char *text, size_t len,
                          GError **error);

/* scale:GxVxT. */
HostSpec *host_spec_scale(const char *name, GError **error);

#define SIM_ERROR (sim_error_quark())
GQuark sim_error_quark(void);
