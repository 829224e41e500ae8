/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "resolve.h"
#include "verbs.h"
#include "work.h"

bool verb_cancel(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(Work) work = host ? work_new(ctl, error) : NULL;

        for (; work && *args; args++) {
                const Thing *job = resolve(host, *args, WANT_JOB, error);
                g_autofree char *doing = job ? g_strdup_printf("Cancelling %s", thing_name(job)) : NULL;
                g_autoptr(GVariant) reply = NULL;

                if (!job)
                        return false;
                work_call(work, job->path, JOB, "Cancel");
                work_options(work);
                reply = work_run_plain(work, doing, error);
                if (!reply)
                        return false;
        }
        return work;
}
