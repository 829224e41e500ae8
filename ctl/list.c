/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "fail.h"
#include "json.h"
#include "link.h"
#include "room.h"
#include "state.h"
#include "text.h"
#include "types.h"
#include "verbs.h"

/* All of a kind, a line each. Columns are for people, and may change; JSON is for programs. */

typedef void (*AddRow)(Table *table, const Host *host, const Thing *thing);

static const char *name_at(const Host *host, const char *path) {
        const Thing *thing = host_find(host, path);

        return thing ? thing_name(thing) : "";
}

static void add_state(Table *table, const char *state) {
        table_add(table, style_of_state(state), "%s", state);
}

static void add_id(Table *table, int64_t id) {
        if (id < 0)
                table_add(table, STYLE_PLAIN, "%s", "");
        else
                table_add(table, STYLE_PLAIN, "%" G_GINT64_FORMAT, id);
}

static void add_gpu(Table *table, const Host *host, const Thing *gpu) {
        g_autoptr(GPtrArray) vgpus = host_list(host, KIND_VGPU, gpu);
        g_autofree char *model = model_of(gpu), *room = room_of(gpu), *reason = reason_of(gpu, GPU);

        table_add(table, STYLE_STRONG, "%s", thing_name(gpu));
        table_add(table, STYLE_PLAIN, "%s", model);
        table_add(table, STYLE_PLAIN, "%s", thing_text(gpu, GPU, "Framework"));
        if (thing_has(gpu, SRIOV))
                table_add(table, STYLE_PLAIN, "%u/%u", (unsigned) thing_number(gpu, SRIOV, "NumVfs"),
                          (unsigned) thing_number(gpu, SRIOV, "TotalVfs"));
        else
                table_add(table, STYLE_PLAIN, "%s", "");
        table_add(table, STYLE_PLAIN, "%u", vgpus->len);
        add_state(table, thing_text(gpu, GPU, "State"));
        add_state(table, thing_text(gpu, GPU, "SyncState"));
        table_add(table, *room ? STYLE_PLAIN : STYLE_FAINT, "%s", *room ? room : reason);
}

static void add_vf(Table *table, const Host *host, const Thing *vf) {
        table_add(table, STYLE_STRONG, "%s", thing_name(vf));
        add_id(table, thing_number(vf, VF, "Index"));
        table_add(table, STYLE_PLAIN, "%s", thing_text(vf, VF, "Role"));
        table_add(table, STYLE_PLAIN, "%s", name_at(host, thing_text(vf, VF, "Vgpu")));
        table_add(table, STYLE_PLAIN, "%s", thing_text(vf, VF, "Driver"));
        add_id(table, thing_number(vf, VF, "IommuGroup"));
        table_add(table, STYLE_PLAIN, "%s", name_at(host, thing_text(vf, VF, "Gpu")));
}

static void add_vgpu(Table *table, const Host *host, const Thing *vgpu) {
        g_autofree char *notes = notes_of_vgpu(vgpu);

        table_add(table, STYLE_STRONG, "%s", thing_name(vgpu));
        table_add(table, STYLE_PLAIN, "%s",
                  *thing_text(vgpu, VGPU, "TypeName") ? thing_text(vgpu, VGPU, "TypeName")
                                                      : thing_text(vgpu, VGPU, "Type"));
        table_add(table, STYLE_PLAIN, "%s", name_at(host, thing_text(vgpu, VGPU, "Parent")));
        add_state(table, thing_text(vgpu, VGPU, "State"));
        table_add(table, STYLE_WARN, "%s", notes);
        table_add(table, STYLE_PLAIN, "%s", thing_text(vgpu, VGPU, "DeviceNode"));
        table_add(table, STYLE_PLAIN, "%s", name_at(host, thing_text(vgpu, VGPU, "Gpu")));
}

static void add_job(Table *table, const Host *host, const Thing *job) {
        const Thing *gpu = host_gpu_of(host, job);

        table_add(table, STYLE_STRONG, "%s", thing_name(job));
        table_add(table, STYLE_PLAIN, "%s", thing_text(job, JOB, "Kind"));
        table_add(table, STYLE_PLAIN, "%s", gpu ? thing_name(gpu) : "several");
        table_add(table, STYLE_PLAIN, "%u", (unsigned) thing_number(job, JOB, "Uid"));
        table_add(table, STYLE_PLAIN, "%u/%u", (unsigned) thing_number(job, JOB, "Step"),
                  (unsigned) thing_number(job, JOB, "Steps"));
        add_state(table, thing_text(job, JOB, "State"));
        table_add(table, STYLE_PLAIN, "%s", thing_text(job, JOB, "ErrorMessage"));
}

