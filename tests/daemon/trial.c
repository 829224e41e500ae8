/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "simctl.h"
#include "trial.h"

#define A "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"

#define PLAN "/run/carved-killer/plan"
#define LOG  "/run/carved-killer/log"

/* Nothing more is to come when there was nothing for so long: a look at the GPU follows each job by 100 ms.
 */
#define SILENCE_USEC (250 * 1000)
#define PATIENCE_MS  60000

struct Operation {
        const char *name;
        bool vfs, vgpus; /* so it finds the host: VFs on, two vGPUs there */
        bool on_vfs;     /* it is about VFs */
        bool on_params;
        bool for_now; /* a reboot undoes it */
        bool adopts;  /* the vGPUs are somebody else's before; the host is the same after */
        const char *(*run)(Trial *trial, char **ret_text);
};

static const char *run_enable(Trial *t, char **ret_text) {
        return carve_enable(t->client, t->card, ret_text);
}

static const char *run_disable(Trial *t, char **ret_text) {
        return carve_disable(t->client, t->card, true, ret_text);
}

static const char *first_params(const Trial *t) {
        return t->card->has_params ? "x=1" : NULL;
}

static const char *run_create(Trial *t, char **ret_text) {
        return carve_create(t->client, t->card->path, t->card->type, A, first_params(t), ret_text);
}

static const char *run_create_for_now(Trial *t, char **ret_text) {
        return carve_create_for_now(t->client, t->card->path, t->card->type, A, ret_text);
}

static const char *run_destroy(Trial *t, char **ret_text) {
        return carve_destroy(t->client, A, ret_text);
}

static const char *run_destroy_both(Trial *t, char **ret_text) {
        return carve_destroy_both(t->client, A, B, ret_text);
}

static const char *run_params(Trial *t, char **ret_text) {
        return carve_params_of(t->client, t->path, "y=2", ret_text);
}

/* All that is on the card, or of mixed cards on the first. */
static const char *run_adopt(Trial *t, char **ret_text) {
        return carve_adopt(t->client, t->card, ret_text);
}

static const Operation operations[] = {
        { "enable", .on_vfs = true, .run = run_enable },
        { "create", .vfs = true, .run = run_create },
        { "create for now", .vfs = true, .for_now = true, .run = run_create_for_now },
        { "params", .vfs = true, .vgpus = true, .on_params = true, .run = run_params },
        { "destroy", .vfs = true, .vgpus = true, .run = run_destroy },
        { "destroy both", .vfs = true, .vgpus = true, .run = run_destroy_both },
        { "disable", .vfs = true, .vgpus = true, .on_vfs = true, .run = run_disable },
        { "adopt", .vfs = true, .vgpus = true, .adopts = true, .run = run_adopt },
};

unsigned operations_count(void) {
        return G_N_ELEMENTS(operations);
}

const char *trial_name(const Trial *t) {
        return t->op->name;
}

void result_clear(Result *result) {
        g_clear_pointer(&result->text, g_free);
}

static void arm(const char *plan) {
        ck_assert(g_file_set_contents(LOG, "", -1, NULL));
        ck_assert(g_file_set_contents(PLAN, plan, -1, NULL)); /* by rename, in one go */
}

static char *read_log(void) {
        char *text = NULL;

        ck_assert(g_file_get_contents(LOG, &text, NULL, NULL));
        return text;
}

static bool has_fired(const char *log) {
        return g_str_has_suffix(log, "fired\n") || strstr(log, "\nfired\n");
}

/* Until the plan has come to its end, or nothing is left that it could meet. Asking the daemon would be met.
 */
static bool wait_fired(void) {
        int64_t since = g_get_monotonic_time();
        size_t seen = 0;

        while (g_get_monotonic_time() - since < SILENCE_USEC) {
                g_autofree char *log = read_log();

                if (has_fired(log))
                        return true;
                if (strlen(log) != seen)
                        since = g_get_monotonic_time();
                seen = strlen(log);
                g_usleep(2000);
        }
        return false;
}

