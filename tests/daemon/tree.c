/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <string.h>

#include "../tap.h"
#include "client.h"

/* The tree on the host that this runs on, whichever it is: held against what sysfs itself says. */

static Client *client;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static unsigned number(const char *command) {
        g_autofree char *text = shell("%s", command);

        return (unsigned) g_ascii_strtoull(text, NULL, 10);
}

#define ALL_GPUS                                                                                             \
        "for d in /sys/bus/pci/devices/*; do case $(cat $d/class) in 0x03*|0x1200*) [ -e $d/physfn ] || "    \
        "echo $d;; esac; done"

static bool vfs_are_all_there(Client *c, const void *data) {
        return client_count(c, "org.carved1.VirtualFunction") == *(const unsigned *) data;
}

/* All VFs on: NVIDIA's by its script, which fails where a card is somebody else's, plain ones by hand. */
static void enable_all(void) {
        g_autofree char *output =
                shell("[ ! -x /usr/lib/nvidia/sriov-manage ] || /usr/lib/nvidia/sriov-manage -e ALL || true\n"
                      "for d in /sys/bus/pci/drivers/plaingpu/0*; do\n"
                      "[ ! -e $d/sriov_numvfs ] || cat $d/sriov_totalvfs > $d/sriov_numvfs; done\n"
                      "carved-simctl settle");
        unsigned vfs = number("ls -d /sys/bus/pci/devices/*/physfn 2>/dev/null | wc -l");

        ck_assert_msg(client_wait(client, 5000, vfs_are_all_there, &vfs), "of %u VFs %u are shown", vfs,
                      client_count(client, "org.carved1.VirtualFunction"));
}

START_TEST(every_gpu_is_there_with_its_ids) {
        g_autofree char *list = shell(ALL_GPUS);
        g_auto(GStrv) paths = g_strsplit(g_strstrip(list), "\n", -1);
        unsigned n = *list ? g_strv_length(paths) : 0;

        ck_assert_uint_eq(client_count(client, "org.carved1.Gpu"), n);
        for (unsigned i = 0; i < n; i++) {
                const char *address = strrchr(paths[i], '/') + 1;
                g_autofree char *identity = shell(
                        "cd %s && printf '%%s:%%s:%%s:%%s@%s' $(cut -c3- vendor device subsystem_vendor "
                        "subsystem_device)",
                        paths[i], address);
                g_autofree char *driver = shell("basename \"$(readlink %s/driver)\"", paths[i]);
                g_autofree char *got = NULL, *got_driver = NULL;
                g_autoptr(GVariant) reply =
                        client_call(client, "/org/carved1", MANAGER, "GetGpu", NULL, "s", address);
                const char *path;

                g_variant_get(reply, "(&o)", &path);
                got = client_get_string(client, path, "org.carved1.Gpu", "Identity");
                got_driver = client_get_string(client, path, "org.carved1.Gpu", "Driver");
                ck_assert_str_eq(got, identity);
                ck_assert_str_eq(got_driver, g_strstrip(driver));
        }
}
END_TEST

START_TEST(every_vf_is_there_in_numeric_order) {
        g_autoptr(GVariant) objects = NULL;
        GVariantIter iter;
        const char *path;
        GVariant *interfaces;

        enable_all();
        objects = client_objects(client);
        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &interfaces)) {
                g_autoptr(GVariant) vfs = client_get(client, path, "org.carved1.Sriov", "Vfs");

                for (gsize i = 0; vfs && i < g_variant_n_children(vfs); i++) {
                        g_autofree char *expect = g_strdup_printf("%s/vf/%zu", path, i), *address = NULL,
                                        *real = NULL;
                        g_autofree char *gpu = client_get_string(client, path, "org.carved1.Gpu", "Address");
                        const char *vf;

                        g_variant_get_child(vfs, i, "&o", &vf);
                        ck_assert_str_eq(vf, expect);
                        address = client_get_string(client, vf, "org.carved1.VirtualFunction", "Address");
                        real = shell("basename $(readlink /sys/bus/pci/devices/%s/virtfn%zu)", gpu, i);
                        ck_assert_str_eq(address, g_strstrip(real));
                }
        }
}
END_TEST

