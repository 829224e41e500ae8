/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "auth.h"
#include "burst.h"
#include "bus-error.h"
#include "cleanup.h"
#include "object.h"
#include "usage.h"
#include "worker.h"

#define SCAN_USEC              (10 * G_USEC_PER_SEC)
#define QUESTIONS_MAX          256U
#define QUESTIONS_PER_USER_MAX 64U

/* The node of one vGPU. */
typedef struct Watch {
        Usage *usage;
        CarvedPciAddress gpu;
        int32_t group;
        sd_event_source *source;
} Watch;

typedef struct Question {
        sd_bus_message *message;
        int32_t group;
} Question;

struct Usage {
        Manager *manager;
        Worker *worker;
        Burst *burst;
        GHashTable *watches; /* UUID → Watch */
        GArray *waiting;     /* Question: for the next scan */
        GArray *served;      /* Question: by the one that runs */
        bool again;
};

static void watch_free(void *p) {
        Watch *watch = p;

        sd_event_source_disable_unref(watch->source);
        g_free(watch);
}

static void clear_question(void *p) {
        sd_bus_message_unref(((Question *) p)->message);
}

static GArray *new_questions(void) {
        GArray *list = g_array_new(FALSE, FALSE, sizeof(Question));

        g_array_set_clear_func(list, clear_question);
        return list;
}

static void answer_failure(GArray *questions, const char *text) {
        for (unsigned i = 0; i < questions->len; i++)
                sd_bus_reply_method_errorf(g_array_index(questions, Question, i).message,
                                           bus_error_name(CARVED_ERROR_FAILED), "%s", text);
        g_array_set_size(questions, 0);
}

/* Of a list a(ius), those of one group. */
static int append_users(sd_bus_message *reply, GVariant *users, int32_t wanted) {
        const char *command;
        GVariantIter iter;
        int32_t group;
        uint32_t pid;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(us)");
        g_variant_iter_init(&iter, users);
        while (r >= 0 && g_variant_iter_next(&iter, "(iu&s)", &group, &pid, &command))
                if (group == wanted)
                        r = sd_bus_message_append(reply, "(us)", pid, command);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static void answer(GArray *questions, GVariant *users) {
        for (unsigned i = 0; i < questions->len; i++) {
                const Question *q = &g_array_index(questions, Question, i);
                g_autoptr(sd_bus_message) reply = NULL;
                int r;

                r = sd_bus_message_new_method_return(q->message, &reply);
                if (r >= 0)
                        r = append_users(reply, users, q->group);
                if (r >= 0)
                        r = sd_bus_send(NULL, reply, NULL);
                if (r < 0)
                        g_debug("Failed to answer a caller, ignoring: %s", g_strerror(-r));
        }
        g_array_set_size(questions, 0);
}

static bool is_used(GVariant *users, int32_t wanted) {
        GVariantIter iter;
        int32_t group;

        g_variant_iter_init(&iter, users);
        while (g_variant_iter_next(&iter, "(iu&s)", &group, NULL, NULL))
                if (group == wanted)
                        return true;

        return false;
}

static void apply(Usage *usage, GVariant *users) {
        for (unsigned i = 0; i < carved_model_n_gpus(usage->manager->model); i++) {
                const CarvedGpu *gpu = carved_model_nth_gpu(usage->manager->model, i);
                g_autoptr(GHashTable) in_use = g_hash_table_new(g_str_hash, g_str_equal);
                CarvedUpdate update = { .kind = CARVED_UPDATE_USERS,
                                        .address = gpu->address,
                                        .in_use = in_use };
                bool different = false;

                for (unsigned j = 0; j < gpu->vgpus->len; j++) {
                        const CarvedVgpu *vgpu = gpu->vgpus->pdata[j];
                        bool used = vgpu->iommu_group >= 0 && is_used(users, vgpu->iommu_group);

                        if (used)
                                g_hash_table_add(in_use, (char *) vgpu->uuid);
                        different |= used != vgpu->in_use;
                }
                if (different)
                        manager_apply(usage->manager, &update);
        }
}

/* Every vGPU that is watched, and those asked for. */
static GVariant *groups(const Usage *usage) {
        GVariantBuilder builder;
        GHashTableIter iter;
        void *watch;

        g_variant_builder_init(&builder, G_VARIANT_TYPE("ai"));
        g_hash_table_iter_init(&iter, usage->watches);
        while (g_hash_table_iter_next(&iter, NULL, &watch))
                g_variant_builder_add(&builder, "i", ((Watch *) watch)->group);
        return g_variant_builder_end(&builder);
}

static void scan(void *userdata) {
        Usage *usage = userdata;
        GArray *served;
        int r;

        if (worker_is_busy(usage->worker)) {
                usage->again = true;
                return;
        }

        served = usage->served;
        usage->served = usage->waiting;
        usage->waiting = served;
        r = worker_submit(usage->worker, FRAME_USERS, groups(usage), SCAN_USEC);
        if (r < 0)
                answer_failure(usage->served, "No worker process could be started");
}

static void on_worker(Worker *worker, WorkerEvent event, GVariant *value, const char *text, void *userdata) {
        Usage *usage = userdata;

        if (event == WORKER_HELD || event == WORKER_LATE) {
                answer_failure(usage->served, "Looking through all processes takes unusually long");
                return;
        }

        if (event == WORKER_DONE && g_variant_is_of_type(value, G_VARIANT_TYPE("a(ius)"))) {
                answer(usage->served, value);
                apply(usage, value);
        } else
                answer_failure(usage->served, text ?: "The worker process answered nonsense");
        if (usage->again || usage->waiting->len > 0) {
                usage->again = false;
                scan(usage);
        }
}

Usage *usage_new(Manager *m) {
        Usage *usage = g_new0(Usage, 1);

        usage->manager = m;
        usage->worker = worker_new(m->event, worker_process_run, &(WorkerContext){ &m->host, NULL },
                                   on_worker, usage);
        usage->burst = burst_new(m->event, scan, usage);
        usage->watches = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, watch_free);
        usage->waiting = new_questions();
        usage->served = new_questions();
        return usage;
}

