/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gpu.h"

/* The <hostdev> element that gives a vGPU to a libvirt domain. @display: the guest's screen is the vGPU's,
 * which needs a <graphics> beside it; @ramfb: also before its driver is loaded. NULL and an error: it can't
 * be said. */
char *carved_libvirt_xml(const CarvedVgpu *vgpu, bool display, bool ramfb, GError **error);
