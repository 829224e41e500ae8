/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "bench.h"
#include "hold.h"
#include "unit.h"

/* NVIDIA's vGPUs as VFs with a type, on an L40S: with the driver's errnos, and with those of the one proposed
 * upstream. */

#define L40S    "bus/pci/devices/0000:26:00.0"
#define VF(n)   L40S "/virtfn" #n
#define TYPE(n) VF(n) "/nvidia/current_vgpu_type"

static Bench *bench;

static Bench *bench_with(const char *more) {
        g_autofree char *text =
                g_strdup_printf("{'format':1,'gpus':[{'address':'26:0.0','board':'l40s'%s}]}", more);
        Bench *made = bench_new_from_text(text);

        bench_enable_vfs(made, "0000:26:00.0", 32);
        return made;
}

static void setup(void) {
        bench = bench_with("");
}

static void teardown(void) {
        bench_free(bench);
}

static const TypeSpec *type_of_size(unsigned mib) {
        const GpuSpec *gpu = bench->host->gpus->pdata[0];

        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];

                if (type->framebuffer_mib == mib)
                        return type;
        }

        ck_abort_msg("no type of %u MiB", mib);
}

static int set(Bench *on, unsigned vf, unsigned type) {
        g_autofree char *path = g_strdup_printf(L40S "/virtfn%u/nvidia/current_vgpu_type", vf);
        g_autofree char *text = g_strdup_printf("%u\n", type);

        return bench_store(on, path, text);
}

START_TEST(a_vf_has_no_type_at_first) {
        ck_assert_uint_eq(bench_count(bench, VF(0) "/nvidia"), 6);
        assert_shows(bench, TYPE(0), "0\n");
        assert_shows(bench, TYPE(31), "0\n");
        ck_assert(!bench_exists(bench, L40S "/nvidia"));
        ck_assert(!bench_exists(bench, "class/mdev_bus"));
        ck_assert_uint_eq(bench_count(bench, "class/vfio-dev"), 32);
}
END_TEST

START_TEST(creatable_types_are_listed_under_a_header_in_the_drivers_order) {
        const GpuSpec *gpu = bench->host->gpus->pdata[0];
        g_autoptr(GString) expected = g_string_new("ID    : vGPU Name\n");

        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];

                g_string_append_printf(expected, "%-5u : %s\n", type->id, type->name);
        }
        assert_shows(bench, VF(0) "/nvidia/creatable_vgpu_types", expected->str);
}
END_TEST

START_TEST(what_can_be_had_shrinks_to_one_size_and_to_nothing_where_there_is_one) {
        const GpuSpec *gpu = bench->host->gpus->pdata[0];
        const TypeSpec *first = type_of_size(2048);
        g_autofree char *list = NULL;

        ck_assert_int_eq(set(bench, 0, first->id), 0);
        assert_shows(bench, VF(0) "/nvidia/creatable_vgpu_types", "ID    : vGPU Name\n");

        list = bench_show(bench, VF(1) "/nvidia/creatable_vgpu_types");
        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];
                g_autofree char *line = g_strdup_printf("\n%-5u : %s\n", type->id, type->name);

                ck_assert_int_eq(!!strstr(list, line), type->framebuffer_mib == first->framebuffer_mib);
        }
}
END_TEST

START_TEST(a_type_is_set_shown_and_cleared) {
        g_autofree char *shown = g_strdup_printf("%u\n", type_of_size(2048)->id);

        ck_assert_int_eq(set(bench, 3, type_of_size(2048)->id), 0);
        assert_shows(bench, TYPE(3), shown);
        assert_shows(bench, TYPE(4), "0\n");
        assert_shows(bench, VF(3) "/nvidia/vgpu_params", "\n");
        assert_stores(bench, VF(3) "/nvidia/vgpu_params", "a=1");
        assert_shows(bench, VF(3) "/nvidia/vgpu_params", "a=1\n");

        ck_assert_int_eq(set(bench, 3, 0), 0);
        assert_shows(bench, TYPE(3), "0\n");
        ck_assert_ptr_null(bench_show(bench, VF(3) "/nvidia/vgpu_params"));
        ck_assert_int_eq(errno, ENXIO);
        ck_assert_int_eq(bench_store(bench, VF(3) "/nvidia/vgpu_params", "a=1"), -ENXIO);
}
END_TEST

START_TEST(no_more_vgpus_than_the_maximum_and_never_more_than_32) {
        const GpuSpec *gpu = bench->host->gpus->pdata[0];

        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];
                unsigned max = MIN(type->max, 32U);

                for (unsigned vf = 0; vf < 32; vf++)
                        ck_assert_int_eq(set(bench, vf, type->id), vf < max ? 0 : -EIO);
                for (unsigned vf = 0; vf < max; vf++)
                        ck_assert_int_eq(set(bench, vf, 0), 0);
        }
}
END_TEST

static const struct {
        const char *text;
        int result;
} ids[] = {
        { "", -EINVAL },           { "\n", -EINVAL },
        { "x", -EINVAL },          { "-1", -EINVAL },
        { " 1", -EINVAL },         { "1 ", -EINVAL },
        { "1\n\n", -EINVAL },      { "0x10", -EINVAL },
        { "4294967296", -ERANGE }, { "99999999999999999999999", -ERANGE },
        { "4294967295", -EIO },    { "1", -EIO },
};

START_TEST(what_is_not_the_id_of_a_type_is_refused) {
        ck_assert_int_eq(bench_store(bench, TYPE(0), ids[_i].text), ids[_i].result);
        assert_shows(bench, TYPE(0), "0\n");
}
END_TEST

