/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "link.h"
#include "room.h"
#include "state.h"
#include "text.h"
#include "verbs.h"

/* The host at a glance. */

typedef struct Tree {
        Ctl *ctl;
        Host *host;
        GString *out;
        GPtrArray *lines; /* of the card at hand: Line, which know not yet who is the last */
} Tree;

static Line *add_line(Tree *tree) {
        Line *line = line_new();

        g_ptr_array_add(tree->lines, line);
        return line;
}

static void add_vgpu(Tree *tree, const Thing *vgpu) {
        const char *state = thing_text(vgpu, VGPU, "State"), *trouble = thing_text(vgpu, VGPU, "LastError");
        const Thing *vf = host_find(tree->host, thing_text(vgpu, VGPU, "Parent"));
        int64_t index = thing_number(vgpu, VGPU, "VfIndex");
        g_autofree char *notes = notes_of_vgpu(vgpu);
        Line *line = add_line(tree);

        line_add(line, STYLE_PLAIN, "%s  ", thing_name(vgpu));
        line_add(line, STYLE_STRONG, "%s",
                 *thing_text(vgpu, VGPU, "TypeName") ? thing_text(vgpu, VGPU, "TypeName")
                                                     : thing_text(vgpu, VGPU, "Type"));
        if (vf && vf->kind == KIND_VF)
                line_add(line, STYLE_FAINT, "  VF %u, %s", (unsigned) index, thing_name(vf));
        else if (index >= 0)
                line_add(line, STYLE_FAINT, "  VF %u", (unsigned) index);
        if (*notes)
                line_add(line, STYLE_WARN, "  %s", notes);
        if (!g_str_equal(state, "active")) {
                line_add(line, style_of_state(state), "  %s", state);
                if (*trouble)
                        line_add(line, STYLE_PLAIN, ": %s", trouble);
        }
}

/* Slices from 0: "3g.20gb  instance 1, slices 4-7" */
static void add_instance(Tree *tree, const Thing *instance) {
        GVariant *place = thing_value(instance, GPU_INSTANCE, "Placement");
        uint32_t first = 0, n = 0;
        Line *line = add_line(tree);

        if (place)
                g_variant_get(place, "(uu)", &first, &n);
        line_add(line, STYLE_STRONG, "%s", thing_text(instance, GPU_INSTANCE, "ProfileName"));
        line_add(line, STYLE_FAINT, "  instance %u, ", (unsigned) thing_number(instance, GPU_INSTANCE, "Id"));
        if (n > 1)
                line_add(line, STYLE_FAINT, "slices %u-%u", first, first + n - 1);
        else
                line_add(line, STYLE_FAINT, "slice %u", first);
}

/* VFs that hold nothing, one line for all of a kind. */
static void add_vfs(Tree *tree, const Thing *gpu, GPtrArray *vfs) {
        static const struct {
                const char *role, *words;
        } roles[] = { { "passthrough", "on a vfio driver, whole" }, { "host", "used by the host itself" } };
        g_autofree char *room = room_of(gpu), *reason = reason_of(gpu, GPU);
        unsigned n_free = 0;

        for (unsigned r = 0; r < G_N_ELEMENTS(roles); r++) {
                unsigned n = 0;

                for (unsigned i = 0; i < vfs->len; i++)
                        n += g_str_equal(thing_text(vfs->pdata[i], VF, "Role"), roles[r].role) &&
                             g_str_equal(thing_text(vfs->pdata[i], VF, "Vgpu"), "/");
                if (n > 0)
                        line_add(add_line(tree), STYLE_PLAIN, "%u VF%s %s", n, n == 1 ? "" : "s",
                                 roles[r].words);
        }
        for (unsigned i = 0; i < vfs->len; i++)
                n_free += g_str_equal(thing_text(vfs->pdata[i], VF, "Role"), "free");

        if (n_free > 0 || *room || *reason) {
                Line *line = add_line(tree);

                if (n_free > 0)
                        line_add(line, STYLE_PLAIN, "%u VF%s free%s", n_free, n_free == 1 ? "" : "s",
                                 *room || *reason ? ": " : "");
                if (*room)
                        line_add(line, STYLE_PLAIN, "room for %s", room);
                else if (*reason)
                        line_add(line, STYLE_FAINT, "%s", reason);
                if (!*room && g_str_equal(reason_code_of(gpu, GPU), "vfs-off"))
                        line_add(line, STYLE_PLAIN, "; carvectl enable %s", thing_name(gpu));
        }
}

static void add_gpu_title(Line *line, const Thing *gpu) {
        const char *state = thing_text(gpu, GPU, "State"), *sync = thing_text(gpu, GPU, "SyncState"),
                   *trouble = thing_text(gpu, GPU, "LastError"),
                   *framework = thing_text(gpu, GPU, "Framework");
        g_autofree char *model = model_of(gpu);

        line_add(line, STYLE_STRONG, "%s  %s", thing_name(gpu), model);
        if (!g_str_equal(framework, "none") && !g_str_equal(framework, "unknown"))
                line_add(line, STYLE_FAINT, "  %s", framework);
        if (thing_has(gpu, SRIOV))
                line_add(line, STYLE_FAINT, "  %u/%u VFs", (unsigned) thing_number(gpu, SRIOV, "NumVfs"),
                         (unsigned) thing_number(gpu, SRIOV, "TotalVfs"));
        if (thing_flag(gpu, MIG, "Enabled"))
                line_add(line, STYLE_FAINT, "  MIG");
        if (!g_str_equal(state, "ready"))
                line_add(line, style_of_state(state), "  %s", state);
        if (!g_str_equal(sync, "unmanaged"))
                line_add(line, style_of_state(sync), "  %s", sync);
        if (*trouble)
                line_add(line, STYLE_PLAIN, ": %s", trouble);
}

