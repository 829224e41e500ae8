/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "link.h"
#include "style.h"
#include "variant.h"
#include "verbs.h"

/* Every change, a line each, until it is ended. A restart of carved is one of them. */

typedef struct Monitor {
        Ctl *ctl;
        Ear ear;
} Monitor;

static char *now_text(void) {
        g_autoptr(GDateTime) now = g_date_time_new_now_local();

        return g_date_time_format(now, "%H:%M:%S");
}

static const char *short_path(const char *path) {
        return g_str_has_prefix(path, CARVED_BUS_ROOT "/") ? path + strlen(CARVED_BUS_ROOT "/") : path;
}

static void print_event(const Monitor *m, const char *event, Style s, const char *path, const char *text,
                        GVariant *properties) {
        if (m->ctl->json != JSON_OFF) {
                g_autoptr(JsonNode) node = NULL;
                g_autofree char *line = NULL;
                JsonObject *object = json_object_new();

                json_object_set_int_member(object, "Time", g_get_real_time());
                json_object_set_string_member(object, "Event", event);
                json_object_set_string_member(object, "Path", path);
                if (*text)
                        json_object_set_string_member(object, "Text", text);
                if (properties)
                        json_object_set_member(object, "Properties", json_gvariant_serialize(properties));
                node = json_node_of(object);
                line = json_to_string(node, /* pretty= */ FALSE); /* one a line, however it is wanted */
                printf("%s\n", line);
        } else {
                g_autofree char *time = now_text();

                printf("%s%s%s %s%-8s%s %s%s%s\n", style(STDOUT, STYLE_FAINT), time,
                       style(STDOUT, STYLE_PLAIN), style(STDOUT, s), event, style(STDOUT, STYLE_PLAIN),
                       short_path(path), *text ? "  " : "", text);
        }
        fflush(stdout);
}

/* "State=ready Reasons=…": what is short; the rest by its name. */
static char *summarise(GVariant *properties) {
        GString *text = g_string_new(NULL);
        const char *name;
        GVariant *value;
        GVariantIter iter;

        g_variant_iter_init(&iter, properties);
        while (g_variant_iter_next(&iter, "{&sv}", &name, &value)) {
                g_autofree char *shown = g_variant_is_container(value) ? NULL : g_variant_print(value, FALSE);

                g_string_append_printf(text, "%s%s%s%s", text->len > 0 ? " " : "", name, shown ? "=" : "",
                                       shown ?: "");
                g_variant_unref(value);
        }
        return g_string_free(text, FALSE);
}

static void on_added(Monitor *m, GVariant *args) {
        g_autoptr(GVariant) interfaces = g_variant_get_child_value(args, 1);
        g_autofree char *text = NULL;
        const char *path;
        Thing *thing;

        g_variant_get_child(args, 0, "&o", &path);
        thing = thing_new(path, interfaces);
        switch (thing->kind) {
        case KIND_VGPU:
                text = g_strdup_printf("%s %s", thing_text(thing, VGPU, "TypeName"),
                                       thing_text(thing, VGPU, "State"));
                break;
        case KIND_JOB:
                text = g_strdup_printf("%s %s", thing_text(thing, JOB, "Kind"),
                                       thing_text(thing, JOB, "State"));
                break;
        case KIND_GPU:
                text = g_strdup_printf("%s %s", thing_text(thing, GPU, "Model"),
                                       thing_text(thing, GPU, "State"));
                break;
        default:
                text = g_strdup(thing->kind == KIND_VF ? thing_name(thing) : "");
        }
        print_event(m, "added", STYLE_GOOD, path, text, interfaces);
        thing_free(thing);
}

static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *ignored) {
        const char *member = sd_bus_message_get_member(message), *path = sd_bus_message_get_path(message),
                   *name, *text;
        g_autoptr(GVariant) args = variant_from_message(message);
        Monitor *m = userdata;
        uint32_t ok, failed;

        if (!args)
                return 0;
        if (g_str_equal(member, "InterfacesAdded"))
                on_added(m, args);
        else if (g_str_equal(member, "InterfacesRemoved")) {
                g_variant_get_child(args, 0, "&o", &path);
                print_event(m, "removed", STYLE_WARN, path, "", NULL);
        } else if (g_str_equal(member, "PropertiesChanged")) {
                g_autoptr(GVariant) properties = g_variant_get_child_value(args, 1);
                g_autofree char *summary = summarise(properties);

                print_event(m, "changed", STYLE_PLAIN, path, summary, properties);
        } else if (g_str_equal(member, "JobFinished")) {
                g_autofree char *all = NULL;

                g_variant_get(args, "(t&o&s&s&s)", NULL, &path, &name, NULL, &text);
                all = g_strdup_printf("%s%s%s", name, *text ? ": " : "", text);
                print_event(m, "finished", g_str_equal(name, "done") ? STYLE_GOOD : STYLE_BAD, path, all,
                            NULL);
        } else if (g_str_equal(member, "Restored")) {
                g_autofree char *all = NULL;

                g_variant_get(args, "(uu)", &ok, &failed);
                all = g_strdup_printf("%u vGPUs are there, %u are not", ok, failed);
                print_event(m, "restored", failed > 0 ? STYLE_BAD : STYLE_GOOD, path, all, NULL);
        }
        return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *ignored) {
        const char *old, *new;

        if (sd_bus_message_read(message, "sss", NULL, &old, &new) < 0)
                return 0;
        if (*old)
                print_event(userdata, "gone", STYLE_BAD, CARVED_BUS_ROOT, "carved has left the bus", NULL);
        if (*new)
                print_event(userdata, "back", STYLE_GOOD, CARVED_BUS_ROOT, "carved is on the bus", NULL);
        return 0;
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *ignored) {
        return sd_event_exit(((Monitor *) userdata)->ctl->event, 1);
}

static int on_end(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata) {
        return sd_event_exit(sd_event_source_get_event(s), 0);
}

bool verb_monitor(Ctl *ctl, char **args, GError **error) {
        sd_event_source *ends[2] = { NULL, NULL };
        Monitor m = { .ctl = ctl };
        int r;

        if (!link_listen(ctl, &m.ear, on_signal, on_owner, on_disconnected, &m, error) ||
            !link_catch_ends(ctl, ends, on_end, NULL, error))
                return false;
        if (!ctl->quiet)
                fprintf(stderr, "Watching carved; Ctrl-C ends it.\n");
        r = sd_event_loop(ctl->event);
        link_ear_clear(&m.ear);
        for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++)
                sd_event_source_disable_unref(ends[i]);
        if (r == 0)
                return true;

        g_set_error(error, CTL_ERROR, CTL_BUS, "The bus went away\nSee: systemctl status dbus");
        return false;
}
