/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "snapshot.h"
#include "vendor.h"

/* One look at one GPU while it lasts: what has been found so far. For snapshot.c and the frameworks. */
typedef struct CarvedLook {
        const CarvedHost *host;
        const CarvedVendor *vendor;
        CarvedGpu *gpu;
        bool brief;               /* what never changes of a type is known already */
        GHashTable *type_numbers; /* id → number + 1 */
        GPtrArray *offers;        /* who offers how many of what, until the types are sorted */
} CarvedLook;

void carved_look_init(CarvedLook *look, const CarvedHost *host, CarvedGpu *gpu);
void carved_look_clear(CarvedLook *look);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CarvedLook, carved_look_clear)

/* Takes @error. The first thing that went wrong is the one to show; what is merely absent is nothing wrong.
 */
void carved_look_note(char **target, GError *error);

/* The number of a type while looking. @ret_fresh is the type where nobody has met it yet, else NULL. */
uint32_t carved_look_type(CarvedLook *look, const char *id, CarvedType **ret_fresh);
void carved_look_name_type(CarvedLook *look, CarvedType *type, const char *name);

/* A list to which carved_look_offer() adds; it becomes @target, an array beside the types, in the end. */
GArray *carved_look_offers(CarvedLook *look, uint16_t **target);
void carved_look_offer(GArray *offers, uint32_t type, uint16_t count);

/* Sorts the types, and turns each list of offers into its array. */
void carved_look_settle(CarvedLook *look);

/* Of a function or an mdev: -1 where it is in none. */
int32_t carved_look_group(int dir_fd, const char *below);

/* What NVIDIA tells of a vGPU, in either framework. */
void carved_look_vgpu(CarvedVgpu *vgpu, int dir_fd, const char *below);