static void add_gpu(Tree *tree, const Thing *gpu, bool last) {
        g_autoptr(GPtrArray) vgpus = host_list(tree->host, KIND_VGPU, gpu),
                             vfs = host_list(tree->host, KIND_VF, gpu),
                             instances = host_list(tree->host, KIND_INSTANCE, gpu);
        unsigned columns = text_columns(tree->ctl);
        Line *title = line_new();

        line_add(title, STYLE_FAINT, "%s", glyph(last ? GLYPH_LAST : GLYPH_BRANCH));
        add_gpu_title(title, gpu);
        line_end(title, tree->out, columns);

        g_ptr_array_set_size(tree->lines, 0);
        for (unsigned i = 0; i < instances->len; i++)
                add_instance(tree, instances->pdata[i]);
        for (unsigned i = 0; i < vgpus->len; i++)
                add_vgpu(tree, vgpus->pdata[i]);
        add_vfs(tree, gpu, vfs);
        for (unsigned i = 0; i < tree->lines->len; i++) {
                g_autofree char *lead =
                        g_strdup_printf("%s%s", last ? "  " : glyph(GLYPH_DOWN),
                                        glyph(i + 1 == tree->lines->len ? GLYPH_LAST : GLYPH_BRANCH));

                g_string_append_printf(tree->out, "%s%s%s", style(STDOUT, STYLE_FAINT), lead,
                                       style(STDOUT, STYLE_PLAIN));
                line_end(tree->lines->pdata[i], tree->out, columns > 4 ? columns - 4 : columns);
        }
}

static void add_jobs(Tree *tree) {
        g_autoptr(GPtrArray) jobs = host_list(tree->host, KIND_JOB, NULL);

        for (unsigned i = 0; i < jobs->len; i++) {
                const Thing *job = jobs->pdata[i], *gpu = host_gpu_of(tree->host, job);
                const char *state = thing_text(job, JOB, "State");
                Line *line;

                if (!g_str_equal(state, "running") && !g_str_equal(state, "waiting") &&
                    !g_str_equal(state, "stalled"))
                        continue;
                line = line_new();
                line_add(line, STYLE_STRONG, "%s", thing_name(job));
                line_add(line, STYLE_PLAIN, "  %s%s%s  step %u of %u  ", thing_text(job, JOB, "Kind"),
                         gpu ? " on " : "", gpu ? thing_name(gpu) : "",
                         (unsigned) thing_number(job, JOB, "Step"),
                         (unsigned) thing_number(job, JOB, "Steps"));
                line_add(line, style_of_state(state), "%s", state);
                line_end(line, tree->out, text_columns(tree->ctl));
        }
}

static void add_head(Tree *tree, GVariant *manager, unsigned n_gpus, unsigned n_vgpus) {
        const char *state = dict_text(manager, "State");
        Line *line = line_new();

        line_add(line, STYLE_STRONG, "carved");
        line_add(line, STYLE_PLAIN, "%s%s: ", tree->ctl->host ? " on " : "", tree->ctl->host ?: "");
        line_add(line, style_of_state(state), "%s", state);
        line_add(line, STYLE_PLAIN, ", %u GPU%s, %u vGPU%s", n_gpus, n_gpus == 1 ? "" : "s", n_vgpus,
                 n_vgpus == 1 ? "" : "s");
        line_end(line, tree->out, text_columns(tree->ctl));
}

static void print_json(Ctl *ctl, Host *host, GVariant *manager) {
        static const struct {
                Kind kind;
                const char *key;
        } kinds[] = { { KIND_GPU, "Gpus" },
                      { KIND_VF, "VirtualFunctions" },
                      { KIND_VGPU, "Vgpus" },
                      { KIND_INSTANCE, "GpuInstances" },
                      { KIND_JOB, "Jobs" } };
        JsonNode *node = json_from_dict(manager);

        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
                g_autoptr(GPtrArray) list = host_list(host, kinds[i].kind, NULL);

                json_object_set_member(json_node_get_object(node), kinds[i].key, json_from_things(list));
        }
        json_print(ctl, node);
}

bool verb_tree(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GVariant) manager = host ? link_get_all(ctl, CARVED_BUS_ROOT, MANAGER, error) : NULL;
        g_autoptr(GPtrArray) gpus = NULL, vgpus = NULL, lines = g_ptr_array_new();
        g_autoptr(GString) out = g_string_new(NULL);
        Tree tree = { ctl, host, out, lines };

        if (!manager)
                return false;
        if (ctl->json != JSON_OFF) {
                print_json(ctl, host, manager);
                return true;
        }

        gpus = host_list(host, KIND_GPU, NULL);
        vgpus = host_list(host, KIND_VGPU, NULL);
        add_head(&tree, manager, gpus->len, vgpus->len);
        for (unsigned i = 0; i < gpus->len; i++)
                add_gpu(&tree, gpus->pdata[i], i + 1 == gpus->len);
        add_jobs(&tree);
        text_print(ctl, out->str);
        return true;
}
