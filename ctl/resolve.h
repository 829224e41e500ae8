/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "host.h"

/* From what people type to what they mean: a PCI address in any spelling, the beginning of a UUID, an
 * object's path, job/12, a part of a card's model, what libvirt calls a vGPU, or its label `name`. What fits
 * several is refused, with all of them. */

typedef enum Wanted {
        WANT_GPU = 1 << 0,
        WANT_VF = 1 << 1,
        WANT_VGPU = 1 << 2, /* also by the address of its VF */
        WANT_JOB = 1 << 3,
        WANT_INSTANCE = 1 << 4,
        WANT_ANY = WANT_GPU | WANT_VF | WANT_VGPU | WANT_JOB | WANT_INSTANCE,
} Wanted;

Thing *resolve(const Host *host, const char *text, Wanted wanted, GError **error);

/* Does @text name this type of a card? By id, "nvidia-746" or "746", or by name, with or without its first
 * word. */
bool type_matches(const char *id, const char *name, const char *text);

/* Is it one of this card's types? Its id, borrowed from the card; NULL: no. */
const char *resolve_type(const Thing *gpu, const char *text);
