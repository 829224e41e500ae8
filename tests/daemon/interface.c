/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "client.h"

/* What the binary says of itself, held against dbus/org.carved1.xml: member by member, both ways. On hosts
 * mixed and a100; the argument is the file. */

static Client *client;
static const char *xml_path;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

/* Lines such as "org.carved1.Gpu property Driver s read", one for each member, argument and annotation. */
typedef struct Reading {
        GHashTable *lines;
        char *interface, *member;
} Reading;

static const char *attribute(const char **names, const char **values, const char *name) {
        for (; *names; names++, values++)
                if (g_str_equal(*names, name))
                        return *values;

        return "-";
}

static void on_start(GMarkupParseContext *context, const char *element, const char **names,
                     const char **values, void *userdata, GError **error) {
        const char *name = attribute(names, values, "name");
        Reading *r = userdata;

        if (g_str_equal(element, "interface")) {
                g_free(r->interface);
                r->interface = g_strdup(name);
        }
        if (!r->interface || !g_str_has_prefix(r->interface, "org.carved1."))
                return;

        if (strstr("method signal property", element)) {
                g_free(r->member);
                r->member = g_strdup(name);
        }
        if (g_str_equal(element, "node") || g_str_equal(element, "interface"))
                return;

        g_hash_table_add(r->lines,
                         g_strdup_printf("%s %s %s %s type=%s access=%s direction=%s value=%s", r->interface,
                                         r->member, element, name, attribute(names, values, "type"),
                                         attribute(names, values, "access"),
                                         attribute(names, values, "direction"),
                                         attribute(names, values, "value")));
}

static void read_xml(GHashTable *lines, const char *text) {
        static const GMarkupParser callbacks = { .start_element = on_start };
        Reading reading = { .lines = lines };
        g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&callbacks, 0, &reading, NULL);

        ck_assert(g_markup_parse_context_parse(context, text, -1, NULL));
        g_free(reading.interface);
        g_free(reading.member);
}

static void introspect(GHashTable *lines, const char *path) {
        g_autoptr(GVariant) reply =
                client_call(client, path, "org.freedesktop.DBus.Introspectable", "Introspect", NULL, "");
        const char *text;

        g_variant_get(reply, "(&s)", &text);
        read_xml(lines, text);
}

static void compare(GHashTable *a, GHashTable *b, const char *what) {
        GHashTableIter iter;
        void *line;

        g_hash_table_iter_init(&iter, a);
        while (g_hash_table_iter_next(&iter, &line, NULL))
                ck_assert_msg(g_hash_table_contains(b, line), "%s: %s", what, (char *) line);
}

static bool types_are_there(Client *c, const void *data) {
        return client_count(c, "org.carved1.VgpuHost") > 60;
}

#define UUID "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"

/* Of a dry run: there is nothing that it would do. */
static const char *a_job(void) {
        g_autoptr(GVariant) reply = client_call(client, GPU_A2, "org.carved1.Sriov", "EnableVfs", NULL,
                                                "ua{sv}", 0, 1, "dry-run", "b", true);
        const char *job;

        g_variant_get(reply, "(&o)", &job);
        return g_intern_string(job);
}

#define GPU_L40S "/org/carved1/gpu/0000_26_00_0" /* which can have mixed sizes */

