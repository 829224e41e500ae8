/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "isolate.h"
#include "nvml-lock.h"
#include "nvml-look.h"
#include "nvml-mig.h"

/* A library that takes longer hangs. The daemon shows the card as stalled long before that. */
#define ANSWER_MS 20000
#define WAIT_MS   (ANSWER_MS + 120000) /* and sriov-manage has been seen to take a minute */

#define TYPES_MAX 256U

/* ---- in a process of its own ---- */

typedef struct Question {
        const CarvedHost *host;
        CarvedPciAddress address;
        uint32_t num_vfs;
        bool wait;
} Question;

typedef struct Answer {
        char *error; /* NULL: nothing went wrong */
        char serial[NVML_TEXT], uuid[NVML_TEXT];
        CarvedMig *mig;
        int32_t mixed_size;
        GVariantBuilder types;
} Answer;

/* "…: what". The first thing that goes wrong is the one to tell. */
static void fail(Answer *answer, const char *call, NvmlReturn r) {
        if (!answer->error)
                answer->error =
                        g_strdup_printf("NVIDIA's library refuses %s: %s (%d)", call, carved_nvml_text(r), r);
}

static uint32_t ask_number(NvmlReturn r, uint32_t value, uint32_t fact, uint32_t *known) {
        if (r != NVML_SUCCESS)
                return 0;
        *known |= fact;
        return value;
}

static void ask_type(const CarvedNvml *nvml, NvmlDevice *device, uint32_t id, bool mig, Answer *answer) {
        uint32_t known = 0, heads = 0, rate = 0, max = 0, profile = 0, width = 0, height = 0;
        char raw[NVML_TEXT] = "", name[NVML_TEXT], resolution[32] = "";
        uint32_t size = sizeof raw;
        uint64_t bytes = 0;
        NvmlReturn r;

        if (carved_nvml_call(nvml, get_type_name, id, raw, &size) != NVML_SUCCESS)
                return;

        carved_nvml_take_text(name, sizeof name, raw, sizeof raw);
        if (carved_nvml_call(nvml, get_type_framebuffer, id, &bytes) == NVML_SUCCESS)
                known |= CARVED_TYPE_FRAMEBUFFER;
        r = carved_nvml_call(nvml, get_type_heads, id, &heads);
        heads = ask_number(r, heads, CARVED_TYPE_HEADS, &known);
        r = carved_nvml_call(nvml, get_type_frame_rate, id, &rate);
        rate = ask_number(r, rate, CARVED_TYPE_FRAME_RATE_LIMIT, &known);
        r = carved_nvml_call(nvml, get_type_max, device, id, &max);
        max = ask_number(r, max, CARVED_TYPE_MAX_INSTANCES, &known);
        r = mig ? carved_nvml_call(nvml, get_type_profile, id, &profile) : NVML_NOT_SUPPORTED;
        profile = profile == NVML_NO_PROFILE ? 0 : ask_number(r, profile, CARVED_TYPE_MIG_PROFILE, &known);
        if (carved_nvml_call(nvml, get_type_resolution, id, 0, &width, &height) == NVML_SUCCESS)
                g_snprintf(resolution, sizeof resolution, "%ux%u", width, height);

        g_variant_builder_add(&answer->types, "(usutuusuu)", id, name, known, bytes / (1024 * 1024), heads,
                              rate, resolution, max, profile);
}

/* Told or not: a driver that is no vGPU host has none. */
static void ask_types(const CarvedNvml *nvml, NvmlDevice *device, bool mig, Answer *answer) {
        uint32_t ids[TYPES_MAX] = { 0 }, n = 0;
        NvmlReturn r;

        r = carved_nvml_call(nvml, list_types, device, &n, NULL);
        if (r != NVML_INSUFFICIENT_SIZE || n > TYPES_MAX)
                return;
        r = carved_nvml_call(nvml, list_types, device, &n, ids);
        for (uint32_t i = 0; r == NVML_SUCCESS && i < MIN(n, TYPES_MAX); i++)
                ask_type(nvml, device, ids[i], mig, answer);
}