/* For whoever has to find out why. */
static void print_text(const char *title, const char *text) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        printf("# %s", title);
        for (char **line = lines; *line; line++)
                if (**line)
                        printf("#   %s\n", *line);
        fflush(stdout);
}

static void tell(const Trial *t, const char *plan) {
        g_autofree char *calls = read_log(), *now = host_summary(), *kept = NULL;
        g_autofree char *log = shell("tail -n 15 /run/carved-sim/carved.log");

        kept = shell("find /var/lib/carved -type f -exec tail -n +1 {} +");
        printf("# %s, %s\n", t->op->name, plan);
        print_text("calls:\n", calls);
        print_text("before:\n", t->before);
        print_text("after:\n", t->after);
        print_text("now:\n", now);
        print_text("what is kept:\n", kept);
        print_text("the daemon's log:\n", log);
}

#define expect(trial, plan, condition, ...)                                                                  \
        do {                                                                                                 \
                if (!(condition)) {                                                                          \
                        tell(trial, plan);                                                                   \
                        ck_abort_msg(__VA_ARGS__);                                                           \
                }                                                                                            \
        } while (0)

static bool is_running(void) {
        return simctl_do("daemon", "pid") == 0;
}

static void reconnect(Trial *t) {
        t->client = client_free(t->client);
        t->client = client_new();
}

static void come_to_rest(Trial *t, const char *plan) {
        expect(t, plan, client_wait(t->client, PATIENCE_MS, all_is_quiet, NULL),
               "%s, %s: it does not come to rest", t->op->name, plan);
}

static void start(Trial *t, const char *plan) {
        expect(t, plan, simctl_do("daemon", "start") == 0, "%s, %s: it does not start again", t->op->name,
               plan);
        reconnect(t);
        come_to_rest(t, plan);
}

void trial_restart(Trial *t) {
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        start(t, "restart");
}

/* A host on which carved was never run. */
static void reset(Trial *t) {
        g_autofree char *nothing = NULL;

        simctl_do("daemon", "stop");
        g_unlink(PLAN);
        nothing = shell("find /var/lib/carved -mindepth 1 -delete");
        ck_assert_int_eq(simctl_do("reboot"), 0);
        start(t, "reset");
}

static void must(const char *error, const char *text) {
        ck_assert_msg(!error, "%s: %s", error, text);
}

/* As if another program had made what is there. */
static void disown_all(Trial *t) {
        g_autofree char *nothing = NULL;

        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        nothing = shell("find /var/lib/carved -type f -delete; rm -rf /run/carved/gpus");
        start(t, "disowned");
}

static void prepare(Trial *t) {
        g_autofree char *one = NULL, *two = NULL, *three = NULL, *four = NULL;

        if (t->op->vfs) {
                must(carve_enable(t->client, t->card, &one), one);
                if (t->second != t->card)
                        must(carve_enable(t->client, t->second, &two), two);
        }
        if (t->op->vgpus) {
                must(carve_create(t->client, t->card->path, t->card->type, A, first_params(t), &three),
                     three);
                must(carve_create(t->client, t->second->path, t->second->more, B, NULL, &four), four);
        }
        come_to_rest(t, "prepared");
        if (t->op->adopts)
                disown_all(t);
}

static void find_vgpu(Trial *t) {
        g_free(t->path);
        t->path = t->op->on_params ? carve_find(t->client, A) : NULL;
}

/* Back to where the operation begins; nothing to do where it left no trace. */
static void go_back(Trial *t) {
        g_autofree char *now = host_summary();

        if (t->op->adopts) {
                disown_all(t);
                return;
        }
        if (!g_str_equal(now, t->before)) {
                host_clear(t->client, t->card);
                if (t->second != t->card)
                        host_clear(t->client, t->second);
                prepare(t);
        }
        find_vgpu(t);
}

