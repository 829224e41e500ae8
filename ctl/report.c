/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <sys/utsname.h>
#include <syslog.h>

#include "fail.h"
#include "journal.h"
#include "json.h"
#include "link.h"
#include "text.h"
#include "verbs.h"

/* All that a bug report needs, as JSON, which those who read it can search; and nothing secret: no serial
 * numbers, no labels, owners or parameters, which people fill, and no names of hosts or users. */

#define LOG_LINES 100

static const char *const secrets[] = { "Serial", "GpuUuid", "Labels", "Owner", "Params" };

static const char *const spoken[] = { "Plan", "ErrorMessage", "LastError" };

static void set_text(JsonObject *object, const char *key, const char *value) {
        json_object_set_string_member(object, key, value ?: "");
}

/* First line of a file, or "". */
static char *first_line(const char *path) {
        char *text = NULL;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                return g_strdup("");

        *strchrnul(text, '\n') = '\0';
        return text;
}

/* Of the command line only what is about GPUs and the IOMMU: passwords have been seen there. */
static char *kernel_words(void) {
        g_autofree char *line = first_line("/proc/cmdline");
        g_auto(GStrv) words = g_strsplit(line, " ", -1);
        GString *kept = g_string_new(NULL);

        for (char **word = words; *word; word++)
                if (strstr(*word, "iommu") || g_str_has_prefix(*word, "vfio") ||
                    g_str_has_prefix(*word, "pci=") || g_str_has_prefix(*word, "nvidia") ||
                    g_str_has_prefix(*word, "nouveau") || strstr(*word, "blacklist"))
                        g_string_append_printf(kept, "%s%s", kept->len > 0 ? " " : "", *word);
        return g_string_free(kept, FALSE);
}

static char *system_name(void) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        if (!g_file_get_contents("/etc/os-release", &text, NULL, NULL))
                return g_strdup("");
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++)
                if (g_str_has_prefix(*line, "PRETTY_NAME=")) {
                        g_autofree char *value = g_shell_unquote(*line + strlen("PRETTY_NAME="), NULL);

                        return g_strdup(value ?: "");
                }
        return g_strdup("");
}

static JsonObject *host_facts(void) {
        static const char *const modules[] = { "nvidia", "nvidia_vgpu_vfio", "vfio", "vfio_pci", "mdev", "xe",
                                               "amdgpu" };
        g_autofree char *words = kernel_words(), *system = system_name();
        JsonObject *host = json_object_new(), *loaded = json_object_new();
        struct utsname name;

        uname(&name);
        set_text(host, "System", system);
        set_text(host, "Kernel", name.release);
        set_text(host, "Machine", name.machine);
        set_text(host, "CommandLine", words);
        for (unsigned i = 0; i < G_N_ELEMENTS(modules); i++) {
                g_autofree char *directory = g_strdup_printf("/sys/module/%s", modules[i]);
                g_autofree char *file = g_strdup_printf("%s/version", directory);
                g_autofree char *version = first_line(file);

                if (g_file_test(directory, G_FILE_TEST_IS_DIR))
                        set_text(loaded, modules[i], version);
        }
        json_object_set_object_member(host, "Modules", loaded);
        return host;
}

/* Messages and plans quote what they are about. Where that is a plugin's parameters, it is not for others. */
static char *hush(const char *text) {
        GString *hushed;
        bool quoted = false;

        if (!strstr(text, "arameter") && !strstr(text, "vgpu_params"))
                return g_strdup(text);

        hushed = g_string_new(NULL);
        for (; *text; text++) {
                if (*text == '\'') {
                        g_string_append(hushed, quoted ? "'" : "'(left out)");
                        quoted = !quoted;
                } else if (!quoted)
                        g_string_append_c(hushed, *text);
        }
        return g_string_free(hushed, FALSE);
}

static void hush_member(JsonObject *object, const char *key) {
        JsonNode *node = json_object_get_member(object, key);

        if (node && JSON_NODE_HOLDS_ARRAY(node)) {
                JsonArray *old = json_node_get_array(node), *hushed = json_array_new();

                for (unsigned i = 0; i < json_array_get_length(old); i++) {
                        g_autofree char *text = hush(json_array_get_string_element(old, i));

                        json_array_add_string_element(hushed, text);
                }
                json_object_set_array_member(object, key, hushed);
        } else if (node) {
                g_autofree char *text = hush(json_node_get_string(node));

                set_text(object, key, text);
        }
}

