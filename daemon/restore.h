/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job.h"

/* Makes each GPU as it is wanted: at the start, and when a card or a driver comes back. By events: what can't
 * be done yet is tried again when the card looks different. It has no steps of its own: its jobs are like any
 * other. */

Restore *restore_new(Manager *m);
Restore *restore_free(Restore *restore);

/* What is wanted has been read. */
void restore_begin(Restore *restore);

/* This card, or each of them, is to be made as it is wanted. */
void restore_due(Restore *restore, const CarvedPciAddress *gpu);
void restore_all_due(Restore *restore);

/* The model has something new of this card. */
void restore_consider(Restore *restore, const CarvedPciAddress *gpu);

/* The start has seen every card. Not before: sriov-manage for one would keep the others from NVIDIA's
 * library, without which nobody knows how they are cut. */
void restore_consider_all(Restore *restore);

/* Perhaps there is nothing left to do. */
void restore_check(Restore *restore);

void restore_job_over(Restore *restore, const Job *job);

/* A step begins: systemd is told that the start goes on. */
void restore_progress(Restore *restore, const Job *job);

/* Has all been made that can be made now, or taken too long? */
bool restore_is_over(const Restore *restore);