static Answer classify(const char *error, const char *text) {
        if (!error)
                return ANSWER_DONE;
        /* The disk took it, and neither confirms it nor gives it back: there is but one way then. */
        if (text && g_str_has_prefix(text, "It is done, but"))
                return ANSWER_DONE;
        return g_str_has_prefix(error, "org.carved1.Error.") ? ANSWER_REFUSED : ANSWER_NONE;
}

/* Who made the last call that was counted. */
static bool was_daemon(const char *log) {
        const char *last = g_strrstr(log, " daemon "), *other = g_strrstr(log, " worker ");

        return last && last > other;
}

static bool should_be_gone(const char *plan) {
        g_autofree char *log = read_log();

        if (!strstr(plan, " kill "))
                return false;
        return !strstr(plan, " kill self") || was_daemon(log);
}

static void wait_gone(Trial *t, const char *plan) {
        int64_t end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;

        while (is_running()) {
                expect(t, plan, g_get_monotonic_time() < end, "%s, %s: it was killed, and runs", t->op->name,
                       plan);
                g_usleep(1000);
        }
}

void trial_run(Trial *t, const char *plan, Result *ret) {
        if (t->runs++ > 0)
                go_back(t);
        arm(plan);
        ret->error = t->op->run(t, &ret->text);
        ret->answer = classify(ret->error, ret->text);
        ret->fired = wait_fired();
        g_unlink(PLAN);

        if (ret->fired && should_be_gone(plan)) {
                wait_gone(t, plan);
                start(t, plan);
                return;
        }
        expect(t, plan, is_running(), "%s, %s: it ended on its own", t->op->name, plan);
        come_to_rest(t, plan);
}

/* Where the kernel has no UUID, one that is somebody else's is known by its VF alone. */
static char *find_first(Trial *t) {
        g_autofree char *vf = g_strdup_printf("%s/vf/0", t->card->path);

        return t->card->vfs > 0 ? client_get_string(t->client, vf, "org.carved1.VirtualFunction", "Vgpu")
                                : carve_find(t->client, A);
}

/* All of the card's are ours, or none is. The others are somebody else's for ever. */
static void check_adopted(Trial *t, const char *plan, const Result *result) {
        g_autofree char *sync = client_get_string(t->client, t->card->path, "org.carved1.Gpu", "SyncState");
        g_autofree char *path = find_first(t), *origin = NULL;
        bool ours;

        expect(t, plan, path && strlen(path) > 1, "%s, %s: the vGPU is gone", t->op->name, plan);
        origin = client_get_string(t->client, path, "org.carved1.Vgpu", "Origin");
        ours = g_str_equal(origin, "carved");
        expect(t, plan, ours || result->answer != ANSWER_DONE, "%s, %s: it was answered, and is foreign",
               t->op->name, plan);
        expect(t, plan, !ours || result->answer != ANSWER_REFUSED, "%s, %s: it was refused (%s), and is ours",
               t->op->name, plan, result->text);
        expect(t, plan, g_str_equal(sync, ours ? "synced" : "unmanaged"),
               "%s, %s: a part of it is ours: %s, %s", t->op->name, plan, origin, sync);
}

static void check_vgpu(Trial *t, const char *plan, GVariant *vgpu) {
        const char *uuid = "", *origin = "", *state = "";

        g_variant_lookup(vgpu, "Uuid", "&s", &uuid);
        g_variant_lookup(vgpu, "Origin", "&s", &origin);
        g_variant_lookup(vgpu, "State", "&s", &state);
        expect(t, plan, g_str_equal(origin, "carved"), "%s, %s: vGPU %s is %s: it has no record", t->op->name,
               plan, uuid, origin);
        expect(t, plan, g_str_equal(state, "active"), "%s, %s: vGPU %s is %s: there is but a record",
               t->op->name, plan, uuid, state);
}

