/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "bench.h"
#include "hold.h"
#include "rules.h"
#include "unit.h"

/* NVIDIA's vGPUs as mediated devices: on the VFs of an A2, and on a T4 itself. */

#define PCI    "bus/pci/devices/"
#define A2     PCI "0000:08:00.0"
#define VF(n)  A2 "/virtfn" #n
#define T4     PCI "0000:3b:00.0"
#define LOCK   "/proc/driver/nvidia/gpus/0000:08:00.0/unbindLock"
#define UUID_A "12345678-0000-0000-0000-00000000000a"
#define UUID_B "12345678-0000-0000-0000-00000000000b"

static Bench *bench;

static void setup(void) {
        bench = bench_new("a2");
        bench_enable_vfs(bench, "0000:08:00.0", 16);
}

static void teardown(void) {
        bench_free(bench);
}

/* A vGPU on VF @vf, its number in its UUID. */
static int create(Bench *on, unsigned vf, unsigned type) {
        g_autofree char *path =
                g_strdup_printf(A2 "/virtfn%u/mdev_supported_types/nvidia-%u/create", vf, type);
        g_autofree char *uuid = g_strdup_printf("00000000-0000-0000-0000-%012u", vf);

        return bench_store(on, path, uuid);
}

static char *available(Bench *on, unsigned vf, unsigned type) {
        g_autofree char *path =
                g_strdup_printf(A2 "/virtfn%u/mdev_supported_types/nvidia-%u/available_instances", vf, type);

        return bench_show(on, path);
}

#define assert_available(vf, type, text)                                                                     \
        do {                                                                                                 \
                g_autofree char *shown_ = available(bench, vf, type);                                        \
                ck_assert_pstr_eq(shown_, text);                                                             \
        } while (0)

START_TEST(every_vf_shows_every_type_as_the_board_has_it) {
        ck_assert_uint_eq(bench_count(bench, VF(0) "/mdev_supported_types"), 15);
        ck_assert_uint_eq(bench_count(bench, VF(15) "/mdev_supported_types"), 15);
        assert_shows(bench, VF(3) "/mdev_supported_types/nvidia-746/name", "NVIDIA A2-4Q\n");
        assert_shows(bench, VF(3) "/mdev_supported_types/nvidia-746/device_api", "vfio-pci\n");
        assert_shows(
                bench, VF(3) "/mdev_supported_types/nvidia-746/description",
                "num_heads=4, frl_config=60, framebuffer=4096M, max_resolution=7680x4320, max_instance=4\n");
        assert_available(3, 746, "1\n");
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 16);
        ck_assert(!bench_exists(bench, A2 "/mdev_supported_types")); /* of the GPU itself */
}
END_TEST

START_TEST(a_vgpu_is_a_device_with_its_type_and_files) {
        assert_stores(bench, VF(0) "/mdev_supported_types/nvidia-746/create", UUID_A "\n");

        ck_assert(bench_exists(bench, "bus/mdev/devices/" UUID_A));
        ck_assert(bench_exists(bench, "bus/mdev/drivers/nvidia-vgpu-vfio/" UUID_A));
        ck_assert(bench_exists(bench, VF(0) "/" UUID_A "/iommu_group"));
        assert_shows(bench, VF(0) "/" UUID_A "/mdev_type/name", "NVIDIA A2-4Q\n");
        ck_assert_uint_eq(bench_count(bench, VF(0) "/mdev_supported_types/nvidia-746/devices"), 1);
        assert_shows(bench, VF(0) "/" UUID_A "/nvidia/vgpu_params", "\n");
        assert_available(0, 746, "0\n");

        assert_stores(bench, "bus/mdev/devices/" UUID_A "/remove", "1\n");
        ck_assert(!bench_exists(bench, VF(0) "/" UUID_A));
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), 0);
        ck_assert_uint_eq(bench_count(bench, VF(0) "/mdev_supported_types/nvidia-746/devices"), 0);
        assert_available(0, 746, "1\n");
}
END_TEST

/* Sizes: 742 and 744 have 1 GiB (16 of them), 745 2 GiB (8), 746 4 GiB (4), 748 16 GiB (1). */
static const struct {
        unsigned type, max;
} maxima[] = { { 742, 16 }, { 745, 8 }, { 746, 4 }, { 747, 2 }, { 748, 1 } };

