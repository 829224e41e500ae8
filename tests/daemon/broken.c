/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "client.h"
#include "simctl.h"

/* Attributes that say what no driver should: one object has an error, the daemon and all others go on. On
 * host mixed, its VFs on. */

#define A2    "/org/carved1/gpu/0000_08_00_0"
#define OTHER "/org/carved1/gpu/0001_c8_00_0"

static Client *client;
static char *megabyte;

static bool types_are_there(Client *c, const void *data) {
        return client_count(c, "org.carved1.VgpuHost") > 60;
}

static void set_up(void) {
        client = client_new();
        if (client_count(client, "org.carved1.VirtualFunction") == 0) {
                /* It fails for the card that is on vfio-pci. */
                g_autofree char *output =
                        shell("/usr/lib/nvidia/sriov-manage -e ALL || true; carved-simctl settle");

                ck_assert(client_wait(client, 10000, types_are_there, NULL));
        }
        megabyte = g_strnfill(60 * 1024, 'x'); /* as long as a rule can be */
}

static void tear_down(void) {
        simctl_do("forget");
        g_free(megabyte);
        client = client_free(client);
}

static void look(const char *path) {
        g_autoptr(GVariant) done = client_call(client, path, "org.carved1.Gpu", "Refresh", NULL, "a{sv}", 0);
}

static const char *const contents[] = { "",           "\\n",
                                        "\\0\\0\\0",  "\\377\\376binary",
                                        "-1\\n",      "-99999999999999999999\\n",
                                        "0x\\n",      "99999999999999999999\\n",
                                        "no newline", "16 VFs\\n",
                                        "\\n16\\n",   NULL };

static const char *const patterns[] = {
        "/sys/devices/*/0000:08:00.0/sriov_numvfs",
        "/sys/devices/*/0000:08:00.0/sriov_totalvfs",
        "/sys/devices/*/0000:08:00.0/numa_node",
        "/sys/devices/*/0000:08:00.0/class",
        "/sys/devices/*/0000:08:00.6/mdev_supported_types/nvidia-746/available_instances",
        "/sys/devices/*/0000:08:00.*/mdev_supported_types/nvidia-746/name",
        "/sys/devices/*/0000:08:00.*/mdev_supported_types/nvidia-746/description",
        "/sys/devices/*/0000:08:00.*/mdev_supported_types/nvidia-746/device_api",
};

/* The same content in all of them at once: whatever is made of it, it stays that card's. */
START_TEST(no_content_of_an_attribute_hurts_anybody_else) {
        for (unsigned i = 0; i < G_N_ELEMENTS(patterns); i++)
                ck_assert_int_eq(simctl_do("text", patterns[i], contents[_i] ?: megabyte, "always"), 0);
        look(A2);
        ck_assert_uint_eq(client_count(client, "org.carved1.Gpu"), 7);
        ck_assert(property_is(client, &(Expect){ OTHER, "org.carved1.Gpu", "LastError", "" }));
        ck_assert(property_is(client, &(Expect){ OTHER, "org.carved1.Gpu", "State", "ready" }));
}
END_TEST

START_TEST(what_is_whole_again_is_shown_whole_again) {
        look(A2);
        ck_assert(property_is(client, &(Expect){ A2, "org.carved1.Gpu", "LastError", "" }));
        ck_assert(property_is(client, &(Expect){ A2, "org.carved1.Gpu", "State", "ready" }));
}
END_TEST

START_TEST(a_vf_that_cant_be_read_says_so_itself) {
        g_autoptr(GVariant) broken = NULL, other = NULL;
        const char *code;

        ck_assert_int_eq(
                simctl_do("fail",
                          "/sys/devices/*/0000:08:00.6/mdev_supported_types/nvidia-746/available_instances",
                          "EIO", "op=read", "always"),
                0);
        look(A2);
        broken = client_get(client, A2 "/vf/2", "org.carved1.VirtualFunction", "Reasons");
        other = client_get(client, A2 "/vf/3", "org.carved1.VirtualFunction", "Reasons");
        g_variant_get_child(broken, 0, "(&s&s)", &code, NULL);
        ck_assert_str_eq(code, "unreadable");
        ck_assert_uint_eq(g_variant_n_children(other), 0);
        ck_assert(property_is(client, &(Expect){ A2, "org.carved1.Gpu", "LastError", "" }));
}
END_TEST