static void check_records(Trial *t, const char *plan) {
        g_autoptr(GVariant) objects = client_objects(t->client), interfaces = NULL;
        g_autofree char *left = NULL;
        unsigned shown = 0, there = host_count_vgpus();
        GVariantIter iter;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{o@a{sa{sv}}}", NULL, &interfaces)) {
                g_autoptr(GVariant) vgpu = g_variant_lookup_value(interfaces, "org.carved1.Vgpu", NULL);

                if (!vgpu)
                        continue;
                check_vgpu(t, plan, vgpu);
                shown++;
        }
        interfaces = NULL;
        expect(t, plan, shown == there, "%s, %s: %u vGPUs are shown, %u are there", t->op->name, plan, shown,
               there);

        /* The file follows the answer; a worker that died over it is replaced in a moment. */
        left = shell("left() { find {/var/lib,/run}/carved/journal -type f 2>/dev/null; }; "
                     "for i in $(seq 50); do left | grep -q . || break; sleep 0.1; done; left || true");
        expect(t, plan, left[0] == '\0', "%s, %s: the journal is not settled: %s", t->op->name, plan, left);
}

void trial_check(Trial *t, const char *plan, const Result *result) {
        g_autofree char *now = host_summary();
        bool is_before = g_str_equal(now, t->before), is_after = g_str_equal(now, t->after);

        switch (result->answer) {
        case ANSWER_DONE:
                expect(t, plan, is_after, "%s, %s: it was answered, and is not there", t->op->name, plan);
                break;
        case ANSWER_REFUSED:
                expect(t, plan, is_before, "%s, %s: it was refused (%s: %s), and something is there",
                       t->op->name, plan, result->error, result->text);
                break;
        case ANSWER_NONE:
                expect(t, plan, is_before || is_after, "%s, %s: a part of it is there", t->op->name, plan);
                break;
        }
        if (t->op->adopts)
                check_adopted(t, plan, result);
        else
                check_records(t, plan);
}

void trial_check_reboot(Trial *t, const char *plan) {
        g_autofree char *before = t->op->for_now ? g_strdup(t->before) : host_summary(), *after = NULL;

        if (t->op->adopts)
                return; /* what is not adopted is gone then, and should be */
        expect(t, plan, simctl_do("reboot") == 0, "%s, %s: it does not boot", t->op->name, plan);
        reconnect(t);
        come_to_rest(t, plan);
        after = host_summary();
        if (!g_str_equal(before, after))
                print_text("before the reboot:\n", before);
        expect(t, plan, g_str_equal(before, after), "%s, %s: after a reboot the host is another", t->op->name,
               plan);
        check_records(t, plan);
}

/* Before and after, and what is in between. */
static void run_clean(Trial *t) {
        g_auto(Result) result = { 0 };
        g_autofree char *log = NULL;

        reset(t);
        prepare(t);
        find_vgpu(t);
        t->before = host_summary();
        t->after = g_strdup("");
        trial_run(t, "count", &result);
        must(result.error, result.text);

        g_free(t->after);
        t->after = host_summary();
        log = g_strchomp(read_log());
        t->calls = g_strsplit(log, "\n", -1);
        ck_assert_ptr_nonnull(t->calls[0]);
}

Trial *trial_new(const char *host, unsigned i) {
        bool is_mixed = g_str_equal(host, "mixed");
        Trial *t = g_new0(Trial, 1);

        t->op = &operations[i];
        t->card = card_find(is_mixed ? "a2" : host);
        t->second = is_mixed ? card_find("l40s") : t->card;
        /* A whole VF is a vGPU only because carved says so: somebody else's can't be told from any other. */
        if ((t->op->on_vfs && t->card->vfs == 0) ||
            ((t->op->on_params || t->op->adopts) && !t->card->has_params))
                return trial_free(t);

        t->client = client_new();
        run_clean(t);
        return t;
}

Trial *trial_free(Trial *t) {
        if (!t)
                return NULL;

        client_free(t->client);
        g_free(t->path);
        g_free(t->before);
        g_free(t->after);
        g_strfreev(t->calls);
        g_free(t);
        return NULL;
}
