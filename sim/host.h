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
} TypeSpec;

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

        bool strict_errnos;  /* vendor VFIO: the errnos of the upstream RFC driver */
        bool remove_refuses; /* mdev: an old kernel whose remove fails instead of waiting */
        bool no_vgpud;       /* nvidia-vgpud has not run: no types until `carved-simctl vgpud` */
        bool no_vgpu_driver; /* the ordinary driver: VFs stay without driver */
} GpuSpec;

typedef struct HostSpec {
        char *name;
        char *description;
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

void type_spec_free(TypeSpec *type);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TypeSpec, type_spec_free)

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