START_TEST(no_more_vgpus_than_the_maximum_of_their_type) {
        unsigned max = maxima[_i].max;

        for (unsigned vf = 0; vf < max; vf++) {
                assert_available(vf, maxima[_i].type, "1\n");
                ck_assert_int_eq(create(bench, vf, maxima[_i].type), 0);
        }
        for (unsigned vf = max; vf < 16; vf++) {
                assert_available(vf, maxima[_i].type, "0\n");
                ck_assert_int_eq(create(bench, vf, maxima[_i].type), -EIO);
        }
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), max);
}
END_TEST

START_TEST(all_vgpus_of_a_card_have_one_size_and_any_series) {
        ck_assert_int_eq(create(bench, 0, 742), 0);
        ck_assert_int_eq(create(bench, 1, 744), 0); /* another series, the same size */
        ck_assert_int_eq(create(bench, 2, 749), 0);
        ck_assert_int_eq(create(bench, 3, 745), -EIO); /* another size */
        assert_available(3, 745, "0\n");
        assert_available(3, 744, "1\n");

        /* When the last has gone, any size goes again. */
        assert_stores(bench, "bus/mdev/devices/00000000-0000-0000-0000-000000000000/remove", "1");
        assert_stores(bench, "bus/mdev/devices/00000000-0000-0000-0000-000000000001/remove", "1");
        ck_assert_int_eq(create(bench, 3, 745), -EIO);
        assert_stores(bench, "bus/mdev/devices/00000000-0000-0000-0000-000000000002/remove", "1");
        ck_assert_int_eq(create(bench, 3, 745), 0);
}
END_TEST

static const struct {
        const char *text;
        int result;
} uuids[] = {
        { UUID_A, 0 },
        { UUID_A "\n", 0 },
        { "ABCDEF00-0000-0000-0000-00000000000A", 0 },
        { "", -EINVAL },
        { "\n", -EINVAL },
        { "12345678-0000-0000-0000-00000000000", -EINVAL },
        { UUID_A "\n\n", -EINVAL },
        { "12345678-0000-0000-0000_00000000000a", -EINVAL },
        { "x2345678-0000-0000-0000-00000000000a", -EINVAL },
};

START_TEST(only_a_uuid_makes_a_vgpu) {
        ck_assert_int_eq(bench_store(bench, VF(0) "/mdev_supported_types/nvidia-746/create", uuids[_i].text),
                         uuids[_i].result);
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), uuids[_i].result == 0);
}
END_TEST

START_TEST(a_uuid_is_there_once_whatever_its_case) {
        assert_stores(bench, VF(0) "/mdev_supported_types/nvidia-746/create", UUID_A);
        ck_assert_int_eq(bench_store(bench, VF(1) "/mdev_supported_types/nvidia-746/create", UUID_A),
                         -EEXIST);
        ck_assert_int_eq(bench_store(bench, VF(1) "/mdev_supported_types/nvidia-746/create",
                                     "12345678-0000-0000-0000-00000000000A"),
                         -EEXIST);
        /* Nothing is left of one that failed: the name is free. */
        ck_assert_int_eq(bench_store(bench, VF(0) "/mdev_supported_types/nvidia-746/create", UUID_B), -EIO);
        assert_stores(bench, VF(1) "/mdev_supported_types/nvidia-746/create", UUID_B);
}
END_TEST

static const struct {
        const char *text;
        int result;
        bool gone;
} removals[] = {
        { "1", 0, true },  { "1\n", 0, true },     { "0x1", 0, true },        { "7", 0, true },
        { "0", 0, false }, { "", -EINVAL, false }, { "yes", -EINVAL, false }, { "1 1", -EINVAL, false },
};

START_TEST(remove_takes_any_number_but_none) {
        assert_stores(bench, VF(0) "/mdev_supported_types/nvidia-746/create", UUID_A);
        ck_assert_int_eq(bench_store(bench, "bus/mdev/devices/" UUID_A "/remove", removals[_i].text),
                         removals[_i].result);
        ck_assert_int_eq(!bench_exists(bench, "bus/mdev/devices/" UUID_A), removals[_i].gone);
}
END_TEST

