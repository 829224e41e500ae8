/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib/gstdio.h>
#include <string.h>

#include "../tap.h"
#include "mdevctl.h"

#define A "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"
#define B "bbbbbbbb-7db8-4e96-9a73-f94c389d9bc3"

/* As mdevctl 1.2 writes it. */
#define AUTO   "{\n  \"mdev_type\": \"nvidia-746\",\n  \"start\": \"auto\",\n  \"attrs\": []\n}"
#define MANUAL "{\n  \"mdev_type\": \"nvidia-747\",\n  \"start\": \"manual\",\n  \"attrs\": []\n}"

static char *top;
static GPtrArray *list, *complaints;

static void set_up(void) {
        top = g_dir_make_tmp("carved-mdevctl-XXXXXX", NULL);
        ck_assert_ptr_nonnull(top);
}

static void run(const char *command) {
        g_autofree char *line = g_strdup_printf("cd '%s' && %s", top, command);
        const char *argv[] = { "sh", "-c", line, NULL };
        int status;

        ck_assert(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                               &status, NULL));
        ck_assert_int_eq(status, 0);
}

static void forget(void) {
        g_clear_pointer(&list, g_ptr_array_unref);
        g_clear_pointer(&complaints, g_ptr_array_unref);
}

static void tear_down(void) {
        forget();
        run("rm -rf ./* ./.[a-z]*");
        g_rmdir(top);
        g_clear_pointer(&top, g_free);
}

static void define(const char *parent, const char *name, const char *text) {
        g_autofree char *dir = g_build_filename(top, parent, NULL), *path = g_build_filename(dir, name, NULL);

        g_mkdir_with_parents(dir, 0755);
        ck_assert(g_file_set_contents(path, text, -1, NULL));
}

/* "PARENT UUID TYPE auto", a line each; then the complaints, "@" for the directory. */
static char *told(void) {
        g_autoptr(GString) s = g_string_new(NULL);

        for (unsigned i = 0; i < list->len; i++) {
                const CarvedDefinition *d = list->pdata[i];

                g_string_append_printf(s, "%s %s %s %s\n", d->parent, d->uuid, d->type,
                                       d->autostart ? "auto" : "manual");
        }
        for (unsigned i = 0; i < complaints->len; i++)
                g_string_append_printf(s, "%s\n", (const char *) complaints->pdata[i]);
        g_string_replace(s, top, "@", 0);
        return g_string_free(g_steal_pointer(&s), FALSE);
}

static void expect(const char *expected) {
        g_autofree char *text = NULL;

        forget();
        list = carved_mdevctl_read(top, &complaints);
        text = told();
        ck_assert_str_eq(text, expected);
}

START_TEST(definitions_are_read_in_order) {
        define("0000:41:00.0", "BBBBBBBB-7DB8-4E96-9A73-F94C389D9BC3", MANUAL);
        define("0000:41:00.0", A, AUTO);
        define("0000:08:00.4", "cccccccc-7db8-4e96-9a73-f94c389d9bc3", MANUAL);
        expect("0000:08:00.4 cccccccc-7db8-4e96-9a73-f94c389d9bc3 nvidia-747 manual\n"
               "0000:41:00.0 " A " nvidia-746 auto\n0000:41:00.0 " B " nvidia-747 manual\n");
}
END_TEST

START_TEST(no_directory_is_no_definition) {
        run("mkdir x");
        expect("");
        forget();
        list = carved_mdevctl_read("/nonexistent/mdevctl.d", &complaints);
        ck_assert_uint_eq(list->len, 0);
        ck_assert_uint_eq(complaints->len, 0);
        forget();
        list = carved_mdevctl_read("/dev/null", &complaints);
        ck_assert_uint_eq(list->len, 0);
        ck_assert_uint_eq(complaints->len, 1);
        ck_assert_str_eq(complaints->pdata[0], "/dev/null: Not a directory");
}
END_TEST

START_TEST(what_is_not_mdevctls_is_passed_over) {
        define("0000:41:00.0", A, AUTO);
        define("0000:41:00.0", "README", "words");
        define("0000:41:00.0", "." A, "half");
        define("0000:41:00.0", A ".bak", "half");
        define("0000:41:00.0", "aaaaaaaa7db84e969a73f94c389d9bc3", AUTO);
        define("scripts.d", B, AUTO);
        define(".hidden", B, AUTO);
        run("echo words >README; ln -s nowhere link; d=$(printf 'a\\377'); mkdir \"$d\" && "
            "cp 0000:41:00.0/" A " \"$d/" B "\"");
        expect("0000:41:00.0 " A " nvidia-746 auto\n");
}
END_TEST

