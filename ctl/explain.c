/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "fail.h"
#include "json.h"
#include "link.h"
#include "resolve.h"
#include "room.h"
#include "text.h"
#include "types.h"
#include "verbs.h"

/* Can this type be had there? Whatever the answer is, it was explained. */

typedef struct Answer {
        const Thing *gpu;
        GVariant *row; /* of the inventory */
        int64_t available;
        GString *instead; /* what can be had here */
        GString *others;  /* where else */
} Answer;

/* What helps, by the reason's code. */
static char *advise(const Answer *a, const char *type) {
        const char *code = dict_text(a->row, "ReasonCode"), *gpu = thing_name(a->gpu);

        if (!*code)
                return g_strdup_printf("carvectl create %s --on=%s", type, gpu);
        if (g_str_equal(code, "vfs-off"))
                return g_strdup_printf("carvectl enable %s", gpu);
        if (g_str_equal(code, "size-fixed"))
                return g_strdup_printf("take the size that is there, or destroy all vGPUs of GPU %s", gpu);
        if (g_str_equal(code, "full"))
                return g_strdup_printf("destroy one of GPU %s, or take another GPU", gpu);
        if (g_str_equal(code, "no-gpu-instance"))
                return g_strdup_printf("carvectl mig show %s, then: carvectl mig apply %s PROFILE=N", gpu,
                                       gpu);
        if (g_str_equal(code, "on-vfio-pci"))
                return g_strdup_printf("end the machine that has the card whole, and bind its own driver");
        if (g_str_equal(code, "no-driver"))
                return g_strdup("load the vendor's vGPU host driver");
        if (g_str_equal(code, "no-iommu"))
                return g_strdup("switch the IOMMU on, in the firmware and on the kernel's command line");
        if (g_str_equal(code, "types-pending"))
                return g_strdup("wait a moment; is nvidia-vgpud running?");
        if (g_str_equal(code, "mismatch") || g_str_equal(code, "state-unreadable"))
                return g_strdup_printf("carvectl adopt %s, or: carvectl forget %s", gpu, gpu);
        if (g_str_equal(code, "stalled"))
                return g_strdup("wait until the kernel lets go; dmesg may say why");

        return g_strdup_printf("carvectl show %s", gpu);
}

static void add_to(GString *list, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void add_to(GString *list, const char *format, ...) {
        va_list args;

        if (list->len > 0)
                g_string_append(list, ", ");
        va_start(args, format);
        g_string_append_vprintf(list, format, args);
        va_end(args);
}

static void look_around(Answer *a, GVariant *rows, const char *type) {
        for (gsize i = 0; i < g_variant_n_children(rows); i++) {
                g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);
                int64_t n = dict_number(row, "Available");
                bool here = g_str_equal(dict_text(row, "Gpu"), a->gpu->path);
                bool same = type_matches(dict_text(row, "Type"), dict_text(row, "Name"), type);

                if (here && same) {
                        a->row = g_variant_ref(row);
                        a->available = n;
                } else if (here && n > 0)
                        add_to(a->instead, "%u %s %s", (unsigned) n, glyph(GLYPH_TIMES),
                               dict_text(row, "Name"));
                else if (same && n > 0)
                        add_to(a->others, "%u on %s", (unsigned) n, dict_text(row, "Address"));
        }
}

static void add_fact(GString *out, const Ctl *ctl, const char *name, Style style, const char *text) {
        Line *line;

        if (!text || !*text)
                return;
        line = line_new();
        line_add(line, STYLE_FAINT, "  %-9s ", name);
        line_add(line, style, "%s", text);
        line_end(line, out, text_columns(ctl));
}

/* How it would be done, in carved's words; asking is free. */
static char *plan_of(Ctl *ctl, const Answer *a, const char *type) {
        g_autoptr(GVariant) reply = NULL, job = NULL, plan = NULL;
        g_autofree const char **steps = NULL;
        const char *path;

        if (*dict_text(a->row, "ReasonCode"))
                return NULL;
        reply = link_ask(ctl, a->gpu->path, VGPU_HOST, "CreateVgpu", NULL, "sa{sv}", type, 1, "dry-run", "b",
                         1);
        if (!reply)
                return NULL;
        g_variant_get_child(reply, 1, "&o", &path);
        job = link_get_all(ctl, path, JOB, NULL);
        plan = job ? g_variant_lookup_value(job, "Plan", G_VARIANT_TYPE("as")) : NULL;
        if (!plan)
                return NULL;
        steps = g_variant_get_strv(plan, NULL);
        return g_strjoinv("; ", (char **) steps);
}

static void print_text(Ctl *ctl, const Answer *a, const char *type) {
        g_autofree char *model = model_of(a->gpu), *advice = advise(a, type), *plan = plan_of(ctl, a, type);
        const char *reason = dict_text(a->row, "Reason"), *name = dict_text(a->row, "Name");
        g_autoptr(GString) out = g_string_new(NULL);
        bool can = !*dict_text(a->row, "ReasonCode");
        Line *line = line_new();

        line_add(line, STYLE_STRONG, "%s", *name ? name : type);
        line_add(line, STYLE_PLAIN, " on %s (%s): ", thing_name(a->gpu), model);
        if (!can)
                line_add(line, STYLE_BAD, "can't be had now");
        else if (a->available >= 0)
                line_add(line, STYLE_GOOD, "%u more can be had", (unsigned) a->available);
        else
                line_add(line, STYLE_GOOD, "can be had");
        line_end(line, out, text_columns(ctl));
        add_fact(out, ctl, "why", STYLE_PLAIN, reason);
        add_fact(out, ctl, "how", STYLE_PLAIN, plan);
        if (!can)
                add_fact(out, ctl, "instead", STYLE_PLAIN, a->instead->str);
        add_fact(out, ctl, "elsewhere", STYLE_PLAIN, a->others->str);
        add_fact(out, ctl, "to do", STYLE_STRONG, advice);
        text_print(ctl, out->str);
}

static void print_json(Ctl *ctl, const Host *host, const Answer *a, const char *type) {
        g_autofree char *advice = advise(a, type), *plan = plan_of(ctl, a, type);
        JsonNode *node = types_row_to_json(host, a->row);
        JsonObject *object = json_node_get_object(node);

        json_object_set_boolean_member(object, "Creatable", !*dict_text(a->row, "ReasonCode"));
        if (plan)
                json_object_set_string_member(object, "Plan", plan);
        json_object_set_string_member(object, "ToDo", advice);
        json_print(ctl, node);
}

bool verb_explain(Ctl *ctl, char **args, GError **error) {
        g_autoptr(Host) host = host_load(ctl, error);
        g_autoptr(GVariant) rows = host ? types_load(ctl, error) : NULL;
        g_autoptr(GString) instead = g_string_new(NULL), others = g_string_new(NULL);
        Answer a = { .available = -1, .instead = instead, .others = others };

        if (!rows)
                return false;
        a.gpu = resolve(host, args[0], WANT_GPU, error);
        if (!a.gpu)
                return false;
        look_around(&a, rows, args[1]);
        if (!a.row) {
                g_autofree char *reason = reason_of(a.gpu, GPU);

                g_set_error(error, CTL_ERROR, CTL_NOT_FOUND,
                            "GPU %s has no vGPU type '%s'%s%s\n'carvectl types %s' shows those it has.",
                            thing_name(a.gpu), args[1], *reason ? ": " : "", reason, thing_name(a.gpu));
                return false;
        }
        if (ctl->json != JSON_OFF)
                print_json(ctl, host, &a, args[1]);
        else
                print_text(ctl, &a, args[1]);
        g_variant_unref(a.row);
        return true;
}
