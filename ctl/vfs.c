/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "fail.h"
#include "resolve.h"
#include "verbs.h"
#include "work.h"

/* VFs on and off, card after card. */

static bool check_sriov(const Thing *gpu, GError **error) {
        if (thing_has(gpu, SRIOV))
                return true;

        g_set_error(
                error, CTL_ERROR, CTL_FAILED,
                "GPU %s has no SR-IOV, so there are no VFs to switch\n'carvectl show %s' shows what it has.",
                thing_name(gpu), thing_name(gpu));
        return false;
}

static Thing *switch_one(Ctl *ctl, Work *work, const Thing *gpu, bool on, GError **error) {
        g_autofree char *doing =
                g_strdup_printf("Switching VFs of GPU %s %s", thing_name(gpu), on ? "on" : "off");

        work_call(work, gpu->path, SRIOV, on ? "EnableVfs" : "DisableVfs");
        if (on)
                work_append(work, "u", ctl->number_given ? ctl->number : 0);
        work_options(work);
        if (on && ctl->transient)
                work_option_flag(work, "persist", false);
        if (!on && ctl->destroy_vgpus)
                work_option_flag(work, "destroy-vgpus", true);
        return work_run(work, doing, error);
}

static bool switch_all(Ctl *ctl, char **args, bool on, GError **error) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(thing_free), gpus = g_ptr_array_new();
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(Work) work = NULL;

        if (!host)
                return false;
        for (; *args; args++) {
                Thing *gpu = resolve(host, *args, WANT_GPU, error);

                if (!gpu || !check_sriov(gpu, error))
                        return false;
                g_ptr_array_add(gpus, gpu);
        }
        work = work_new(ctl, error);
        for (unsigned i = 0; work && i < gpus->len; i++) {
                Thing *job = switch_one(ctl, work, gpus->pdata[i], on, error);

                if (!job)
                        return false;
                g_ptr_array_add(jobs, job);
        }
        if (!work)
                return false;
        work_print(ctl, jobs);
        return true;
}

bool verb_enable(Ctl *ctl, char **args, GError **error) {
        return switch_all(ctl, args, /* on= */ true, error);
}

bool verb_disable(Ctl *ctl, char **args, GError **error) {
        return switch_all(ctl, args, /* on= */ false, error);
}
