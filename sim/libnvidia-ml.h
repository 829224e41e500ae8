/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "nvml-abi.h"
#include "nvml-wire.h"

/* Inside the simulated libnvidia-ml.so.1. Plain C: whatever program loads it shall get nothing else along. */

#define TOKEN(handle) ((uint64_t) (uintptr_t) (handle))

/* Asks the driver. @out gets @len bytes, or garbage where the call promises nothing: callers that read what
 * failed shall notice. */
nvmlReturn_t ask(const NvmlRequest *request, void *out, size_t len);

/* For answers of any length: the reply as it came. */
nvmlReturn_t ask_reply(const NvmlRequest *request, NvmlReply *reply);

/* What there is in memory that nobody has written to. */
void poison(void *out, size_t len);

/* A text into the caller's buffer of @size bytes. */
nvmlReturn_t ask_text(const NvmlRequest *request, char *text, unsigned size);

/* A struct that begins with its version word, which decides how long it is. */
nvmlReturn_t ask_versioned(NvmlRequest *request, void *info);
