/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "link.h"
#include "resolve.h"
#include "verbs.h"
#include "work.h"

/* What is wanted, and what is: taking over, making again, dropping. */

/* Of a best-effort job: what it could not do. */
static bool check_failures(const Thing *job, const Thing *gpu, GError **error) {
        GVariant *failures = thing_value(job, JOB, "Failures");
        gsize n = failures ? g_variant_n_children(failures) : 0;
        const char *text;

        if (n == 0)
                return true;

        g_variant_get_child(failures, 0, "(&o&s)", NULL, &text);
        g_set_error(error, CTL_ERROR, CTL_FAILED,
                    "%u of what is wanted of GPU %s could not be made: %s%s\nSee: carvectl "
                    "show job/%u",
                    (unsigned) n, thing_name(gpu), text, n > 1 ? " …" : "",
                    (unsigned) thing_number(job, JOB, "Id"));
        return false;
}

static Thing *run_on_gpu(Work *work, const Thing *gpu, const char *method, const char *verb, GError **error) {
        g_autofree char *doing = g_strdup_printf("%s GPU %s", verb, thing_name(gpu));

        work_call(work, gpu->path, GPU, method);
        work_options(work);
        return work_run(work, doing, error);
}

/* ---- adopt ---- */

static bool adopt_vgpu(Ctl *ctl, Work *work, const Thing *vgpu, GError **error) {
        g_autofree char *doing = g_strdup_printf("Adopting vGPU %s", thing_name(vgpu));
        g_autoptr(GVariant) reply = NULL;

        if (ctl->dry_run) {
                g_set_error(error, CTL_ERROR, CTL_USAGE,
                            "There is no dry run of adopting a vGPU\nIt changes nothing on the hardware: "
                            "only what is kept.");
                return false;
        }
        work_call(work, vgpu->path, VGPU, "Adopt");
        work_options(work);
        if (ctl->uuids->len > 0)
                work_option(work, "uuid", "s", ctl->uuids->pdata[0]);
        reply = work_run_plain(work, doing, error);
        return reply;
}

static bool check_adopt(const Ctl *ctl, GPtrArray *things, GError **error) {
        if (ctl->uuids->len == 0)
                return true;
        if (ctl->uuids->len == 1 && things->len == 1 && ((const Thing *) things->pdata[0])->kind == KIND_VGPU)
                return true;

        g_set_error(error, CTL_ERROR, CTL_USAGE, "--uuid is for one vGPU that is adopted");
        return false;
}

bool verb_adopt(Ctl *ctl, char **args, GError **error) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(thing_free), things = g_ptr_array_new();
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(Work) work = NULL;

        if (!host)
                return false;
        for (; *args; args++) {
                Thing *thing = resolve(host, *args, WANT_GPU | WANT_VGPU, error);

                if (!thing)
                        return false;
                g_ptr_array_add(things, thing);
        }
        work = check_adopt(ctl, things, error) ? work_new(ctl, error) : NULL;
        if (!work)
                return false;
        for (unsigned i = 0; i < things->len; i++) {
                const Thing *thing = things->pdata[i];
                Thing *job;

                if (thing->kind == KIND_VGPU) {
                        if (!adopt_vgpu(ctl, work, thing, error))
                                return false;
                        continue;
                }
                job = run_on_gpu(work, thing, "Adopt", "Adopting", error);
                if (!job)
                        return false;
                g_ptr_array_add(jobs, job);
        }
        work_print(ctl, jobs);
        return true;
}

/* ---- resync ---- */

static bool choose_gpus(Ctl *ctl, const Host *host, char **args, GPtrArray *ret, GError **error) {
        g_autoptr(GPtrArray) all = host_list(host, KIND_GPU, NULL);

        if (!*args && !ctl->all) {
                g_set_error(error, CTL_ERROR, CTL_USAGE,
                            "Which GPU?\nName one, or give --all for those that are not as they are wanted.");
                return false;
        }
        for (; *args; args++) {
                Thing *gpu = resolve(host, *args, WANT_GPU, error);

                if (!gpu)
                        return false;
                g_ptr_array_add(ret, gpu);
        }
        for (unsigned i = 0; ctl->all && i < all->len; i++) {
                const char *sync = thing_text(all->pdata[i], GPU, "SyncState");

                if ((g_str_equal(sync, "out-of-sync") || g_str_equal(sync, "contested")) &&
                    !g_ptr_array_find(ret, all->pdata[i], NULL))
                        g_ptr_array_add(ret, all->pdata[i]);
        }
        return true;
}

bool verb_resync(Ctl *ctl, char **args, GError **error) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(thing_free), gpus = g_ptr_array_new();
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GError) first = NULL;
        g_autoptr(Work) work = NULL;

        if (!host || !choose_gpus(ctl, host, args, gpus, error))
                return false;
        work = work_new(ctl, error);
        if (!work)
                return false;
        for (unsigned i = 0; i < gpus->len && !ctl->interrupted; i++) {
                g_autoptr(GError) e = NULL;
                Thing *job = run_on_gpu(work, gpus->pdata[i], "Resync", "Making as it is wanted:", &e);

                if (job) {
                        g_ptr_array_add(jobs, job);
                        check_failures(job, gpus->pdata[i], &e);
                }
                /* Each card for itself: the others are made all the same. */
                if (e && !first)
                        first = g_steal_pointer(&e);
        }
        work_print(ctl, jobs);
        if (!first)
                return true;

        g_propagate_error(error, g_steal_pointer(&first));
        return false;
}

/* ---- forget ---- */

/* By identity, as ListStored has it; a card that is there, or was, also by its address. */
static char *identity_of(GVariant *stored, const Host *host, const char *text, GError **error) {
        g_autoptr(GVariantIter) iter = NULL;
        const char *identity, *address;
        const Thing *gpu = resolve(host, text, WANT_GPU, NULL);

        g_variant_get(stored, "(a(ssos))", &iter);
        while (g_variant_iter_next(iter, "(&s&s&o&s)", &identity, &address, NULL, NULL)) {
                if (g_str_equal(identity, text) || g_str_equal(address, text) ||
                    (gpu && g_str_equal(address, thing_name(gpu))))
                        return g_strdup(*identity ? identity : address);
        }
        g_set_error(error, CTL_ERROR, CTL_NOT_FOUND,
                    "Nothing is kept of '%s'\n'carvectl list stored' shows what is.", text);
        return NULL;
}

bool verb_forget(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GVariant) stored =
                host ? link_ask(ctl, CARVED_BUS_ROOT, MANAGER, "ListStored", error, "") : NULL;
        g_autoptr(Work) work = stored ? work_new(ctl, error) : NULL;

        if (!work)
                return false;
        for (; *args; args++) {
                g_autofree char *identity = identity_of(stored, host, *args, error);
                g_autofree char *doing = g_strdup_printf("Forgetting %s", identity ?: "");
                g_autoptr(GVariant) reply = NULL;

                if (!identity)
                        return false;
                work_call(work, CARVED_BUS_ROOT, MANAGER, "Forget");
                work_append(work, "s", identity);
                work_options(work);
                reply = work_run_plain(work, doing, error);
                if (!reply)
                        return false;
        }
        return true;
}