START_TEST(plugin_parameters_are_replaced_whole_and_cleared_by_a_space) {
        static const char params[] = "bus/mdev/devices/" UUID_A "/nvidia/vgpu_params";
        g_autofree char *longest = g_strnfill(1024, 'x'), *too_long = g_strnfill(1025, 'x');

        assert_stores(bench, VF(0) "/mdev_supported_types/nvidia-746/create", UUID_A);
        assert_stores(bench, params, "frame_rate_limiter=0,disable_vnc=1\n");
        assert_shows(bench, params, "frame_rate_limiter=0,disable_vnc=1\n");
        assert_stores(bench, params, "a=1");
        assert_shows(bench, params, "a=1\n");
        ck_assert_int_eq(bench_store(bench, params, too_long), -E2BIG);
        assert_shows(bench, params, "a=1\n");
        assert_stores(bench, params, " \n");
        assert_shows(bench, params, "\n");
        assert_stores(bench, params, longest);
}
END_TEST

START_TEST(a_vgpu_in_use_keeps_its_parameters_and_its_card) {
        g_autofree char *node = NULL;
        Hold *hold;

        assert_stores(bench, VF(0) "/mdev_supported_types/nvidia-746/create", UUID_A);
        ck_assert_int_eq(hold_begin(bench->kernel, UUID_A, &hold, &node), 0);

        ck_assert_int_eq(bench_store(bench, "bus/mdev/devices/" UUID_A "/nvidia/vgpu_params", "a=1"), -EPERM);
        assert_stores(bench, LOCK, "1");
        assert_shows(bench, LOCK, "0\n");

        hold_end(bench->kernel, hold);
        assert_stores(bench, LOCK, "1");
        assert_shows(bench, LOCK, "1\n");
        assert_stores(bench, LOCK, "0");
        assert_stores(bench, LOCK, "maybe");
        assert_shows(bench, LOCK, "0\n");
}
END_TEST

START_TEST(vfs_take_their_vgpus_along) {
        ck_assert_int_eq(create(bench, 0, 746), 0);
        ck_assert_int_eq(create(bench, 7, 746), 0);
        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.0");
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), 0);
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 0);
        ck_assert(!bench_exists(bench, "/proc/driver/nvidia/gpus/0000:08:00.0"));

        assert_stores(bench, "bus/pci/drivers/nvidia/bind", "0000:08:00.0");
        bench_settle(bench);
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 16);
        assert_available(0, 748, "1\n");
}
END_TEST

START_TEST(a_vf_unbound_by_hand_is_lost_until_made_anew) {
        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.4");
        ck_assert(!bench_exists(bench, VF(0) "/mdev_supported_types"));
        assert_stores(bench, "bus/pci/drivers/nvidia/bind", "0000:08:00.4");
        bench_settle(bench);
        ck_assert(!bench_exists(bench, VF(0) "/mdev_supported_types"));
        ck_assert(bench_exists(bench, VF(1) "/mdev_supported_types"));
}
END_TEST

START_TEST(types_can_stay_away_from_one_vf) {
        g_autofree char *why = NULL;
        static const char *const words[] = { "fail", "/driver/nvidia/types/0000:08:00.6", "EIO", "always",
                                             NULL };

        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.0");
        bench->kernel->rules = rules_new();
        rules_add(bench->kernel->rules, rule_parse(words, &why));
        assert_stores(bench, "bus/pci/drivers/nvidia/bind", "0000:08:00.0");
        bench_settle(bench);
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 15);
        ck_assert(!bench_exists(bench, VF(2) "/mdev_supported_types"));
        rules_clear(bench->kernel->rules);
}
END_TEST

