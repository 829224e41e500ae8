/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <sys/sysmacros.h>

#include "nvml-carve.h"
#include "nvml-lock.h"
#include "nvml-mig.h"
#include "users.h"

#define NVIDIA_MAJOR 195 /* of /dev/nvidia0 … */

/* The library and the card, for one step. */
typedef struct Session {
        CarvedNvmlLock lock;
        CarvedNvml nvml;
        NvmlDevice *device;
} Session;

#define NO_SESSION                                                                                           \
        { .lock = CARVED_NVML_UNLOCKED }

static void refused(CarvedOutcome *outcome, const char *call, const char *value, NvmlReturn r) {
        carved_carve_failed(outcome, carved_nvml_errno(r), call, value);
        outcome->status = r;
        outcome->in_use = r == NVML_IN_USE;
}

static bool open_session(Session *session, const CarvedCarving *carving, CarvedOutcome *outcome) {
        g_autofree char *text = NULL;
        NvmlReturn r;

        *session = (Session) NO_SESSION;
        carved_nvml_lock(&session->lock, carving->host->nvml_locks, /* wait= */ true);
        r = carved_nvml_open(&session->nvml, carving->host->nvml, &text);
        if (r == NVML_SUCCESS)
                r = carved_nvml_find(&session->nvml, &carving->step->gpu, &session->device);
        if (r == NVML_SUCCESS)
                return true;

        refused(outcome, carving->host->nvml, NULL, r);
        outcome->output = g_steal_pointer(&text);
        return false;
}

static void close_session(Session *session) {
        carved_nvml_close(&session->nvml);
        carved_nvml_unlock(&session->lock);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Session, close_session)

/* Who has the card open, beside ourselves. After the library is closed. */
static void find_holders(uint32_t minor_number, CarvedOutcome *outcome) {
        g_autoptr(GArray) devices = g_array_new(FALSE, FALSE, sizeof(dev_t));
        dev_t node = makedev(NVIDIA_MAJOR, minor_number);

        g_array_append_val(devices, node);
        if (outcome->users)
                g_array_unref(outcome->users);
        outcome->users = carved_users_scan(devices);
        carved_users_unique(outcome->users);
}

/* ---- the mode ---- */

/* That it was accepted is not that it is so: @activation says when. */
static NvmlReturn set_mode(const Session *session, uint32_t mode, NvmlReturn *activation) {
        *activation = NVML_SUCCESS;
        return carved_nvml_call(&session->nvml, set_mig_mode, session->device, mode, activation);
}

void carved_nvml_set_mig(const CarvedCarving *carving, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        uint32_t current = 0, pending = 0, number = 0;
        NvmlReturn r, activation = NVML_SUCCESS, undone;
        g_auto(Session) session = NO_SESSION;

        if (!open_session(&session, carving, outcome))
                return;
        r = carved_nvml_call(&session.nvml, get_mig_mode, session.device, &current, &pending);
        if (r == NVML_SUCCESS && current == step->number && pending == step->number)
                return;
        if (carved_nvml_call(&session.nvml, get_minor, session.device, &number) != NVML_SUCCESS)
                number = 0;
        if (r == NVML_SUCCESS)
                r = set_mode(&session, step->number, &activation);
        if (r != NVML_SUCCESS)
                refused(outcome, "nvmlDeviceSetMigMode", step->number ? "1" : "0", r);
        else if (activation == NVML_IN_USE) {
                /* It would come true some time, when nobody expects it. */
                set_mode(&session, current, &undone);
                refused(outcome, "nvmlDeviceSetMigMode", step->number ? "1" : "0", activation);
        }
        if (!outcome->in_use)
                return;

        close_session(&session);
        find_holders(number, outcome);
}

void carved_nvml_set_mixed_size(const CarvedCarving *carving, CarvedOutcome *outcome) {
        NvmlHeterogeneousMode mode = { NVML_HETEROGENEOUS_MODE, carving->step->number }, now = mode;
        g_auto(Session) session = NO_SESSION;
        NvmlReturn r;

        if (!open_session(&session, carving, outcome))
                return;
        r = carved_nvml_call(&session.nvml, get_mixed, session.device, &now);
        if (r == NVML_SUCCESS && now.mode == mode.mode)
                return;
        r = carved_nvml_call(&session.nvml, set_mixed, session.device, &mode);
        if (r != NVML_SUCCESS)
                refused(outcome, "nvmlDeviceSetVgpuHeterogeneousMode", mode.mode ? "1" : "0", r);
}

