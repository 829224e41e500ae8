/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "reason.h"
#include "udev.h"

/* An A2 with two VFs and two types of 4 and 8 GiB, at most 4 and 2. */
static CarvedGpu *a2(void) {
        CarvedGpu *gpu = carved_gpu_new(&(CarvedPciAddress){ 0, 8, 0, 0 });

        gpu->driver = g_strdup("nvidia");
        gpu->iommu_group = 1;
        gpu->has_sriov = true;
        gpu->total_vfs = gpu->num_vfs = 2;
        gpu->framework = CARVED_FRAMEWORK_MDEV;
        for (unsigned i = 0; i < 2; i++) {
                CarvedType *type = carved_type_new(i == 0 ? "nvidia-746" : "nvidia-747");

                type->framebuffer_mib = 4096U << i;
                type->max_instances = 4U >> i;
                type->known = CARVED_TYPE_FRAMEBUFFER | CARVED_TYPE_MAX_INSTANCES;
                g_ptr_array_add(gpu->types, type);
        }
        for (uint32_t i = 0; i < 2; i++) {
                CarvedVf *vf = carved_gpu_add_vf(gpu, i, &(CarvedPciAddress){ 0, 8, 0, (uint8_t) (4 + i) });

                vf->driver = g_strdup("nvidia");
                vf->iommu_group = (int32_t) i;
                vf->framework = CARVED_FRAMEWORK_MDEV;
                vf->settled = true;
                vf->available = g_new0(uint16_t, 2);
                vf->available[0] = vf->available[1] = 1;
        }
        return gpu;
}

#define UUID "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"

/* As the driver does it: VF 0 is taken, VF 1 offers the same size only. */
static CarvedGpu *a2_with_one(void) {
        CarvedGpu *gpu = a2();
        CarvedVf *taken = gpu->vfs->pdata[0], *other = gpu->vfs->pdata[1];

        taken->available[0] = taken->available[1] = other->available[1] = 0;
        carved_gpu_add_vgpu(gpu, UUID, 0)->type = g_strdup("nvidia-746");
        return gpu;
}

START_TEST(an_empty_card_has_no_reason) {
        g_autoptr(CarvedGpu) gpu = a2();

        carved_gpu_finish(gpu);
        ck_assert_ptr_null(gpu->reason.code);
        ck_assert_int_eq(gpu->state, CARVED_GPU_READY);
        ck_assert_str_eq(gpu->identity, "0000:0000:0000:0000@0000:08:00.0");
}
END_TEST

