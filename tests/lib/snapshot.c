/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../tap.h"
#include "snapshot.h"
#include "sysfs.h"

/* A sysfs of plain files: what the reader makes of a tree, and of a broken one. */

static char *root;
static CarvedHost host;
static const CarvedPciAddress address = { 0, 8, 0, 0 };

static void put(const char *path, const char *text) {
        g_autofree char *full = g_strdup_printf("%s/bus/pci/devices/%s", root, path),
                        *dir = g_path_get_dirname(full);

        ck_assert_int_eq(g_mkdir_with_parents(dir, 0755), 0);
        ck_assert(g_file_set_contents(full, text, -1, NULL));
}

static void put_link(const char *path, const char *target) {
        g_autofree char *full = g_strdup_printf("%s/bus/pci/devices/%s", root, path),
                        *dir = g_path_get_dirname(full);

        ck_assert_int_eq(g_mkdir_with_parents(dir, 0755), 0);
        ck_assert_int_eq(symlink(target, full), 0);
}

static void drop(const char *path) {
        g_autofree char *command = g_strdup_printf("rm -r '%s/bus/pci/devices/%s'", root, path);

        ck_assert(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

#define PF   "0000:08:00.0/"
#define VF   "0000:08:00.4/"
#define TYPE "mdev_supported_types/nvidia-746/"

static void put_type(const char *vf) {
        static const char *const files[][2] = {
                { "name", "NVIDIA A2-4Q\n" },
                { "description", "num_heads=4, frl_config=60, framebuffer=4096M, max_resolution=7680x4320, "
                                 "max_instance=4\n" },
                { "device_api", "vfio-pci\n" },
                { "available_instances", "1\n" },
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = g_strdup_printf("%s" TYPE "%s", vf, files[i][0]);

                put(path, files[i][1]);
        }
}

static void put_vf(const char *vf, const char *virtfn) {
        g_autofree char *driver = g_strconcat(vf, "driver", NULL),
                        *group = g_strconcat(vf, "iommu_group", NULL);
        g_autofree char *link = g_strconcat(PF, virtfn, NULL), *target = g_strdup_printf("../%.12s", vf);

        put_link(driver, "../../drivers/nvidia");
        put_link(group, "../../kernel/iommu_groups/14");
        put_link(link, target);
        put_type(vf);
}

static void set_up(void) {
        root = g_dir_make_tmp("carved-snapshot-XXXXXX", NULL);
        host = (CarvedHost){
                .sysfs = root, .vgpu_config = "/nonexistent", .nvml = "/nonexistent", .machine_id = { 1 }
        };
        put(PF "vendor", "0x10de\n");
        put(PF "device", "0x25b6\n");
        put(PF "subsystem_vendor", "0x10de\n");
        put(PF "subsystem_device", "0x157e\n");
        put(PF "numa_node", "-1\n");
        put(PF "sriov_totalvfs", "16\n");
        put(PF "sriov_numvfs", "2\n");
        put_link(PF "driver", "../../drivers/nvidia");
        put_link(PF "iommu_group", "../../kernel/iommu_groups/3");
        put_vf(VF, "virtfn0");
        put_vf("0000:08:00.5/", "virtfn1");
}

static void tear_down(void) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", root);

        g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL);
        g_free(root);
}

static CarvedGpu *look(void) {
        g_autoptr(GError) error = NULL;
        CarvedMemory memory = { 0 };
        CarvedGpu *gpu = carved_snapshot_read(&host, &address, &memory, &error);

        g_clear_pointer(&memory.nvml, g_variant_unref);
        ck_assert_msg(gpu, "%s", error ? error->message : "");
        return gpu;
}

