/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "nvml.h"
#include "rules.h"
#include "trace.h"

/* Handles: what it is, which life of which card, which instance. A card that is reset lives anew, so handles
 * from before are nobody's. */
enum { HANDLE_DEVICE = 1, HANDLE_GI, HANDLE_CI, HANDLE_MIG };

static uint64_t handle(unsigned kind, const Nvidia *card, uint32_t token) {
        return (uint64_t) kind << 56 | (uint64_t) (card->generation & 0xffffff) << 32 | token;
}

uint64_t nvml_device_handle(const Nvidia *card) {
        return handle(HANDLE_DEVICE, card, 0);
}

uint64_t nvml_gi_handle(const Nvidia *card, const GpuInstance *gi) {
        return handle(HANDLE_GI, card, gi->token);
}

uint64_t nvml_ci_handle(const Nvidia *card, const ComputeInstance *ci) {
        return handle(HANDLE_CI, card, ci->token);
}

uint64_t nvml_mig_handle(const Nvidia *card, const ComputeInstance *ci) {
        return handle(HANDLE_MIG, card, ci->token);
}

static const char *const names[] = {
#define NAME(call) [NVML_CALL(call)] = #call,
        NVML_CALLS(NAME)
#undef NAME
};

const char *nvml_call_name(unsigned call) {
        return call < G_N_ELEMENTS(names) ? names[call] : NULL;
}

NvmlSession *nvml_session_new(Kernel *kernel, int pid, unsigned uid) {
        NvmlSession *session = g_new0(NvmlSession, 1);

        session->kernel = kernel;
        session->pid = pid;
        session->uid = uid;
        session->fd = -1;
        session->cards = g_ptr_array_new_with_free_func(object_unref);
        return session;
}

static void end(NvmlSession *session) {
        if (session->initialised)
                g_ptr_array_remove(session->kernel->nvml_sessions, session);
        session->initialised = false;
        g_ptr_array_set_size(session->cards, 0);
        kernel_wake(session->kernel);
}

void nvml_session_free(NvmlSession *session) {
        end(session);
        g_ptr_array_unref(session->cards);
        g_free(session);
}

void nvml_end_sessions(Kernel *kernel) {
        while (kernel->nvml_sessions->len > 0)
                end(kernel->nvml_sessions->pdata[0]);
}

static bool is_open(const NvmlSession *session) {
        return session->busy || !session->has_died || !session->has_died(session);
}

unsigned nvml_users(Kernel *kernel, const Nvidia *nvidia) {
        unsigned n = 0;

        for (unsigned i = 0; i < kernel->nvml_sessions->len; i++) {
                const NvmlSession *session = kernel->nvml_sessions->pdata[i];

                if (is_open(session))
                        n += g_ptr_array_find(session->cards, nvidia, NULL);
        }

        return n;
}

void nvml_print(Kernel *kernel, GString *out) {
        for (unsigned i = 0; i < kernel->nvml_sessions->len; i++) {
                const NvmlSession *session = kernel->nvml_sessions->pdata[i];

                if (!is_open(session))
                        continue;
                g_string_append_printf(out, "%d", session->pid);
                for (unsigned j = 0; j < session->cards->len; j++)
                        g_string_append_printf(out, " %s",
                                               ((Nvidia *) session->cards->pdata[j])->pf->device.name);
                g_string_append_c(out, '\n');
        }
}

void nvml_note(const Nvidia *nvidia, const char *what) {
        Kernel *kernel = nvidia->pf->device.kernel;

        for (unsigned i = 0; i < kernel->nvml_sessions->len; i++) {
                const NvmlSession *session = kernel->nvml_sessions->pdata[i];

                if (is_open(session) && g_ptr_array_find(session->cards, nvidia, NULL))
                        g_string_append_printf(kernel->nvml_met, "%s %s %d\n", nvidia->pf->device.name, what,
                                               session->pid);
        }
}