static void ask_mixed_size(const CarvedNvml *nvml, NvmlDevice *device, Answer *answer) {
        NvmlHeterogeneousMode mode = { .version = NVML_HETEROGENEOUS_MODE };
        uint32_t can = 0;

        if (carved_nvml_call(nvml, get_vgpu_capability, device, NVML_CAPABILITY_MIXED_SIZES, &can) ==
                    NVML_SUCCESS &&
            can && carved_nvml_call(nvml, get_mixed, device, &mode) == NVML_SUCCESS)
                answer->mixed_size = mode.mode != 0;
}

static void ask_device(const CarvedNvml *nvml, NvmlDevice *device, Answer *answer) {
        char raw[NVML_TEXT] = "";
        NvmlReturn r;

        r = carved_nvml_call(nvml, get_uuid, device, raw, sizeof raw);
        if (r == NVML_SUCCESS)
                carved_nvml_take_text(answer->uuid, sizeof answer->uuid, raw, sizeof raw);
        else
                fail(answer, "nvmlDeviceGetUUID", r);
        /* Boards without one are nothing wrong. */
        if (carved_nvml_call(nvml, get_serial, device, raw, sizeof raw) == NVML_SUCCESS)
                carved_nvml_take_text(answer->serial, sizeof answer->serial, raw, sizeof raw);
        answer->mig = carved_nvml_read_mig(nvml, device, &r);
        if (r != NVML_SUCCESS)
                fail(answer, "what MIG is like", r);
        ask_mixed_size(nvml, device, answer);
        ask_types(nvml, device, answer->mig != NULL, answer);
}

static GVariant *to_variant(const Question *question, Answer *answer) {
        return g_variant_new("(usssm@" CARVED_MIG_TYPE "ia(usutuusuu))", question->num_vfs,
                             answer->error ?: "", answer->serial, answer->uuid,
                             answer->mig ? carved_mig_to_variant(answer->mig) : NULL, answer->mixed_size,
                             &answer->types);
}

static void init(Answer *answer) {
        *answer = (Answer){ .mixed_size = -1 };
        g_variant_builder_init(&answer->types, G_VARIANT_TYPE("a(usutuusuu)"));
}

static GVariant *ask(const void *data) {
        const Question *question = data;
        g_autofree char *text = NULL;
        g_auto(CarvedNvml) nvml = { 0 };
        NvmlDevice *device = NULL;
        CarvedNvmlLock lock = CARVED_NVML_UNLOCKED; /* goes with the process */
        Answer answer;
        NvmlReturn r;

        init(&answer);
        if (!carved_nvml_lock(&lock, question->host->nvml_locks, question->wait))
                return g_variant_new("m" CARVED_NVML_ANSWER, NULL);
        r = carved_nvml_open(&nvml, question->host->nvml, &text);
        if (text)
                answer.error = g_strdup_printf("NVIDIA's library can't be loaded: %s", text);
        else if (r != NVML_SUCCESS)
                fail(&answer, "to start", r);
        else {
                r = carved_nvml_find(&nvml, &question->address, &device);
                if (r == NVML_SUCCESS)
                        ask_device(&nvml, device, &answer);
                else
                        fail(&answer, "the card", r);
        }
        /* The process ends: nothing need be freed. */
        return g_variant_new_maybe(G_VARIANT_TYPE(CARVED_NVML_ANSWER), to_variant(question, &answer));
}

/* ---- in the worker ---- */

/* Whoever asks holds every card of the host for that moment, also against somebody else's sriov-manage. So
 * not after each switch of VFs, but only where that loses something: GPU instances, and mixed sizes. */
bool carved_nvml_is_due(GVariant *memory, const CarvedGpu *gpu) {
        g_autoptr(GVariant) mig = NULL;
        gboolean enabled = FALSE;
        int32_t mixed_size;
        const char *error;
        uint32_t num_vfs;

        if (!memory || !g_variant_is_of_type(memory, G_VARIANT_TYPE(CARVED_NVML_ANSWER)))
                return true;

        g_variant_get(memory, "(u&sssm@" CARVED_MIG_TYPE "ia(usutuusuu))", &num_vfs, &error, NULL, NULL, &mig,
                      &mixed_size, NULL);
        if (mig)
                g_variant_get_child(mig, 0, "b", &enabled);
        return enabled || (num_vfs != gpu->num_vfs && (mixed_size > 0 || *error));
}