START_TEST(a_card_is_read_as_it_is) {
        g_autoptr(CarvedGpu) gpu = look();
        const CarvedType *type = gpu->types->pdata[0];
        const CarvedVf *vf = gpu->vfs->pdata[1];

        ck_assert_str_eq(gpu->identity, "10de:25b6:10de:157e@0000:08:00.0");
        ck_assert_str_eq(gpu->driver, "nvidia");
        ck_assert_int_eq(gpu->iommu_group, 3);
        ck_assert_int_eq(gpu->framework, CARVED_FRAMEWORK_MDEV);
        ck_assert_int_eq(gpu->state, CARVED_GPU_READY);
        ck_assert_ptr_null(gpu->error);
        ck_assert_uint_eq(gpu->types->len, 1);
        ck_assert_str_eq(type->id, "nvidia-746");
        ck_assert_str_eq(type->resource, "nvidia.com/NVIDIA_A2-4Q");
        ck_assert_uint_eq(type->max_instances, 4);
        ck_assert_uint_eq(gpu->vfs->len, 2);
        ck_assert_uint_eq(vf->address.function, 5);
        ck_assert_int_eq(vf->iommu_group, 14);
        ck_assert_uint_eq(vf->available[0], 1);
}
END_TEST

START_TEST(what_is_the_same_on_all_vfs_is_read_once) {
        g_autoptr(CarvedGpu) gpu = NULL;

        /* Whichever comes second does not need it. */
        drop("0000:08:00.5/" TYPE "name");
        drop("0000:08:00.5/" TYPE "description");
        put("0000:08:00.5/" TYPE "name", "NVIDIA A2-4Q\n");
        gpu = look();
        ck_assert_ptr_null(gpu->error);
        ck_assert_str_eq(((CarvedType *) gpu->types->pdata[0])->name, "NVIDIA A2-4Q");
}
END_TEST

/* One attribute broken, and whose error that is. */
static const struct {
        const char *path, *text;
        bool gpu_error; /* else: the VF's */
} breakages[] = {
        { PF "sriov_numvfs", "many\n", true },
        { PF "sriov_numvfs", "-3\n", true },
        { PF "sriov_totalvfs", "", true },
        { PF "vendor", "\x01\x02\xff", true },
        { PF "numa_node", "-99\n", true },
        { VF TYPE "available_instances", "-1\n", false },
        { VF TYPE "available_instances", "", false },
        { VF TYPE "available_instances", "lots", false },
};

START_TEST(a_broken_attribute_is_its_objects_error_only) {
        g_autoptr(CarvedGpu) gpu = NULL;
        const CarvedVf *broken, *other;

        put(breakages[_i].path, breakages[_i].text);
        gpu = look();
        ck_assert_uint_eq(gpu->vfs->len, 2);
        broken = gpu->vfs->pdata[0];
        other = gpu->vfs->pdata[1];
        ck_assert_int_eq(gpu->error != NULL, breakages[_i].gpu_error);
        ck_assert_int_eq(broken->error != NULL, !breakages[_i].gpu_error);
        ck_assert_ptr_null(other->error);
        if (broken->error)
                ck_assert_str_eq(broken->reason.code, "unreadable");
}
END_TEST

START_TEST(a_vf_that_vanishes_hides_nobody) {
        g_autoptr(CarvedGpu) gpu = NULL;

        drop(VF);
        gpu = look();
        ck_assert_uint_eq(gpu->vfs->len, 2);
        ck_assert_str_eq(((CarvedVf *) gpu->vfs->pdata[0])->reason.code, "unreadable");
        ck_assert_ptr_null(((CarvedVf *) gpu->vfs->pdata[1])->error);
}
END_TEST

START_TEST(types_under_another_prefix_are_not_settled) {
        g_autoptr(CarvedGpu) gpu = NULL;

        drop(VF "mdev_supported_types");
        put(VF "mdev_supported_types/pci-713/available_instances", "1\n");
        gpu = look();
        ck_assert_int_eq(gpu->state, CARVED_GPU_UNSETTLED);
        ck_assert_str_eq(((CarvedVf *) gpu->vfs->pdata[0])->reason.code, "types-pending");
        ck_assert_uint_eq(gpu->types->len, 1);
}
END_TEST

START_TEST(fewer_vfs_than_the_number_says_is_not_settled) {
        g_autoptr(CarvedGpu) gpu = NULL;

        put(PF "sriov_numvfs", "3\n");
        gpu = look();
        ck_assert_int_eq(gpu->state, CARVED_GPU_UNSETTLED);
}
END_TEST

