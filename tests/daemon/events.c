/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "client.h"
#include "simctl.h"

/* The tree follows by events, and a second client hears no more than it must. On host l40s and a2, by
 * argument. */

#define L40S       "/org/carved1/gpu/0000_26_00_0"
#define L40S_SYSFS "/sys/bus/pci/devices/0000:26:00.0"
#define UUID       "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define VGPU       GPU_A2 "/vf/0/vgpu/dd6772a8_7db8_4e96_9a73_f94c389d9bc3"

static Client *client;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static bool has_vfs(Client *c, const void *data) {
        return client_count(c, "org.carved1.VirtualFunction") == *(const unsigned *) data;
}

static void wait_for_vfs(unsigned n) {
        ck_assert_msg(client_wait(client, 10000, has_vfs, &n), "%u VFs are shown, not %u",
                      client_count(client, "org.carved1.VirtualFunction"), n);
}

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

/* Which place among all signals heard; -1: not heard. */
static int place_of(const char *member, const char *path) {
        for (unsigned i = 0; i < client->heard->len; i++) {
                const Signal *s = client->heard->pdata[i];
                const char *about;

                if (!g_str_equal(s->member, member))
                        continue;
                g_variant_get_child(s->args, 0, "&o", &about);
                if (g_str_equal(about, path))
                        return (int) i;
        }
        return -1;
}

/* With the stub as driver nothing else happens than that VFs come: no driver is changed, no types are
 * published. */
static void bind_stub(void) {
        run("echo 0000:26:00.0 > " L40S_SYSFS "/driver/unbind; echo pci-pf-stub > " L40S_SYSFS
            "/driver_override; "
            "echo 0000:26:00.0 > /sys/bus/pci/drivers_probe; carved-simctl settle");
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ L40S, "org.carved1.Gpu", "Driver", "pci-pf-stub" }));
        client_settle(client, 400);
        client_forget(client);
}

static void unbind_stub(void) {
        run("echo 0 > " L40S_SYSFS "/sriov_numvfs; echo 0000:26:00.0 > " L40S_SYSFS "/driver/unbind; "
            "echo > " L40S_SYSFS
            "/driver_override; echo 0000:26:00.0 > /sys/bus/pci/drivers_probe; carved-simctl settle");
        wait_for_vfs(0);
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ L40S, "org.carved1.Gpu", "State", "ready" }));
        client_settle(client, 400);
}

START_TEST(a_burst_is_one_signal_per_object) {
        static const char *const interfaces[] = { "org.carved1.Gpu", "org.carved1.Sriov",
                                                  "org.carved1.VgpuHost" };

        bind_stub();
        run("echo 32 > " L40S_SYSFS "/sriov_numvfs");
        wait_for_vfs(32);
        client_settle(client, 600);

        ck_assert_uint_eq(client_heard(client, "InterfacesAdded", NULL, NULL), 32);
        for (unsigned i = 0; i < 32; i++) {
                g_autofree char *path = g_strdup_printf(L40S "/vf/%u", i);

                ck_assert_uint_eq(client_heard(client, "InterfacesAdded", path, NULL), 1);
                ck_assert_uint_le(client_heard(client, "PropertiesChanged", path, NULL), 1);
        }
        for (unsigned i = 0; i < G_N_ELEMENTS(interfaces); i++)
                ck_assert_uint_le(client_heard(client, "PropertiesChanged", L40S, interfaces[i]), 1);
        ck_assert_uint_eq(client_heard(client, "PropertiesChanged", L40S, "org.carved1.Sriov"), 1);
        unbind_stub();
}
END_TEST

START_TEST(vfs_go_as_they_came) {
        bind_stub();
        run("echo 32 > " L40S_SYSFS "/sriov_numvfs");
        wait_for_vfs(32);
        client_settle(client, 400);
        client_forget(client);

        run("echo 0 > " L40S_SYSFS "/sriov_numvfs");
        wait_for_vfs(0);
        client_settle(client, 600);
        ck_assert_uint_eq(client_heard(client, "InterfacesRemoved", NULL, NULL), 32);
        ck_assert_uint_eq(client_heard(client, "InterfacesAdded", NULL, NULL), 0);
        ck_assert_uint_eq(client_heard(client, "PropertiesChanged", L40S, "org.carved1.Sriov"), 1);
        unbind_stub();
}
END_TEST

