/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "bench.h"
#include "unit.h"

/* SR-IOV of the PCI core, on a card whose driver does what sriov_numvfs says. */

#define PF   "bus/pci/devices/0000:05:00.0"
#define A2   "bus/pci/devices/0000:08:00.0"
#define BIND "bus/pci/drivers/plaingpu/bind"

static Bench *bench;

static void setup(void) {
        bench = bench_new("plain");
}

static void teardown(void) {
        bench_free(bench);
}

START_TEST(a_card_says_what_it_can) {
        assert_shows(bench, PF "/sriov_totalvfs", "8\n");
        assert_shows(bench, PF "/sriov_numvfs", "0\n");
        assert_shows(bench, PF "/sriov_offset", "1\n");
        assert_shows(bench, PF "/sriov_stride", "1\n");
        assert_shows(bench, PF "/sriov_vf_device", "101\n");
        assert_shows(bench, PF "/sriov_drivers_autoprobe", "1\n");
        assert_shows(bench, PF "/vendor", "0x1b36\n");
        assert_shows(bench, PF "/device", "0x0100\n");
        assert_shows(bench, PF "/class", "0x038000\n");
        assert_shows(bench, PF "/numa_node", "-1\n");
        assert_shows(bench, PF "/driver_override", "(null)\n");
}
END_TEST

static const struct {
        const char *text;
        int result;
        const char *then; /* what sriov_numvfs reads after that */
} counts[] = {
        { "0", 0, "0\n" },
        { "4", 0, "4\n" },
        { "8\n", 0, "8\n" },
        { "0x8", 0, "8\n" },
        { "010\n", 0, "8\n" },
        { "9", -ERANGE, "0\n" },
        { "65535", -ERANGE, "0\n" },
        { "65536", -EINVAL, "0\n" },
        { "", -EINVAL, "0\n" },
        { "\n", -EINVAL, "0\n" },
        { "four", -EINVAL, "0\n" },
        { "-1", -EINVAL, "0\n" },
        { "4 ", -EINVAL, "0\n" },
        { "4\n\n", -EINVAL, "0\n" },
        { "4\n4", -EINVAL, "0\n" },
        { " 4", -EINVAL, "0\n" },
        { "99999999999999999999", -EINVAL, "0\n" },
};

START_TEST(the_number_of_vfs_is_what_is_written_if_it_may_be) {
        ck_assert_int_eq(bench_store(bench, PF "/sriov_numvfs", counts[_i].text), counts[_i].result);
        assert_shows(bench, PF "/sriov_numvfs", counts[_i].then);
}
END_TEST

START_TEST(vfs_come_with_links_and_driver_and_go_without_a_trace) {
        unsigned devices = bench_count(bench, "bus/pci/devices");

        assert_stores(bench, PF "/sriov_numvfs", "8");
        ck_assert_uint_eq(bench_count(bench, "bus/pci/devices"), devices + 8);
        assert_shows(bench, PF "/virtfn0/device", "0x0101\n");
        assert_shows(bench, PF "/virtfn7/device", "0x0101\n");
        ck_assert(!bench_exists(bench, PF "/virtfn8"));
        ck_assert(bench_exists(bench, "bus/pci/devices/0000:05:00.1"));
        ck_assert(bench_exists(bench, "bus/pci/devices/0000:05:01.0"));
        assert_shows(bench, "bus/pci/devices/0000:05:01.0/physfn/device", "0x0100\n");
        ck_assert(bench_exists(bench, "bus/pci/drivers/plaingpu/0000:05:01.0"));
        ck_assert(bench_exists(bench, "bus/pci/devices/0000:05:01.0/iommu_group/devices/0000:05:01.0"));

        assert_stores(bench, PF "/sriov_numvfs", "0");
        ck_assert_uint_eq(bench_count(bench, "bus/pci/devices"), devices);
        ck_assert(!bench_exists(bench, PF "/virtfn0"));
        ck_assert(!bench_exists(bench, "bus/pci/drivers/plaingpu/0000:05:01.0"));
}
END_TEST

