/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "host.h"
#include "kernel.h"

/* Builds the host: buses, drivers, cards, as after a cold boot. In an instant, and nobody is told. */
void boot(Kernel *kernel, HostSpec *host);

/* All that is volatile goes, and the host is built anew. */
void reboot(Kernel *kernel, HostSpec *host);

/* A card is put in while the host runs; its driver is loaded if need be. False: the slot is taken. */
bool boot_plug(Kernel *kernel, GpuSpec *gpu);

/* The vGPU types of all NVIDIA cards, as the driver package installs them; NULL: no such card. */
char *boot_vgpu_config(HostSpec *host);
