/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Programs nobody here wrote look at the simulated host: they must see what its file says, before
 * and after. */

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <json-glib/json-glib.h>
#include <libudev.h>

#include "host.h"
#include "mdevctl.h"
#include "shell.h"
#include "simctl.h"

static HostSpec *host;

static GpuSpec *gpu_at(unsigned i) {
        return host->gpus->pdata[i];
}

static const char *address_of(const GpuSpec *gpu, char buf[static CARVED_PCI_ADDRESS_MAX]) {
        return carved_pci_address_format(&gpu->address, buf);
}

static bool on_nvidia(const GpuSpec *gpu) {
        return g_strcmp0(gpu->driver, "nvidia") == 0;
}

/* Each card's VFs, in its own way; those on vfio-pci have none. */
static unsigned enable_all(void) {
        char address[CARVED_PCI_ADDRESS_MAX];
        unsigned vfs = 0;

        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = gpu_at(i);

                if (gpu->total_vfs == 0 || g_strcmp0(gpu->driver, gpu->home_driver) != 0)
                        continue;
                address_of(gpu, address);
                if (on_nvidia(gpu))
                        g_free(shell(NULL, "/usr/lib/nvidia/sriov-manage -e %s", address));
                else
                        g_free(shell(NULL, "echo %u > /sys/bus/pci/devices/%s/sriov_numvfs", gpu->total_vfs,
                                     address));
                vfs += gpu->total_vfs;
        }

        simctl_do("settle");
        return vfs;
}

static void fresh_host(void) {
        ck_assert_int_eq(simctl_do("reboot"), 0);
}

START_TEST(lspci_lists_the_cards_of_the_file_and_nothing_else) {
        g_autofree char *text = shell(NULL, "lspci -Dnn");
        unsigned lines = lines_with(text, "[") - lines_with(text, "[0604]");

        ck_assert_uint_eq(lines, host->gpus->len);
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = gpu_at(i);
                char address[CARVED_PCI_ADDRESS_MAX];
                g_autofree char *ids =
                        g_strdup_printf("[%04x:%04x] (rev %02x)", gpu->vendor, gpu->device, gpu->revision);
                g_autofree char *class = g_strdup_printf("[%04x]", gpu->class >> 8);
                g_autofree char *line = shell(NULL, "lspci -Dnn -s %s", address_of(gpu, address));

                ck_assert_msg(strstr(line, ids) && strstr(line, class), "lspci says '%s'", line);
        }
}
END_TEST

START_TEST(lspci_decodes_capabilities_driver_and_group) {
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = gpu_at(i);
                char address[CARVED_PCI_ADDRESS_MAX];
                g_autofree char *text = shell(NULL, "lspci -vv -s %s", address_of(gpu, address));
                g_autofree char *driver = g_strdup_printf("Kernel driver in use: %s", gpu->driver);
                g_autofree char *total = g_strdup_printf("Total VFs: %u, Number of VFs: 0", gpu->total_vfs);
                g_autofree char *place = g_strdup_printf("VF offset: %u, stride: %u, Device ID: %04x",
                                                         gpu->vf_offset, gpu->vf_stride, gpu->vf_device);

                ck_assert_ptr_nonnull(strstr(text, driver));
                ck_assert_ptr_nonnull(strstr(text, "IOMMU group:"));
                ck_assert_ptr_nonnull(strstr(text, "Express (v2) Endpoint"));
                ck_assert_int_eq(strstr(text, "Single Root I/O Virtualization") != NULL, gpu->total_vfs > 0);
                if (gpu->total_vfs > 0)
                        ck_assert_msg(strstr(text, total) && strstr(text, place), "lspci says '%s'", text);
        }
}
END_TEST

START_TEST(lspci_sees_the_vfs_come) {
        unsigned vfs = enable_all();
        g_autofree char *text = shell(NULL, "lspci -Dnn");

        ck_assert_uint_eq(lines_with(text, "[") - lines_with(text, "[0604]"), host->gpus->len + vfs);
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = gpu_at(i);
                char address[CARVED_PCI_ADDRESS_MAX];
                g_autofree char *n = g_strdup_printf("Number of VFs: %u", gpu->total_vfs);
                g_autofree char *verbose = shell(NULL, "lspci -vv -s %s", address_of(gpu, address));

                if (gpu->total_vfs > 0 && g_strcmp0(gpu->driver, gpu->home_driver) == 0)
                        ck_assert_ptr_nonnull(strstr(verbose, n));
        }
}
END_TEST