START_TEST(another_number_must_go_through_none) {
        assert_stores(bench, PF "/sriov_numvfs", "4");
        ck_assert_int_eq(bench_store(bench, PF "/sriov_numvfs", "8"), -EBUSY);
        assert_stores(bench, PF "/sriov_numvfs", "4");
        assert_shows(bench, PF "/sriov_numvfs", "4\n");
        assert_stores(bench, PF "/sriov_numvfs", "0");
        assert_stores(bench, PF "/sriov_numvfs", "8");
}
END_TEST

START_TEST(vfs_get_no_driver_when_told_so) {
        assert_stores(bench, PF "/sriov_drivers_autoprobe", "0");
        assert_stores(bench, PF "/sriov_numvfs", "2");
        ck_assert(!bench_exists(bench, PF "/virtfn0/driver"));

        assert_stores(bench, "bus/pci/drivers_probe", "0000:05:00.1");
        ck_assert(!bench_exists(bench, PF "/virtfn0/driver"));
        assert_stores(bench, PF "/sriov_drivers_autoprobe", "1");
        assert_stores(bench, "bus/pci/drivers_probe", "0000:05:00.1");
        ck_assert(bench_exists(bench, PF "/virtfn0/driver"));
        ck_assert(!bench_exists(bench, PF "/virtfn1/driver"));
}
END_TEST

static const struct {
        const char *text;
        int result;
        const char *then; /* from 1 */
} autoprobes[] = {
        { "0", 0, "0\n" },      { "n\n", 0, "0\n" },     { "No", 0, "0\n" },      { "off", 0, "0\n" },
        { "F", 0, "0\n" },      { "1", 0, "1\n" },       { "y", 0, "1\n" },       { "on\n", 0, "1\n" },
        { "", -EINVAL, "1\n" }, { "o", -EINVAL, "1\n" }, { "2", -EINVAL, "1\n" }, { "\n", -EINVAL, "1\n" },
};

START_TEST(autoprobe_takes_the_kernels_yes_and_no) {
        ck_assert_int_eq(bench_store(bench, PF "/sriov_drivers_autoprobe", autoprobes[_i].text),
                         autoprobes[_i].result);
        assert_shows(bench, PF "/sriov_drivers_autoprobe", autoprobes[_i].then);
}
END_TEST

START_TEST(without_a_driver_nothing_can_be_set) {
        assert_stores(bench, "bus/pci/drivers/plaingpu/unbind", "0000:05:00.0");
        ck_assert_int_eq(bench_store(bench, PF "/sriov_numvfs", "4"), -ENOENT);
        assert_stores(bench, PF "/sriov_numvfs", "0"); /* that many it has */
        assert_stores(bench, BIND, "0000:05:00.0");
        assert_stores(bench, PF "/sriov_numvfs", "4");
}
END_TEST

START_TEST(a_driver_takes_its_vfs_along) {
        assert_stores(bench, PF "/sriov_numvfs", "4");
        assert_stores(bench, "bus/pci/drivers/plaingpu/unbind", "0000:05:00.0");
        assert_shows(bench, PF "/sriov_numvfs", "0\n");
        ck_assert(!bench_exists(bench, PF "/virtfn0"));
}
END_TEST

START_TEST(bind_and_unbind_refuse_as_the_kernel_does) {
        ck_assert_int_eq(bench_store(bench, BIND, "0000:05:00.0"), -EBUSY);
        ck_assert_int_eq(bench_store(bench, BIND, "0000:05:00.1"), -ENODEV);
        ck_assert_int_eq(bench_store(bench, BIND, ""), -ENODEV);
        ck_assert_int_eq(bench_store(bench, "bus/pci/drivers/vfio-pci/bind", "0000:05:00.0"), -ENODEV);
        ck_assert_int_eq(bench_store(bench, "bus/pci/drivers/vfio-pci/unbind", "0000:05:00.0"), -ENODEV);
        assert_stores(bench, "bus/pci/drivers/plaingpu/unbind", "0000:05:00.0\n");
        ck_assert_int_eq(bench_store(bench, "bus/pci/drivers/plaingpu/unbind", "0000:05:00.0"), -ENODEV);

        assert_stores(bench, PF "/driver_override", "vfio-pci\n");
        assert_shows(bench, PF "/driver_override", "vfio-pci\n");
        ck_assert_int_eq(bench_store(bench, BIND, "0000:05:00.0"), -ENODEV);
        assert_stores(bench, "bus/pci/drivers_probe", "0000:05:00.0");
        ck_assert(bench_exists(bench, "bus/pci/drivers/vfio-pci/0000:05:00.0"));
        ck_assert_uint_eq(bench_count(bench, "class/vfio-dev"), 1);
}
END_TEST

