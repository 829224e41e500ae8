/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../tap.h"
#include "cleanup.h"
#include "sysfs.h"

static char *directory;
static int fd;

static void set_up(void) {
        directory = g_dir_make_tmp("carved-sysfs-XXXXXX", NULL);
        fd = carved_sysfs_open_dir(-1, directory, NULL);
        ck_assert_int_ge(fd, 0);
}

static void tear_down(void) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", directory);

        close(fd);
        g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL);
        g_free(directory);
}

static void put(const char *name, const char *text, size_t len) {
        g_autofree char *path = g_build_filename(directory, name, NULL);

        ck_assert(g_file_set_contents(path, text, (gssize) len, NULL));
}

static const struct {
        const char *text;
        size_t len;
        const char *expect; /* NULL: an error */
} texts[] = {
        { "NVIDIA A2-4Q\n", 13, "NVIDIA A2-4Q" },
        { "no newline", 10, "no newline" },
        { "", 0, "" },
        { "\n", 1, "" },
        { "\0\0", 2, NULL },
        { "a\0b", 3, NULL },
        { "\xff\xfe", 2, NULL },
};

START_TEST(texts_come_stripped_or_not_at_all) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        put("name", texts[_i].text, texts[_i].len);
        text = carved_sysfs_read(fd, NULL, CARVED_ATTR_NAME, &error);
        if (texts[_i].expect)
                ck_assert_str_eq(text, texts[_i].expect);
        else {
                ck_assert_ptr_null(text);
                ck_assert(!carved_sysfs_is_absent(error));
        }
}
END_TEST

START_TEST(what_is_too_long_is_an_error_not_a_piece) {
        g_autofree char *big = g_strnfill(1024 * 1024, 'x');
        g_autoptr(GError) error = NULL;

        put("name", big, strlen(big));
        ck_assert_ptr_null(carved_sysfs_read(fd, NULL, CARVED_ATTR_NAME, &error));
        ck_assert_ptr_nonnull(strstr(error->message, "name"));
}
END_TEST

START_TEST(absent_is_not_broken) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_sysfs_read(fd, NULL, CARVED_ATTR_NAME, &error));
        ck_assert(carved_sysfs_is_absent(error));
}
END_TEST

static const struct {
        const char *text;
        bool ok;
        int64_t value;
} numbers[] = {
        { "16\n", true, 16 },     { "0x10de\n", true, 0x10de },
        { "0", true, 0 },         { "-1\n", true, -1 },
        { "65535", true, 65535 }, { "65536", false, 0 },
        { "-2", false, 0 },       { "", false, 0 },
        { "\n", false, 0 },       { "16 VFs", false, 0 },
        { " 16", false, 0 },      { "+16", false, 0 },
        { "0x", false, 0 },       { "99999999999999999999", false, 0 },
        { "1.5", false, 0 },      { "-", false, 0 },
};

START_TEST(numbers_are_in_range_or_refused) {
        int64_t value = 4711;

        put("sriov_numvfs", numbers[_i].text, strlen(numbers[_i].text));
        ck_assert_int_eq(
                carved_sysfs_read_number(fd, NULL, CARVED_ATTR_SRIOV_NUMVFS, -1, 65535, &value, NULL),
                numbers[_i].ok);
        ck_assert_int_eq(value, numbers[_i].ok ? numbers[_i].value : 4711);
}
END_TEST

START_TEST(a_number_with_a_nul_or_a_megabyte_is_refused) {
        g_autofree char *big = g_strnfill(1024 * 1024, '1');
        int64_t value;

        put("sriov_numvfs", "1\0", 2);
        ck_assert(!carved_sysfs_read_number(fd, NULL, CARVED_ATTR_SRIOV_NUMVFS, 0, 9, &value, NULL));
        put("sriov_numvfs", big, strlen(big));
        ck_assert(!carved_sysfs_read_number(fd, NULL, CARVED_ATTR_SRIOV_NUMVFS, 0, 9, &value, NULL));
}
END_TEST

START_TEST(links_give_their_last_component) {
        g_autofree char *link = g_build_filename(directory, "driver", NULL), *none = NULL, *name = NULL;

        ck_assert_int_eq(symlink("../../../bus/pci/drivers/nvidia", link), 0);
        name = carved_sysfs_read_link(fd, NULL, CARVED_LINK_DRIVER);
        none = carved_sysfs_read_link(fd, NULL, CARVED_LINK_PHYSFN);
        ck_assert_str_eq(name, "nvidia");
        ck_assert_ptr_null(none);
}
END_TEST

START_TEST(nothing_that_acts_when_read_is_on_the_list) {
        static const char *const never[] = { "reset_gpu", "config", "rom",   "remove",
                                             "reset",     "rescan", "enable" };

        for (unsigned i = 0; i < _CARVED_ATTR_MAX; i++)
                for (unsigned j = 0; j < G_N_ELEMENTS(never); j++)
                        ck_assert_str_ne(carved_attribute_name((CarvedAttribute) i), never[j]);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("sysfs");
        TCase *tcase = tcase_create("sysfs");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_loop_test(tcase, texts_come_stripped_or_not_at_all, 0, G_N_ELEMENTS(texts));
        tcase_add_test(tcase, what_is_too_long_is_an_error_not_a_piece);
        tcase_add_test(tcase, absent_is_not_broken);
        tcase_add_loop_test(tcase, numbers_are_in_range_or_refused, 0, G_N_ELEMENTS(numbers));
        tcase_add_test(tcase, a_number_with_a_nul_or_a_megabyte_is_refused);
        tcase_add_test(tcase, links_give_their_last_component);
        tcase_add_test(tcase, nothing_that_acts_when_read_is_on_the_list);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
