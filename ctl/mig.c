/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "resolve.h"
#include "room.h"
#include "state.h"
#include "text.h"
#include "verbs.h"
#include "work.h"

/* Cards that are cut into GPU instances. */

static bool check_mig(const Thing *gpu, GError **error) {
        if (thing_has(gpu, MIG))
                return true;

        g_set_error(error, CTL_ERROR, CTL_FAILED,
                    "GPU %s can't be cut into GPU instances\n'carvectl mig' shows those that can.",
                    thing_name(gpu));
        return false;
}

/* Those that are named, or all that can. */
static GPtrArray *choose(const Host *host, char **args, GError **error) {
        g_autoptr(GPtrArray) gpus = g_ptr_array_new(), all = host_list(host, KIND_GPU, NULL);

        for (unsigned i = 0; !*args && i < all->len; i++)
                if (thing_has(all->pdata[i], MIG))
                        g_ptr_array_add(gpus, all->pdata[i]);
        for (; *args; args++) {
                Thing *gpu = resolve(host, *args, WANT_GPU, error);

                if (!gpu || !check_mig(gpu, error))
                        return NULL;
                g_ptr_array_add(gpus, gpu);
        }
        return g_steal_pointer(&gpus);
}

/* ---- show ---- */

static void add_number(Table *table, int64_t n) {
        if (n < 0)
                table_add(table, STYLE_PLAIN, "%s", "");
        else
                table_add(table, STYLE_PLAIN, "%" G_GINT64_FORMAT, n);
}

/* "7 8 9" */
static char *ids_of(GVariant *facts) {
        g_autoptr(GVariant) ids = g_variant_lookup_value(facts, "Instances", G_VARIANT_TYPE("au"));
        GString *text = g_string_new(NULL);

        for (gsize i = 0; ids && i < g_variant_n_children(ids); i++) {
                uint32_t id;

                g_variant_get_child(ids, i, "u", &id);
                g_string_append_printf(text, "%s%u", i > 0 ? " " : "", id);
        }
        return g_string_free(text, FALSE);
}

static void add_profiles(Table *table, const Thing *gpu) {
        GVariant *profiles = thing_value(gpu, MIG, "Profiles"), *facts;
        const char *id;
        GVariantIter iter;

        g_variant_iter_init(&iter, profiles);
        while (g_variant_iter_next(&iter, "{&s@a{sv}}", &id, &facts)) {
                g_autofree char *memory = size_to_string(dict_number(facts, "MemoryMiB")),
                                *ids = ids_of(facts);

                table_add(table, STYLE_STRONG, "%s", dict_text(facts, "Name"));
                table_add(table, STYLE_PLAIN, "%s", id);
                add_number(table, dict_number(facts, "Slices"));
                table_add(table, STYLE_PLAIN, "%s", memory);
                add_number(table, dict_number(facts, "Total"));
                add_number(table, dict_number(facts, "Available"));
                add_number(table, dict_number(facts, "Requested"));
                table_add(table, STYLE_PLAIN, "%s", ids);
                g_variant_unref(facts);
        }
}

static void add_gpu(GString *out, const Ctl *ctl, const Thing *gpu) {
        static const char *const columns[] = { "PROFILE",   "ID",     "SLICES",    "MEMORY", "TOTAL",
                                               "AVAILABLE", "WANTED", "INSTANCES", NULL };
        const char *sync = thing_text(gpu, MIG, "SyncState"), *trouble = thing_text(gpu, MIG, "LastError");
        g_autoptr(Table) table = table_new(columns);
        g_autofree char *model = model_of(gpu);
        bool on = thing_flag(gpu, MIG, "Enabled");
        Line *line = line_new();

        line_add(line, STYLE_STRONG, "%s  %s", thing_name(gpu), model);
        line_add(line, on ? STYLE_GOOD : STYLE_PLAIN, "  MIG is %s", on ? "on" : "off");
        if (thing_flag(gpu, MIG, "ResetRequired"))
                line_add(line, STYLE_WARN, ", and %s after a reset of the card or a reboot",
                         thing_flag(gpu, MIG, "Pending") ? "on" : "off");
        if (!g_str_equal(sync, "disabled"))
                line_add(line, style_of_state(sync), "  %s", sync);
        if (*trouble)
                line_add(line, STYLE_PLAIN, ": %s", trouble);
        line_end(line, out, text_columns(ctl));
        add_profiles(table, gpu);
        table_print(table, out, !ctl->no_legend, text_columns(ctl));
}

static void print_json(Ctl *ctl, const Host *host, GPtrArray *gpus) {
        g_autoptr(JsonArray) array = json_array_new();

        for (unsigned i = 0; i < gpus->len; i++) {
                const Thing *gpu = gpus->pdata[i];
                g_autoptr(GPtrArray) instances = host_list(host, KIND_INSTANCE, gpu);
                JsonObject *object = json_object_new();

                json_object_set_string_member(object, "Path", gpu->path);
                json_object_set_string_member(object, "Address", thing_name(gpu));
                for (unsigned k = 0; k < gpu->facts->len; k++) {
                        const Fact *fact = &g_array_index(gpu->facts, Fact, k);

                        if (g_str_equal(fact->interface, MIG))
                                json_object_set_member(object, fact->name,
                                                       json_gvariant_serialize(fact->value));
                }
                json_object_set_member(object, "GpuInstances", json_from_things(instances));
                json_array_add_object_element(array, object);
        }
        json_print(ctl, json_node_init_array(json_node_alloc(), array));
}