/* By the D-Bus rules the root is not in it; everything else has its parent there. */
START_TEST(every_object_has_its_parent_in_the_tree) {
        g_autoptr(GVariant) objects = client_objects(client);
        GVariantIter iter;
        const char *path;
        GVariant *interfaces;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &interfaces)) {
                const char *below = strstr(path + strlen("/org/carved1/gpu/"), "/");
                g_autofree char *gpu = below ? g_strndup(path, (gsize) (below - path)) : g_strdup(path);
                g_autoptr(GVariant) parent = g_variant_lookup_value(objects, gpu, NULL);

                ck_assert_str_ne(path, "/org/carved1");
                ck_assert_ptr_nonnull(parent);
        }
}
END_TEST

START_TEST(a_gpu_without_vgpus_to_be_had_says_why) {
        g_autoptr(GVariant) objects = client_objects(client);
        GVariantIter iter;
        const char *path;
        GVariant *interfaces;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &interfaces)) {
                g_autoptr(GVariant) reasons = client_get(client, path, "org.carved1.Gpu", "Reasons");
                g_autoptr(GVariant) creatable =
                        client_get(client, path, "org.carved1.VgpuHost", "CreatableTypes");
                bool can = creatable && g_variant_n_children(creatable) > 0;

                if (reasons)
                        ck_assert_msg((g_variant_n_children(reasons) == 0) == can, "%s", path);
        }
}
END_TEST

START_TEST(the_inventory_has_a_row_for_each_type) {
        g_autoptr(GVariant) reply = client_call(client, "/org/carved1", MANAGER, "GetInventory", NULL, "");
        g_autoptr(GVariant) rows = g_variant_get_child_value(reply, 0);
        g_autoptr(GVariant) objects = client_objects(client);
        unsigned types = 0;
        GVariantIter iter;
        const char *path;
        GVariant *interfaces;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &interfaces)) {
                g_autoptr(GVariant) value = client_get(client, path, "org.carved1.Gpu", "Types");

                types += value ? (unsigned) g_variant_n_children(value) : 0;
        }
        ck_assert_uint_eq(g_variant_n_children(rows), types);

        for (gsize i = 0; i < g_variant_n_children(rows); i++) {
                g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);
                uint32_t available = 0;
                const char *code;

                ck_assert(g_variant_lookup(row, "ReasonCode", "&s", &code));
                g_variant_lookup(row, "Available", "u", &available);
                ck_assert_int_eq(available > 0, *code == '\0');
        }
}
END_TEST

START_TEST(the_manager_runs) {
        g_autofree char *state = client_get_string(client, "/org/carved1", MANAGER, "State");
        g_autofree char *version = client_get_string(client, "/org/carved1", MANAGER, "Version");

        ck_assert_str_eq(state, "running");
        ck_assert_str_eq(version, CARVED_VERSION);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("tree");
        TCase *tcase = tcase_create("tree");

        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, the_manager_runs);
        tcase_add_test(tcase, every_gpu_is_there_with_its_ids);
        tcase_add_test(tcase, a_gpu_without_vgpus_to_be_had_says_why);
        tcase_add_test(tcase, every_vf_is_there_in_numeric_order);
        /* Now with VFs, which are no GPUs. */
        tcase_add_test(tcase, every_gpu_is_there_with_its_ids);
        tcase_add_test(tcase, every_object_has_its_parent_in_the_tree);
        tcase_add_test(tcase, a_gpu_without_vgpus_to_be_had_says_why);
        tcase_add_test(tcase, the_inventory_has_a_row_for_each_type);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