/* parent → type → its object, as mdevctl sees it. */
static JsonObject *mdevctl_types(JsonParser *parser) {
        g_autofree char *text = shell(NULL, "mdevctl types --dumpjson");
        JsonArray *list;

        ck_assert(json_parser_load_from_data(parser, text, -1, NULL));
        list = json_node_get_array(json_parser_get_root(parser));
        return json_array_get_length(list) > 0 ? json_array_get_object_element(list, 0) : NULL;
}

static JsonObject *mdevctl_type(JsonObject *parents, const char *parent, unsigned id) {
        g_autofree char *name = g_strdup_printf("nvidia-%u", id);
        JsonArray *types;

        ck_assert_msg(parents && json_object_has_member(parents, parent),
                      "mdevctl does not know the parent %s", parent);
        types = json_object_get_array_member(parents, parent);
        for (unsigned i = 0; i < json_array_get_length(types); i++) {
                JsonObject *type = json_array_get_object_element(types, i);

                if (json_object_has_member(type, name))
                        return json_object_get_object_member(type, name);
        }

        return NULL;
}

static void check_types_on(JsonObject *parents, const GpuSpec *gpu, const CarvedPciAddress *at) {
        char parent[CARVED_PCI_ADDRESS_MAX];

        carved_pci_address_format(at, parent);
        for (unsigned t = 0; t < gpu->types->len; t++) {
                const TypeSpec *spec = gpu->types->pdata[t];
                JsonObject *type = mdevctl_type(parents, parent, spec->id);
                g_autofree char *max = g_strdup_printf("max_instance=%u", spec->max);

                ck_assert_msg(type != NULL, "mdevctl does not know type %u on %s", spec->id, parent);
                ck_assert_str_eq(json_object_get_string_member(type, "name"), spec->name);
                /* MIG is off. */
                ck_assert_int_eq(json_object_get_int_member(type, "available_instances"),
                                 spec->mig_backed ? 0
                                 : gpu->total_vfs ? 1
                                                  : spec->max);
                ck_assert_ptr_nonnull(strstr(json_object_get_string_member(type, "description"), max));
                ck_assert_str_eq(json_object_get_string_member(type, "device_api"), "vfio-pci");
        }
}

START_TEST(mdevctl_knows_every_type_of_every_parent) {
        g_autoptr(JsonParser) parser = json_parser_new();
        unsigned expected = 0;
        JsonObject *parents;

        enable_all();
        parents = mdevctl_types(parser);
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = gpu_at(i);

                if (gpu->framework != FRAMEWORK_MDEV || !on_nvidia(gpu))
                        continue;
                for (unsigned v = 0; v < MAX(gpu->total_vfs, 1); v++) {
                        CarvedPciAddress at = gpu->total_vfs ? gpu_spec_vf_address(gpu, v) : gpu->address;

                        check_types_on(parents, gpu, &at);
                        expected++;
                }
        }
        ck_assert_uint_eq(parents ? json_object_get_size(parents) : 0, expected);
}
END_TEST

/* The first parent of the host, and the last of its types. */
static bool first_parent(char address[static CARVED_PCI_ADDRESS_MAX], unsigned *ret_type) {
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = gpu_at(i);
                CarvedPciAddress at = gpu->total_vfs ? gpu_spec_vf_address(gpu, 0) : gpu->address;

                if (gpu->framework != FRAMEWORK_MDEV || !on_nvidia(gpu))
                        continue;
                carved_pci_address_format(&at, address);
                *ret_type = ((TypeSpec *) gpu->types->pdata[0])->id;
                return true;
        }

        return false;
}

START_TEST(mdevctl_starts_lists_and_stops) {
        const char *uuid = "dd6772a8-7db8-4e96-9a73-f94c389d9bc3";
        g_autofree char *listed = NULL, *refused = NULL, *after = NULL, *line = NULL;
        char parent[CARVED_PCI_ADDRESS_MAX];
        unsigned type;
        int code;

        enable_all();
        if (!first_parent(parent, &type)) {
                listed = shell(NULL, "mdevctl list");
                ck_assert_str_eq(g_strstrip(listed), "");
                return;
        }

        g_free(shell(NULL, "mdevctl start -u %s -p %s --type nvidia-%u", uuid, parent, type));
        listed = shell(NULL, "mdevctl list");
        line = g_strdup_printf("%s %s nvidia-%u manual", uuid, parent, type);
        ck_assert_ptr_nonnull(strstr(listed, line));
        refused = shell(&code, "mdevctl start -u %s -p %s --type nvidia-%u", uuid, parent, type);
        ck_assert_int_ne(code, 0);

        g_free(shell(NULL, "mdevctl stop -u %s", uuid));
        after = shell(NULL, "mdevctl list");
        ck_assert_str_eq(g_strstrip(after), "");
}
END_TEST

