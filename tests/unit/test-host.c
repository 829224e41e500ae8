/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "host.h"
#include "unit.h"

/* Hosts as data: addresses of VFs, hosts by formula, hosts put together. */

static const struct {
        CarvedPciAddress pf;
        unsigned offset, stride, index;
        const char *vf;
} vfs[] = {
        { { 0, 0x08, 0, 0 }, 4, 1, 0, "0000:08:00.4" },
        { { 0, 0x08, 0, 0 }, 4, 1, 3, "0000:08:00.7" },
        { { 0, 0x08, 0, 0 }, 4, 1, 4, "0000:08:01.0" },
        { { 0, 0x08, 0, 0 }, 4, 1, 15, "0000:08:02.3" },
        { { 0, 0x08, 0, 0 }, 1, 1, 254, "0000:08:1f.7" },
        { { 0, 0x08, 0, 0 }, 1, 1, 255, "0000:09:00.0" },
        { { 0, 0x08, 0, 0 }, 128, 1, 0, "0000:08:10.0" },
        { { 0, 0x08, 0, 0 }, 128, 2, 3, "0000:08:10.6" },
        { { 0, 0x08, 0, 1 }, 128, 2, 3, "0000:08:10.7" },
        { { 0, 0x08, 0, 0 }, 8, 8, 2, "0000:08:03.0" },
        { { 0, 0x08, 0, 0 }, 1, 255, 1, "0000:09:00.0" },
        { { 0, 0x08, 0x1f, 7 }, 1, 1, 0, "0000:09:00.0" },
        { { 0, 0x08, 0x1e, 5 }, 4, 3, 2, "0000:08:1f.7" },
        { { 0, 0x00, 0x02, 0 }, 1, 1, 6, "0000:00:02.7" },
        { { 0, 0x00, 0x02, 0 }, 1, 1, 7, "0000:00:03.0" },
        { { 0x10000, 0xe1, 0, 0 }, 4, 1, 31, "10000:e1:04.3" },
};

START_TEST(a_vf_is_so_many_functions_behind_its_gpu) {
        g_autoptr(GpuSpec) gpu = gpu_spec_new();
        char text[CARVED_PCI_ADDRESS_MAX];
        CarvedPciAddress vf;

        gpu->address = vfs[_i].pf;
        gpu->vf_offset = vfs[_i].offset;
        gpu->vf_stride = vfs[_i].stride;
        vf = gpu_spec_vf_address(gpu, vfs[_i].index);
        ck_assert_str_eq(carved_pci_address_format(&vf, text), vfs[_i].vf);
}
END_TEST

static const struct {
        const char *name;
        unsigned gpus, vfs, types;
} scales[] = {
        { "scale:1x1x1", 1, 1, 1 },
        { "scale:8x16x15", 8, 16, 15 },
        { "scale:200x240x100", 200, 240, 100 },
        { "scale:03x004x5", 3, 4, 5 },
};

START_TEST(a_host_by_formula_has_so_many_of_each) {
        g_autoptr(GError) error = NULL;
        g_autoptr(HostSpec) host = host_spec_load("/nowhere", scales[_i].name, &error);

        ck_assert_msg(host, "%s", error ? error->message : "");
        ck_assert_str_eq(host->name, scales[_i].name);
        ck_assert_uint_eq(host->gpus->len, scales[_i].gpus);
        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = host->gpus->pdata[i];
                CarvedPciAddress last = gpu_spec_vf_address(gpu, gpu->total_vfs - 1);

                ck_assert_uint_eq(gpu->address.bus, i + 1);
                ck_assert_uint_eq(last.bus, i + 1);
                ck_assert_uint_eq(gpu->total_vfs, scales[_i].vfs);
                ck_assert_uint_eq(gpu->types->len, scales[_i].types);
                ck_assert(gpu->vfs_on);
        }
}
END_TEST

static const char *const bad_scales[] = {
        "scale:",        "scale:1",       "scale:1x1",     "scale:1x1x",     "scale:x1x1",
        "scale:1x1x1x",  "scale:1x1x1x1", "scale:0x1x1",   "scale:1x0x1",    "scale:1x1x0",
        "scale:201x1x1", "scale:1x241x1", "scale:1x1x101", "scale:1000x1x1", "scale:-1x1x1",
        "scale:1x-1x1",  "scale:axbxc",   "scale:1,1,1",   "scale:1x1x1 ",   "scale:1X1X1",
        "scale:1.5x1x1", "scale:+1x1x1",  "scale: 1x1x1",  "scale:1x 1x1",   "scale:1x1x\n1",
};

START_TEST(what_is_not_a_formula_is_refused) {
        g_autoptr(GError) error = NULL;
        g_autofree char *expected =
                g_strdup_printf("%s: not of the form scale:GxVxT with 1 to 200 GPUs, 1 to 240 VFs, "
                                "1 to 100 types",
                                bad_scales[_i]);

        ck_assert_ptr_null(host_spec_scale(bad_scales[_i], &error));
        ck_assert_str_eq(error->message, expected);
        ck_assert(error->domain == SIM_ERROR);
}
END_TEST

/* A host of cards of no kind, at @n addresses. */
static HostSpec *host_of(const char *name, const char *const *addresses) {
        HostSpec *host = host_spec_new(name);

        for (; *addresses; addresses++) {
                g_autoptr(GpuSpec) gpu = gpu_spec_new();

                ck_assert(carved_pci_address_parse(*addresses, &gpu->address));
                host_spec_add(host, gpu);
        }

        return host;
}

