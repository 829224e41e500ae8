/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <unistd.h>

#include "boot.h"
#include "unit.h"

/* vgpuConfig.xml, read back as a program that wants sizes and maxima would. */

typedef struct Reader {
        GHashTable *types;  /* id → "name|class|width|height|size|heads|frl" */
        GHashTable *maxima; /* "device/id" → maximum */
        const char *element;
        char *id, *device, *supported;
        GString *line;
        bool in_card;
} Reader;

static const char *attribute(const char **names, const char **values, const char *name) {
        for (; *names; names++, values++)
                if (g_str_equal(*names, name))
                        return *values;

        ck_abort_msg("there is no '%s'", name);
}

static void on_start(GMarkupParseContext *context, const char *element, const char **names,
                     const char **values, void *data, GError **error) {
        Reader *reader = data;

        reader->element = g_intern_string(element);
        if (g_str_equal(element, "vgpuType")) {
                g_free(reader->id);
                reader->id = g_strdup(attribute(names, values, "id"));
                g_string_printf(reader->line, "%s|%s", attribute(names, values, "name"),
                                attribute(names, values, "class"));
        } else if (g_str_equal(element, "display")) {
                g_string_append_printf(reader->line, "|%s|%s", attribute(names, values, "width"),
                                       attribute(names, values, "height"));
        } else if (g_str_equal(element, "pgpu")) {
                reader->in_card = true;
        } else if (g_str_equal(element, "devId") && reader->in_card) {
                g_free(reader->device);
                reader->device = g_strdup(attribute(names, values, "deviceId"));
        } else if (g_str_equal(element, "supportedVgpu")) {
                g_free(reader->supported);
                reader->supported = g_strdup(attribute(names, values, "vgpuId"));
        }
}

static void on_text(GMarkupParseContext *context, const char *text, size_t len, void *data, GError **error) {
        Reader *reader = data;

        if (g_strcmp0(reader->element, "maxVgpus") == 0)
                g_hash_table_insert(reader->maxima,
                                    g_strdup_printf("%s/%s", reader->device, reader->supported),
                                    g_strndup(text, len));
        else if (g_strcmp0(reader->element, "profileSize") == 0 ||
                 g_strcmp0(reader->element, "numHeads") == 0 || g_strcmp0(reader->element, "frlConfig") == 0)
                g_string_append_printf(reader->line, "|%.*s", (int) len, text);
}

static void on_end(GMarkupParseContext *context, const char *element, void *data, GError **error) {
        Reader *reader = data;

        reader->element = NULL;
        if (g_str_equal(element, "vgpuType"))
                ck_assert_msg(
                        g_hash_table_insert(reader->types, g_strdup(reader->id), g_strdup(reader->line->str)),
                        "%s is there twice", reader->id);
}

static void read_xml(const char *xml, GHashTable *types, GHashTable *maxima) {
        static const GMarkupParser parser = { .start_element = on_start,
                                              .end_element = on_end,
                                              .text = on_text };
        g_autoptr(GString) line = g_string_new(NULL);
        Reader reader = { .types = types, .maxima = maxima, .line = line };
        g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, &reader, NULL);
        g_autoptr(GError) error = NULL;

        g_markup_parse_context_parse(context, xml, -1, &error);
        if (!error)
                g_markup_parse_context_end_parse(context, &error);
        ck_assert_msg(!error, "%s", error ? error->message : "");
        g_free(reader.id);
        g_free(reader.device);
        g_free(reader.supported);
}

static GHashTable *table_new(void) {
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static void check_gpu(const GpuSpec *gpu, GHashTable *types, GHashTable *maxima) {
        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];
                g_autofree char *id = g_strdup_printf("%u", type->id),
                                *max = g_strdup_printf("%u", type->max);
                g_autofree char *key = g_strdup_printf("0x%04x/%u", gpu->device, type->id);
                g_autofree char *line = g_strdup_printf("%s|%s|%u|%u|0x%" G_GINT64_MODIFIER "x|%u|0x%x",
                                                        type->name, type->class, type->width, type->height,
                                                        (guint64) type->framebuffer_mib << 20, type->heads,
                                                        type->frame_rate_limit);

                ck_assert_pstr_eq(g_hash_table_lookup(types, id), line);
                ck_assert_pstr_eq(g_hash_table_lookup(maxima, key), max);
        }
}

static const struct {
        const char *host;
        unsigned types; /* in the file, all models together */
} hosts[] = { { "a2", 15 }, { "l40s", 23 }, { "t4", 17 }, { "mixed", 15 + 23 + 17 } };

START_TEST(every_type_and_its_maximum_is_there_once) {
        g_autoptr(HostSpec) host = host_spec_load(SIM_SOURCE_DIR, hosts[_i].host, NULL);
        g_autofree char *xml = boot_vgpu_config(host);
        g_autoptr(GHashTable) types = table_new(), maxima = table_new();

        read_xml(xml, types, maxima);
        for (unsigned i = 0; i < host->gpus->len; i++)
                check_gpu(host->gpus->pdata[i], types, maxima);
        ck_assert_uint_eq(g_hash_table_size(types), hosts[_i].types);
        ck_assert_uint_eq(g_hash_table_size(maxima), hosts[_i].types);
}
END_TEST

static const char *const without[] = { "plain", "mtty" };

START_TEST(a_host_without_vgpu_types_has_no_such_file) {
        g_autoptr(HostSpec) host = host_spec_load(SIM_SOURCE_DIR, without[_i], NULL);

        ck_assert_ptr_null(boot_vgpu_config(host));
}
END_TEST

START_TEST(names_are_written_so_that_they_read_the_same) {
        static const char name[] = "<A&B> \"4\" 'Q' \xc3\xa4", class[] = "N<V&\"S";
        g_autoptr(HostSpec) host = host_spec_load(SIM_SOURCE_DIR, "a2", NULL);
        TypeSpec *type = ((GpuSpec *) host->gpus->pdata[0])->types->pdata[0];
        g_autoptr(GHashTable) types = table_new(), maxima = table_new();
        g_autofree char *xml = NULL;

        g_free(type->name);
        type->name = g_strdup(name);
        g_free(type->class);
        type->class = g_strdup(class);
        xml = boot_vgpu_config(host);
        read_xml(xml, types, maxima);
        check_gpu(host->gpus->pdata[0], types, maxima);
}
END_TEST

START_TEST(another_parser_finds_it_well_formed) {
        g_autoptr(HostSpec) host = host_spec_load(SIM_SOURCE_DIR, hosts[_i].host, NULL);
        g_autofree char *xml = boot_vgpu_config(host), *program = g_find_program_in_path("xmllint"),
                        *path = NULL;
        char *argv[] = { program, (char *) "--noout", NULL, NULL };
        int fd, status;

        if (!program)
                return; /* GLib's own has had its look above */

        fd = g_file_open_tmp("carved-unit-XXXXXX", &path, NULL);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, xml, strlen(xml)), strlen(xml));
        close(fd);
        argv[2] = path;
        ck_assert(g_spawn_sync(NULL, argv, NULL, 0, NULL, NULL, NULL, NULL, &status, NULL));
        unlink(path);
        ck_assert_int_eq(status, 0);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("vgpu-config");

        add_table_test(tests, every_type_and_its_maximum_is_there_once, hosts);
        add_table_test(tests, a_host_without_vgpu_types_has_no_such_file, without);
        tcase_add_test(tests, names_are_written_so_that_they_read_the_same);
        add_table_test(tests, another_parser_finds_it_well_formed, hosts);
        return unit_run(tests, "vgpu-config");
}
