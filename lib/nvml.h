/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "ident.h"

/* NVIDIA's management library, as far as it is used here: names, numbers and layouts of its binary interface,
 * so that nothing of NVIDIA's is needed to build. Loaded while it is asked something and let go of after
 * that: an open handle holds the card, and sriov-manage, resets and changes of MIG mode fail. For worker
 * processes only: it may crash, or take its time. */

#define CARVED_NVML_LIBRARY "libnvidia-ml.so.1"

typedef int NvmlReturn;

enum {
        NVML_SUCCESS = 0,
        NVML_UNINITIALIZED = 1,
        NVML_INVALID_ARGUMENT = 2,
        NVML_NOT_SUPPORTED = 3,
        NVML_NO_PERMISSION = 4,
        NVML_NOT_FOUND = 6,
        NVML_INSUFFICIENT_SIZE = 7,
        NVML_DRIVER_NOT_LOADED = 9,
        NVML_TIMEOUT = 10,
        NVML_LIBRARY_NOT_FOUND = 12,
        NVML_FUNCTION_NOT_FOUND = 13,
        NVML_GPU_IS_LOST = 15,
        NVML_RESET_REQUIRED = 16,
        NVML_OPERATING_SYSTEM = 17,
        NVML_LIB_RM_VERSION_MISMATCH = 18,
        NVML_IN_USE = 19,
        NVML_MEMORY = 20,
        NVML_NO_DATA = 21,
        NVML_VGPU_ECC_NOT_SUPPORTED = 22,
        NVML_INSUFFICIENT_RESOURCES = 23,
        NVML_ARGUMENT_VERSION_MISMATCH = 25,
        NVML_DEPRECATED = 26,
        NVML_NOT_READY = 27,
        NVML_GPU_NOT_FOUND = 28,
        NVML_INVALID_STATE = 29,
        NVML_UNKNOWN = 999,
};

/* "In use", for sentences. */
const char *carved_nvml_text(NvmlReturn r);
/* The errno that is nearest to it. */
int carved_nvml_errno(NvmlReturn r);

typedef struct NvmlDevice NvmlDevice;
typedef struct NvmlGpuInstance NvmlGpuInstance;
typedef struct NvmlComputeInstance NvmlComputeInstance;

typedef struct NvmlPlacement {
        uint32_t start, size;
} NvmlPlacement;

typedef struct NvmlProfile1 {
        uint32_t id, p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
        uint64_t memory_mb;
} NvmlProfile1;

#define NVML_PROFILE2 0x02000098U
typedef struct NvmlProfile2 {
        uint32_t version, id, p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders,
                jpegs, ofas;
        uint64_t memory_mb;
        char name[96];
} NvmlProfile2;

#define NVML_PROFILE3 0x03000098U
typedef struct NvmlProfile3 {
        uint32_t version, id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs,
                ofas;
        uint64_t memory_mb;
        char name[96];
        uint32_t capabilities;
} NvmlProfile3;

typedef struct NvmlGpuInstanceInfo {
        NvmlDevice *device;
        uint32_t id, profile;
        NvmlPlacement placement;
} NvmlGpuInstanceInfo;

typedef struct NvmlComputeProfile1 {
        uint32_t id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
} NvmlComputeProfile1;

typedef struct NvmlMemory {
        uint64_t total, free, used;
} NvmlMemory;

#define NVML_HETEROGENEOUS_MODE 0x01000008U
typedef struct NvmlHeterogeneousMode {
        uint32_t version, mode;
} NvmlHeterogeneousMode;

#define NVML_PLACEMENT_LIST2 0x02000020U
typedef struct NvmlPlacementList2 {
        uint32_t version, size, count;
        uint32_t *ids;
        uint32_t mode;
} NvmlPlacementList2;

G_STATIC_ASSERT(sizeof(NvmlProfile1) == 48 && offsetof(NvmlProfile1, memory_mb) == 40);
G_STATIC_ASSERT(sizeof(NvmlProfile2) == 152 && offsetof(NvmlProfile2, memory_mb) == 48);
G_STATIC_ASSERT(sizeof(NvmlProfile3) == 152 && offsetof(NvmlProfile3, name) == 48);
G_STATIC_ASSERT(offsetof(NvmlProfile3, capabilities) == 144);
G_STATIC_ASSERT(sizeof(NvmlGpuInstanceInfo) == 24 && sizeof(NvmlComputeProfile1) == 36);
G_STATIC_ASSERT(sizeof(NvmlPlacementList2) == 32 && offsetof(NvmlPlacementList2, ids) == 16);

enum { NVML_COMPUTE_PROFILES = 9, NVML_ENGINE_SHARED = 0 };
enum { NVML_CAPABILITY_MIXED_SIZES = 2 };
#define NVML_NO_PROFILE 0xFFFFFFFFU

#define NVML_TEXT 96

