/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan.h"

/* The inside of planning, for plan*.c alone: plan-vfs.c has what is asked of VFs, plan-vgpu.c of vGPUs,
 * plan-restore.c how a card becomes what is wanted of it. */

CarvedPlan *plan_new(void);

/* It needs this GPU's queue. */
void plan_use(CarvedPlan *plan, const CarvedPciAddress *gpu);

CarvedStep *plan_add(CarvedPlan *plan, CarvedStepKind kind, const CarvedGpu *gpu);
CarvedStep *plan_add_count(CarvedPlan *plan, CarvedStepKind kind, const CarvedGpu *gpu, uint32_t from,
                           uint32_t to);
/* What a step on a vGPU that is there needs to know, to do it and to go back. */
CarvedStep *plan_add_vgpu(CarvedPlan *plan, CarvedStepKind kind, const CarvedModel *model,
                          const CarvedVgpu *vgpu);
/* All of them: first it is seen that each can go. */
void plan_add_removal(CarvedPlan *plan, const CarvedModel *model, GPtrArray *vgpus);
/* The steps that make @wanted, of type number @type. */
void plan_add_creation(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedVf *vf, const CarvedWanted *wanted,
                       unsigned type);

/* On or off, by the vendor's program or by the kernel, and the wait for it. */
void plan_add_vfs(CarvedPlan *plan, const CarvedGpu *gpu, uint32_t count);

/* Those that it has now, after they were switched off for a while. */
void plan_add_vfs_again(CarvedPlan *plan, const CarvedGpu *gpu);

/* The card of an order, fit to be worked on; NULL and why not. */
const CarvedGpu *plan_find_gpu(const CarvedModel *model, const CarvedOrder *order, GError **error);
const CarvedWanted *plan_find_wanted(const CarvedModel *model, const CarvedVgpu *vgpu);

/* Is the UUID, and the place, ours to use? What mdevctl makes by itself is not. @vf NULL: straight on the
 * GPU. */
bool plan_check_peers(const CarvedModel *model, const CarvedGpu *gpu, const CarvedVf *vf, const char *uuid,
                      GError **error);

/* ---- plan-mig.c ---- */

/* A switch of VFs loses all GPU instances. False: some of them are not ours. */
bool plan_may_lose_instances(const CarvedModel *model, const CarvedGpu *gpu, GError **error);
/* Before the switch: they go one by one, so that the way back knows them. */
void plan_add_loss(CarvedPlan *plan, const CarvedGpu *gpu);
/* After it: mixed sizes, and what the card is to be cut into. @vfs: they are on then. */
void plan_add_after_vfs(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu, bool vfs);

/* The parts of making a card as it is wanted. False: nothing can be done before this is. */
bool plan_restore_mode(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent, GError **error);
/* @exactly: what is not wanted goes, where nobody uses it. */
void plan_restore_instances(CarvedPlan *plan, const CarvedModel *model, const CarvedGpu *gpu, bool exactly);
void plan_leftover_mig(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent);
void plan_adopt_mig(CarvedPlan *plan, const CarvedGpu *gpu, const CarvedIntent *intent);

CarvedPlan *plan_mig_mode(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_layout(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_clear(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_drop_instance(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_mixed_size(const CarvedModel *model, const CarvedOrder *order, GError **error);

typedef CarvedPlan *(*PlanMaker)(const CarvedModel *model, const CarvedOrder *order, GError **error);

CarvedPlan *plan_enable(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_disable(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_create(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_destroy(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_params(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_restore(const CarvedModel *model, const CarvedOrder *order, GError **error);
CarvedPlan *plan_adopt(const CarvedModel *model, const CarvedOrder *order, GError **error);
