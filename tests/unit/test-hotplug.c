/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "bench.h"
#include "hold.h"
#include "unit.h"

/* Two writers at once, where one sleeps inside: the moments in which the host is neither this nor that. */

#define A2    "bus/pci/devices/0000:08:00.0"
#define PLAIN "bus/pci/devices/0000:05:00.0"
#define PORT  "devices/pci0000:00/0000:00:05.0"
#define T4    "bus/pci/devices/0000:3b:00.0"
#define TYPE  T4 "/mdev_supported_types/nvidia-319"
#define UUID  "12345678-0000-0000-0000-00000000000a"

/* A write that another thread does. */
typedef struct Writer {
        Bench *bench;
        const char *path, *text;
        bool done;
        int result;
} Writer;

static void *write_in_thread(void *data) {
        Writer *writer = data;

        kernel_lock(writer->bench->kernel);
        writer->result = bench_store(writer->bench, writer->path, writer->text);
        writer->done = true;
        kernel_wake(writer->bench->kernel);
        kernel_unlock(writer->bench->kernel);
        return NULL;
}

static GThread *start(Writer *writer) {
        return g_thread_new("writer", write_in_thread, writer);
}

static int finish(GThread *thread, Writer *writer) {
        while (!writer->done)
                kernel_wait(writer->bench->kernel);

        g_thread_join(thread);
        return writer->result;
}

/* Until a name is there, or has gone. Not everything that changes is told: look often. */
static void wait_for(Bench *bench, const char *path, bool there) {
        while (bench_exists(bench, path) != there)
                kernel_wait_until(bench->kernel, g_get_monotonic_time() + 500);
}

START_TEST(a_card_on_its_way_out_is_not_found_by_a_rescan) {
        Bench *bench = bench_new("plain");
        Writer remove = { bench, PLAIN "/remove", "1" };
        g_autofree char *node = NULL;
        GThread *thread;
        Hold *hold;

        assert_stores(bench, PLAIN "/driver_override", "vfio-pci");
        assert_stores(bench, "bus/pci/drivers/plaingpu/unbind", "0000:05:00.0");
        assert_stores(bench, "bus/pci/drivers_probe", "0000:05:00.0");
        ck_assert_int_eq(hold_begin(bench->kernel, "0000:05:00.0", &hold, &node), 0);

        /* Held, so its removal waits; its lock tells that it has begun. */
        thread = start(&remove);
        while (pci_find(bench->kernel, "0000:05:00.0")->device.lock_depth == 0)
                kernel_wait_until(bench->kernel, g_get_monotonic_time() + 500);
        assert_stores(bench, "bus/pci/rescan", "1");
        ck_assert(!remove.done);

        hold_end(bench->kernel, hold);
        ck_assert_int_eq(finish(thread, &remove), 0);
        ck_assert(!bench_exists(bench, PLAIN));
        assert_stores(bench, "bus/pci/rescan", "1");
        ck_assert(bench_exists(bench, PLAIN));
        bench_free(bench);
}
END_TEST

START_TEST(a_port_takes_its_card_along_and_a_rescan_brings_both_back) {
        Bench *bench = bench_new("plain");

        assert_stores(bench, PLAIN "/sriov_numvfs", "4");
        assert_stores(bench, PORT "/remove", "1");
        ck_assert_uint_eq(bench_count(bench, "bus/pci/devices"), 0);
        ck_assert_uint_eq(bench_count(bench, "bus/pci/drivers/plaingpu"), 2); /* bind, unbind */

        assert_stores(bench, "bus/pci/rescan", "1");
        ck_assert(bench_exists(bench, PLAIN "/driver"));
        assert_stores(bench, PLAIN "/sriov_numvfs", "4");
        bench_free(bench);
}
END_TEST

START_TEST(vfs_that_come_while_their_port_leaves_go_with_it) {
        Bench *bench = bench_new("plain");
        Device *card = &pci_find(bench->kernel, "0000:05:00.0")->device;
        Writer remove = { bench, PORT "/remove", "1" };
        GThread *thread;

        /* The port has begun to leave, and waits for its card. */
        device_lock(card);
        thread = start(&remove);
        wait_for(bench, PORT "/remove", false);
        assert_stores(bench, PLAIN "/sriov_numvfs", "4");
        ck_assert_uint_eq(bench_count(bench, "bus/pci/devices"), 1 + 1 + 4);
        device_unlock(card);

        ck_assert_int_eq(finish(thread, &remove), 0);
        ck_assert_uint_eq(bench_count(bench, "bus/pci/devices"), 0);
        bench_free(bench);
}
END_TEST

/* VFs that have types under their bus's name, because their driver has not come. */
static Bench *bench_with_bare_vfs(void) {
        Bench *bench = bench_new("a2");

        assert_stores(bench, A2 "/sriov_drivers_autoprobe", "0");
        bench_enable_vfs(bench, "0000:08:00.0", 4);
        ck_assert(bench_exists(bench, A2 "/virtfn0/mdev_supported_types/pci-746"));
        ck_assert(!bench_exists(bench, A2 "/virtfn0/driver"));
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 4);
        return bench;
}

