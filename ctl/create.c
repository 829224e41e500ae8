/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "fail.h"
#include "json.h"
#include "placement.h"
#include "text.h"
#include "verbs.h"
#include "work.h"

/* vGPUs, one call each, all under UUIDs that are known beforehand: whatever happens, it can be said what is
 * there, and what was made for nothing is taken away again. */

static Thing *create_one(Ctl *ctl, Work *work, const char *type, const Placement *p, GError **error) {
        g_autofree char *doing =
                g_strdup_printf("Creating %s %s on GPU %s", type, p->uuid, thing_name(p->gpu));

        work_call(work, p->parent->path, VGPU_HOST, "CreateVgpu");
        work_append(work, "s", type);
        work_options(work);
        work_option(work, "uuid", "s", p->uuid);
        if (ctl->params)
                work_option(work, "params", "s", ctl->params);
        if (ctl->labels->len > 0)
                work_option_labels(work, "labels", (char *const *) ctl->labels->pdata, ctl->labels->len);
        if (ctl->transient)
                work_option_flag(work, "persist", false);
        return work_run(work, doing, error);
}

/* The UUIDs of the first @n, without those that had been there. */
static GPtrArray *made_of(GArray *list, unsigned n) {
        GPtrArray *made = g_ptr_array_new();

        for (unsigned i = 0; i < n; i++)
                if (!g_array_index(list, Placement, i).exists)
                        g_ptr_array_add(made, g_array_index(list, Placement, i).uuid);
        return made;
}

static void undo(Ctl *ctl, Work *work, GPtrArray *made, GError **error) {
        g_autofree char *doing = NULL, *all = NULL;
        g_autoptr(GError) e = NULL;
        Thing *job = NULL;

        if (made->len == 0)
                return;

        g_ptr_array_add(made, NULL);
        all = g_strjoinv(" ", (char **) made->pdata);
        if (ctl->interrupted) {
                fail_append(error, ". Made before: %s", all);
                return;
        }
        doing = g_strdup_printf("Undoing: destroying the %u made before", made->len - 1);
        work_call(work, CARVED_BUS_ROOT, MANAGER, "DestroyVgpus");
        work_append_list(work, (const char *const *) made->pdata);
        work_options(work);
        job = work_run(work, doing, &e);
        if (job) {
                fail_append(error, ". The %u made before it %s destroyed again", made->len - 1,
                            made->len == 2 ? "was" : "were");
                thing_free(job);
        } else
                fail_append(error, ". Made before it, and still there, for undoing failed (%s): %s",
                            e->message, all);
}

static bool print_created(Ctl *ctl, GArray *list, GError **error) {
        g_autoptr(GString) out = g_string_new(NULL);
        g_autoptr(GPtrArray) things = g_ptr_array_new();
        g_autoptr(Host) host = NULL;

        for (unsigned i = 0; i < list->len; i++)
                g_string_append_printf(out, "%s\n", g_array_index(list, Placement, i).uuid);
        if (ctl->json == JSON_OFF) {
                text_print(ctl, out->str);
                return true;
        }

        host = host_load(ctl, error);
        if (!host)
                return false;
        for (unsigned k = 0; k < list->len; k++)
                for (unsigned i = 0; i < host->things->len; i++) {
                        Thing *thing = host->things->pdata[i];

                        if (thing->kind == KIND_VGPU &&
                            g_str_equal(thing_name(thing), g_array_index(list, Placement, k).uuid))
                                g_ptr_array_add(things, thing);
                }
        json_print(ctl, json_from_things(things));
        return true;
}

bool verb_create(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GArray) list = host ? placement_choose(ctl, host, args[0], error) : NULL;
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(thing_free);
        g_autoptr(Work) work = list ? work_new(ctl, error) : NULL;

        if (!work)
                return false;
        for (unsigned i = 0; i < list->len; i++) {
                Thing *job = create_one(ctl, work, args[0], &g_array_index(list, Placement, i), error);
                g_autoptr(GPtrArray) made = job ? NULL : made_of(list, ctl->dry_run ? 0 : i);

                if (!job) {
                        undo(ctl, work, made, error);
                        return false;
                }
                g_ptr_array_add(jobs, job);
        }
        if (ctl->dry_run) {
                work_print(ctl, jobs);
                return true;
        }
        return print_created(ctl, list, error);
}