/* From here on each card that has the driver is in use. One that is locked for unbinding is not to be had. */
static nvmlReturn_t init(NvmlCall *call) {
        NvmlSession *session = call->session;
        Kernel *kernel = session->kernel;
        const Driver *driver = bus_find_driver(kernel->pci, "nvidia");

        if (session->initialised)
                return NVML_SUCCESS;
        if (!driver || driver->unloading || kernel->nvml == NVML_NOT_LOADED)
                return NVML_ERROR_DRIVER_NOT_LOADED;
        if (kernel->nvml == NVML_MISMATCH)
                return NVML_ERROR_LIB_RM_VERSION_MISMATCH;

        for (unsigned i = 0; i < kernel->pci->devices->len; i++) {
                PciDevice *pci = kernel->pci->devices->pdata[i];

                if (!pci->nvidia || pci->physfn || pci->nvidia->leaving || pci->nvidia->unbind_lock)
                        continue;
                g_ptr_array_add(session->cards, object_ref(pci->nvidia));
                nvml_put_number(call, pci->nvidia->minor); /* whose node the library shall open */
        }
        session->initialised = true;
        g_ptr_array_add(kernel->nvml_sessions, session);
        return NVML_SUCCESS;
}

static nvmlReturn_t shut_down(NvmlCall *call) {
        end(call->session);
        return NVML_SUCCESS;
}

static const NvmlHandler session_handlers[NVML_CALL_COUNT] = {
        [NVML_CALL(nvmlInit_v2)] = { init },
        [NVML_CALL(nvmlShutdown)] = { shut_down },
};

static const NvmlHandler *handler_of(unsigned call) {
        static const NvmlHandler *const tables[] = { session_handlers, nvml_device_handlers,
                                                     nvml_mig_handlers, nvml_vgpu_handlers,
                                                     nvml_type_handlers };

        for (size_t i = 0; call < NVML_CALL_COUNT && i < G_N_ELEMENTS(tables); i++)
                if (tables[i][call].run)
                        return &tables[i][call];

        return NULL;
}

static void find_instance(NvmlCall *call, uint32_t token) {
        for (unsigned i = 0; i < call->card->instances->len; i++) {
                GpuInstance *gi = call->card->instances->pdata[i];

                if (gi->token == token)
                        call->gi = gi;
                for (unsigned j = 0; j < gi->computes->len; j++)
                        if (((ComputeInstance *) gi->computes->pdata[j])->token == token) {
                                call->ci = gi->computes->pdata[j];
                                call->gi = gi;
                        }
        }
}

/* The card of a handle, whatever else is wrong with it; and whether it is one that this call takes. */
static bool resolve(NvmlCall *call, NvmlTarget target) {
        uint64_t h = call->request->handle;
        unsigned kind = (unsigned) (h >> 56);

        call->card = NULL;
        call->gi = NULL;
        call->ci = NULL;
        if (target == NVML_ON_NOTHING)
                return true;

        for (unsigned i = 0; i < call->session->cards->len; i++) {
                Nvidia *card = call->session->cards->pdata[i];

                if ((card->generation & 0xffffff) == (h >> 32 & 0xffffff))
                        call->card = card;
        }
        if (!call->card)
                return false;

        find_instance(call, (uint32_t) h);
        switch (target) {
        case NVML_ON_GPU:
                return kind == HANDLE_DEVICE;
        case NVML_ON_DEVICE:
                return kind == HANDLE_DEVICE || (kind == HANDLE_MIG && call->ci);
        case NVML_ON_MIG:
                return kind == HANDLE_MIG && call->ci;
        case NVML_ON_GI:
                return kind == HANDLE_GI && call->gi && !call->ci;
        case NVML_ON_CI:
                return kind == HANDLE_CI && call->ci;
        case NVML_ON_NOTHING:
                break;
        }

        g_assert_not_reached();
}