START_TEST(a_gpu_that_cant_be_read_says_so_itself) {
        g_autofree char *error = NULL;

        ck_assert_int_eq(
                simctl_do("fail", "/sys/devices/*/0000:08:00.0/sriov_totalvfs", "EIO", "op=read", "always"),
                0);
        look(A2);
        error = client_get_string(client, A2, "org.carved1.Gpu", "LastError");
        ck_assert_ptr_nonnull(strstr(error, "sriov_totalvfs"));
        ck_assert(property_is(client, &(Expect){ OTHER, "org.carved1.Gpu", "LastError", "" }));
}
END_TEST

/* VFs and their number come from two places. There are sixteen, whatever it says. */
static const struct {
        const char *attribute, *says;
} lies[] = {
        { "sriov_numvfs", "0\\n" },   { "sriov_numvfs", "3\\n" },   { "sriov_numvfs", "65535\\n" },
        { "sriov_totalvfs", "0\\n" }, { "sriov_totalvfs", "2\\n" }, { "sriov_totalvfs", "65535\\n" },
};

/* What is asked for is done, or refused; never half done. */
static void make_and_destroy(void) {
        g_autoptr(GVariant) made = NULL, gone = NULL;
        const char *error, *path;

        made = client_call(client, A2, "org.carved1.VgpuHost", "CreateVgpu", &error, "sa{sv}", "A2-4Q", 0);
        if (!made)
                return;

        g_variant_get(made, "(&o&o)", &path, NULL);
        gone = client_call(client, path, "org.carved1.Vgpu", "Destroy", &error, "a{sv}", 0);
        ck_assert_msg(gone, "%s", error);
}

START_TEST(a_card_that_lies_about_its_vfs_shows_those_that_are_there) {
        unsigned before = client_count(client, "org.carved1.VirtualFunction");

        for (unsigned i = 0; i < G_N_ELEMENTS(lies); i++) {
                g_autofree char *pattern =
                        g_strdup_printf("/sys/devices/*/0000:08:00.0/%s", lies[i].attribute);

                ck_assert_int_eq(simctl_do("text", pattern, lies[i].says, "op=read", "always"), 0);
                look(A2);
                ck_assert_uint_le(client_count(client, "org.carved1.VirtualFunction"), before);
                ck_assert(property_is(client, &(Expect){ OTHER, "org.carved1.Gpu", "State", "ready" }));
                make_and_destroy();
                ck_assert_int_eq(simctl_do("forget"), 0);
        }
        look(A2);
        ck_assert_uint_eq(client_count(client, "org.carved1.VirtualFunction"), before);
        ck_assert_uint_eq(client_count(client, "org.carved1.Vgpu"), 0);
        ck_assert(property_is(client, &(Expect){ A2, "org.carved1.Gpu", "State", "ready" }));
}
END_TEST

static const char *const lists[] = { "",           "\\n", "ID    : vGPU Name\\n",
                                     "\\377\\377", "x",   "1145 NVIDIA L40S-1B\\n",
                                     "::::\\n",    NULL };

START_TEST(no_list_of_types_hurts) {
        for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
                ck_assert_int_eq(simctl_do("text", "/sys/devices/*/0000:26:00.5/nvidia/*_vgpu_type*",
                                           lists[i] ?: megabyte, "always"),
                                 0);
                look("/org/carved1/gpu/0000_26_00_0");
                ck_assert_uint_eq(client_count(client, "org.carved1.Vgpu"), 0);
                ck_assert_int_eq(simctl_do("forget"), 0);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("broken");
        TCase *tcase = tcase_create("broken");

        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_loop_test(tcase, no_content_of_an_attribute_hurts_anybody_else, 0, G_N_ELEMENTS(contents));
        tcase_add_test(tcase, a_card_that_lies_about_its_vfs_shows_those_that_are_there);
        tcase_add_test(tcase, what_is_whole_again_is_shown_whole_again);
        tcase_add_test(tcase, a_vf_that_cant_be_read_says_so_itself);
        tcase_add_test(tcase, a_gpu_that_cant_be_read_says_so_itself);
        tcase_add_test(tcase, no_list_of_types_hurts);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
