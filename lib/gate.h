/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "snapshot.h"
#include "step.h"

/* Nothing in use is ever removed. Before a write that takes something away, its VFIO nodes go through a gate:
 * the groups are opened and held until the write is over, so that no VM can start in between; where somebody
 * has one open already, he is named. Opened for a write only, never for a look: that would fail a VM's start. */

typedef struct CarvedGate {
        GArray *devices; /* dev_t: of groups and of cdevs */
        GArray *groups;  /* int32_t: group numbers */
        GArray *held;    /* int: descriptors */
} CarvedGate;

/* The device @below in @dir_fd, or @dir_fd itself. One without VFIO nodes can't be in use, and is passed
 * over. */
void carved_gate_add(CarvedGate *gate, const CarvedHost *host, int dir_fd, const char *below);

/* A group, by number: for a mere look, with nothing but the number at hand. */
void carved_gate_add_group(CarvedGate *gate, const CarvedHost *host, int32_t group);

/* Who has any of them open, as an array of CarvedUser. */
GArray *carved_gate_users(const CarvedGate *gate);

/* False: in use, and @outcome says by whom. */
bool carved_gate_shut(CarvedGate *gate, CarvedOutcome *outcome);

void carved_gate_clear(CarvedGate *gate);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CarvedGate, carved_gate_clear)