static nvmlReturn_t run(NvmlCall *call, const NvmlHandler *handler) {
        const GpuSpec *spec;
        unsigned size = 0;
        nvmlReturn_t r;

        if (!call->session->initialised && handler->run != init)
                return NVML_ERROR_UNINITIALIZED;
        if (handler->versions && !handler->versions(nvml_version(call), &size))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;

        call->reply->len = size; /* of a known version, should it fail: so much is promised to nobody */
        if (!resolve(call, handler->target))
                return NVML_ERROR_INVALID_ARGUMENT;
        if (call->card) {
                spec = call->card->pf->spec;
                if (spec->gpu_lost)
                        return NVML_ERROR_GPU_IS_LOST;
                if (handler->mig && !spec->mig)
                        return NVML_ERROR_NOT_SUPPORTED;
                if (handler->vgpu && (spec->no_vgpu_driver || spec->framework == FRAMEWORK_NONE))
                        return NVML_ERROR_NOT_SUPPORTED;
                if (handler->mig_on && !nvidia_mig_on(call->card))
                        return NVML_ERROR_NOT_SUPPORTED;
        }
        if (handler->root && call->session->uid != 0)
                return NVML_ERROR_NO_PERMISSION;

        call->reply->len = 0;
        r = handler->run(call);
        if (r != NVML_SUCCESS && size > 0)
                call->reply->len = size;
        return r;
}

static char *version_text(const NvmlHandler *handler, const NvmlRequest *request) {
        return handler->versions ? g_strdup_printf("v%u", request->args[NVML_ARGS_MAX - 1] >> 24) : NULL;
}

/* What the rules want instead, or the call itself. */
static uint32_t ruled(NvmlCall *call, const NvmlHandler *handler, const char *name, const char *address) {
        g_autofree char *version = version_text(handler, call->request);
        int verdict = rules_apply_nvml(call->session->kernel, name, address, version);
        nvmlReturn_t r;

        switch (verdict) {
        case RULE_NVML_CRASH:
                return NVML_REPLY_CRASH;
        case RULE_NVML_IGNORE:
                return NVML_SUCCESS;
        case RULE_NVML_NONE:
        case RULE_NVML_CRASH_AFTER:
                r = run(call, handler);
                return verdict == RULE_NVML_NONE ? r : NVML_REPLY_CRASH;
        default:
                return (uint32_t) verdict;
        }
}

void nvml_call(NvmlSession *session, const NvmlRequest *request, NvmlReply *reply) {
        const NvmlHandler *handler = handler_of(request->call);
        NvmlCall call = { .session = session, .request = request, .reply = reply };
        g_autofree char *address = NULL, *what = NULL;
        int64_t start = g_get_monotonic_time();
        const char *name = nvml_call_name(request->call);

        reply->len = 0;
        reply->code = NVML_ERROR_FUNCTION_NOT_FOUND;
        if (!handler)
                return;

        resolve(&call, handler->target);
        address = call.card ? g_strdup(call.card->pf->device.name) : NULL;
        session->busy = true;
        session->kernel->inside++;
        reply->code = ruled(&call, handler, name, address);
        session->kernel->inside--;
        session->busy = false;
        kernel_wake(session->kernel);

        what = g_strdup_printf("%s%s%s %u %u %u", name, address ? "/" : "", address ?: "", request->args[0],
                               request->args[1], request->args[2]);
        if (session->kernel->trace)
                trace_nvml(session->kernel->trace, session->pid, what,
                           reply->code == NVML_REPLY_CRASH ? "crash"
                                                           : nvml_code_name((nvmlReturn_t) reply->code),
                           g_get_monotonic_time() - start);
}

nvmlReturn_t nvml_put(NvmlCall *call, const void *data, size_t len) {
        if (call->reply->len + len > NVML_DATA_MAX)
                return NVML_ERROR_MEMORY; /* nobody has that many */

        memcpy(call->reply->data + call->reply->len, data, len);
        call->reply->len += (uint32_t) len;
        return NVML_SUCCESS;
}

nvmlReturn_t nvml_put_number(NvmlCall *call, unsigned n) {
        return nvml_put(call, &n, sizeof n);
}

nvmlReturn_t nvml_put_text(NvmlCall *call, const char *text) {
        return nvml_put(call, text, strlen(text) + 1);
}

nvmlReturn_t nvml_put_handle(NvmlCall *call, uint64_t h) {
        return nvml_put(call, &h, sizeof h);
}

nvmlReturn_t nvml_check_size(const NvmlCall *call) {
        return call->reply->len / sizeof(unsigned) > call->request->args[1] ? NVML_ERROR_INSUFFICIENT_SIZE
                                                                            : NVML_SUCCESS;
}