/* ---- instances ---- */

/* The one that has all of it: of the profiles that can be in it, the one with the most slices. */
static NvmlReturn make_compute(const Session *session, NvmlGpuInstance *instance) {
        NvmlComputeProfile1 best = { 0 };
        NvmlComputeInstance *made = NULL;

        for (uint32_t number = 0; number < NVML_COMPUTE_PROFILES; number++) {
                NvmlComputeProfile1 p = { 0 };
                NvmlReturn r = carved_nvml_call(&session->nvml, get_compute_profile, instance, number,
                                                NVML_ENGINE_SHARED, &p);

                if (r == NVML_SUCCESS && p.slices > best.slices)
                        best = p;
                else if (r != NVML_SUCCESS && r != NVML_INVALID_ARGUMENT && r != NVML_NOT_SUPPORTED)
                        return r;
        }
        if (best.slices == 0)
                return NVML_NOT_SUPPORTED;
        return carved_nvml_call(&session->nvml, create_compute, instance, best.id, &made);
}

void carved_nvml_make_instance(const CarvedCarving *carving, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        NvmlPlacement at = { step->placement.start, step->placement.size };
        g_auto(Session) session = NO_SESSION;
        NvmlGpuInstance *instance = NULL;
        NvmlReturn r;

        if (!open_session(&session, carving, outcome))
                return;
        r = carved_nvml_find_instance(&session.nvml, session.device, step->profile, step->placement,
                                      &instance);
        /* On the way back it may not have gone. */
        if (r == NVML_SUCCESS && step->undo)
                return;
        if (r == NVML_SUCCESS)
                r = NVML_INSUFFICIENT_RESOURCES;
        else if (r == NVML_NOT_FOUND)
                r = carved_nvml_call(&session.nvml, create_instance, session.device, step->profile, &at,
                                     &instance);
        if (r != NVML_SUCCESS) {
                refused(outcome, "nvmlDeviceCreateGpuInstanceWithPlacement", step->text, r);
                return;
        }
        r = step->compute ? make_compute(&session, instance) : NVML_SUCCESS;
        if (r == NVML_SUCCESS)
                return;

        /* Not half of it. */
        carved_nvml_call(&session.nvml, destroy_instance, instance);
        refused(outcome, "nvmlGpuInstanceCreateComputeInstance", step->text, r);
}

static NvmlReturn drop_compute(const CarvedNvml *nvml, NvmlComputeInstance *compute, void *userdata) {
        return carved_nvml_call(nvml, destroy_compute, compute);
}

void carved_nvml_drop_instance(const CarvedCarving *carving, CarvedOutcome *outcome) {
        const CarvedStep *step = carving->step;
        const char *call = "nvmlComputeInstanceDestroy";
        g_auto(Session) session = NO_SESSION;
        NvmlGpuInstance *instance = NULL;
        uint32_t number = 0;
        NvmlReturn r;

        if (!open_session(&session, carving, outcome))
                return;
        if (carved_nvml_call(&session.nvml, get_minor, session.device, &number) != NVML_SUCCESS)
                number = 0;
        r = carved_nvml_find_instance(&session.nvml, session.device, step->profile, step->placement,
                                      &instance);
        /* Gone already; or MIG is off, and nothing can be there. */
        if (r == NVML_NOT_FOUND || (r == NVML_NOT_SUPPORTED && step->undo))
                return;
        if (r == NVML_SUCCESS)
                r = carved_nvml_each_compute(&session.nvml, instance, drop_compute, NULL);
        if (r == NVML_SUCCESS) {
                call = "nvmlGpuInstanceDestroy";
                r = carved_nvml_call(&session.nvml, destroy_instance, instance);
                /* What is held by a vGPU had a compute instance, and shall have it. */
                if (r != NVML_SUCCESS && step->compute)
                        make_compute(&session, instance);
        }
        if (r == NVML_SUCCESS)
                return;

        refused(outcome, call, step->text, r);
        if (r != NVML_IN_USE)
                return;
        close_session(&session);
        find_holders(number, outcome);
}