START_TEST(the_xml_is_what_the_binary_offers) {
        g_autoptr(GHashTable) written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GHashTable) offered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autofree char *text = NULL, *output = NULL;

        client_cut(client, "7g.40gb"); /* number 0: it has the whole card */
        introspect(offered, GPU_A100);
        introspect(offered, GPU_A100 "/mig/0"); /* which the next line loses */
        output = shell("/usr/lib/nvidia/sriov-manage -e ALL || true; carved-simctl settle");
        ck_assert(client_wait(client, 10000, types_are_there, NULL));
        g_free(output);
        output = shell("mdevctl start -u " UUID " -p 0000:08:00.4 -t nvidia-746");
        ck_assert(client_wait(client, 10000, object_is_there,
                              GPU_A2 "/vf/0/vgpu/dd6772a8_7db8_4e96_9a73_f94c389d9bc3"));

        ck_assert(g_file_get_contents(xml_path, &text, NULL, NULL));
        read_xml(written, text);
        introspect(offered, "/org/carved1");
        introspect(offered, GPU_A2);
        introspect(offered, GPU_A2 "/vf/0");
        introspect(offered, GPU_L40S);
        introspect(offered, GPU_A2 "/vf/0/vgpu/dd6772a8_7db8_4e96_9a73_f94c389d9bc3");
        introspect(offered, a_job());
        ck_assert_uint_gt(g_hash_table_size(written), 60);
        compare(offered, written, "not in the XML");
        compare(written, offered, "not in the binary");
}
END_TEST

START_TEST(an_interface_is_only_where_it_applies) {
        const char *error;

        /* A Quadro without SR-IOV, and without vGPUs. */
        ck_assert_ptr_null(
                client_get(client, "/org/carved1/gpu/0000_5e_00_0", "org.carved1.Sriov", "NumVfs"));
        ck_assert_ptr_null(client_get(client, "/org/carved1/gpu/0000_5e_00_0", "org.carved1.VgpuHost",
                                      "CreatableTypes"));
        ck_assert(property_is(client, &(Expect){ "/org/carved1/gpu/0000_5e_00_0", "org.carved1.Gpu",
                                                 "Framework", "none" }));
        ck_assert_ptr_null(client_get(client, GPU_A2 "/vf/0", "org.carved1.Gpu", "Driver"));
        ck_assert_ptr_null(client_call(client, GPU_A2 "/vf/99", "org.freedesktop.DBus.Properties", "GetAll",
                                       &error, "s", "org.carved1.VirtualFunction"));
        ck_assert_str_eq(error, SD_BUS_ERROR_UNKNOWN_OBJECT);
        ck_assert_ptr_null(
                client_call(client, GPU_A2 "/vf/0", "org.carved1.Gpu", "Refresh", &error, "a{sv}", 0));
        ck_assert_str_eq(error, SD_BUS_ERROR_UNKNOWN_METHOD);
}
END_TEST

/* What can be changed is changed by methods, which can answer later. */
START_TEST(no_property_can_be_set) {
        const char *error;

        ck_assert_ptr_null(client_call(client, GPU_A2, "org.freedesktop.DBus.Properties", "Set", &error,
                                       "ssv", "org.carved1.Gpu", "Driver", "s", "x"));
        ck_assert_str_eq(error, SD_BUS_ERROR_PROPERTY_READ_ONLY);
}
END_TEST

START_TEST(the_log_level_is_controlled_as_systemd_does_it) {
        const char *path = "/org/freedesktop/LogControl1", *interface = "org.freedesktop.LogControl1", *error;
        g_autoptr(GVariant) done = NULL;

        ck_assert(property_is(client, &(Expect){ path, interface, "SyslogIdentifier", "carved" }));
        ck_assert(property_is(client, &(Expect){ path, interface, "LogLevel", "info" }));
        done = client_call(client, path, "org.freedesktop.DBus.Properties", "Set", NULL, "ssv", interface,
                           "LogLevel", "s", "debug");
        ck_assert(property_is(client, &(Expect){ path, interface, "LogLevel", "debug" }));
        ck_assert_ptr_null(client_call(client, path, "org.freedesktop.DBus.Properties", "Set", &error, "ssv",
                                       interface, "LogLevel", "s", "loud"));
        ck_assert_str_eq(error, SD_BUS_ERROR_INVALID_ARGS);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("interface");
        TCase *tcase = tcase_create("interface");

        xml_path = argv[1];
        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, the_xml_is_what_the_binary_offers);
        tcase_add_test(tcase, an_interface_is_only_where_it_applies);
        tcase_add_test(tcase, no_property_can_be_set);
        tcase_add_test(tcase, the_log_level_is_controlled_as_systemd_does_it);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
