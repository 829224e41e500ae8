/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "vgpu-type.h"

START_TEST(nvidia_description_gives_all_facts) {
        CarvedType *t = carved_type_new("nvidia-746");

        carved_type_parse_description(
                t, "num_heads=4, frl_config=60, framebuffer=4096M, max_resolution=7680x4320, "
                   "max_instance=4\n");
        ck_assert_uint_eq(t->known, CARVED_TYPE_FRAMEBUFFER | CARVED_TYPE_HEADS |
                                            CARVED_TYPE_FRAME_RATE_LIMIT | CARVED_TYPE_MAX_INSTANCES);
        ck_assert_uint_eq(t->heads, 4);
        ck_assert_uint_eq(t->frame_rate_limit, 60);
        ck_assert_uint_eq(t->framebuffer_mib, 4096);
        ck_assert_uint_eq(t->max_instances, 4);
        ck_assert_str_eq(t->max_resolution, "7680x4320");
        carved_type_free(t);
}
END_TEST

START_TEST(gvt_description_gives_its_resolution) {
        CarvedType *t = carved_type_new("i915-GVTg_V5_4");

        carved_type_parse_description(
                t, "low_gm_size: 128MB\nhigh_gm_size: 512MB\nfence: 4\nresolution: 1920x1200\n"
                   "weight: 4\n");
        ck_assert_uint_eq(t->known, 0);
        ck_assert_str_eq(t->max_resolution, "1920x1200");
        carved_type_free(t);
}
END_TEST

static const char *const broken[] = {
        "",
        "\n",
        "num_heads",
        "num_heads=",
        "num_heads=-4",
        "num_heads=four",
        "num_heads=4294967296",
        "framebuffer=4096",
        "framebuffer=M",
        "framebuffer=-1M",
        "max_resolution=7680",
        "max_resolution=x",
        "max_resolution=0x0",
        "max_resolution=1x2x3",
        "=,=,=",
        ":::",
        "max_instance= ",
        "frl_config=60Hz",
};

START_TEST(broken_descriptions_give_nothing) {
        CarvedType *t = carved_type_new("x");

        carved_type_parse_description(t, broken[_i]);
        ck_assert_uint_eq(t->known, 0);
        ck_assert_ptr_null(t->max_resolution);
        carved_type_free(t);
}
END_TEST

static const struct {
        const char *text;
        unsigned n;
        uint32_t first;
        const char *name;
} creatable[] = {
        { "ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n2164  : NVIDIA L40S-3B\n", 2, 1145, "NVIDIA L40S-1B" },
        { "ID : VGPU Name\n557 : NVIDIA A40-1Q", 1, 557, "NVIDIA A40-1Q" },
        { "1145  : NVIDIA L40S-1B\n", 1, 1145, "NVIDIA L40S-1B" },
        { "NVIDIA A40-1Q   557\nNVIDIA A40-2Q   558\n", 2, 557, "NVIDIA A40-1Q" },
        { "1561:NVIDIA RTX Pro 6000 Blackwell DC-1-24Q\n", 1, 1561,
          "NVIDIA RTX Pro 6000 Blackwell DC-1-24Q" },
        { "\t1145\t:\tNVIDIA L40S-1B\r\n", 1, 1145, "NVIDIA L40S-1B" },
        { "ID    : vGPU Name\n", 0, 0, NULL },
        { "", 0, 0, NULL },
        { "\n\n", 0, 0, NULL },
        { "-5 : x\n0 : none\n99999999999 : y\nabc : z\n7 :\n: 8\n9\n", 0, 0, NULL },
};

START_TEST(creatable_types_are_read_in_every_spelling) {
        g_autoptr(GArray) list = carved_creatable_parse(creatable[_i].text);

        ck_assert_uint_eq(list->len, creatable[_i].n);
        if (list->len > 0) {
                ck_assert_uint_eq(g_array_index(list, CarvedCreatable, 0).id, creatable[_i].first);
                ck_assert_str_eq(g_array_index(list, CarvedCreatable, 0).name, creatable[_i].name);
        }
}
END_TEST

START_TEST(number_of_a_type_is_behind_its_last_dash) {
        uint32_t n;

        ck_assert(carved_type_id_number("nvidia-746", &n) && n == 746);
        ck_assert(carved_type_id_number("vfio-pci-575", &n) && n == 575);
        ck_assert(!carved_type_id_number("i915-GVTg_V5_4", &n));
        ck_assert(!carved_type_id_number("746", &n));
        ck_assert(!carved_type_id_number("-746", &n));
        ck_assert(!carved_type_id_number("nvidia-", &n));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("vgpu-type");
        TCase *tcase = tcase_create("vgpu-type");

        tcase_add_test(tcase, nvidia_description_gives_all_facts);
        tcase_add_test(tcase, gvt_description_gives_its_resolution);
        tcase_add_loop_test(tcase, broken_descriptions_give_nothing, 0, G_N_ELEMENTS(broken));
        tcase_add_loop_test(tcase, creatable_types_are_read_in_every_spelling, 0, G_N_ELEMENTS(creatable));
        tcase_add_test(tcase, number_of_a_type_is_behind_its_last_dash);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