void usage_cancel(Usage *usage) {
        answer_failure(usage->waiting, "carved stops");
        answer_failure(usage->served, "carved stops");
}

Usage *usage_free(Usage *usage) {
        if (!usage)
                return NULL;

        worker_free(usage->worker);
        burst_free(usage->burst);
        g_hash_table_unref(usage->watches);
        g_array_unref(usage->waiting);
        g_array_unref(usage->served);
        g_free(usage);
        return NULL;
}

static int on_node(sd_event_source *s, const struct inotify_event *event, void *userdata) {
        Watch *watch = userdata;

        burst_poke(watch->usage->burst);
        return 0;
}

/* The node itself: its directory does not tell who opens what. */
static void watch_vgpu(Usage *usage, const CarvedVgpu *vgpu) {
        Watch *watch = g_hash_table_lookup(usage->watches, vgpu->uuid);
        char node[64];
        int r;

        if (watch && watch->group == vgpu->iommu_group)
                return;

        watch = g_new0(Watch, 1);
        watch->usage = usage;
        watch->gpu = vgpu->gpu->address;
        watch->group = vgpu->iommu_group;
        g_snprintf(node, sizeof node, "/dev/vfio/%d", vgpu->iommu_group);
        r = sd_event_add_inotify(usage->manager->event, &watch->source, node, IN_OPEN | IN_CLOSE, on_node,
                                 watch);
        if (r < 0)
                g_debug("Failed to watch '%s', ignoring: %s", node, g_strerror(-r));
        g_hash_table_replace(usage->watches, g_strdup(vgpu->uuid), watch);

        /* What somebody else made may be in use already; what we made a moment ago is not. */
        if (!vgpu->ours)
                burst_poke(usage->burst);
}

void usage_follow(Usage *usage, const CarvedPciAddress *address) {
        const CarvedGpu *gpu = carved_model_find_gpu(usage->manager->model, address);
        GHashTableIter iter;
        void *uuid, *p;

        g_hash_table_iter_init(&iter, usage->watches);
        while (g_hash_table_iter_next(&iter, &uuid, &p)) {
                const CarvedVgpu *vgpu = gpu ? carved_gpu_find_vgpu(gpu, uuid) : NULL;
                Watch *watch = p;

                /* One that is only wanted has no node: when it is made again, the node is another. */
                if (carved_pci_address_compare(&watch->gpu, address) == 0 &&
                    (!vgpu || vgpu->state != CARVED_VGPU_ACTIVE))
                        g_hash_table_iter_remove(&iter);
        }
        for (unsigned i = 0; gpu && i < gpu->vgpus->len; i++)
                if (((CarvedVgpu *) gpu->vgpus->pdata[i])->iommu_group >= 0)
                        watch_vgpu(usage, gpu->vgpus->pdata[i]);
}

int usage_ask(Usage *usage, const CarvedVgpu *vgpu, sd_bus_message *message, sd_bus_error *error) {
        Question q = { NULL, vgpu->iommu_group };
        unsigned same = 0;

        for (unsigned i = 0; i < usage->waiting->len; i++)
                same += auth_is_same_user(usage->manager->auth,
                                          g_array_index(usage->waiting, Question, i).message, message);
        if (same >= QUESTIONS_PER_USER_MAX || usage->waiting->len >= QUESTIONS_MAX)
                return bus_error_set(error, CARVED_ERROR_LIMITS_EXCEEDED,
                                     "Too many callers ask for users already");

        q.message = sd_bus_message_ref(message);
        g_array_append_val(usage->waiting, q);
        if (!worker_is_busy(usage->worker))
                scan(usage);
        return 1;
}