static bool show(Ctl *ctl, const Host *host, char **args, GError **error) {
        g_autoptr(GPtrArray) gpus = choose(host, args, error);
        g_autoptr(GString) out = g_string_new(NULL);

        if (!gpus)
                return false;
        if (ctl->json != JSON_OFF) {
                print_json(ctl, host, gpus);
                return true;
        }
        for (unsigned i = 0; i < gpus->len; i++) {
                g_string_append(out, i > 0 ? "\n" : "");
                add_gpu(out, ctl, gpus->pdata[i]);
        }
        if (gpus->len == 0 && !ctl->no_legend)
                g_string_append(out, "No GPU here can be cut into GPU instances.\n");
        text_print(ctl, out->str);
        return true;
}

/* ---- changes ---- */

static bool run(Ctl *ctl, Work *work, const Thing *gpu, const char *doing, GError **error) {
        g_autofree char *words = g_strdup_printf("%s GPU %s", doing, thing_name(gpu));
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(thing_free);
        Thing *job = work_run(work, words, error);

        if (!job)
                return false;
        g_ptr_array_add(jobs, job);
        work_print(ctl, jobs);
        return true;
}

static bool set_mode(Ctl *ctl, const Thing *gpu, char **args, GError **error) {
        bool on = args[0] && g_str_equal(args[0], "on");
        g_autoptr(Work) work = NULL;

        if (!on && !(args[0] && g_str_equal(args[0], "off"))) {
                g_set_error(error, CTL_ERROR, CTL_USAGE, "On or off? carvectl mig mode %s on|off",
                            thing_name(gpu));
                return false;
        }
        work = work_new(ctl, error);
        if (!work)
                return false;
        work_call(work, gpu->path, MIG, "SetMode");
        work_append(work, "b", (int) on);
        work_options(work);
        return run(ctl, work, gpu, on ? "Switching MIG on:" : "Switching MIG off:", error);
}

/* "3g.20gb=1", or "3g.20gb" for one. */
static bool append_profile(Work *work, const char *text, GError **error) {
        const char *equals = strrchr(text, '=');
        g_autofree char *name = equals ? g_strndup(text, (gsize) (equals - text)) : g_strdup(text);
        guint64 n = 1;

        if (!*name || (equals && !g_ascii_string_to_unsigned(equals + 1, 10, 0, 64, &n, NULL))) {
                g_set_error(error, CTL_ERROR, CTL_USAGE, "'%s' is not PROFILE=N, as in 3g.20gb=2", text);
                return false;
        }
        work_append(work, "{su}", name, (uint32_t) n);
        return true;
}

static bool apply(Ctl *ctl, const Thing *gpu, char **args, GError **error) {
        g_autoptr(Work) work = NULL;

        if (!*args) {
                g_set_error(error, CTL_ERROR, CTL_USAGE,
                            "Cut into what? carvectl mig apply %s PROFILE=N…\n"
                            "'carvectl mig show %s' shows the profiles.",
                            thing_name(gpu), thing_name(gpu));
                return false;
        }
        work = work_new(ctl, error);
        if (!work)
                return false;
        work_call(work, gpu->path, MIG, "ApplyLayout");
        work_open(work, "{su}");
        for (; *args; args++)
                if (!append_profile(work, *args, error))
                        return false;
        work_close(work);
        work_options(work);
        if (ctl->replace)
                work_option_flag(work, "replace", true);
        return run(ctl, work, gpu, "Cutting", error);
}

static bool clear(Ctl *ctl, const Thing *gpu, char **args, GError **error) {
        g_autoptr(Work) work = work_new(ctl, error);

        if (!work)
                return false;
        work_call(work, gpu->path, MIG, "Clear");
        work_options(work);
        return run(ctl, work, gpu, "Destroying all GPU instances of", error);
}

bool verb_mig(Ctl *ctl, char **args, GError **error) {
        static const struct {
                const char *name;
                bool (*run)(Ctl *ctl, const Thing *gpu, char **args, GError **error);
        } verbs[] = { { "mode", set_mode }, { "apply", apply }, { "clear", clear } };
        g_autoptr(Host) host = NULL;

        if (ctl->replace && g_strcmp0(args[0], "apply") != 0) {
                g_set_error(error, CTL_ERROR, CTL_USAGE, "--replace is for 'mig apply'");
                return false;
        }
        host = host_load(ctl, error);
        if (!host)
                return false;
        if (!args[0] || g_str_equal(args[0], "show"))
                return show(ctl, host, args[0] ? args + 1 : args, error);
        for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
                const Thing *gpu;

                if (!g_str_equal(verbs[i].name, args[0]))
                        continue;
                if (!args[1]) {
                        g_set_error(error, CTL_ERROR, CTL_USAGE, "Which GPU? carvectl mig %s GPU", args[0]);
                        return false;
                }
                gpu = resolve(host, args[1], WANT_GPU, error);
                return gpu && check_mig(gpu, error) && verbs[i].run(ctl, gpu, args + 2, error);
        }
        g_set_error(error, CTL_ERROR, CTL_USAGE,
                    "There is no 'mig %s'\nWhat there is: show, mode, apply, clear.", args[0]);
        return false;
}
