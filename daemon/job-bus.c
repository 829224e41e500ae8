/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "auth.h"
#include "bus.h"
#include "bus-error.h"
#include "jobs.h"
#include "object.h"
#include "options.h"
#include "order.h"

const char *job_path(const Job *job, char buf[static JOB_PATH_MAX]) {
        g_snprintf(buf, JOB_PATH_MAX, CARVED_BUS_JOBS "/%" G_GUINT64_FORMAT, job->id);
        return buf;
}

#define JOB_GETTER(function, type, value)                                                                    \
        static int function(sd_bus *bus, const char *path, const char *interface, const char *property,      \
                            sd_bus_message *reply, void *userdata, sd_bus_error *error) {                    \
                const Job *job = userdata;                                                                   \
                                                                                                             \
                return sd_bus_message_append(reply, type, value);                                            \
        }

JOB_GETTER(get_id, "t", job->id)
JOB_GETTER(get_kind, "s", carved_order_kind_to_string(job->order->kind))
JOB_GETTER(get_uid, "u", job->uid)
JOB_GETTER(get_state, "s", job_state_to_string(job->state))
JOB_GETTER(get_steps, "u", g_strv_length(job->words))
JOB_GETTER(get_error_name, "s", job->error ? bus_error_name((CarvedError) job->error->code) : "")
JOB_GETTER(get_error_message, "s", job->error ? job->error->message : "")
JOB_GETTER(get_started, "t", job->started)

/* The one at work, counted from one; all of them, when it is done. */
static int get_step(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        unsigned steps = g_strv_length(job->words);
        bool begun = job->state == JOB_RUNNING || job->state == JOB_STALLED || job->state == JOB_FAILED;

        return sd_bus_message_append(reply, "u", MIN(job->step + (begun ? 1 : 0), steps));
}

static int get_gpu(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        char gpu[OBJECT_PATH_MAX] = "/";

        if (job->order->kind != CARVED_ORDER_DESTROY_VGPUS)
                object_path_gpu(&job->order->gpu, gpu);
        else if (job->plan && job->plan->gpus->len == 1)
                object_path_gpu(&g_array_index(job->plan->gpus, CarvedPciAddress, 0), gpu);
        return sd_bus_message_append(reply, "o", gpu);
}

static int get_strings(sd_bus_message *reply, GStrv list) {
        static const char *const none[] = { NULL };

        return sd_bus_message_append_strv(reply, list ?: (char **) none);
}

static int get_plan(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return get_strings(reply, ((const Job *) userdata)->words);
}

static int get_uuids(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return get_strings(reply, ((const Job *) userdata)->order->uuids);
}

/* What it is about and is there: vGPUs, else the GPU. */
static int get_objects(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        char object[OBJECT_PATH_MAX];
        int r;

        r = sd_bus_message_open_container(reply, 'a', "o");
        for (char **uuid = job->order->uuids; r >= 0 && uuid && *uuid; uuid++) {
                const CarvedVgpu *vgpu = carved_model_find_vgpu(job->manager->model, *uuid);

                if (vgpu)
                        r = sd_bus_message_append(reply, "o", object_path_of_vgpu(vgpu, object));
        }
        if (r >= 0 && !job->order->uuids)
                r = sd_bus_message_append(reply, "o", object_path_gpu(&job->order->gpu, object));
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* The vGPU that could not be made, or the card where it is gone by now. */
static const char *failed_object(const Job *job, const char *uuid, char buf[static OBJECT_PATH_MAX]) {
        const CarvedVgpu *vgpu = *uuid ? carved_model_find_vgpu(job->manager->model, uuid) : NULL;

        return vgpu ? object_path_of_vgpu(vgpu, buf) : object_path_gpu(&job->order->gpu, buf);
}

static int get_failures(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        char object[OBJECT_PATH_MAX];
        GHashTableIter iter;
        void *uuid, *text;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(os)");
        if (job->failures) {
                g_hash_table_iter_init(&iter, job->failures);
                while (r >= 0 && g_hash_table_iter_next(&iter, &uuid, &text))
                        r = sd_bus_message_append(reply, "(os)", failed_object(job, uuid, object), text);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int method_cancel(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        Caller *caller;
        int r;

        r = options_read_none(message, error);
        if (r < 0)
                return r;
        /* Who asked for it may; another, if he might have asked. */
        r = auth_identify(job->manager->auth, message, &caller, error);
        if (r > 0 && caller->uid != job->uid)
                r = order_check(job->manager, job->order, "cancel", message, &caller, error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1;

        job_cancel(job, "The job was cancelled");
        return sd_bus_reply_method_return(message, NULL);
}

const sd_bus_vtable job_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "t", get_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Kind", "s", get_kind, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Gpu", "o", get_gpu, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Objects", "ao", get_objects, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Uuids", "as", get_uuids, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Uid", "u", get_uid, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Plan", "as", get_plan, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Step", "u", get_step, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Steps", "u", get_steps, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorName", "s", get_error_name, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorMessage", "s", get_error_message, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Failures", "a(os)", get_failures, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Started", "t", get_started, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_ARGS("a{sv}", options), SD_BUS_NO_RESULT, method_cancel,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static void complain(const Job *job, int r) {
        if (r < 0)
                g_warning("Failed to announce job %" G_GUINT64_FORMAT ", ignoring: %s", job->id,
                          g_strerror(-r));
}

void job_emit_added(Job *job) {
        sd_bus *bus = bus_get(job->manager->bus);
        char path[JOB_PATH_MAX];

        if (bus)
                complain(job, sd_bus_emit_interfaces_added(bus, job_path(job, path), JOB_INTERFACE, NULL));
}

void job_emit_removed(Job *job) {
        sd_bus *bus = bus_get(job->manager->bus);
        char path[JOB_PATH_MAX];

        if (bus)
                complain(job, sd_bus_emit_interfaces_removed(bus, job_path(job, path), JOB_INTERFACE, NULL));
}

void job_emit_changed(Job *job) {
        sd_bus *bus = bus_get(job->manager->bus);
        char path[JOB_PATH_MAX];

        if (bus)
                complain(job, sd_bus_emit_properties_changed(bus, job_path(job, path), JOB_INTERFACE, "State",
                                                             "Plan", "Step", "Steps", "ErrorName",
                                                             "ErrorMessage", "Objects", "Failures", NULL));
}

void job_emit_finished(Job *job) {
        const char *name = job->error ? bus_error_name((CarvedError) job->error->code) : "";
        sd_bus *bus = bus_get(job->manager->bus);
        char path[JOB_PATH_MAX];

        if (bus)
                complain(job, sd_bus_emit_signal(bus, CARVED_BUS_ROOT, "org.carved1.Manager", "JobFinished",
                                                 "tosss", job->id, job_path(job, path),
                                                 job_state_to_string(job->state), name,
                                                 job->error ? job->error->message : ""));
}
