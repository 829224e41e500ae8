/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"
#include "step.h"

/* Made-up cards, and hosts with one. */

#define LIST(...) ((char **) (const char *const[]){ __VA_ARGS__, NULL })

/* The places of its types. */
#define CARD_4Q 0 /* nvidia-746, 4 GiB; of whole VFs, `vf` */
#define CARD_8Q 1 /* nvidia-747, 8 GiB */

/* By @framework, NVIDIA's, or Intel's with whole VFs; @vfs are on, each in an IOMMU group of its own, from
 * 10, and offers one of each type. */
CarvedGpu *card_new(const CarvedPciAddress *at, CarvedFramework framework, uint32_t total_vfs, uint32_t vfs);
/* Like a T4: no VFs, two of nvidia-746 straight on the card. */
CarvedGpu *card_new_t4(const CarvedPciAddress *at);

CarvedType *card_type(CarvedGpu *gpu, unsigned i);
CarvedVf *vf_of(CarvedGpu *gpu, unsigned i);
void offer(CarvedGpu *gpu, unsigned vf, uint16_t of_4q, uint16_t of_8q);

/* As the driver does it: a VF that holds a vGPU offers nothing. */
CarvedVgpu *hold(CarvedGpu *gpu, const char *uuid, int32_t vf);

/* It is seen so now. */
void show(CarvedModel *model, CarvedGpu *gpu);
CarvedModel *host(CarvedGpu *gpu);

/* That one vGPU is wanted, with the label team=ml, of nobody's card yet. */
CarvedIntent *want(const char *uuid, int32_t vf, CarvedFramework framework, const char *type);

/* On VF 1, as @uuid, of the card's first type; or of all VFs, where the step is about those. */
CarvedStep *step_on(CarvedGpu *gpu, CarvedStepKind kind, const char *uuid);
