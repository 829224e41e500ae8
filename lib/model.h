/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "intent.h"

/* All GPUs as last seen. Only carved_model_apply() changes it, and tells what became different. */

typedef struct CarvedModel CarvedModel;

/* What an object can be asked for: one bit, one interface on the bus. */
typedef enum CarvedFacet {
        CARVED_FACET_GPU = 1 << 0,
        CARVED_FACET_SRIOV = 1 << 1,
        CARVED_FACET_VF = 1 << 2,
        CARVED_FACET_VGPU_HOST = 1 << 3,
        CARVED_FACET_VGPU = 1 << 4,
        CARVED_FACET_MIG = 1 << 5,
        CARVED_FACET_MIXED_SIZE = 1 << 6,
        CARVED_FACET_GPU_INSTANCE = 1 << 7,
} CarvedFacet;

/* What can become different while the object stays. */
typedef enum CarvedField {
        CARVED_FIELD_DRIVER = 1 << 0,
        CARVED_FIELD_IOMMU_GROUP = 1 << 1,
        CARVED_FIELD_FRAMEWORK = 1 << 2,
        CARVED_FIELD_STATE = 1 << 3,
        CARVED_FIELD_REASONS = 1 << 4,
        CARVED_FIELD_ERROR = 1 << 5,
        CARVED_FIELD_TYPES = 1 << 6,
        CARVED_FIELD_AVAILABLE = 1 << 7,
        CARVED_FIELD_NUMA_NODE = 1 << 8,
        CARVED_FIELD_TOTAL_VFS = 1 << 9,
        CARVED_FIELD_NUM_VFS = 1 << 10,
        CARVED_FIELD_VFS = 1 << 11,
        CARVED_FIELD_CREATABLE = 1 << 12,
        CARVED_FIELD_ROLE = 1 << 13,
        CARVED_FIELD_VGPU = 1 << 14,
        CARVED_FIELD_TYPE = 1 << 15,
        CARVED_FIELD_TYPE_NAME = 1 << 16,
        CARVED_FIELD_PARAMS = 1 << 17,
        CARVED_FIELD_GPU_INSTANCE = 1 << 18,
        CARVED_FIELD_PLACEMENT = 1 << 19,
        CARVED_FIELD_ORIGIN = 1 << 20,
        CARVED_FIELD_IN_USE = 1 << 21,
        CARVED_FIELD_LABELS = 1 << 22,
        CARVED_FIELD_SYNC = 1 << 23,
        CARVED_FIELD_STORED_IDENTITY = 1 << 24,
        CARVED_FIELD_PERSISTENT = 1 << 25,
        CARVED_FIELD_SERIAL = 1 << 26,
        CARVED_FIELD_MIG_MODE = 1 << 27,
        CARVED_FIELD_MIG_SYNC = 1 << 28,
        CARVED_FIELD_MIG_ERROR = 1 << 29,
        CARVED_FIELD_PROFILES = 1 << 30,
        CARVED_FIELD_MIXED_SIZE = 1U << 31,
} CarvedField;

typedef enum CarvedObjectKind {
        CARVED_OBJECT_GPU,
        CARVED_OBJECT_VF,
        CARVED_OBJECT_VGPU,
        CARVED_OBJECT_GPU_INSTANCE,
} CarvedObjectKind;

typedef struct CarvedObject {
        CarvedObjectKind kind;
        CarvedPciAddress gpu;
        int32_t vf_index; /* of a VF, or of the VF that a vGPU is on; -1: none */
        char uuid[CARVED_UUID_LEN + 1];
        uint32_t instance; /* of a GPU instance: its id */
} CarvedObject;

typedef struct CarvedChange {
        CarvedObject object;
        unsigned removed, added; /* CarvedFacet */
        unsigned kept, fields;   /* facets that stayed, and what became different of them (CarvedField) */
} CarvedChange;

typedef enum CarvedUpdateKind {
        CARVED_UPDATE_READ,    /* @gpu is how it is now; taken */
        CARVED_UPDATE_STALLED, /* it does not answer; the rest is as last seen */
        CARVED_UPDATE_FAILED,  /* it could not be read: @text; the rest is as last seen */
        CARVED_UPDATE_INTENT,  /* only what is wanted, or written on it, is different */
        CARVED_UPDATE_STORED,  /* what is wanted is @whole, from the store */
        CARVED_UPDATE_USERS,   /* @in_use says who is in use; the rest is as last seen */
        CARVED_UPDATE_BUSY,    /* we begin or end to work on it: @busy; the rest is as last seen */
        CARVED_UPDATE_GONE,    /* what is wanted of it is still known */
} CarvedUpdateKind;

typedef struct CarvedUpdate {
        CarvedUpdateKind kind;
        CarvedPciAddress address;
        CarvedGpu *gpu; /* READ: the new one. STALLED, FAILED: what to show where nothing was seen yet. Always
                           taken */
        const char *text;
        const CarvedIntentChange *intent; /* READ, INTENT; or NULL */
        CarvedIntent *whole;              /* STORED; always taken */
        GHashTable *failures;             /* READ, INTENT: UUID → why it could not be made; or NULL */
        bool rebound;                     /* READ, INTENT: the card is its driver's again */
        uint64_t now;                     /* READ: µs */
        GHashTable *in_use;               /* USERS: UUIDs */
        bool busy;
} CarvedUpdate;

CarvedModel *carved_model_new(void);
CarvedModel *carved_model_free(CarvedModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedModel, carved_model_free)

/* What became different, in the order in which to say it: removed, children first; added, parents first;
 * changed. An array of CarvedChange. */
GArray *carved_model_apply(CarvedModel *model, CarvedUpdate *update);

/* What mdevctl is told to make by itself: CarvedDefinition, referenced. */
void carved_model_set_definitions(CarvedModel *model, GPtrArray *definitions);
const GPtrArray *carved_model_definitions(const CarvedModel *model); /* never NULL */

/* In order of address. */
unsigned carved_model_n_gpus(const CarvedModel *model);
const CarvedGpu *carved_model_nth_gpu(const CarvedModel *model, unsigned i);
const CarvedGpu *carved_model_find_gpu(const CarvedModel *model, const CarvedPciAddress *address);
const CarvedVf *carved_model_find_vf(const CarvedModel *model, const CarvedPciAddress *address);
const CarvedVgpu *carved_model_find_vgpu(const CarvedModel *model, const char *uuid);

/* Those that something is wanted of, there or not: CarvedPciAddress. */
GArray *carved_model_wanted_gpus(const CarvedModel *model);

/* The GPU whose VF or vGPU is in this IOMMU group; NULL: none. */
const CarvedGpu *carved_model_find_group(const CarvedModel *model, int32_t group);

/* What is wanted of a card; NULL: nothing ever was. */
const CarvedIntent *carved_model_intent(const CarvedModel *model, const CarvedPciAddress *address);

/* Puts what is wanted into a fresh look that is not applied, so that it can be spoken of by its names. */
void carved_model_merge(const CarvedModel *model, CarvedGpu *gpu);

unsigned carved_gpu_facets(const CarvedGpu *gpu);
unsigned carved_vf_facets(const CarvedVf *vf);