START_TEST(merged_hosts_have_all_cards_in_order) {
        static const char *const expected[] = { "0000:05:00.0", "0000:08:00.0", "0000:26:00.0",
                                                "0001:05:00.0" };
        g_autoptr(HostSpec) host = host_of("a", (const char *const[]){ "08:00.0", "1:5:0.0", NULL });
        g_autoptr(HostSpec) other = host_of("b", (const char *const[]){ "26:00.0", "05:00.0", NULL });
        g_autoptr(GError) error = NULL;

        ck_assert(host_spec_merge(host, other, &error));
        ck_assert_ptr_null(error);
        ck_assert_uint_eq(host->gpus->len, G_N_ELEMENTS(expected));
        for (unsigned i = 0; i < host->gpus->len; i++) {
                char text[CARVED_PCI_ADDRESS_MAX];

                ck_assert_str_eq(
                        carved_pci_address_format(&((GpuSpec *) host->gpus->pdata[i])->address, text),
                        expected[i]);
        }

        /* Shared, not copied: both may go in any order. */
        ck_assert_uint_eq(((GpuSpec *) other->gpus->pdata[0])->refs, 2);
        ck_assert_str_eq(host->name, "a");
}
END_TEST

START_TEST(two_cards_at_one_address_do_not_merge) {
        g_autoptr(HostSpec) host = host_of("a", (const char *const[]){ "08:00.0", "09:00.0", NULL });
        g_autoptr(HostSpec) other = host_of("b", (const char *const[]){ "05:00.0", "0000:09:00.0", NULL });
        g_autoptr(GError) error = NULL;

        ck_assert(!host_spec_merge(host, other, &error));
        ck_assert_str_eq(error->message, "b: two GPUs at 0000:09:00.0");
}
END_TEST

static const struct {
        bool mtty[3], iommu[3], vfio_cdev[3]; /* of one, of the other, of both */
} merges[] = {
        { { false, false, false }, { true, true, true }, { false, false, false } },
        { { true, false, true }, { false, true, false }, { true, false, true } },
        { { false, true, true }, { true, false, false }, { false, true, true } },
        { { true, true, true }, { false, false, false }, { true, true, true } },
};

START_TEST(merged_hosts_have_what_either_has_and_an_iommu_if_both_do) {
        g_autoptr(HostSpec) host = host_spec_new("a"), other = host_spec_new("b");

        host->mtty = merges[_i].mtty[0];
        other->mtty = merges[_i].mtty[1];
        host->iommu = merges[_i].iommu[0];
        other->iommu = merges[_i].iommu[1];
        host->vfio_cdev = merges[_i].vfio_cdev[0];
        other->vfio_cdev = merges[_i].vfio_cdev[1];

        ck_assert(host_spec_merge(host, other, NULL));
        ck_assert_int_eq(host->mtty, merges[_i].mtty[2]);
        ck_assert_int_eq(host->iommu, merges[_i].iommu[2]);
        ck_assert_int_eq(host->vfio_cdev, merges[_i].vfio_cdev[2]);
}
END_TEST

START_TEST(merged_hosts_have_the_worse_library_of_the_two) {
        g_autoptr(HostSpec) host = host_spec_new("a"), other = host_spec_new("b");

        host->nvml = NVML_MISMATCH;
        other->nvml = NVML_NOT_LOADED;
        g_ptr_array_add(host->nvml_lacks, g_strdup("nvmlOne"));
        g_ptr_array_add(other->nvml_lacks, g_strdup("nvmlOther"));
        other->driver_version = g_strdup("580.1");

        ck_assert(host_spec_merge(host, other, NULL));
        ck_assert_int_eq(host->nvml, NVML_MISMATCH);
        ck_assert_uint_eq(host->nvml_lacks->len, 2);
        ck_assert_str_eq(host->driver_version, "580.1");
}
END_TEST

START_TEST(a_card_has_a_serial_number_of_its_own_and_the_same_each_time) {
        g_autoptr(HostSpec) host = host_of("a", (const char *const[]){ "08:00.0", "09:00.0", NULL });
        g_autoptr(HostSpec) again = host_of("a", (const char *const[]){ "08:00.0", NULL });
        const GpuSpec *one = host->gpus->pdata[0], *other = host->gpus->pdata[1],
                      *same = again->gpus->pdata[0];

        ck_assert_str_ne(one->serial, other->serial);
        ck_assert_str_ne(one->uuid, other->uuid);
        ck_assert_str_eq(one->serial, same->serial);
        ck_assert_str_eq(one->uuid, same->uuid);
        ck_assert_uint_eq(strspn(one->serial, "0123456789"), 13);
        ck_assert(g_str_has_prefix(one->uuid, "GPU-") && carved_uuid_is_valid(one->uuid + 4));
}
END_TEST

START_TEST(freeing_nothing_is_no_mistake) {
        host_spec_free(NULL);
        gpu_spec_unref(NULL);
        type_spec_free(NULL);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("host");

        add_table_test(tests, a_vf_is_so_many_functions_behind_its_gpu, vfs);
        add_table_test(tests, a_host_by_formula_has_so_many_of_each, scales);
        add_table_test(tests, what_is_not_a_formula_is_refused, bad_scales);
        tcase_add_test(tests, merged_hosts_have_all_cards_in_order);
        tcase_add_test(tests, two_cards_at_one_address_do_not_merge);
        add_table_test(tests, merged_hosts_have_what_either_has_and_an_iommu_if_both_do, merges);
        tcase_add_test(tests, merged_hosts_have_the_worse_library_of_the_two);
        tcase_add_test(tests, a_card_has_a_serial_number_of_its_own_and_the_same_each_time);
        tcase_add_test(tests, freeing_nothing_is_no_mistake);
        return unit_run(tests, "host");
}