GVariant *carved_nvml_ask(const CarvedHost *host, const CarvedGpu *gpu, bool wait) {
        Question question = { host, gpu->address, gpu->num_vfs, wait };
        g_autoptr(GVariant) maybe = NULL;
        g_autoptr(GError) error = NULL;
        GVariant *answer;
        Answer none;

        maybe = carved_isolate(ask, &question, G_VARIANT_TYPE("m" CARVED_NVML_ANSWER),
                               wait ? WAIT_MS : ANSWER_MS, &error);
        if (maybe)
                return g_variant_get_maybe(maybe);

        init(&none);
        none.error = g_strdup_printf("NVIDIA's library could not be asked: %s", error->message);
        answer = g_variant_ref_sink(to_variant(&question, &none));
        g_free(none.error);
        return answer;
}

/* What sysfs or vgpuConfig.xml tell is not told again: one word for one thing. */
static void tell_type(CarvedLook *look, const CarvedType *told) {
        CarvedType *fresh, *type;
        uint32_t number = carved_look_type(look, told->id, &fresh);
        uint32_t missing;

        type = look->gpu->types->pdata[number];
        missing = told->known & ~type->known;
        carved_look_name_type(look, type, told->name);
        if (!type->max_resolution && *told->max_resolution)
                type->max_resolution = g_strdup(told->max_resolution);
        if (missing & CARVED_TYPE_FRAMEBUFFER)
                type->framebuffer_mib = told->framebuffer_mib;
        if (missing & CARVED_TYPE_HEADS)
                type->heads = told->heads;
        if (missing & CARVED_TYPE_FRAME_RATE_LIMIT)
                type->frame_rate_limit = told->frame_rate_limit;
        if (missing & CARVED_TYPE_MAX_INSTANCES)
                type->max_instances = told->max_instances;
        if (missing & CARVED_TYPE_MIG_PROFILE)
                type->mig_profile = told->mig_profile;
        type->known |= missing;
}

static void tell_types(CarvedLook *look, GVariantIter *types) {
        CarvedType told = { 0 };
        uint32_t id;

        /* An mdev driver publishes every type that it has, with all there is to say, but its profile. */
        while (g_variant_iter_next(types, "(u&sutuu&suu)", &id, &told.name, &told.known,
                                   &told.framebuffer_mib, &told.heads, &told.frame_rate_limit,
                                   &told.max_resolution, &told.max_instances, &told.mig_profile)) {
                g_autofree char *text = g_strdup_printf("nvidia-%u", id);

                told.id = text;
                if (look->gpu->framework == CARVED_FRAMEWORK_VENDOR_VFIO ||
                    look->gpu->framework == CARVED_FRAMEWORK_UNKNOWN ||
                    g_hash_table_contains(look->type_numbers, text))
                        tell_type(look, &told);
        }
}

static char *text_or_null(const char *text) {
        return *text ? g_strdup(text) : NULL;
}

void carved_nvml_tell(CarvedLook *look, GVariant *answer) {
        g_autoptr(GVariantIter) types = NULL;
        g_autoptr(GVariant) mig = NULL;
        const char *error, *serial, *uuid;
        CarvedGpu *gpu = look->gpu;

        g_variant_get(answer, "(u&s&s&sm@" CARVED_MIG_TYPE "ia(usutuusuu))", NULL, &error, &serial, &uuid,
                      &mig, &gpu->mixed_size, &types);
        gpu->nvml_error = text_or_null(error);
        gpu->serial = text_or_null(serial);
        gpu->gpu_uuid = text_or_null(uuid);
        gpu->mig = mig ? carved_mig_from_variant(mig) : NULL;
        tell_types(look, types);
}