START_TEST(the_driver_is_reloaded_only_when_nobody_uses_it) {
        g_autofree char *node = NULL;
        Hold *hold;

        assert_stores(bench, VF(0) "/mdev_supported_types/nvidia-746/create", UUID_A);
        ck_assert_int_eq(hold_begin(bench->kernel, UUID_A, &hold, &node), 0);
        ck_assert_int_eq(nvidia_reload(bench->kernel, 0), -EBUSY);
        hold_end(bench->kernel, hold);

        ck_assert_int_eq(nvidia_reload(bench->kernel, 0), 0);
        bench_settle(bench);
        assert_shows(bench, A2 "/sriov_numvfs", "0\n");
        ck_assert(bench_exists(bench, A2 "/driver"));
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), 0);
}
END_TEST

START_TEST(a_card_without_vfs_counts_its_vgpus_down) {
        Bench *t4 = bench_new("t4");
        static const char type[] = T4 "/mdev_supported_types/nvidia-319/available_instances";

        ck_assert(!bench_exists(t4, T4 "/sriov_numvfs"));
        assert_shows(t4, type, "4\n");
        assert_stores(t4, T4 "/mdev_supported_types/nvidia-319/create", UUID_A);
        assert_shows(t4, type, "3\n");
        assert_stores(t4, T4 "/mdev_supported_types/nvidia-319/create", UUID_B);
        assert_shows(t4, type, "2\n");
        assert_shows(t4, T4 "/mdev_supported_types/nvidia-321/available_instances", "0\n");
        ck_assert_int_eq(bench_store(t4, T4 "/mdev_supported_types/nvidia-321/create",
                                     "12345678-0000-0000-0000-00000000000c"),
                         -EIO);
        assert_stores(t4, "bus/mdev/devices/" UUID_A "/remove", "1");
        assert_shows(t4, type, "3\n");
        bench_free(t4);
}
END_TEST

START_TEST(types_wait_for_vgpud_where_it_has_not_run) {
        Bench *late = bench_new_from_text(
                "{'format':1,'gpus':[{'address':'3b:0.0','board':'t4','no-vgpud':true}]}");

        ck_assert(!bench_exists(late, T4 "/mdev_supported_types"));
        nvidia_vgpud(late->kernel);
        bench_settle(late);
        ck_assert(bench_exists(late, T4 "/mdev_supported_types"));
        bench_free(late);
}
END_TEST

START_TEST(without_an_iommu_vfs_have_no_driver) {
        Bench *bare =
                bench_new_from_text("{'format':1,'iommu':false,'gpus':[{'address':'8:0.0','board':'a2'}]}");

        bench_enable_vfs(bare, "0000:08:00.0", 16);
        ck_assert(bench_exists(bare, VF(0)));
        ck_assert(!bench_exists(bare, VF(0) "/driver"));
        ck_assert(!bench_exists(bare, VF(0) "/iommu_group"));
        bench_free(bare);
}
END_TEST

static void add_tests(TCase *tests) {
        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_test(tests, every_vf_shows_every_type_as_the_board_has_it);
        tcase_add_test(tests, a_vgpu_is_a_device_with_its_type_and_files);
        add_table_test(tests, no_more_vgpus_than_the_maximum_of_their_type, maxima);
        tcase_add_test(tests, all_vgpus_of_a_card_have_one_size_and_any_series);
        add_table_test(tests, only_a_uuid_makes_a_vgpu, uuids);
        tcase_add_test(tests, a_uuid_is_there_once_whatever_its_case);
        add_table_test(tests, remove_takes_any_number_but_none, removals);
        tcase_add_test(tests, plugin_parameters_are_replaced_whole_and_cleared_by_a_space);
        tcase_add_test(tests, a_vgpu_in_use_keeps_its_parameters_and_its_card);
        tcase_add_test(tests, vfs_take_their_vgpus_along);
        tcase_add_test(tests, a_vf_unbound_by_hand_is_lost_until_made_anew);
        tcase_add_test(tests, types_can_stay_away_from_one_vf);
        tcase_add_test(tests, the_driver_is_reloaded_only_when_nobody_uses_it);
        tcase_add_test(tests, a_card_without_vfs_counts_its_vgpus_down);
        tcase_add_test(tests, types_wait_for_vgpud_where_it_has_not_run);
        tcase_add_test(tests, without_an_iommu_vfs_have_no_driver);
}

int main(void) {
        TCase *tests = tcase_create("nvidia-mdev");

        add_tests(tests);
        return unit_run(tests, "nvidia-mdev");
}