/* The driver that ships, and the one proposed upstream. */
static const struct {
        const char *more;
        int taken, other_size, full, unknown, clear_none, clear_used;
} drivers[] = {
        { "", -EPERM, -EIO, -EIO, -EIO, -EPERM, -EPERM },
        { ",'strict-errnos':true", -EPERM, -EINVAL, -ENOSPC, -ENODEV, 0, -EBUSY },
};

START_TEST(each_refusal_has_the_errno_of_its_driver) {
        Bench *b = bench_with(drivers[_i].more);
        const TypeSpec *whole = type_of_size(49152), *half = type_of_size(24576);
        g_autofree char *node = NULL;
        Hold *hold;

        ck_assert_int_eq(set(b, 0, 0), drivers[_i].clear_none);
        ck_assert_int_eq(set(b, 0, 7), drivers[_i].unknown);
        ck_assert_int_eq(set(b, 0, whole->id), 0);
        ck_assert_int_eq(set(b, 0, whole->id), drivers[_i].taken);
        ck_assert_int_eq(set(b, 0, 7), drivers[_i].taken);
        ck_assert_int_eq(set(b, 1, half->id), drivers[_i].other_size);
        ck_assert_int_eq(set(b, 1, whole->id), drivers[_i].full);

        ck_assert_int_eq(hold_begin(b->kernel, "0000:26:00.4", &hold, &node), 0);
        ck_assert_int_eq(set(b, 0, 0), drivers[_i].clear_used);
        ck_assert_int_eq(bench_store(b, VF(0) "/nvidia/vgpu_params", "a=1"), -EPERM);
        hold_end(b->kernel, hold);
        ck_assert_int_eq(set(b, 0, 0), 0);
        bench_free(b);
}
END_TEST

START_TEST(a_vf_without_type_can_not_be_used) {
        g_autofree char *node = NULL;
        Hold *hold;

        ck_assert_int_eq(hold_begin(bench->kernel, "0000:26:00.4", &hold, &node), -ENODEV);
        ck_assert_int_eq(hold_begin(bench->kernel, "0000:27:00.4", &hold, &node), -ENOENT);
        ck_assert_int_eq(set(bench, 0, type_of_size(2048)->id), 0);
        ck_assert_int_eq(hold_begin(bench->kernel, "0000:26:00.4", &hold, &node), 0);
        ck_assert_int_eq(hold_begin(bench->kernel, "26:0.4", &hold, &node), -EBUSY);
        hold_end(bench->kernel, hold_find(bench->kernel, "0000:26:00.4"));
        ck_assert_ptr_null(hold_find(bench->kernel, "0000:26:00.4"));
}
END_TEST

START_TEST(clearing_waits_for_the_plugin_to_go) {
        g_autofree char *node = NULL;
        int64_t start;
        Hold *hold;

        ck_assert_int_eq(set(bench, 0, type_of_size(2048)->id), 0);
        ck_assert_int_eq(hold_begin(bench->kernel, "0000:26:00.4", &hold, &node), 0);
        hold->linger_ms = 20;
        start = g_get_monotonic_time();
        hold_end(bench->kernel, hold);
        ck_assert_int_eq(set(bench, 0, 0), 0);
        ck_assert_int_ge(g_get_monotonic_time() - start, 20 * 1000);
}
END_TEST

START_TEST(the_card_takes_types_along_and_shows_them_again) {
        ck_assert_int_eq(set(bench, 0, type_of_size(2048)->id), 0);
        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:26:00.0");
        ck_assert(!bench_exists(bench, VF(0) "/nvidia"));
        ck_assert_uint_eq(bench_count(bench, "class/vfio-dev"), 0);

        assert_stores(bench, "bus/pci/drivers/nvidia/bind", "0000:26:00.0");
        bench_settle(bench);
        assert_shows(bench, TYPE(0), "0\n");
        ck_assert_int_eq(set(bench, 0, type_of_size(24576)->id), 0);
}
END_TEST

START_TEST(an_attribute_that_outlives_its_driver_says_so) {
        Node *node = node_ref(node_lookup(bench->kernel->sys, TYPE(0)));
        g_autoptr(GString) out = g_string_new(NULL);

        /* Open while the driver went: no vGPU any more, and none to be had. */
        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:26:00.0");
        ck_assert_int_eq(node->attr->show(node->owner, node->attr, out), 0);
        ck_assert_str_eq(out->str, "0\n");
        ck_assert_int_eq(node->attr->store(node->owner, node->attr, "1155", 4), -ENODEV);
        node_unref(node);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("nvidia-vendor");

        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_test(tests, a_vf_has_no_type_at_first);
        tcase_add_test(tests, creatable_types_are_listed_under_a_header_in_the_drivers_order);
        tcase_add_test(tests, what_can_be_had_shrinks_to_one_size_and_to_nothing_where_there_is_one);
        tcase_add_test(tests, a_type_is_set_shown_and_cleared);
        tcase_add_test(tests, no_more_vgpus_than_the_maximum_and_never_more_than_32);
        add_table_test(tests, what_is_not_the_id_of_a_type_is_refused, ids);
        add_table_test(tests, each_refusal_has_the_errno_of_its_driver, drivers);
        tcase_add_test(tests, a_vf_without_type_can_not_be_used);
        tcase_add_test(tests, clearing_waits_for_the_plugin_to_go);
        tcase_add_test(tests, the_card_takes_types_along_and_shows_them_again);
        tcase_add_test(tests, an_attribute_that_outlives_its_driver_says_so);
        return unit_run(tests, "nvidia-vendor");
}
