/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "json.h"
#include "link.h"
#include "resolve.h"
#include "text.h"
#include "verbs.h"
#include "work.h"

static GPtrArray *resolve_vgpus(const Host *host, char **args, GError **error) {
        g_autoptr(GPtrArray) vgpus = g_ptr_array_new();

        for (; *args; args++) {
                Thing *vgpu = resolve(host, *args, WANT_VGPU, error);

                if (!vgpu)
                        return NULL;
                if (!g_ptr_array_find(vgpus, vgpu, NULL))
                        g_ptr_array_add(vgpus, vgpu);
        }
        return g_steal_pointer(&vgpus);
}

/* One call, whatever cards they are on: all of them, or none. */
bool verb_destroy(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GPtrArray) vgpus = host ? resolve_vgpus(host, args, error) : NULL,
                             jobs = g_ptr_array_new_with_free_func(thing_free);
        g_autoptr(Work) work = vgpus ? work_new(ctl, error) : NULL;
        g_autofree const char **uuids = NULL;
        g_autofree char *doing = NULL;
        Thing *job;

        if (!work)
                return false;

        work_call(work, CARVED_BUS_ROOT, MANAGER, "DestroyVgpus");
        uuids = g_new0(const char *, vgpus->len + 1);
        for (unsigned i = 0; i < vgpus->len; i++)
                uuids[i] = thing_name(vgpus->pdata[i]);
        work_append_list(work, uuids);
        work_options(work);
        doing = vgpus->len == 1 ? g_strdup_printf("Destroying vGPU %s", thing_name(vgpus->pdata[0]))
                                : g_strdup_printf("Destroying %u vGPUs", vgpus->len);
        job = work_run(work, doing, error);
        if (!job)
                return false;
        g_ptr_array_add(jobs, job);
        work_print(ctl, jobs);
        return true;
}

static void add_users(Table *table, JsonArray *array, const Thing *vgpu, GVariant *reply) {
        g_autoptr(GVariantIter) iter = NULL;
        const char *command;
        uint32_t pid;

        g_variant_get(reply, "(a(us))", &iter);
        while (g_variant_iter_next(iter, "(u&s)", &pid, &command)) {
                JsonObject *row = json_object_new();

                json_object_set_string_member(row, "Uuid", thing_name(vgpu));
                json_object_set_int_member(row, "Pid", pid);
                json_object_set_string_member(row, "Command", command);
                json_array_add_object_element(array, row);
                table_add(table, STYLE_PLAIN, "%s", thing_name(vgpu));
                table_add(table, STYLE_STRONG, "%u", pid);
                table_add(table, STYLE_PLAIN, "%s", command);
        }
}

bool verb_users(Ctl *ctl, char **args, GError **error) {
        static const char *const columns[] = { "VGPU", "PID", "COMMAND", NULL };
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GPtrArray) vgpus = host ? resolve_vgpus(host, args, error) : NULL;
        g_autoptr(JsonArray) array = json_array_new();
        g_autoptr(Table) table = table_new(columns);
        g_autoptr(GString) out = g_string_new(NULL);

        if (!vgpus)
                return false;
        for (unsigned i = 0; i < vgpus->len; i++) {
                const Thing *vgpu = vgpus->pdata[i];
                g_autoptr(GVariant) reply = link_ask(ctl, vgpu->path, VGPU, "GetUsers", error, "a{sv}", 0);

                if (!reply)
                        return false;
                add_users(table, array, vgpu, reply);
        }
        if (ctl->json != JSON_OFF) {
                json_print(ctl, json_node_init_array(json_node_alloc(), array));
                return true;
        }
        table_print(table, out, !ctl->no_legend, text_columns(ctl));
        if (table_n_rows(table) == 0 && !ctl->no_legend)
                g_string_append(out, "Nobody has it open.\n");
        text_print(ctl, out->str);
        return true;
}