START_TEST(an_mdev_is_a_vgpu_of_its_vf) {
        g_autoptr(CarvedGpu) gpu = NULL;
        const CarvedVgpu *vgpu;

        put_link(VF "dd6772a8-7db8-4e96-9a73-f94c389d9bc3/mdev_type", "../" TYPE);
        put_link(VF "dd6772a8-7db8-4e96-9a73-f94c389d9bc3/iommu_group", "../../kernel/iommu_groups/78");
        put(VF "dd6772a8-7db8-4e96-9a73-f94c389d9bc3/nvidia/vgpu_params", "\n");
        put(VF "dd6772a8-7db8-4e96-9a73-f94c389d9bc3/nvidia/placement_id", "Not Applicable\n");
        gpu = look();
        vgpu = gpu->vgpus->pdata[0];
        ck_assert_int_eq(vgpu->vf_index, 0);
        ck_assert_str_eq(vgpu->type, "nvidia-746");
        ck_assert_int_eq(vgpu->iommu_group, 78);
        ck_assert_int_eq(vgpu->placement_id, -1);
        ck_assert_str_eq(vgpu->params, "");
        ck_assert_ptr_null(vgpu->error);
}
END_TEST

START_TEST(vendor_vfio_is_seen_on_the_vf_itself) {
        g_autoptr(CarvedGpu) gpu = NULL;
        const CarvedVgpu *vgpu;

        for (unsigned i = 4; i < 6; i++) {
                g_autofree char *types = g_strdup_printf("0000:08:00.%u/mdev_supported_types", i);
                g_autofree char *creatable = g_strdup_printf("0000:08:00.%u/nvidia/creatable_vgpu_types", i);
                g_autofree char *current = g_strdup_printf("0000:08:00.%u/nvidia/current_vgpu_type", i);

                drop(types);
                put(creatable,
                    i == 4 ? "ID    : vGPU Name\n" : "ID    : vGPU Name\n1150  : NVIDIA L40S-4Q\n");
                put(current, i == 4 ? "1150\n" : "0\n");
        }
        gpu = look();
        ck_assert_int_eq(gpu->framework, CARVED_FRAMEWORK_VENDOR_VFIO);
        ck_assert_uint_eq(gpu->vgpus->len, 1);
        vgpu = gpu->vgpus->pdata[0];
        ck_assert_str_eq(vgpu->type, "nvidia-1150");
        ck_assert_str_eq(carved_vgpu_type(vgpu)->name, "NVIDIA L40S-4Q");
        ck_assert_int_eq(vgpu->uuid[14], '5');
        ck_assert_int_eq(vgpu->iommu_group, 14);
        ck_assert(carved_vf_is_creatable(gpu->vfs->pdata[1], 0));
        ck_assert(!carved_vf_is_creatable(gpu->vfs->pdata[0], 0));
}
END_TEST

START_TEST(a_card_that_is_gone_is_an_error) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(
                carved_snapshot_read(&host, &(CarvedPciAddress){ 0, 9, 0, 0 }, &(CarvedMemory){ 0 }, &error));
        ck_assert_ptr_nonnull(error);
}
END_TEST

START_TEST(name_based_uuids_are_the_standards) {
        /* RFC 4122's DNS name space and "www.example.com". */
        static const uint8_t dns[16] = { 0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
                                         0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8 };
        char uuid[CARVED_UUID_LEN + 1];

        ck_assert_str_eq(carved_uuid_v5(dns, "www.example.com", uuid),
                         "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("snapshot");
        TCase *tcase = tcase_create("snapshot");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, a_card_is_read_as_it_is);
        tcase_add_test(tcase, what_is_the_same_on_all_vfs_is_read_once);
        tcase_add_loop_test(tcase, a_broken_attribute_is_its_objects_error_only, 0, G_N_ELEMENTS(breakages));
        tcase_add_test(tcase, a_vf_that_vanishes_hides_nobody);
        tcase_add_test(tcase, types_under_another_prefix_are_not_settled);
        tcase_add_test(tcase, fewer_vfs_than_the_number_says_is_not_settled);
        tcase_add_test(tcase, an_mdev_is_a_vgpu_of_its_vf);
        tcase_add_test(tcase, vendor_vfio_is_seen_on_the_vf_itself);
        tcase_add_test(tcase, a_card_that_is_gone_is_an_error);
        tcase_add_test(tcase, name_based_uuids_are_the_standards);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