/* What of it is called. NULL: this library has none, and carved_nvml_call() says FUNCTION_NOT_FOUND. */
typedef struct CarvedNvml {
        void *library;
        bool initialised;
        NvmlReturn (*init)(void);
        NvmlReturn (*shutdown)(void);
        NvmlReturn (*find_device)(const char *bus_id, NvmlDevice **ret);
        NvmlReturn (*get_uuid)(NvmlDevice *, char *, uint32_t);
        NvmlReturn (*get_serial)(NvmlDevice *, char *, uint32_t);
        NvmlReturn (*get_minor)(NvmlDevice *, uint32_t *);
        NvmlReturn (*get_memory)(NvmlDevice *, NvmlMemory *);
        NvmlReturn (*get_mig_mode)(NvmlDevice *, uint32_t *current, uint32_t *pending);
        NvmlReturn (*set_mig_mode)(NvmlDevice *, uint32_t mode, NvmlReturn *activation);
        NvmlReturn (*get_profile)(NvmlDevice *, uint32_t, NvmlProfile1 *);
        NvmlReturn (*get_profile_v)(NvmlDevice *, uint32_t, void *);
        NvmlReturn (*get_placements)(NvmlDevice *, uint32_t, NvmlPlacement *, uint32_t *);
        NvmlReturn (*get_capacity)(NvmlDevice *, uint32_t, uint32_t *);
        NvmlReturn (*create_instance)(NvmlDevice *, uint32_t, const NvmlPlacement *, NvmlGpuInstance **);
        NvmlReturn (*destroy_instance)(NvmlGpuInstance *);
        NvmlReturn (*list_instances)(NvmlDevice *, uint32_t, NvmlGpuInstance **, uint32_t *);
        NvmlReturn (*get_instance)(NvmlGpuInstance *, NvmlGpuInstanceInfo *);
        NvmlReturn (*get_compute_profile)(NvmlGpuInstance *, uint32_t, uint32_t, NvmlComputeProfile1 *);
        NvmlReturn (*create_compute)(NvmlGpuInstance *, uint32_t, NvmlComputeInstance **);
        NvmlReturn (*list_compute)(NvmlGpuInstance *, uint32_t, NvmlComputeInstance **, uint32_t *);
        NvmlReturn (*destroy_compute)(NvmlComputeInstance *);
        NvmlReturn (*count_mig_devices)(NvmlDevice *, uint32_t *);
        NvmlReturn (*get_mig_device)(NvmlDevice *, uint32_t, NvmlDevice **);
        NvmlReturn (*get_instance_id)(NvmlDevice *, uint32_t *);
        NvmlReturn (*get_vgpu_capability)(NvmlDevice *, int, uint32_t *);
        NvmlReturn (*get_mixed)(NvmlDevice *, NvmlHeterogeneousMode *);
        NvmlReturn (*set_mixed)(NvmlDevice *, const NvmlHeterogeneousMode *);
        NvmlReturn (*list_types)(NvmlDevice *, uint32_t *, uint32_t *);
        NvmlReturn (*get_type_name)(uint32_t, char *, uint32_t *);
        NvmlReturn (*get_type_framebuffer)(uint32_t, uint64_t *);
        NvmlReturn (*get_type_max)(NvmlDevice *, uint32_t, uint32_t *);
        NvmlReturn (*get_type_profile)(uint32_t, uint32_t *);
        NvmlReturn (*get_type_heads)(uint32_t, uint32_t *);
        NvmlReturn (*get_type_resolution)(uint32_t, uint32_t, uint32_t *, uint32_t *);
        NvmlReturn (*get_type_frame_rate)(uint32_t, uint32_t *);
        NvmlReturn (*get_type_placements)(NvmlDevice *, uint32_t, NvmlPlacementList2 *);
} CarvedNvml;

/* What a missing function answers. */
#define carved_nvml_call(nvml, member, ...)                                                                  \
        ((nvml)->member ? (nvml)->member(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

/* Loads it and starts it. NVML_SUCCESS, or what it said, and @ret_text, to be freed, where it could not even
 * be loaded. carved_nvml_close() in any case. */
NvmlReturn carved_nvml_open(CarvedNvml *nvml, const char *library, char **ret_text);
void carved_nvml_close(CarvedNvml *nvml);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CarvedNvml, carved_nvml_close)

/* By its address on the PCI bus. */
NvmlReturn carved_nvml_find(const CarvedNvml *nvml, const CarvedPciAddress *address, NvmlDevice **ret);

/* A text that the library wrote into @from, of @size bytes: "" where that is no text, since what it leaves in
 * a buffer when it fails, or is broken, can be anything. */
void carved_nvml_take_text(char *to, size_t to_size, const char *from, size_t size);

/* Instances of one profile: @max is the array's size. The library knows nothing of that size, and writes as
 * many as there are. */
#define NVML_INSTANCES_MAX 64U
