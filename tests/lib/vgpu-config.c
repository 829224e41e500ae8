/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "vgpu-config.h"

static const char config[] =
        "<?xml version=\"1.0\"?><vgpuconfig><version>1.0</version>"
        "<vgpuType id=\"1150\" name=\"NVIDIA L40S-4Q\" class=\"Quadro\">"
        "<devId vendorId=\"0x10de\" deviceId=\"0x26b9\"/><display width=\"7680\" height=\"4320\"/>"
        "<profileSize>0x100000000</profileSize><framebuffer>0xf0000000</framebuffer>"
        "<numHeads>4</numHeads><frlConfig>0x3c</frlConfig></vgpuType>"
        "<vgpuType id=\"1\" name=\"Another's\"><framebuffer>0x40000000</framebuffer></vgpuType>"
        "<pgpu><devId vendorId=\"0x10de\" deviceId=\"0x26b9\" subsystemVendorId=\"0x10de\" "
        "subsystemId=\"0x0000\"/>"
        "<supportedVgpu vgpuId=\"1150\"><maxVgpus>12</maxVgpus></supportedVgpu>"
        "<supportedVgpu vgpuId=\"1151\"/></pgpu>"
        "<pgpu><devId vendorId=\"0x10de\" deviceId=\"0x25b6\" subsystemVendorId=\"0x10de\" "
        "subsystemId=\"0x157e\"/>"
        "<supportedVgpu vgpuId=\"1\"><maxVgpus>7</maxVgpus></supportedVgpu></pgpu></vgpuconfig>";

static CarvedGpu *card(uint16_t device, uint16_t subsystem) {
        CarvedGpu *gpu = carved_gpu_new(&(CarvedPciAddress){ 0 });

        gpu->vendor_id = gpu->subsystem_vendor_id = 0x10de;
        gpu->device_id = device;
        gpu->subsystem_device_id = subsystem;
        return gpu;
}

static const CarvedType *find(GPtrArray *list, const char *id) {
        for (unsigned i = 0; i < list->len; i++)
                if (g_str_equal(((CarvedType *) list->pdata[i])->id, id))
                        return list->pdata[i];

        return NULL;
}

START_TEST(a_card_gets_its_own_types_and_their_facts) {
        g_autoptr(CarvedGpu) gpu = card(0x26b9, 0x1851);
        g_autoptr(GPtrArray) list = carved_vgpu_config_parse(config, strlen(config), gpu, NULL);
        const CarvedType *t;

        ck_assert_uint_eq(list->len, 2);
        t = find(list, "nvidia-1150");
        ck_assert_str_eq(t->name, "NVIDIA L40S-4Q");
        ck_assert_uint_eq(t->framebuffer_mib, 4096); /* the nominal size, not what is left of it */
        ck_assert_uint_eq(t->max_instances, 12);
        ck_assert_uint_eq(t->heads, 4);
        ck_assert_uint_eq(t->frame_rate_limit, 60);
        ck_assert_str_eq(t->max_resolution, "7680x4320");

        /* Supported, and nothing more is told. */
        t = find(list, "nvidia-1151");
        ck_assert_uint_eq(t->known, 0);
        ck_assert_ptr_null(t->name);
}
END_TEST

START_TEST(a_subsystem_that_is_named_must_match) {
        g_autoptr(CarvedGpu) ours = card(0x25b6, 0x157e), other = card(0x25b6, 0x14a9);
        g_autoptr(GPtrArray) list = carved_vgpu_config_parse(config, strlen(config), ours, NULL);
        g_autoptr(GPtrArray) none = carved_vgpu_config_parse(config, strlen(config), other, NULL);

        ck_assert_uint_eq(list->len, 1);
        ck_assert_uint_eq(none->len, 0);
}
END_TEST

static const char *const broken[] = {
        "",
        "<",
        "<vgpuconfig>",
        "not xml",
        "<a></b>",
        "<vgpuType id=\"1\"><vgpuType id=\"2\"></vgpuType>",
        "<pgpu><devId vendorId=\"0x10de\" deviceId=\"0x26b9\"/><supportedVgpu vgpuId=\"1\">",
};

START_TEST(broken_files_are_an_error) {
        g_autoptr(CarvedGpu) gpu = card(0x26b9, 0);
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_vgpu_config_parse(broken[_i], strlen(broken[_i]), gpu, &error));
        ck_assert_ptr_nonnull(error);
}
END_TEST

START_TEST(odd_but_whole_files_are_survived) {
        static const char odd[] =
                "<v><vgpuType><numHeads>-1</numHeads></vgpuType><vgpuType id=\"x\"/>"
                "<vgpuType id=\"5\"><numHeads>99999999999</numHeads><profileSize>a</profileSize></vgpuType>"
                "<pgpu><devId vendorId=\"0x10de\" deviceId=\"0x26b9\"/><supportedVgpu/>"
                "<supportedVgpu vgpuId=\"5\"><maxVgpus>-3</maxVgpus></supportedVgpu></pgpu></v>";
        g_autoptr(CarvedGpu) gpu = card(0x26b9, 0);
        g_autoptr(GPtrArray) list = carved_vgpu_config_parse(odd, strlen(odd), gpu, NULL);

        ck_assert_uint_eq(list->len, 1);
        ck_assert_uint_eq(((CarvedType *) list->pdata[0])->known, 0);
}
END_TEST

START_TEST(no_file_is_no_error) {
        g_autoptr(CarvedGpu) gpu = card(0x26b9, 0);
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_vgpu_config_read("/nonexistent", gpu, &error));
        ck_assert_ptr_null(error);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("vgpu-config");
        TCase *tcase = tcase_create("vgpu-config");

        tcase_add_test(tcase, a_card_gets_its_own_types_and_their_facts);
        tcase_add_test(tcase, a_subsystem_that_is_named_must_match);
        tcase_add_loop_test(tcase, broken_files_are_an_error, 0, G_N_ELEMENTS(broken));
        tcase_add_test(tcase, odd_but_whole_files_are_survived);
        tcase_add_test(tcase, no_file_is_no_error);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
