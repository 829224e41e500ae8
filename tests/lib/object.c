/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "object.h"

#define UUID "dd6772a8_7db8_4e96_9a73_f94c389d9bc3"

static const struct {
        const char *path;
        CarvedObjectKind kind;
        int32_t vf_index;
} good[] = {
        { "/org/carved1/gpu/0000_08_00_0", CARVED_OBJECT_GPU, -1 },
        { "/org/carved1/gpu/10000_08_00_0", CARVED_OBJECT_GPU, -1 },
        { "/org/carved1/gpu/0000_08_00_0/vf/0", CARVED_OBJECT_VF, 0 },
        { "/org/carved1/gpu/0000_08_00_0/vf/255", CARVED_OBJECT_VF, 255 },
        { "/org/carved1/gpu/0000_08_00_0/vgpu/" UUID, CARVED_OBJECT_VGPU, -1 },
        { "/org/carved1/gpu/0000_08_00_0/vf/3/vgpu/" UUID, CARVED_OBJECT_VGPU, 3 },
};

START_TEST(a_path_names_one_object_and_back) {
        CarvedObject object;
        char again[OBJECT_PATH_MAX];

        ck_assert(object_parse_path(good[_i].path, &object));
        ck_assert_int_eq(object.kind, good[_i].kind);
        ck_assert_int_eq(object.vf_index, good[_i].vf_index);
        ck_assert_str_eq(object_path(&object, again), good[_i].path);
}
END_TEST

static const char *const bad[] = {
        "/",
        "/org/carved1",
        "/org/carved1/gpu",
        "/org/carved1/gpu/",
        "/org/carved1/gpu/08_00_0",
        "/org/carved1/gpu/0000_08_00_8",
        "/org/carved1/gpu/0000_08_00_0/",
        "/org/carved1/gpu/0000_08_00_0/vf",
        "/org/carved1/gpu/0000_08_00_0/vf/",
        "/org/carved1/gpu/0000_08_00_0/vf/00",
        "/org/carved1/gpu/0000_08_00_0/vf/-1",
        "/org/carved1/gpu/0000_08_00_0/vf/1/vf/2",
        "/org/carved1/gpu/0000_08_00_0/vgpu",
        "/org/carved1/gpu/0000_08_00_0/vgpu/dd6772a8",
        "/org/carved1/gpu/0000_08_00_0/vgpu/" UUID "/vf/1",
        "/org/carved1/gpu/0000_08_00_0/vgpu/" UUID "/x",
        "/org/carved1/gpu/0000_0A_00_0",
        "/org/carved1/gpus/0000_08_00_0",
        "/org/carved1/gpu/0000_08_00_0/vf/99999999999999999999",
        "/org/carved1/gpu/0000_08_00_0_0000_08_00_0_0000_08_00_0_0",
};

START_TEST(any_other_path_names_none) {
        CarvedObject object;

        ck_assert(!object_parse_path(bad[_i], &object));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("object");
        TCase *tcase = tcase_create("object");

        tcase_add_loop_test(tcase, a_path_names_one_object_and_back, 0, G_N_ELEMENTS(good));
        tcase_add_loop_test(tcase, any_other_path_names_none, 0, G_N_ELEMENTS(bad));
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
