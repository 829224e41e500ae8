/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "fail.h"
#include "options.h"
#include "text.h"

static void add_rows(GString *out, GPtrArray *rows) {
        unsigned width = 0;

        for (unsigned i = 0; i < rows->len; i += 2)
                width = MAX(width, MIN(text_width(rows->pdata[i]), 30));
        for (unsigned i = 0; i < rows->len; i += 2) {
                const char *left = rows->pdata[i];
                unsigned used = text_width(left);

                if (used > width)
                        g_string_append_printf(out, "  %s\n%*s%s\n", left, (int) width + 4, "",
                                               (char *) rows->pdata[i + 1]);
                else
                        g_string_append_printf(out, "  %s%*s%s\n", left, (int) (width - used) + 2, "",
                                               (char *) rows->pdata[i + 1]);
        }
        g_ptr_array_set_size(rows, 0);
}

static char *spell(const OptionSpec *spec) {
        if (spec->name[1] == '\0')
                return g_strdup_printf("-%c", spec->letter);
        if (spec->letter)
                return g_strdup_printf("-%c, --%s%s%s", spec->letter, spec->name, spec->value ? "=" : "",
                                       spec->value ?: "");

        return g_strdup_printf("    --%s%s%s", spec->name, spec->value ? "=" : "", spec->value ?: "");
}

/* Those for @verb alone, or, NULL, for all. */
static void add_options(GString *out, const char *verb, const char *title) {
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);

        for (const OptionSpec *spec = option_specs; spec->name; spec++)
                if (verb ? spec->verbs && option_is_for(spec, verb) : !spec->verbs) {
                        g_ptr_array_add(rows, spell(spec));
                        g_ptr_array_add(rows, g_strdup(spec->help));
                }
        if (rows->len > 0)
                g_string_append_printf(out, "\n%s%s%s\n", style(STDOUT, STYLE_STRONG), title,
                                       style(STDOUT, STYLE_PLAIN));
        add_rows(out, rows);
}

static void add_verbs(GString *out) {
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);

        for (const VerbGroup *group = verb_groups; group->title; group++) {
                g_string_append_printf(out, "\n%s%s%s\n", style(STDOUT, STYLE_STRONG), group->title,
                                       style(STDOUT, STYLE_PLAIN));
                for (const Verb *verb = group->verbs; verb->name; verb++) {
                        g_ptr_array_add(rows, g_strdup_printf("%s%s%s", verb->name, *verb->args ? " " : "",
                                                              verb->args));
                        g_ptr_array_add(rows, g_strdup(verb->help));
                }
                add_rows(out, rows);
        }
}

static void add_options_of_verbs(GString *out) {
        g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);

        g_string_append_printf(out, "\n%sOptions of verbs%s\n", style(STDOUT, STYLE_STRONG),
                               style(STDOUT, STYLE_PLAIN));
        for (const OptionSpec *spec = option_specs; spec->name; spec++)
                if (spec->verbs) {
                        g_ptr_array_add(rows, spell(spec));
                        g_ptr_array_add(rows, g_strdup_printf("%s (%s)", spec->help, spec->verbs));
                }
        add_rows(out, rows);
}

bool verb_help(Ctl *ctl, char **args, GError **error) {
        g_autoptr(GString) out = g_string_new(NULL);
        const Verb *verb = args[0] ? verb_find(args[0]) : NULL;

        if (args[0] && !verb) {
                g_set_error(error, CTL_ERROR, CTL_USAGE, "There is no verb '%s'", args[0]);
                return false;
        }
        if (verb) {
                g_string_append_printf(out, "carvectl %s%s%s   %s\n", verb->name, *verb->args ? " " : "",
                                       verb->args, verb->help);
                add_options(out, verb->name, "Options");
                g_string_append(out, "\nOptions of every verb: carvectl help. More: carvectl(1).\n");
        } else {
                g_string_append(out, "carvectl [OPTION…] [VERB…]   carves GPUs into vGPUs, through carved\n");
                add_verbs(out);
                add_options_of_verbs(out);
                add_options(out, NULL, "Options");
                g_string_append(
                        out,
                        "\nGPU, VF: a PCI address, 0000:08:00.0 or 8:0.0, or a card's model, L40S. VGPU: a "
                        "UUID or "
                        "its beginning.\nExit code: 0 done, 1 failed, 2 wrong call, 3 not found, 4 in use. "
                        "More: carvectl(1).\n");
        }
        text_print(ctl, out->str);
        return true;
}