START_TEST(a_removed_card_comes_back_with_a_rescan) {
        unsigned devices = bench_count(bench, "bus/pci/devices");

        assert_stores(bench, PF "/sriov_numvfs", "4");
        assert_stores(bench, PF "/remove", "0");
        ck_assert(bench_exists(bench, PF));
        assert_stores(bench, PF "/remove", "1");
        ck_assert_uint_eq(bench_count(bench, "bus/pci/devices"), devices - 1);
        ck_assert(!bench_exists(bench, PF));

        assert_stores(bench, "bus/pci/rescan", "1");
        ck_assert_uint_eq(bench_count(bench, "bus/pci/devices"), devices);
        assert_shows(bench, PF "/sriov_numvfs", "0\n");
        ck_assert(bench_exists(bench, PF "/driver"));
}
END_TEST

/* Not on the plain card. */

START_TEST(nvidias_driver_leaves_vfs_to_a_stub) {
        Bench *a2 = bench_new("a2");

        ck_assert_int_eq(bench_store(a2, A2 "/sriov_numvfs", "16"), -ENOENT);
        bench_enable_vfs(a2, "0000:08:00.0", 16);
        assert_shows(a2, A2 "/sriov_numvfs", "16\n");
        ck_assert(bench_exists(a2, "bus/pci/drivers/nvidia/0000:08:00.4"));
        ck_assert(bench_exists(a2, "bus/pci/drivers/nvidia/0000:08:02.3"));
        ck_assert(!bench_exists(a2, "bus/pci/devices/0000:08:02.4"));
        bench_free(a2);
}
END_TEST

START_TEST(a_driver_may_make_fewer_vfs_than_there_could_be) {
        Bench *few = bench_new_from_text(
                "{'format':1,'gpus':[{'address':'5:0.0','board':'plain','driver-max-vfs':6,"
                "'enables-at-most':3}]}");

        assert_shows(few, PF "/sriov_totalvfs", "6\n");
        ck_assert_int_eq(bench_store(few, PF "/sriov_numvfs", "7"), -ERANGE);
        assert_stores(few, PF "/sriov_numvfs", "6");
        assert_shows(few, PF "/sriov_numvfs", "3\n");
        assert_stores(few, PF "/sriov_numvfs", "0");
        assert_stores(few, "bus/pci/drivers/plaingpu/unbind", "0000:05:00.0");
        assert_shows(few, PF "/sriov_totalvfs", "8\n");
        bench_free(few);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("sriov");

        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_test(tests, a_card_says_what_it_can);
        add_table_test(tests, the_number_of_vfs_is_what_is_written_if_it_may_be, counts);
        tcase_add_test(tests, vfs_come_with_links_and_driver_and_go_without_a_trace);
        tcase_add_test(tests, another_number_must_go_through_none);
        tcase_add_test(tests, vfs_get_no_driver_when_told_so);
        add_table_test(tests, autoprobe_takes_the_kernels_yes_and_no, autoprobes);
        tcase_add_test(tests, without_a_driver_nothing_can_be_set);
        tcase_add_test(tests, a_driver_takes_its_vfs_along);
        tcase_add_test(tests, bind_and_unbind_refuse_as_the_kernel_does);
        tcase_add_test(tests, a_removed_card_comes_back_with_a_rescan);
        tcase_add_test(tests, nvidias_driver_leaves_vfs_to_a_stub);
        tcase_add_test(tests, a_driver_may_make_fewer_vfs_than_there_could_be);
        return unit_run(tests, "sriov");
}