START_TEST(capability_comes_and_goes_as_an_interface) {
        run("/usr/lib/nvidia/sriov-manage -e ALL; carved-simctl settle");
        wait_for_vfs(32);
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ L40S, "org.carved1.Gpu", "Framework", "vendor-vfio" }));
        client_settle(client, 400);
        ck_assert_uint_eq(client_count(client, "org.carved1.VgpuHost"), 33);

        run("/usr/lib/nvidia/sriov-manage -d ALL; carved-simctl settle");
        wait_for_vfs(0);
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ L40S, "org.carved1.Gpu", "Framework", "unknown" }));
        ck_assert_uint_eq(client_count(client, "org.carved1.VgpuHost"), 1);
}
END_TEST

/* Vendor VFIO sends no event: Refresh looks, and answers when all is shown. */
START_TEST(refresh_shows_what_no_event_told) {
        g_autofree char *role = NULL;
        g_autoptr(GVariant) by_address = NULL, done = NULL;
        const char *path, *error;

        run("/usr/lib/nvidia/sriov-manage -e ALL; carved-simctl settle");
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ L40S, "org.carved1.Gpu", "Framework", "vendor-vfio" }));
        client_settle(client, 400);
        run("echo 1150 > /sys/bus/pci/devices/0000:26:00.5/nvidia/current_vgpu_type");

        done = client_call(client, L40S, "org.carved1.Gpu", "Refresh", NULL, "a{sv}", 0);
        role = client_get_string(client, L40S "/vf/1", "org.carved1.VirtualFunction", "Role");
        ck_assert_str_eq(role, "vgpu");
        by_address = client_call(client, "/org/carved1", MANAGER, "GetVgpu", NULL, "s", "0000:26:00.5");
        g_variant_get(by_address, "(&o)", &path);
        ck_assert(property_is(client, &(Expect){ path, "org.carved1.Vgpu", "TypeName", "NVIDIA L40S-4Q" }));
        ck_assert(property_is(client, &(Expect){ path, "org.carved1.Vgpu", "Origin", "foreign" }));
        ck_assert(property_is(client, &(Expect){ path, "org.carved1.Vgpu", "Address", "0000:26:00.5" }));
        ck_assert(property_is(client,
                              &(Expect){ path, "org.carved1.Vgpu", "LibvirtName", "pci_0000_26_00_5" }));

        ck_assert_ptr_null(client_call(client, L40S, "org.carved1.Gpu", "Refresh", &error, "a{sv}", 1,
                                       "dry-run", "b", 1));
        ck_assert_str_eq(error, SD_BUS_ERROR_INVALID_ARGS);

        run("echo 0 > /sys/bus/pci/devices/0000:26:00.5/nvidia/current_vgpu_type; "
            "/usr/lib/nvidia/sriov-manage -d ALL; "
            "carved-simctl settle");
        wait_for_vfs(0);
        client_settle(client, 400);
}
END_TEST

static void enable_a2(void) {
        run("/usr/lib/nvidia/sriov-manage -e ALL; carved-simctl settle");
        wait_for_vfs(16);
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ GPU_A2, "org.carved1.Gpu", "Framework", "mdev" }));
        client_settle(client, 400);
        client_forget(client);
}

static void disable_a2(void) {
        run("/usr/lib/nvidia/sriov-manage -d ALL; carved-simctl settle");
        wait_for_vfs(0);
        client_settle(client, 400);
        client_forget(client);
}

/* How long until the bus says so. */
static int64_t ms_until(const char *command, bool (*is_so)(Client *c, const void *path)) {
        int64_t start;

        client_forget(client);
        run(command);
        start = g_get_monotonic_time();
        ck_assert(client_wait(client, 10000, is_so, VGPU));
        return (g_get_monotonic_time() - start) / 1000;
}

/* The promise is about carved, not about how busy the machine is with other tests: one try in five must keep
 * it. */