static const struct {
        const char *name, *title;
        Kind kind;
        AddRow add;
        const char *shown[5]; /* interfaces that it is made of */
        const char *columns[12];
} lists[] = {
        { "gpus",
          "GPU",
          KIND_GPU,
          add_gpu,
          { GPU, SRIOV, VGPU },
          { "GPU", "MODEL", "FRAMEWORK", "VFS", "VGPUS", "STATE", "SYNC", "ROOM" } },
        { "vfs",
          "VF",
          KIND_VF,
          add_vf,
          { GPU, VF, VGPU },
          { "VF", "INDEX", "ROLE", "VGPU", "DRIVER", "IOMMU", "GPU" } },
        { "vgpus",
          "vGPU",
          KIND_VGPU,
          add_vgpu,
          { GPU, VF, VGPU },
          { "VGPU", "TYPE", "ON", "STATE", "NOTES", "NODE", "GPU" } },
        { "jobs",
          "job",
          KIND_JOB,
          add_job,
          { GPU, JOB },
          { "JOB", "KIND", "GPU", "UID", "STEP", "STATE", "ERROR" } },
};

static void print_table(Ctl *ctl, const Table *table, const char *what) {
        g_autoptr(GString) out = g_string_new(NULL);

        table_print(table, out, !ctl->no_legend, text_columns(ctl));
        if (!ctl->no_legend)
                g_string_append_printf(out, "%s%u %s%s listed.\n", table_n_rows(table) > 0 ? "\n" : "",
                                       table_n_rows(table), what, table_n_rows(table) == 1 ? "" : "s");
        text_print(ctl, out->str);
}

static bool list_types(Ctl *ctl, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GVariant) rows = host ? types_load(ctl, error) : NULL;

        if (!rows)
                return false;

        types_print(ctl, host, rows, NULL);
        return true;
}

/* What is kept, whether its card is there or not. */
static bool list_stored(Ctl *ctl, GError **error) {
        static const char *const columns[] = { "IDENTITY", "GPU", "STATE", NULL };
        g_autoptr(GVariant) reply = link_ask(ctl, CARVED_BUS_ROOT, MANAGER, "ListStored", error, "");
        g_autoptr(Table) table = table_new(columns);
        const char *identity, *address, *object, *state;
        g_autoptr(GVariantIter) iter = NULL;
        JsonArray *array = json_array_new();
        JsonNode *node = json_node_init_array(json_node_alloc(), array);

        json_array_unref(array);
        if (!reply) {
                json_node_unref(node);
                return false;
        }
        g_variant_get(reply, "(a(ssos))", &iter);
        while (g_variant_iter_next(iter, "(&s&s&o&s)", &identity, &address, &object, &state)) {
                JsonObject *row = json_object_new();

                json_object_set_string_member(row, "Identity", identity);
                json_object_set_string_member(row, "Address", address);
                json_object_set_string_member(row, "Gpu", object);
                json_object_set_string_member(row, "State", state);
                json_array_add_object_element(array, row);
                table_add(table, STYLE_STRONG, "%s", identity);
                table_add(table, STYLE_PLAIN, "%s", address);
                add_state(table, state);
        }
        if (ctl->json != JSON_OFF)
                json_print(ctl, node);
        else {
                print_table(ctl, table, "stored card");
                json_node_unref(node);
        }
        return true;
}

static bool list_things(Ctl *ctl, unsigned which, GError **error) {
        g_autoptr(Host) host = host_load_some(ctl, ctl->json == JSON_OFF ? lists[which].shown : NULL, error);
        g_autoptr(GPtrArray) things = NULL;
        g_autoptr(Table) table = NULL;

        if (!host)
                return false;

        things = host_list(host, lists[which].kind, NULL);
        if (ctl->json != JSON_OFF) {
                json_print(ctl, json_from_things(things));
                return true;
        }
        table = table_new(lists[which].columns);
        for (unsigned i = 0; i < things->len; i++)
                lists[which].add(table, host, things->pdata[i]);
        print_table(ctl, table, lists[which].title);
        return true;
}

bool verb_list(Ctl *ctl, char **args, GError **error) {
        const char *what = args[0] ?: "vgpus";

        if (g_str_equal(what, "types"))
                return list_types(ctl, error);
        if (g_str_equal(what, "stored"))
                return list_stored(ctl, error);
        for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++)
                if (g_str_equal(lists[i].name, what))
                        return list_things(ctl, i, error);

        g_set_error(error, CTL_ERROR, CTL_USAGE,
                    "'%s' can't be listed\nWhat can: gpus, vfs, vgpus, types, jobs, stored.", what);
        return false;
}