START_TEST(available_follows_the_maximum_not_the_vfs) {
        g_autoptr(CarvedGpu) gpu = a2();
        uint32_t n;

        ((CarvedType *) gpu->types->pdata[0])->max_instances = 1;
        carved_gpu_finish(gpu);
        ck_assert(carved_gpu_available(gpu, 0, &n));
        ck_assert_uint_eq(n, 1);
        ck_assert(carved_gpu_available(gpu, 1, &n));
        ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(available_is_not_told_without_a_maximum) {
        g_autoptr(CarvedGpu) gpu = a2();
        uint32_t n;

        ((CarvedType *) gpu->types->pdata[0])->known = 0;
        carved_gpu_finish(gpu);
        ck_assert(!carved_gpu_available(gpu, 0, &n));
}
END_TEST

START_TEST(the_first_vgpu_fixes_the_size) {
        g_autoptr(CarvedGpu) gpu = a2_with_one();
        g_auto(CarvedReason) same = { 0 }, other = { 0 };
        uint32_t n;

        carved_gpu_finish(gpu);
        same = carved_reason_for_type(gpu, 0);
        other = carved_reason_for_type(gpu, 1);
        ck_assert_ptr_null(same.code);
        ck_assert_str_eq(other.code, "size-fixed");
        ck_assert_ptr_nonnull(strstr(other.text, UUID));
        ck_assert(carved_gpu_available(gpu, 0, &n));
        ck_assert_uint_eq(n, 1);
        ck_assert_uint_eq(carved_gpu_used(gpu, 0), 1);
        ck_assert_uint_eq(carved_gpu_used(gpu, 1), 0);
}
END_TEST

START_TEST(a_vf_that_holds_a_vgpu_says_which) {
        g_autoptr(CarvedGpu) gpu = a2_with_one();
        const CarvedVf *taken, *other;

        carved_gpu_finish(gpu);
        taken = carved_gpu_find_vf(gpu, 0);
        other = carved_gpu_find_vf(gpu, 1);
        ck_assert_int_eq(taken->role, CARVED_VF_VGPU);
        ck_assert_int_eq(taken->vgpu, 0);
        ck_assert_str_eq(taken->reason.code, "occupied");
        ck_assert_ptr_nonnull(strstr(taken->reason.text, UUID));
        ck_assert_int_eq(other->role, CARVED_VF_FREE);
        ck_assert_ptr_null(other->reason.code);
}
END_TEST

static void no_driver(CarvedGpu *g) {
        g_clear_pointer(&g->driver, g_free);
}
static void on_vfio(CarvedGpu *g) {
        no_driver(g);
        g->driver = g_strdup("vfio-pci");
}
static void no_iommu(CarvedGpu *g) {
        g->iommu_group = -1;
}
static void stalled(CarvedGpu *g) {
        g->stalled = true;
}
static void no_framework(CarvedGpu *g) {
        g->framework = CARVED_FRAMEWORK_NONE;
}
static void vfs_off(CarvedGpu *g) {
        g->num_vfs = 0;
        g_ptr_array_set_size(g->vfs, 0);
}
static void no_types(CarvedGpu *g) {
        g_ptr_array_set_size(g->types, 0);
}
static void full(CarvedGpu *g) {
        for (unsigned i = 0; i < 2; i++) {
                CarvedVf *vf = g->vfs->pdata[i];

                vf->available[0] = vf->available[1] = 0;
        }
        carved_gpu_add_vgpu(g, UUID, 0)->type = g_strdup("nvidia-747");
}

static const struct {
        void (*change)(CarvedGpu *gpu);
        const char *code;
} reasons[] = {
        { no_driver, "no-driver" },    { on_vfio, "on-vfio-pci" },
        { no_iommu, "no-iommu" },      { stalled, "stalled" },
        { no_framework, "no-sriov" },  { vfs_off, "vfs-off" },
        { no_types, "types-pending" }, { full, "full" },
};

START_TEST(each_obstacle_has_its_reason) {
        g_autoptr(CarvedGpu) gpu = a2();

        reasons[_i].change(gpu);
        carved_gpu_finish(gpu);
        ck_assert_str_eq(gpu->reason.code, reasons[_i].code);
        ck_assert_uint_gt(strlen(gpu->reason.text), 20);
}
END_TEST

static const struct {
        const char *driver;
        CarvedFramework framework;
        CarvedVfRole role;
} roles[] = {
        { NULL, CARVED_FRAMEWORK_VF_PASSTHROUGH, CARVED_VF_FREE },
        { "xe", CARVED_FRAMEWORK_VF_PASSTHROUGH, CARVED_VF_HOST },
        { "vfio-pci", CARVED_FRAMEWORK_VF_PASSTHROUGH, CARVED_VF_PASSTHROUGH },
        { "xe-vfio-pci", CARVED_FRAMEWORK_VF_PASSTHROUGH, CARVED_VF_PASSTHROUGH },
        { "nvidia", CARVED_FRAMEWORK_VENDOR_VFIO, CARVED_VF_FREE },
        { "vfio-pci", CARVED_FRAMEWORK_UNKNOWN, CARVED_VF_PASSTHROUGH },
};

START_TEST(roles_follow_driver_and_framework) {
        g_autoptr(CarvedGpu) gpu = carved_gpu_new(&(CarvedPciAddress){ 0 });
        CarvedVf *vf = carved_gpu_add_vf(gpu, 0, &(CarvedPciAddress){ 0 });

        vf->driver = g_strdup(roles[_i].driver);
        vf->framework = roles[_i].framework;
        carved_gpu_finish(gpu);
        ck_assert_int_eq(vf->role, roles[_i].role);
}
END_TEST

START_TEST(vfs_are_found_with_gaps) {
        g_autoptr(CarvedGpu) gpu = carved_gpu_new(&(CarvedPciAddress){ 0 });

        for (uint32_t i = 10; i > 0; i -= 2)
                carved_gpu_add_vf(gpu, i, &(CarvedPciAddress){ 0, 0, 0, 1 });
        carved_gpu_finish(gpu);
        ck_assert_uint_eq(((CarvedVf *) gpu->vfs->pdata[0])->index, 2);
        ck_assert_uint_eq(carved_gpu_find_vf(gpu, 10)->index, 10);
        ck_assert_ptr_null(carved_gpu_find_vf(gpu, 3));
        ck_assert_ptr_null(carved_gpu_find_vf(gpu, 0));
}
END_TEST

START_TEST(type_ids_sort_by_number) {
        ck_assert_int_lt(carved_type_id_compare("nvidia-99", "nvidia-742"), 0);
        ck_assert_int_gt(carved_type_id_compare("nvidia-1145", "nvidia-742"), 0);
        ck_assert_int_eq(carved_type_id_compare("nvidia-742", "nvidia-742"), 0);
        ck_assert_int_ne(carved_type_id_compare("nvidia-07", "nvidia-7"), 0);
        ck_assert_int_lt(carved_type_id_compare("a", "a1"), 0);
        ck_assert_int_lt(carved_type_id_compare("i915-GVTg_V5_4", "i915-GVTg_V5_8"), 0);
}
END_TEST

static const struct {
        const char *name, *resource;
} resources[] = {
        { "NVIDIA A2-4C", "nvidia.com/NVIDIA_A2-4C" },
        { " NVIDIA  A2-4C ", "nvidia.com/NVIDIA_A2-4C" },
        { "GRID A100-1-5C", "nvidia.com/GRID_A100-1-5C" },
        { "NVIDIA RTX5000-Ada-8Q", "nvidia.com/NVIDIA_RTX5000-Ada-8Q" },
        { "a/b.c", "nvidia.com/a_b_c" },
        { "", "nvidia.com/" },
};

START_TEST(resource_names_are_spelled_as_plugins_do) {
        g_autofree char *name = carved_resource_name("nvidia.com", resources[_i].name);

        ck_assert_str_eq(name, resources[_i].resource);
}
END_TEST

START_TEST(vfs_are_known_by_offset_and_stride) {
        const CarvedPciAddress pf = { 0, 8, 0, 0 }, first = { 0, 8, 0, 4 }, last = { 0, 8, 2, 3 },
                               behind = { 0, 8, 2, 4 }, other = { 1, 8, 0, 4 };

        ck_assert(carved_pci_address_is_vf_of(&first, &pf, 4, 1, 16));
        ck_assert(carved_pci_address_is_vf_of(&last, &pf, 4, 1, 16));
        ck_assert(!carved_pci_address_is_vf_of(&behind, &pf, 4, 1, 16));
        ck_assert(!carved_pci_address_is_vf_of(&other, &pf, 4, 1, 16));
        ck_assert(!carved_pci_address_is_vf_of(&pf, &pf, 4, 1, 16));
        ck_assert(!carved_pci_address_is_vf_of(&first, &pf, 4, 1, 0));
        ck_assert(!carved_pci_address_is_vf_of(&last, &pf, 4, 2, 16));
        ck_assert(carved_pci_address_is_vf_of(&first, &pf, 4, 0, 1));
}
END_TEST

START_TEST(a_path_is_about_its_innermost_function) {
        CarvedPciAddress a;

        ck_assert(carved_udev_path_address("/devices/pci0000:00/0000:00:08.0/0000:08:00.4/" UUID, &a));
        ck_assert_uint_eq(a.bus, 8);
        ck_assert_uint_eq(a.function, 4);
        ck_assert(carved_udev_path_address("/devices/pci10000:00/10000:00:02.0", &a));
        ck_assert_uint_eq(a.domain, 0x10000);
        ck_assert(!carved_udev_path_address("/devices/virtual/vfio/78", &a));
        ck_assert(!carved_udev_path_address("/devices/pci0000:00", &a));
        ck_assert(!carved_udev_path_address("", &a));
}
END_TEST

START_TEST(display_and_accelerator_classes_are_gpus) {
        ck_assert(carved_pci_class_is_gpu(0x030000));
        ck_assert(carved_pci_class_is_gpu(0x030200));
        ck_assert(carved_pci_class_is_gpu(0x038000));
        ck_assert(carved_pci_class_is_gpu(0x120000));
        ck_assert(!carved_pci_class_is_gpu(0x060400));
        ck_assert(!carved_pci_class_is_gpu(0x040300));
        ck_assert(!carved_pci_class_is_gpu(0));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("gpu");
        TCase *tcase = tcase_create("gpu");

        tcase_add_test(tcase, an_empty_card_has_no_reason);
        tcase_add_test(tcase, available_follows_the_maximum_not_the_vfs);
        tcase_add_test(tcase, available_is_not_told_without_a_maximum);
        tcase_add_test(tcase, the_first_vgpu_fixes_the_size);
        tcase_add_test(tcase, a_vf_that_holds_a_vgpu_says_which);
        tcase_add_loop_test(tcase, each_obstacle_has_its_reason, 0, G_N_ELEMENTS(reasons));
        tcase_add_loop_test(tcase, roles_follow_driver_and_framework, 0, G_N_ELEMENTS(roles));
        tcase_add_test(tcase, vfs_are_found_with_gaps);
        tcase_add_test(tcase, type_ids_sort_by_number);
        tcase_add_loop_test(tcase, resource_names_are_spelled_as_plugins_do, 0, G_N_ELEMENTS(resources));
        tcase_add_test(tcase, vfs_are_known_by_offset_and_stride);
        tcase_add_test(tcase, a_path_is_about_its_innermost_function);
        tcase_add_test(tcase, display_and_accelerator_classes_are_gpus);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