#define NOT_JSON "This is not JSON"

static const struct {
        const char *text, *complaint; /* NULL: none */
} texts[] = {
        { AUTO, NULL },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"auto\"}", NULL },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"auto\",\"attrs\":[{\"a/"
          "b\":\"1\"},{\"a\":\"\"}],\"x\":7}",
          NULL },
        { "", "The file is empty" },
        { " \n", "This is no JSON object" },
        { "{", NOT_JSON },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"au", NOT_JSON },
        { "words", NOT_JSON },
        { "{\"mdev_type\":\"nvidia-746\",/**/\"start\":\"auto\"}", NOT_JSON },
        { "{\"mdev_type\":\"nvidia-746\xff\",\"start\":\"auto\"}", NOT_JSON },
        { "{\"mdev_type\":\"\\ud800\",\"start\":\"auto\"}", NOT_JSON },
        { "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", NOT_JSON },
        { "[]", "This is no JSON object" },
        { "\"auto\"", "This is no JSON object" },
        { "{}", "There is no \"mdev_type\"" },
        { "{\"mdev_type\":\"\",\"start\":\"auto\"}", "There is no \"mdev_type\"" },
        { "{\"mdev_type\":746,\"start\":\"auto\"}", "There is no \"mdev_type\"" },
        { "{\"mdev_type\":null,\"start\":\"auto\"}", "There is no \"mdev_type\"" },
        { "{\"mdev_type\":[\"nvidia-746\"],\"start\":\"auto\"}", "There is no \"mdev_type\"" },
        { "{\"mdev_type\":\"nvidia-746\"}", "There is no \"start\"" },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":true}", "There is no \"start\"" },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"auto\",\"attrs\":{}}", "\"attrs\" is no list" },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"auto\",\"attrs\":[{\"a\":\"1\",\"b\":\"2\"}]}",
          "\"attrs\" has an entry that is not one name with one text" },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"auto\",\"attrs\":[{\"a\":1}]}",
          "\"attrs\" has an entry that is not one name with one text" },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"auto\",\"attrs\":[{}]}",
          "\"attrs\" has an entry that is not one name with one text" },
        { "{\"mdev_type\":\"nvidia-746\",\"start\":\"auto\",\"attrs\":[\"a\"]}",
          "\"attrs\" has an entry that is not one name with one text" },
};

START_TEST(what_is_damaged_is_told_and_its_siblings_count) {
        g_autofree char *expected = NULL;

        define("0000:41:00.0", A, texts[_i].text);
        define("0000:41:00.0", B, MANUAL);
        expected = texts[_i].complaint ? g_strdup_printf("0000:41:00.0 " B
                                                         " nvidia-747 manual\n@/0000:41:00.0/" A ": %s\n",
                                                         texts[_i].complaint)
                                       : g_strdup("0000:41:00.0 " A " nvidia-746 auto\n0000:41:00.0 " B
                                                  " nvidia-747 manual\n");
        expect(expected);
}
END_TEST

START_TEST(only_auto_starts_by_itself) {
        static const char *const words[] = { "auto", "Auto", "automatic", "", "manual", "yes" };

        for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
                g_autofree char *text = g_strdup_printf("{\"mdev_type\":\"t\",\"start\":\"%s\"}", words[i]),
                                *type = NULL;
                bool autostart = i != 0;

                ck_assert(carved_mdevctl_parse(text, strlen(text), &type, &autostart, NULL));
                ck_assert_int_eq(autostart, i == 0);
        }
}
END_TEST

START_TEST(what_is_no_small_file_is_told) {
        run("mkdir 0000:41:00.0 && cd 0000:41:00.0 && mkfifo " A " && mkdir " B
            " && truncate -s 65537 cccccccc-7db8-4e96-9a73-f94c389d9bc3"
            " && ln -s nowhere dddddddd-7db8-4e96-9a73-f94c389d9bc3");
        expect("@/0000:41:00.0/" A ": Not a regular file\n@/0000:41:00.0/" B ": Not a regular file\n"
               "@/0000:41:00.0/cccccccc-7db8-4e96-9a73-f94c389d9bc3: Longer than 65536 bytes\n"
               "@/0000:41:00.0/dddddddd-7db8-4e96-9a73-f94c389d9bc3: No such file or directory\n");
}
END_TEST