START_TEST(an_mdev_made_by_hand_is_shown_within_half_a_second) {
        int64_t best_start = INT64_MAX, best_stop = INT64_MAX;

        enable_a2();
        for (unsigned i = 0; i < 5 && (best_start > 500 || best_stop > 500); i++) {
                int64_t start =
                        ms_until("mdevctl start -u " UUID " -p 0000:08:00.4 -t nvidia-746", object_was_added);
                int64_t stop = ms_until("mdevctl stop -u " UUID, object_was_removed);

                best_start = MIN(best_start, start);
                best_stop = MIN(best_stop, stop);
        }
        ck_assert_int_le(best_start, 500);
        ck_assert_int_le(best_stop, 500);
        disable_a2();
}
END_TEST

START_TEST(an_mdev_made_by_hand_is_foreign) {
        g_autoptr(GVariant) creatable = NULL, available = NULL;
        uint32_t n;

        enable_a2();
        run("mdevctl start -u " UUID " -p 0000:08:00.4 -t nvidia-746");
        ck_assert(client_wait(client, 10000, object_was_added, VGPU));
        ck_assert(property_is(client, &(Expect){ VGPU, "org.carved1.Vgpu", "Origin", "foreign" }));
        ck_assert(property_is(client, &(Expect){ VGPU, "org.carved1.Vgpu", "Type", "nvidia-746" }));
        ck_assert(property_is(client, &(Expect){ VGPU, "org.carved1.Vgpu", "Uuid", UUID }));
        ck_assert(property_is(client,
                              &(Expect){ GPU_A2 "/vf/0", "org.carved1.VirtualFunction", "Vgpu", VGPU }));

        /* All siblings follow: only the same size is left, three more of it. */
        creatable = client_get(client, GPU_A2 "/vf/7", "org.carved1.VgpuHost", "CreatableTypes");
        ck_assert_uint_eq(g_variant_n_children(creatable), 3);
        available = client_get(client, GPU_A2, "org.carved1.Gpu", "Available");
        ck_assert(g_variant_lookup(available, "nvidia-746", "u", &n));
        ck_assert_uint_eq(n, 3);

        client_settle(client, 400);
        for (unsigned i = 1; i < 16; i++) {
                g_autofree char *path = g_strdup_printf(GPU_A2 "/vf/%u", i);

                ck_assert_uint_eq(client_heard(client, "PropertiesChanged", path, NULL), 1);
        }

        run("mdevctl stop -u " UUID);
        ck_assert(client_wait(client, 10000, object_was_removed, VGPU));
        ck_assert(object_is_gone(client, VGPU));
        disable_a2();
}
END_TEST

/* The kernel links an mdev to its type last, and says nothing then. */
START_TEST(a_type_that_is_linked_late_is_shown_all_the_same) {
        enable_a2();
        ck_assert_int_eq(simctl_do("delay", "/driver/mdev/link/*", "1s"), 0);
        run("mdevctl start -u " UUID " -p 0000:08:00.4 -t nvidia-746");
        ck_assert(client_wait(client, 10000, property_is,
                              &(Expect){ VGPU, "org.carved1.Vgpu", "Type", "nvidia-746" }));
        ck_assert(client_wait(client, 10000, property_is,
                              &(Expect){ GPU_A2, "org.carved1.Gpu", "State", "ready" }));
        run("mdevctl stop -u " UUID);
        ck_assert(client_wait(client, 10000, object_was_removed, VGPU));
        disable_a2();
}
END_TEST

START_TEST(a_card_is_unplugged_children_first_and_plugged_parents_first) {
        enable_a2();
        run("mdevctl start -u " UUID " -p 0000:08:00.4 -t nvidia-746");
        ck_assert(client_wait(client, 10000, object_was_added, VGPU));
        client_settle(client, 400);
        client_forget(client);

        ck_assert_int_eq(simctl_do("unplug", "0000:08:00.0"), 0);
        ck_assert(client_wait(client, 10000, object_was_removed, GPU_A2));
        client_settle(client, 400);
        ck_assert_int_ge(place_of("InterfacesRemoved", VGPU), 0);
        ck_assert_int_lt(place_of("InterfacesRemoved", VGPU), place_of("InterfacesRemoved", GPU_A2 "/vf/0"));
        ck_assert_int_lt(place_of("InterfacesRemoved", GPU_A2 "/vf/15"),
                         place_of("InterfacesRemoved", GPU_A2));
        ck_assert_uint_eq(client_count(client, "org.carved1.Gpu"), 0);
        client_forget(client);

        ck_assert_int_eq(simctl_do("plug", "0000:08:00.0"), 0);
        ck_assert(client_wait(client, 10000, object_was_added, GPU_A2));
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ GPU_A2, "org.carved1.Gpu", "State", "ready" }));
        ck_assert(property_is(client, &(Expect){ GPU_A2, "org.carved1.Gpu", "Model", "GA107GL [A2 / A16]" }));

        /* All in one burst again, VFs with it. */
        client_forget(client);
        enable_a2();
        disable_a2();
}
END_TEST

