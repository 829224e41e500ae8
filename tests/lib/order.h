/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "card.h"
#include "error.h"
#include "plan.h"

/* What may be asked of made-up cards, and the plan or the refusal that is expected. */

#define A "11111111-7db8-4e96-9a73-f94c389d9bc3"
#define B "22222222-7db8-4e96-9a73-f94c389d9bc3"
#define C "33333333-7db8-4e96-9a73-f94c389d9bc3"

extern const CarvedPciAddress nvidia_at, other_at, intel_at;

/* With @vfs of four VFs on. */
CarvedGpu *nvidia(uint32_t vfs);
CarvedGpu *intel(uint32_t vfs);

/* Marks one that is there as made by us. */
void own(CarvedModel *model, const CarvedPciAddress *gpu, const char *uuid, int32_t vf,
         const char *old_override);

/* A card with vGPUs A and B on its second and third VF: the first @n_ours are ours. */
CarvedModel *host_with_two(unsigned n_ours, const char *params_of_b);
/* And a whole VF, vGPU C, that is ours. */
void add_whole(CarvedModel *model, const char *old_override);

/* Nothing but @vfs, of one of the cards above; -1: nobody asked. */
CarvedIntent *intent_new(const CarvedPciAddress *gpu, int32_t vfs);
/* And this, of nvidia-746, or a whole VF. */
CarvedWanted *intent_add(CarvedIntent *intent, const char *uuid, int32_t vf);
/* That is what is wanted of it. */
void store(CarvedModel *model, const CarvedPciAddress *gpu, CarvedIntent *intent);

CarvedOrder order_enable(const CarvedPciAddress *gpu, uint32_t count);
CarvedOrder order_disable(const CarvedPciAddress *gpu, bool destroy);
CarvedOrder order_create(const CarvedPciAddress *gpu, int32_t vf, const char *type, GStrv uuid);
CarvedOrder order_destroy(GStrv uuids);
CarvedOrder order_set_params(GStrv uuid, const char *params);
CarvedOrder order_restore(const CarvedPciAddress *gpu);
CarvedOrder order_adopt(const CarvedPciAddress *gpu, GStrv uuids,
                        const char *as); /* NULL: all; as they are */

CarvedPlan *plan_for(const CarvedModel *model, CarvedOrder order);
/* Its steps in words, one a line. */
void expect_plan(const CarvedModel *model, CarvedOrder order, const char *golden);
void refuse_plan(const CarvedModel *model, CarvedOrder order, CarvedError code, const char *message);
/* The way back, as it would be walked: last step first. */
void expect_inverse(const CarvedModel *model, CarvedOrder order, const char *golden);