START_TEST(mdevctl_keeps_definitions_of_its_own) {
        char parent[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *listed = NULL;
        unsigned type;

        enable_all();
        if (!first_parent(parent, &type))
                return;

        g_free(shell(NULL, "mdevctl define -u 11111111-2222-4333-8444-555555555555 -p %s --type nvidia-%u",
                     parent, type));
        listed = shell(NULL, "mdevctl list -d");
        ck_assert_uint_eq(lines_with(listed, "11111111-2222-4333-8444-555555555555"), 1);
        g_free(shell(NULL, "mdevctl undefine -u 11111111-2222-4333-8444-555555555555"));
}
END_TEST

/* What it writes is what we read. */
START_TEST(definitions_of_mdevctl_can_be_read) {
        g_autoptr(GPtrArray) list = NULL, complaints = NULL;
        char parent[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *full = NULL;
        const CarvedDefinition *d;
        unsigned type;

        enable_all();
        if (!first_parent(parent, &type))
                return;

        full = g_strdup_printf("nvidia-%u", type);
        g_free(shell(NULL,
                     "mdevctl define -u 11111111-2222-4333-8444-555555555555 -p %s --type %s --auto && "
                     "mdevctl modify -u 11111111-2222-4333-8444-555555555555 --addattr a/b --value 1 && "
                     "mdevctl define -u 21111111-2222-4333-8444-555555555555 -p %s --type %s",
                     parent, full, parent, full));
        list = carved_mdevctl_read(CARVED_MDEVCTL_PATH, &complaints);
        g_free(shell(NULL, "mdevctl undefine -u 11111111-2222-4333-8444-555555555555; "
                           "mdevctl undefine -u 21111111-2222-4333-8444-555555555555"));
        ck_assert_uint_eq(list->len, 2);
        ck_assert_uint_eq(complaints->len, 0);
        d = carved_mdevctl_find_autostart(list, parent);
        ck_assert_str_eq(d->uuid, "11111111-2222-4333-8444-555555555555");
        ck_assert_str_eq(d->type, full);
        d = carved_mdevctl_find(list, "21111111-2222-4333-8444-555555555555");
        ck_assert_str_eq(d->parent, parent);
        ck_assert(!d->autostart);
}
END_TEST

START_TEST(udevadm_info_tells_ids_and_driver) {
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = gpu_at(i);
                char address[CARVED_PCI_ADDRESS_MAX];
                g_autofree char *text =
                        shell(NULL, "udevadm info /sys/bus/pci/devices/%s", address_of(gpu, address));
                g_autofree char *id = g_strdup_printf("E: PCI_ID=%04X:%04X\n", gpu->vendor, gpu->device);
                g_autofree char *driver = g_strdup_printf("E: DRIVER=%s\n", gpu->driver);
                g_autofree char *attrs = shell(NULL, "udevadm info -a /sys/bus/pci/devices/%s", address);
                g_autofree char *vendor = g_strdup_printf("ATTR{vendor}==\"0x%04x\"", gpu->vendor);

                ck_assert_ptr_nonnull(strstr(text, id));
                ck_assert_ptr_nonnull(strstr(text, driver));
                ck_assert_ptr_nonnull(strstr(attrs, vendor));
        }
}
END_TEST

static bool monitor_listens(void *data) {
        g_autofree char *text = NULL;

        return g_file_get_contents("/run/monitor", &text, NULL, NULL) && strstr(text, "KERNEL - ");
}

static bool monitor_saw(void *data) {
        g_autofree char *text = NULL, *kernel = g_strdup_printf("add      %s", (const char *) data);

        return g_file_get_contents("/run/monitor", &text, NULL, NULL) && lines_with(text, kernel) == 2;
}

START_TEST(udevadm_monitor_hears_each_event_from_the_kernel_and_from_udev) {
        const char *argv[] = { "bash", "-c",
                               "exec udevadm monitor --kernel --udev --subsystem-match=pci > /run/monitor",
                               NULL };
        GPid pid;

        unlink("/run/monitor");
        ck_assert(g_spawn_async(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &pid, NULL));
        ck_assert(comes_true(monitor_listens, NULL));
        if (enable_all() > 0) {
                GpuSpec *gpu = NULL;
                char vf[CARVED_PCI_ADDRESS_MAX], path[PATH_MAX];
                g_autofree char *link = NULL;
                CarvedPciAddress at;

                for (unsigned i = 0; i < host->gpus->len && !(gpu && gpu->total_vfs); i++)
                        gpu = gpu_at(i);
                at = gpu_spec_vf_address(gpu, gpu->total_vfs - 1);
                carved_pci_address_format(&at, vf);
                link = g_strdup_printf("/sys/bus/pci/devices/%s", vf);
                ck_assert_ptr_nonnull(realpath(link, path));
                ck_assert(comes_true(monitor_saw, path + strlen("/sys")));
        }
        kill(pid, SIGTERM);
}
END_TEST

START_TEST(libudev_enumerates_every_function_and_reads_it) {
        unsigned vfs = enable_all(), functions = 0;
        struct udev *udev = udev_new();
        struct udev_enumerate *e = udev_enumerate_new(udev);
        struct udev_list_entry *entry;

        udev_enumerate_add_match_subsystem(e, "pci");
        udev_enumerate_add_match_is_initialized(e);
        ck_assert_int_ge(udev_enumerate_scan_devices(e), 0);
        udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(e)) {
                struct udev_device *device =
                        udev_device_new_from_syspath(udev, udev_list_entry_get_name(entry));
                const char *class = udev_device_get_sysattr_value(device, "class");

                ck_assert_ptr_nonnull(class);
                ck_assert_int_eq(udev_device_get_is_initialized(device), 1);
                functions += !g_str_equal(class, "0x060400");
                udev_device_unref(device);
        }
        ck_assert_uint_eq(functions, host->gpus->len + vfs);
        udev_enumerate_unref(e);
        udev_unref(udev);
}
END_TEST

