/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "nvidia-mig.h"
#include "nvml-wire.h"

/* The driver's end of NVML: sessions, and what each call does. */

/* An initialised library in somebody's process. */
typedef struct NvmlSession {
        Kernel *kernel;
        int pid;
        unsigned uid;
        bool initialised;
        bool busy;        /* inside a call: the kernel does not let go of it, even if its process dies */
        GPtrArray *cards; /* of Nvidia, referenced: those it holds, in NVML's order */
        bool (*has_died)(const struct NvmlSession *session); /* NULL: never */
        int fd;
} NvmlSession;

NvmlSession *nvml_session_new(Kernel *kernel, int pid, unsigned uid);
void nvml_session_free(NvmlSession *session);

/* How many have this card open through NVML. */
unsigned nvml_users(Kernel *kernel, const Nvidia *nvidia);

/* The host goes down: no session outlives it. */
void nvml_end_sessions(Kernel *kernel);

/* Who has NVML open now: a line each. */
void nvml_print(Kernel *kernel, GString *out);

/* Somebody wants the card let go: who has it open now is remembered. */
void nvml_note(const Nvidia *nvidia, const char *what);

/* One call, under the lock, which it may give up meanwhile. */
void nvml_call(NvmlSession *session, const NvmlRequest *request, NvmlReply *reply);
const char *nvml_call_name(unsigned call);

/* nvml-code.c: "IN_USE" and 19. */
const char *nvml_code_name(nvmlReturn_t code); /* NULL: no such */
bool nvml_code_parse(const char *word, nvmlReturn_t *ret);

/* What a call is about, as far as its handle tells. */
typedef struct NvmlCall {
        NvmlSession *session;
        const NvmlRequest *request;
        NvmlReply *reply;
        Nvidia *card;
        GpuInstance *gi;
        ComputeInstance *ci;
} NvmlCall;

typedef enum NvmlTarget {
        NVML_ON_NOTHING,
        NVML_ON_GPU,
        NVML_ON_DEVICE, /* a GPU or a MIG device */
        NVML_ON_MIG,
        NVML_ON_GI,
        NVML_ON_CI,
} NvmlTarget;

typedef struct NvmlHandler {
        nvmlReturn_t (*run)(NvmlCall *call);
        NvmlTarget target;
        bool root;                                           /* others: NO_PERMISSION */
        bool mig;                                            /* only for cards that can do MIG */
        bool vgpu;                                           /* only for cards that are vGPU hosts */
        bool mig_on;                                         /* … and have it on */
        bool (*versions)(unsigned word, unsigned *ret_size); /* of its struct; NULL: it has none */
} NvmlHandler;

/* nvml-device.c, nvml-mig.c, nvml-vgpu.c, nvml-type.c: by NvmlCallId; rows of others are empty. */
extern const NvmlHandler nvml_device_handlers[NVML_CALL_COUNT];
extern const NvmlHandler nvml_mig_handlers[NVML_CALL_COUNT];
extern const NvmlHandler nvml_vgpu_handlers[NVML_CALL_COUNT];
extern const NvmlHandler nvml_type_handlers[NVML_CALL_COUNT];

uint64_t nvml_device_handle(const Nvidia *card);
uint64_t nvml_gi_handle(const Nvidia *card, const GpuInstance *gi);
uint64_t nvml_ci_handle(const Nvidia *card, const ComputeInstance *ci);
uint64_t nvml_mig_handle(const Nvidia *card, const ComputeInstance *ci);

/* The version word of a call with a versioned struct. */
static inline unsigned nvml_version(const NvmlCall *call) {
        return call->request->args[NVML_ARGS_MAX - 1];
}

/* The answer: more of it. SUCCESS, for `return`. */
nvmlReturn_t nvml_put(NvmlCall *call, const void *data, size_t len);
nvmlReturn_t nvml_put_number(NvmlCall *call, unsigned n);
nvmlReturn_t nvml_put_text(NvmlCall *call, const char *text);
/* For lists whose caller says how much room it has, as its second number: INSUFFICIENT_SIZE if that is not
 * enough for what was put. */
nvmlReturn_t nvml_check_size(const NvmlCall *call);
nvmlReturn_t nvml_put_handle(NvmlCall *call, uint64_t handle);