START_TEST(a_driver_that_is_reloaded_is_followed) {
        enable_a2();
        ck_assert_int_eq(simctl_do("reload-driver", "away=500ms"), 0);
        ck_assert(
                client_wait(client, 5000, property_is, &(Expect){ GPU_A2, "org.carved1.Gpu", "Driver", "" }));
        ck_assert(property_is(client, &(Expect){ GPU_A2, "org.carved1.Gpu", "State", "no-driver" }));
        ck_assert(client_wait(client, 10000, property_is,
                              &(Expect){ GPU_A2, "org.carved1.Gpu", "Driver", "nvidia" }));
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ GPU_A2, "org.carved1.Gpu", "State", "ready" }));
        run("carved-simctl settle");
        client_settle(client, 400);
        ck_assert_uint_eq(client_count(client, "org.carved1.Vgpu"), 0);
        disable_a2();
}
END_TEST

static const char *const spellings[] = { "0000:08:00.0", "08:00.0", "00000000:08:00.0", "8:0.0",
                                         "0000:08:00.0" };

START_TEST(a_gpu_is_found_in_any_spelling) {
        g_autoptr(GVariant) reply =
                client_call(client, "/org/carved1", MANAGER, "GetGpu", NULL, "s", spellings[_i]);
        const char *path;

        g_variant_get(reply, "(&o)", &path);
        ck_assert_str_eq(path, GPU_A2);
}
END_TEST

static const struct {
        const char *member, *text, *error;
} misses[] = {
        { "GetGpu", "0000:09:00.0", "org.carved1.Error.NoSuchGpu" },
        { "GetGpu", "0000:08:00.4", "org.carved1.Error.NoSuchGpu" },
        { "GetGpu", "card0", SD_BUS_ERROR_INVALID_ARGS },
        { "GetGpu", "", SD_BUS_ERROR_INVALID_ARGS },
        { "GetVf", "0000:08:00.0", "org.carved1.Error.NoSuchVf" },
        { "GetVf", "x", SD_BUS_ERROR_INVALID_ARGS },
        { "GetVgpu", UUID, "org.carved1.Error.NoSuchVgpu" },
        { "GetVgpu", "0000:08:00.4", "org.carved1.Error.NoSuchVgpu" },
        { "GetVgpu", "dd6772a8", SD_BUS_ERROR_INVALID_ARGS },
};

START_TEST(what_is_not_there_has_an_error_to_act_on) {
        const char *error;

        ck_assert_ptr_null(client_call(client, "/org/carved1", MANAGER, misses[_i].member, &error, "s",
                                       misses[_i].text));
        ck_assert_str_eq(error, misses[_i].error);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("events");
        TCase *tcase = tcase_create("events");

        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        if (g_str_equal(argv[1], "l40s")) {
                tcase_add_test(tcase, a_burst_is_one_signal_per_object);
                tcase_add_test(tcase, vfs_go_as_they_came);
                tcase_add_test(tcase, capability_comes_and_goes_as_an_interface);
                tcase_add_test(tcase, refresh_shows_what_no_event_told);
        } else {
                tcase_add_loop_test(tcase, a_gpu_is_found_in_any_spelling, 0, G_N_ELEMENTS(spellings));
                tcase_add_loop_test(tcase, what_is_not_there_has_an_error_to_act_on, 0, G_N_ELEMENTS(misses));
                tcase_add_test(tcase, an_mdev_made_by_hand_is_shown_within_half_a_second);
                tcase_add_test(tcase, an_mdev_made_by_hand_is_foreign);
                tcase_add_test(tcase, a_type_that_is_linked_late_is_shown_all_the_same);
                tcase_add_test(tcase, a_card_is_unplugged_children_first_and_plugged_parents_first);
                tcase_add_test(tcase, a_driver_that_is_reloaded_is_followed);
        }
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