START_TEST(one_uuid_on_two_parents_is_told_and_both_count) {
        define("0000:41:00.0", A, MANUAL);
        define("0000:42:00.0", "AAAAAAAA-7db8-4e96-9a73-f94c389d9bc3", AUTO);
        define("0000:43:00.0", A, AUTO);
        expect("0000:41:00.0 " A " nvidia-747 manual\n0000:42:00.0 " A " nvidia-746 auto\n0000:43:00.0 " A
               " nvidia-746 auto\n"
               "@/0000:42:00.0/" A ": The same UUID is defined on 0000:41:00.0 too\n"
               "@/0000:43:00.0/" A ": The same UUID is defined on 0000:41:00.0 too\n");
        ck_assert_str_eq(carved_mdevctl_find(list, A)->parent, "0000:42:00.0");
}
END_TEST

START_TEST(they_are_found_by_uuid_and_by_parent) {
        define("0000:41:00.0", A, MANUAL);
        define("0000:42:00.0", B, AUTO);
        list = carved_mdevctl_read(top, &complaints);
        ck_assert_str_eq(carved_mdevctl_find(list, A)->parent, "0000:41:00.0");
        ck_assert_str_eq(carved_mdevctl_find(list, "BBBBBBBB-7DB8-4E96-9A73-F94C389D9BC3")->type,
                         "nvidia-746");
        ck_assert_ptr_null(carved_mdevctl_find(list, "cccccccc-7db8-4e96-9a73-f94c389d9bc3"));
        ck_assert_ptr_null(carved_mdevctl_find_autostart(list, "0000:41:00.0"));
        ck_assert_str_eq(carved_mdevctl_find_autostart(list, "0000:42:00.0")->uuid, B);
        ck_assert_ptr_null(carved_mdevctl_find_autostart(list, "0000:43:00.0"));
}
END_TEST

START_TEST(complaints_come_to_an_end) {
        run("mkdir p && cd p && for i in $(seq 1000 1100); do : >$i"
            "$i-7db8-4e96-9a73-f94c389d9bc3; done");
        list = carved_mdevctl_read(top, &complaints);
        ck_assert_uint_eq(list->len, 0);
        ck_assert_uint_eq(complaints->len, CARVED_MDEVCTL_COMPLAIN_MAX + 1);
        ck_assert(g_str_has_suffix(complaints->pdata[CARVED_MDEVCTL_COMPLAIN_MAX],
                                   ": There is more that is wrong"));
}
END_TEST

START_TEST(all_of_it_travels) {
        g_autoptr(GVariant) variant = NULL;
        g_autofree char *before = NULL, *after = NULL;

        define("0000:41:00.0", A, AUTO);
        define("0000:42:00.0", B, MANUAL);
        define("0000:42:00.0", A, "");
        list = carved_mdevctl_read(top, &complaints);
        before = told();
        variant = g_variant_ref_sink(carved_mdevctl_to_variant(list, complaints));
        ck_assert_str_eq(g_variant_get_type_string(variant), CARVED_MDEVCTL_TYPE);
        forget();
        list = carved_mdevctl_from_variant(variant, &complaints);
        after = told();
        ck_assert_str_eq(before, after);
        ck_assert_uint_eq(list->len, 2);
        ck_assert_uint_eq(complaints->len, 1);
}
END_TEST

START_TEST(what_another_wrote_is_refused) {
        static const char *const strange[] = {
                "([('p', 'no-uuid', 't', true)], ['x'])",
                "([('', '" A "', 't', true)], ['x'])",
                "([('p', '" A "', '', true)], ['x'])",
                "([('p', '" A "', 't')], ['x'])",
                "'words'",
        };
        GPtrArray *untouched = (GPtrArray *) top;

        for (unsigned i = 0; i < G_N_ELEMENTS(strange); i++) {
                g_autoptr(GVariant) variant = g_variant_parse(NULL, strange[i], NULL, NULL, NULL);

                ck_assert_ptr_nonnull(variant);
                ck_assert_ptr_null(carved_mdevctl_from_variant(variant, &untouched));
                ck_assert_ptr_eq(untouched, top);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("mdevctl");
        TCase *tcase = tcase_create("mdevctl");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, definitions_are_read_in_order);
        tcase_add_test(tcase, no_directory_is_no_definition);
        tcase_add_test(tcase, what_is_not_mdevctls_is_passed_over);
        tcase_add_loop_test(tcase, what_is_damaged_is_told_and_its_siblings_count, 0, G_N_ELEMENTS(texts));
        tcase_add_test(tcase, only_auto_starts_by_itself);
        tcase_add_test(tcase, what_is_no_small_file_is_told);
        tcase_add_test(tcase, one_uuid_on_two_parents_is_told_and_both_count);
        tcase_add_test(tcase, they_are_found_by_uuid_and_by_parent);
        tcase_add_test(tcase, complaints_come_to_an_end);
        tcase_add_test(tcase, all_of_it_travels);
        tcase_add_test(tcase, what_another_wrote_is_refused);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