static bool udevd_listens(void *data) {
        return g_file_test("/run/udev/control", G_FILE_TEST_EXISTS) &&
               !g_file_test("/run/udev/control", G_FILE_TEST_IS_REGULAR);
}

/* Last, for it takes udev's place for good. */
START_TEST(systemd_udevd_processes_the_events_itself) {
        const char *argv[] = { "/lib/systemd/systemd-udevd", NULL };
        unsigned vfs, marked;
        g_autofree char *text = NULL;
        GPid pid;

        g_mkdir_with_parents("/run/udev/rules.d", 0755);
        ck_assert(g_file_set_contents("/run/udev/rules.d/99-witness.rules",
                                      "SUBSYSTEM==\"pci\", ACTION!=\"remove\", TEST==\"physfn\", "
                                      "ENV{WITNESS}=\"$attr{vendor}\", TAG+=\"witness\"\n",
                                      -1, NULL));
        ck_assert(g_spawn_async(NULL, (char **) argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &pid,
                                NULL));
        ck_assert(comes_true(udevd_listens, NULL));

        vfs = enable_all();
        g_free(shell(NULL, "udevadm settle -t 20"));
        text = shell(NULL, "udevadm info -e");
        marked = lines_with(text, "E: WITNESS=0x");
        ck_assert_uint_eq(marked, vfs);
        ck_assert_uint_eq(lines_with(text, "E: TAGS=:witness:"), vfs);
        kill(pid, SIGTERM);
}
END_TEST

int main(int argc, char *argv[]) {
        g_autoptr(GError) error = NULL;
        Suite *suite = suite_create(argv[2]);
        TCase *tcase = tcase_create("witness");
        SRunner *runner = srunner_create(suite);
        int failed;

        host = host_spec_load(argv[1], argv[2], &error);
        g_assert_no_error(error);

        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, fresh_host, NULL);
        tcase_add_test(tcase, lspci_lists_the_cards_of_the_file_and_nothing_else);
        tcase_add_test(tcase, lspci_decodes_capabilities_driver_and_group);
        tcase_add_test(tcase, lspci_sees_the_vfs_come);
        tcase_add_test(tcase, mdevctl_knows_every_type_of_every_parent);
        tcase_add_test(tcase, mdevctl_starts_lists_and_stops);
        tcase_add_test(tcase, mdevctl_keeps_definitions_of_its_own);
        tcase_add_test(tcase, definitions_of_mdevctl_can_be_read);
        tcase_add_test(tcase, udevadm_info_tells_ids_and_driver);
        tcase_add_test(tcase, udevadm_monitor_hears_each_event_from_the_kernel_and_from_udev);
        tcase_add_test(tcase, libudev_enumerates_every_function_and_reads_it);
        tcase_add_test(tcase, systemd_udevd_processes_the_events_itself);
        suite_add_tcase(suite, tcase);

        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        host_spec_free(host);
        return failed > 0;
}
