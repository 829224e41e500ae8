/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "error.h"
#include "ini.h"

/* "LINE [SECTION] KEY=VALUE", a line each. */
static void note(const CarvedIniItem *item, void *userdata) {
        GString *notes = userdata;

        g_string_append_printf(notes, "%u ", item->line);
        if (!item->section)
                g_string_append_printf(notes, "%s\n", item->value);
        else if (!item->key)
                g_string_append_printf(notes, "[%s]\n", item->section);
        else
                g_string_append_printf(notes, "[%s] %s=%s\n", item->section, item->key, item->value);
}

static const struct {
        const char *text, *items;
} good[] = {
        { "", "" },
        { "\n\n", "" },
        { "# a comment\n; another\n  # a third\n", "" },
        { "[A]", "1 [A]\n" },
        { "[A]\nk=v", "1 [A]\n2 [A] k=v\n" },
        { "[A]\nk=v\n\n[B]\nk=w\n[A]\nk=x\n", "1 [A]\n2 [A] k=v\n4 [B]\n5 [B] k=w\n6 [A]\n7 [A] k=x\n" },
        { "  [A b]  \r\n\tk \t= v w \r\n", "1 [A b]\n2 [A b] k=v w\n" },
        { "[ A ]\nk=\n", "1 [A]\n2 [A] k=\n" },
        { "[A]\nk==v=\n", "1 [A]\n2 [A] k==v=\n" },
        { "[A]\nk=v # not a comment\n", "1 [A]\n2 [A] k=v # not a comment\n" },
        { "[A]\nk=v\\\nl=w\n", "1 [A]\n2 [A] k=v\\\n3 [A] l=w\n" },
        { "[A]\nk=[B]\n", "1 [A]\n2 [A] k=[B]\n" },
        { "k=v\nwords\n[A]\n", "1 k=v\n2 words\n3 [A]\n" },
        { "[Ä]\nö=€\n", "1 [Ä]\n2 [Ä] ö=€\n" },
};

START_TEST(each_line_is_told_with_its_number) {
        g_autoptr(GString) notes = g_string_new(NULL);
        g_autofree char *exact = g_memdup2(good[_i].text, strlen(good[_i].text));
        g_autoptr(GError) error = NULL;
        unsigned line = 99;

        ck_assert(carved_ini_parse(exact, strlen(good[_i].text), note, notes, &line, &error));
        ck_assert_ptr_null(error);
        ck_assert_uint_eq(line, 99);
        ck_assert_str_eq(notes->str, good[_i].items);
}
END_TEST

#define TEXT(t) t, sizeof t - 1

static const struct {
        const char *text;
        size_t len;
        unsigned line;
        const char *message, *items;
} bad[] = {
        { TEXT("[A]\nk=v\nwords here\nl=w\n"), 3, "'words here' is neither a section nor KEY=VALUE",
          "1 [A]\n2 [A] k=v\n" },
        { TEXT("[A]\n=v\n"), 2, "'=v' has no key", "1 [A]\n" },
        { TEXT("\n\n[A\n"), 3, "'[A' is a section without its closing bracket", "" },
        { TEXT("["), 1, "'[' is a section without its closing bracket", "" },
        { TEXT("[A] k=v\n"), 1, "'[A] k=v' is a section without its closing bracket", "" },
        { TEXT("[A]]\n"), 1, "'[A]]' has brackets in the name of a section", "" },
        { TEXT("[A[b]\n"), 1, "'[A[b]' has brackets in the name of a section", "" },
        { TEXT("[]\n"), 1, "'[]' is a section without a name", "" },
        { TEXT("[  ]\n"), 1, "'[  ]' is a section without a name", "" },
        { TEXT("[A]\nk=v\nl=\xff\n"), 3, "This is not UTF-8 text", "" },
        { TEXT("[A]\nk=\0v\n"), 2, "This is not UTF-8 text", "" },
        { TEXT("\xe2\x82"), 1, "This is not UTF-8 text", "" },
};

START_TEST(what_is_no_ini_is_refused_with_its_line) {
        g_autoptr(GString) notes = g_string_new(NULL);
        g_autofree char *exact = g_memdup2(bad[_i].text, bad[_i].len);
        g_autoptr(GError) error = NULL;
        unsigned line = 0;

        ck_assert(!carved_ini_parse(exact, bad[_i].len, note, notes, &line, &error));
        ck_assert_str_eq(error->message, bad[_i].message);
        ck_assert_uint_eq(line, bad[_i].line);
        ck_assert_str_eq(notes->str, bad[_i].items);
}
END_TEST

START_TEST(no_text_is_longer_than_a_mebibyte) {
        g_autofree char *text = g_strnfill(CARVED_INI_MAX + 1, '#');
        g_autoptr(GString) notes = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        unsigned line;

        ck_assert(carved_ini_parse(text, CARVED_INI_MAX, note, notes, &line, NULL));
        ck_assert(!carved_ini_parse(text, CARVED_INI_MAX + 1, note, notes, &line, &error));
        ck_assert_str_eq(error->message, "The text is too long");
}
END_TEST

START_TEST(a_long_line_is_quoted_in_part) {
        g_autofree char *text = g_strnfill(100000, 'x'), *all = g_strconcat("[A]\n", text, NULL);
        g_autoptr(GString) notes = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        unsigned line;

        ck_assert(!carved_ini_parse(all, strlen(all), note, notes, &line, &error));
        ck_assert_uint_eq(line, 2);
        ck_assert_uint_lt(strlen(error->message), 200);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("ini");
        TCase *tcase = tcase_create("ini");

        tcase_add_loop_test(tcase, each_line_is_told_with_its_number, 0, G_N_ELEMENTS(good));
        tcase_add_loop_test(tcase, what_is_no_ini_is_refused_with_its_line, 0, G_N_ELEMENTS(bad));
        tcase_add_test(tcase, no_text_is_longer_than_a_mebibyte);
        tcase_add_test(tcase, a_long_line_is_quoted_in_part);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