/* Facts that are not for others are there by name, so that it is seen that they were. */
static JsonNode *without_secrets(const Thing *thing) {
        JsonNode *node = json_from_thing(thing);
        JsonObject *object = json_node_get_object(node);

        for (unsigned i = 0; i < G_N_ELEMENTS(secrets); i++)
                if (json_object_has_member(object, secrets[i]))
                        set_text(object, secrets[i], "(left out)");
        for (unsigned i = 0; i < G_N_ELEMENTS(spoken); i++)
                hush_member(object, spoken[i]);
        return node;
}

static void add_objects(Ctl *ctl, JsonObject *report) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GVariant) manager = NULL, stored = NULL;
        g_autoptr(Host) host = NULL;
        JsonArray *objects = json_array_new();

        if (link_open(ctl, &error))
                manager = link_get_all(ctl, CARVED_BUS_ROOT, MANAGER, &error);
        if (manager) {
                json_object_set_member(report, "Manager", json_from_dict(manager));
                host = host_load(ctl, &error);
        }
        for (unsigned i = 0; host && i < host->things->len; i++)
                json_array_add_element(objects, without_secrets(host->things->pdata[i]));
        json_object_set_array_member(report, "Objects", objects);
        stored = host ? link_ask(ctl, CARVED_BUS_ROOT, MANAGER, "ListStored", NULL, "") : NULL;
        if (stored) {
                g_autoptr(GVariant) list = g_variant_get_child_value(stored, 0);

                json_object_set_member(report, "Stored", json_gvariant_serialize(list));
        }
        if (error)
                set_text(report, "Error", error->message);
}

/* Settings decide much; labels in them are people's. */
static void add_configuration(JsonObject *report) {
        static const char *const directories[] = { "/etc/carved", "/etc/carved/carved.conf.d",
                                                   "/run/carved/carved.conf.d",
                                                   "/usr/lib/carved/carved.conf.d" };
        JsonObject *files = json_object_new();

        for (unsigned i = 0; i < G_N_ELEMENTS(directories); i++) {
                g_autoptr(GDir) dir = g_dir_open(directories[i], 0, NULL);
                const char *name;

                while (dir && (name = g_dir_read_name(dir))) {
                        g_autofree char *path = g_build_filename(directories[i], name, NULL), *text = NULL;
                        g_autoptr(GString) kept = g_string_new(NULL);
                        g_auto(GStrv) lines = NULL;

                        if (!g_str_has_suffix(name, ".conf") || !g_file_get_contents(path, &text, NULL, NULL))
                                continue;
                        lines = g_strsplit(text, "\n", -1);
                        for (char **line = lines; *line; line++)
                                if (**line && !g_str_has_prefix(g_strstrip(*line), "Labels"))
                                        g_string_append_printf(kept, "%s\n", *line);
                        set_text(files, path, kept->str);
                }
        }
        json_object_set_object_member(report, "Configuration", files);
}

static void add_log(JsonObject *report) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) lines = journal_read(NULL, LOG_NOTICE, LOG_LINES, &error);
        JsonArray *array = json_array_new();

        for (unsigned i = 0; lines && i < lines->len; i++) {
                g_autofree char *text = hush(g_array_index(lines, JournalLine, i).message);

                json_array_add_string_element(array, text);
        }
        if (error)
                json_array_add_string_element(array, error->message);
        json_object_set_array_member(report, "Log", array);
}

bool verb_report(Ctl *ctl, char **args, GError **error) {
        JsonObject *report = json_object_new();

        set_text(report, "carvectl", CARVED_VERSION);
        if (!ctl->host) {
                json_object_set_object_member(report, "Host", host_facts());
                add_configuration(report);
                add_log(report);
        }
        add_objects(ctl, report);
        if (ctl->json == JSON_OFF)
                ctl->json = JSON_PRETTY;
        json_print(ctl, json_node_of(report));
        return true;
}