START_TEST(a_card_takes_the_types_of_vfs_without_driver_along) {
        Bench *bench = bench_with_bare_vfs();

        assert_stores(bench, A2 "/remove", "1");
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 0);
        assert_stores(bench, "bus/pci/rescan", "1");
        bench_settle(bench);
        bench_free(bench);
}
END_TEST

START_TEST(a_port_is_nothing_for_nvidia) {
        Bench *bench = bench_new("t4");

        assert_stores(bench, "bus/pci/drivers/pcieport/unbind", "0000:00:1c.1");
        assert_stores(bench, "bus/pci/devices/0000:00:1c.1/driver_override", "nvidia");
        assert_stores(bench, "bus/pci/drivers_probe", "0000:00:1c.1");
        ck_assert(!bench_exists(bench, "bus/pci/devices/0000:00:1c.1/driver"));
        ck_assert_int_eq(bench_store(bench, "bus/pci/drivers/nvidia/bind", "0000:00:1c.1"), -ENODEV);
        bench_settle(bench);
        bench_free(bench);
}
END_TEST

START_TEST(a_vgpu_is_not_taken_from_its_driver_while_it_is_made) {
        Bench *bench = bench_new("t4");
        Writer create = { bench, TYPE "/create", UUID };
        GThread *thread;

        bench->kernel->pace.vgpu = 20;
        thread = start(&create);
        wait_for(bench, "bus/mdev/drivers/nvidia-vgpu-vfio/" UUID, true);
        assert_stores(bench, "bus/mdev/drivers/nvidia-vgpu-vfio/unbind", UUID);
        ck_assert_int_eq(finish(thread, &create), 0);

        ck_assert(!bench_exists(bench, "bus/mdev/devices/" UUID "/driver"));
        assert_shows(bench, TYPE "/available_instances", "4\n");
        assert_stores(bench, "bus/mdev/drivers_probe", UUID);
        assert_shows(bench, TYPE "/available_instances", "3\n");
        bench_free(bench);
}
END_TEST

static const char *const remove_kinds[] = { "false", "true" };

START_TEST(a_vgpu_without_its_driver_can_be_removed) {
        g_autofree char *text = g_strdup_printf(
                "{'format':1,'gpus':[{'address':'3b:0.0','board':'t4','mdev-remove-refuses':%s}]}",
                remove_kinds[_i]);
        Bench *bench = bench_new_from_text(text);

        assert_stores(bench, TYPE "/create", UUID);
        assert_stores(bench, "bus/mdev/drivers/nvidia-vgpu-vfio/unbind", UUID);
        assert_stores(bench, "bus/mdev/devices/" UUID "/remove", "1");
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), 0);
        bench_free(bench);
}
END_TEST

START_TEST(removing_and_unbinding_a_vgpu_in_use_takes_it_away_once) {
        Bench *bench = bench_new("t4");
        Writer unbind = { bench, "bus/mdev/drivers/nvidia-vgpu-vfio/unbind", UUID };
        Writer remove = { bench, "bus/mdev/devices/" UUID "/remove", "1" };
        g_autofree char *node = NULL;
        GThread *first, *second;
        Hold *hold;

        assert_stores(bench, TYPE "/create", UUID);
        ck_assert_int_eq(hold_begin(bench->kernel, UUID, &hold, &node), 0);
        first = start(&unbind);
        while (mdev_find(bench->kernel, UUID)->device.lock_depth == 0)
                kernel_wait_until(bench->kernel, g_get_monotonic_time() + 500);
        second = start(&remove);
        wait_for(bench, "bus/mdev/devices/" UUID "/remove", false);

        hold_end(bench->kernel, hold);
        ck_assert_int_eq(finish(first, &unbind), 0);
        ck_assert_int_eq(finish(second, &remove), 0);
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), 0);
        assert_shows(bench, TYPE "/available_instances", "4\n");
        bench_free(bench);
}
END_TEST

START_TEST(a_card_that_is_being_probed_is_left_to_it) {
        Bench *bench = bench_new("t4");
        Writer bind = { bench, "bus/pci/drivers/nvidia/bind", "0000:3b:00.0" };
        GThread *thread;
        int r;

        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:3b:00.0");
        bench->kernel->pace.pf_probe = 20;
        thread = start(&bind);
        wait_for(bench, T4 "/driver", true);

        nvidia_vgpud(bench->kernel);
        r = nvidia_reload(bench->kernel, 0);
        ck_assert(r == 0 || r == -EBUSY);
        ck_assert_int_eq(finish(thread, &bind), 0);
        bench_settle(bench);
        ck_assert(bench_exists(bench, TYPE));
        bench_free(bench);
}
END_TEST

static void *reload_in_thread(void *data) {
        Writer *writer = data;

        kernel_lock(writer->bench->kernel);
        writer->result = nvidia_reload(writer->bench->kernel, 5);
        writer->done = true;
        kernel_wake(writer->bench->kernel);
        kernel_unlock(writer->bench->kernel);
        return NULL;
}

START_TEST(of_two_who_reload_the_driver_one_does) {
        Bench *bench = bench_new("a2");
        Writer one = { bench }, other = { bench };
        GThread *first, *second;

        bench_enable_vfs(bench, "0000:08:00.0", 4);
        bench->kernel->pace.vfs_off = 10; /* both are on their way when it is over */
        first = g_thread_new("reload", reload_in_thread, &one);
        second = g_thread_new("reload", reload_in_thread, &other);
        finish(first, &one);
        finish(second, &other);

        ck_assert(one.result == 0 || other.result == 0);
        bench_settle(bench);
        ck_assert(bench_exists(bench, "bus/pci/drivers/nvidia/0000:08:00.0"));
        bench_free(bench);
}
END_TEST

START_TEST(types_that_two_take_away_at_once_go_once) {
        Bench *bench = bench_new("a2");
        Writer create = { bench, A2 "/virtfn0/mdev_supported_types/nvidia-746/create", UUID };
        Writer unbind_vf = { bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.4" };
        Writer unbind_pf = { bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.0" };
        GThread *first, *second, *third;

        bench_enable_vfs(bench, "0000:08:00.0", 4);
        bench->kernel->pace.vgpu = 50;

        /* Both wait for the vGPU that is being made there. */
        first = start(&create);
        wait_for(bench, "bus/mdev/drivers/nvidia-vgpu-vfio/" UUID, true);
        second = start(&unbind_vf);
        wait_for(bench, "class/mdev_bus/0000:08:00.4", false);
        third = start(&unbind_pf);

        ck_assert_int_eq(finish(first, &create), 0);
        ck_assert_int_eq(finish(second, &unbind_vf), 0);
        ck_assert_int_eq(finish(third, &unbind_pf), 0);
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 0);
        ck_assert_uint_eq(bench_count(bench, "bus/mdev/devices"), 0);
        bench_free(bench);
}
END_TEST

START_TEST(no_types_come_back_while_their_card_leaves) {
        Bench *bench = bench_new("a2");
        Writer create = { bench, A2 "/virtfn3/mdev_supported_types/nvidia-746/create", UUID };
        Writer unbind = { bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.0" };
        GThread *first, *second;

        bench_enable_vfs(bench, "0000:08:00.0", 4);
        bench->kernel->pace.vgpu = 50;
        bench->kernel->pace.types = 1;

        /* The first three VFs have lost theirs, the last one waits for a vGPU that is being made. */
        first = start(&create);
        wait_for(bench, "bus/mdev/drivers/nvidia-vgpu-vfio/" UUID, true);
        second = start(&unbind);
        wait_for(bench, "class/mdev_bus/0000:08:00.4", false);
        nvidia_vgpud(bench->kernel);

        ck_assert_int_eq(finish(first, &create), 0);
        ck_assert_int_eq(finish(second, &unbind), 0);
        bench_settle(bench);
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 0);
        bench_free(bench);
}
END_TEST

START_TEST(a_reload_takes_a_card_without_driver_and_its_vfs) {
        Bench *bench = bench_new("a2");

        /* As between two steps of sriov-manage: the card has no driver, its VFs are still nvidia's. */
        bench_enable_vfs(bench, "0000:08:00.0", 4);
        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.0");
        ck_assert(bench_exists(bench, "bus/pci/drivers/nvidia/0000:08:00.4"));

        ck_assert_int_eq(nvidia_reload(bench->kernel, 0), 0);
        bench_settle(bench);
        ck_assert(bench_exists(bench, "bus/pci/drivers/nvidia/0000:08:00.0"));
        ck_assert(bench_exists(bench, "bus/pci/drivers/nvidia/0000:08:00.4"));
        ck_assert_uint_eq(bench_count(bench, "class/mdev_bus"), 4);
        bench_free(bench);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("hotplug");

        tcase_add_test(tests, a_card_on_its_way_out_is_not_found_by_a_rescan);
        tcase_add_test(tests, a_port_takes_its_card_along_and_a_rescan_brings_both_back);
        tcase_add_test(tests, vfs_that_come_while_their_port_leaves_go_with_it);
        tcase_add_test(tests, a_card_takes_the_types_of_vfs_without_driver_along);
        tcase_add_test(tests, a_port_is_nothing_for_nvidia);
        tcase_add_test(tests, a_vgpu_is_not_taken_from_its_driver_while_it_is_made);
        add_table_test(tests, a_vgpu_without_its_driver_can_be_removed, remove_kinds);
        tcase_add_test(tests, removing_and_unbinding_a_vgpu_in_use_takes_it_away_once);
        tcase_add_test(tests, a_card_that_is_being_probed_is_left_to_it);
        tcase_add_test(tests, of_two_who_reload_the_driver_one_does);
        tcase_add_test(tests, types_that_two_take_away_at_once_go_once);
        tcase_add_test(tests, no_types_come_back_while_their_card_leaves);
        tcase_add_test(tests, a_reload_takes_a_card_without_driver_and_its_vfs);
        return unit_run(tests, "hotplug");
}
