/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <json-glib/json-glib.h>

#include "stored.h"

static CarvedIntent *read_back(const CarvedIntent *intent) {
        g_autofree char *persistent = carved_store_format_intent(intent, false);
        g_autofree char *transient = carved_store_format_intent(intent, true);
        CarvedIntent *back = carved_intent_new();

        if (persistent)
                read_into(back, persistent, false);
        if (transient)
                read_into(back, transient, true);
        return back;
}

/* ---- a GPU's files ---- */

START_TEST(what_is_written_is_read_again) {
        g_autoptr(CarvedIntent) intent = everything(), back = NULL;

        intent->vfs_transient = _i;
        back = read_back(intent);
        assert_same(intent, back);
}
END_TEST

START_TEST(each_file_has_its_own) {
        g_autoptr(CarvedIntent) intent = everything();
        g_autofree char *persistent = carved_store_format_intent(intent, false);
        g_autofree char *transient = carved_store_format_intent(intent, true);

        ck_assert_ptr_nonnull(strstr(persistent, A));
        ck_assert_ptr_null(strstr(persistent, B));
        ck_assert_ptr_nonnull(strstr(persistent, "rack"));
        ck_assert_ptr_nonnull(strstr(persistent, "\"vfs\" : 16"));
        ck_assert_ptr_null(strstr(transient, A));
        ck_assert_ptr_nonnull(strstr(transient, B));
        ck_assert_ptr_null(strstr(transient, "rack"));
        ck_assert_ptr_null(strstr(transient, "vfs\""));
        ck_assert_ptr_nonnull(strstr(transient, "\"generation\" : 7"));
        ck_assert_ptr_null(strstr(transient, "\"transient\"")); /* the file says it */
}
END_TEST

START_TEST(what_is_not_set_is_left_out) {
        g_autoptr(CarvedIntent) intent = carved_intent_new(), back = NULL;
        g_autofree char *text = NULL, *compact = NULL;
        g_autoptr(JsonNode) node = NULL;

        intent->identity = g_strdup(IDENTITY);
        intent->generation = 1;
        want(intent, A, -1, CARVED_FRAMEWORK_MDEV);
        text = carved_store_format_intent(intent, false);
        node = json_from_string(text, NULL);
        compact = json_to_string(node, FALSE);
        ck_assert_str_eq(compact, WITH(""));
        back = read_back(intent);
        assert_same(intent, back);
}
END_TEST

START_TEST(what_nobody_asked_for_has_no_file) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();

        ck_assert_ptr_null(carved_store_format_intent(intent, false));
        ck_assert_ptr_null(carved_store_format_intent(intent, true));

        want(intent, A, 0, CARVED_FRAMEWORK_MDEV)->leftover = true;
        ck_assert_ptr_null(carved_store_format_intent(intent, false));
        ck_assert_ptr_null(carved_store_format_intent(intent, true));
}
END_TEST

/* Else an older journal entry could bring back what was destroyed. */
START_TEST(that_all_was_taken_back_is_kept) {
        g_autoptr(CarvedIntent) intent = carved_intent_new(), back = NULL;

        intent->identity = g_strdup(IDENTITY);
        intent->generation = 9;
        ck_assert_ptr_null(carved_store_format_intent(intent, true));
        back = read_back(intent);
        assert_same(intent, back);
}
END_TEST

START_TEST(vfs_switched_off_are_something_to_keep) {
        g_autoptr(CarvedIntent) intent = carved_intent_new(), back = NULL;
        g_autofree char *transient = NULL;

        intent->identity = g_strdup(IDENTITY);
        intent->vfs = 0;
        intent->vfs_transient = true;
        transient = carved_store_format_intent(intent, true);
        ck_assert_ptr_nonnull(transient);
        back = read_back(intent);
        ck_assert_int_eq(back->vfs, 0);
        ck_assert(back->vfs_transient);
}
END_TEST

START_TEST(what_is_left_over_is_in_no_file) {
        g_autoptr(CarvedIntent) intent = everything(), back = NULL;

        ((CarvedWanted *) intent->vgpus->pdata[0])->leftover = true;
        ((CarvedWanted *) intent->vgpus->pdata[1])->leftover = true;
        back = read_back(intent);
        ck_assert_uint_eq(back->vgpus->len, 0);
        ck_assert_int_eq(back->vfs, 16);
}
END_TEST

START_TEST(how_it_goes_is_not_written) {
        g_autoptr(CarvedIntent) intent = everything();
        g_autofree char *before = carved_store_format_intent(intent, false), *after = NULL;
        CarvedWanted *wanted = intent->vgpus->pdata[0];

        wanted->missing = true;
        wanted->error = g_strdup("no");
        intent->leftover_vfs = true;
        after = carved_store_format_intent(intent, false);
        ck_assert_str_eq(before, after);
}
END_TEST

/* ---- what a newer carved wrote ---- */

static char *compact(const char *text) {
        g_autoptr(JsonNode) node = json_from_string(text, NULL);

        ck_assert_ptr_nonnull(node);
        return json_to_string(node, FALSE);
}

START_TEST(keys_that_we_do_not_know_survive) {
        g_autoptr(CarvedIntent) intent = carved_intent_new(), changed = NULL;
        g_autofree char *text = NULL, *same = NULL, *other = NULL, *before = NULL;

        read_into(intent, NEWER, _i);
        before = carved_store_format_intent(intent, _i);
        same = compact(before);
        ck_assert_str_eq(same, NEWER);

        changed = carved_intent_copy(intent);
        changed->vfs = 4;
        changed->vfs_transient = _i;
        ((CarvedWanted *) changed->vgpus->pdata[0])->params = g_strdup("p=1");
        text = carved_store_format_intent(changed, _i);
        ck_assert_ptr_nonnull(strstr(text, "\"vfs\" : 4"));
        ck_assert_ptr_nonnull(strstr(text, "p=1"));
        for (unsigned i = 0; i < 3; i++)
                ck_assert_ptr_nonnull(strstr(text, ((const char *[]){ "lease", "partitions", "profile" })[i]));

        /* The copy was written; what it was copied from is as it was. */
        other = carved_store_format_intent(intent, _i);
        ck_assert_str_eq(before, other);
}
END_TEST

START_TEST(keys_of_one_file_do_not_move_to_the_other) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        g_autofree char *persistent = NULL, *transient = NULL;

        read_into(intent, "{\"format\":1," STORED_IDENTITY ",\"generation\":1,\"intent\":{\"x\":1},\"y\":2}",
                  false);
        read_into(intent, "{\"format\":1," STORED_IDENTITY ",\"generation\":1,\"intent\":{\"p\":3},\"q\":4}",
                  true);
        persistent = carved_store_format_intent(intent, false);
        transient = carved_store_format_intent(intent, true);
        ck_assert(strstr(persistent, "\"x\"") && strstr(persistent, "\"y\""));
        ck_assert(!strstr(persistent, "\"p\"") && !strstr(persistent, "\"q\""));
        ck_assert(strstr(transient, "\"p\"") && strstr(transient, "\"q\""));
        ck_assert(!strstr(transient, "\"x\"") && !strstr(transient, "\"y\""));
}
END_TEST

START_TEST(a_newer_format_is_not_ours_to_read) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        g_autoptr(GError) error = NULL, entry = NULL;

        ck_assert(!carved_store_parse_intent("{\"format\":2,\"intent\":7}", false, intent, &error));
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED));
        ck_assert_str_eq(error->message, "What is stored has format 2, this carved knows 1");
        ck_assert_ptr_null(carved_entry_parse("{\"format\":3}", &entry));
        ck_assert(g_error_matches(entry, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED));
}
END_TEST

/* ---- two files, one intent ---- */

START_TEST(the_larger_generation_wins) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();

        read_into(intent, DOC(7, "{\"vfs\":4}"), _i);
        read_into(intent, DOC(5, "{\"vgpus\":[" VGPU("") "]}"), !_i);
        ck_assert_uint_eq(intent->generation, 7);
        ck_assert_int_eq(intent->vfs, 4);
        ck_assert_int_eq(intent->vfs_transient, _i);
        ck_assert_uint_eq(intent->vgpus->len, 1);
        ck_assert_int_eq(((CarvedWanted *) intent->vgpus->pdata[0])->transient, !_i);
}
END_TEST

/* The power went between the two: A became persistent at 8. */
START_TEST(of_what_is_in_both_files_the_newer_counts) {
        const char *older = DOC(7, "{\"vfs\":4,\"vgpus\":[" VGPU(",\"vf\":1") "]}");
        const char *newer = DOC(8, "{\"vfs\":8,\"vgpus\":[" VGPU(",\"vf\":2") "]}");
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        const CarvedWanted *wanted;

        read_into(intent, _i ? newer : older, !_i);
        read_into(intent, _i ? older : newer, _i);
        ck_assert_uint_eq(intent->generation, 8);
        ck_assert_int_eq(intent->vfs, 8);
        ck_assert(!intent->vfs_transient);
        ck_assert_uint_eq(intent->vgpus->len, 1);
        wanted = intent->vgpus->pdata[0];
        ck_assert_int_eq(wanted->vf_index, 2);
        ck_assert(!wanted->transient);
}
END_TEST

static const struct {
        const char *first, *second, *message;
} contradictions[] = {
        { DOC(1, "{\"vfs\":1}"), DOC(1, "{\"vfs\":1}"), "intent.vfs: is in both files" },
        { WITH(""), WITH(""), "intent.vgpus: " A " is in both files" },
        { DOC(1, "{\"vfs\":1}"),
          "{\"format\":1,\"identity\":{\"vendor\":\"10de\",\"device\":\"25b6\",\"subsystem-vendor\":\"10de\","
          "\"subsystem-device\":\"157e\",\"address\":\"9:0.0\"},\"generation\":3,\"intent\":{}}",
          "identity: is 10de:25b6:10de:157e@0000:09:00.0, but " IDENTITY " in the other file" },
};

START_TEST(files_that_contradict_each_other_are_refused) {
        g_autoptr(CarvedIntent) intent = carved_intent_new(), before = NULL;
        g_autoptr(GError) error = NULL;

        read_into(intent, contradictions[_i].first, false);
        before = carved_intent_copy(intent);
        ck_assert(!carved_store_parse_intent(contradictions[_i].second, true, intent, &error));
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_STATE_UNREADABLE));
        ck_assert_str_eq(error->message, contradictions[_i].message);
        assert_same(intent, before);
}
END_TEST

/* ---- what can't be read ---- */

#define IDENTITY_WITH(vendor, address)                                                                       \
        "{\"format\":1,\"identity\":{\"vendor\":" vendor ",\"device\":\"25b6\",\"subsystem-vendor\":"        \
        "\"10de\",\"subsystem-device\":\"157e\",\"address\":" address "},\"generation\":1,\"intent\":{}}"

#define NO_ESCAPE "not JSON: a backslash stands before \", \\, /, b, f, n, r, t or u and four digits"

static const struct {
        const char *text, *message;
} violations[] = {
        { "", "must be a JSON object" },
        { "[]", "must be a JSON object" },
        { "{} {}", "not JSON: something follows the object" },
        { "{/**/}", "not JSON: it has no comments and no single quotes" },
        { "{\"a\":\"\\u0000\"}", "a text has a NUL in it" },
        { "{\"a\":\"\\777\"}", NO_ESCAPE },
        { "{\"a\":\"\\u12x4\"}", NO_ESCAPE },
        { "{\"a\":1e999}", "not JSON: half a character, or a number without end" },
        { "{\"a\":" DEEP16 DEEP16, "nested more than 32 deep" },
        { "{}", "format: missing, or less than 1" },
        { "{\"format\":0}", "format: missing, or less than 1" },
        { "{\"format\":\"1\"}", "format: must be a number from 0 to 9223372036854775807" },
        { "{\"format\":1.0}", "format: must be a number from 0 to 9223372036854775807" },
        { "{\"format\":1}", "identity: missing" },
        { "{\"format\":1,\"identity\":\"x\"}", "identity: must be an object" },
        { IDENTITY_WITH("\"10DE\"", "\"0000:08:00.0\""),
          "identity.vendor: must be four lower-case hexadecimal digits" },
        { IDENTITY_WITH("4318", "\"0000:08:00.0\""), "identity.vendor: must be a text in quotes" },
        { IDENTITY_WITH("\"10de\"", "\"8\""),
          "identity.address: must be a PCI address, such as 0000:08:00.0" },
        { "{\"format\":1," STORED_IDENTITY ",\"intent\":{}}", "generation: missing" },
        { DOC(-1, "{}"), "generation: must be a number from 0 to 9223372036854775807" },
        { DOC(18446744073709551615, "{}"), "generation: must be a number from 0 to 9223372036854775807" },
        { "{\"format\":1," STORED_IDENTITY ",\"generation\":1}", "intent: missing" },
        { DOC(1, "[]"), "intent: must be an object" },
        { DOC(1, "{\"vfs\":65536}"), "intent.vfs: must be a number from 0 to 65535" },
        { DOC(1, "{\"vfs\":-1}"), "intent.vfs: must be a number from 0 to 65535" },
        { DOC(1, "{\"vfs\":null}"), "intent.vfs: must be a number from 0 to 65535" },
        { DOC(1, "{\"vfs\":true}"), "intent.vfs: must be a number from 0 to 65535" },
        { DOC(1, "{\"labels\":[]}"), "intent.labels: must be an object" },
        { DOC(1, "{\"labels\":{\"a\":1}}"), "intent.labels: the value of 'a' must be a text in quotes" },
        { DOC(1, "{\"labels\":{\"\":\"\"}}"), "intent.labels: Label '' can't be: a key has 1 to 63 bytes, a "
                                              "value at most 255, neither has control "
                                              "characters" },
        { DOC(1, "{\"vgpus\":{}}"), "intent.vgpus: must be a list" },
        { DOC(1, "{\"vgpus\":[[]]}"), "intent.vgpus[0]: must be an object" },
        { DOC(1, "{\"vgpus\":[{}]}"), "intent.vgpus[0].uuid: must be a UUID" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":\"" A "x\"}]}"), "intent.vgpus[0].uuid: must be a UUID" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":7}]}"), "intent.vgpus[0].uuid: must be a text in quotes" },
        { DOC(1, "{\"vgpus\":[" VGPU("") "," VGPU("") "]}"), "intent.vgpus[1].uuid: " A " is there twice" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":\"" A "\"}]}"),
          "intent.vgpus[0].type: must be the id of a type, such as nvidia-746" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":\"" A "\",\"type\":\"../x\"}]}"),
          "intent.vgpus[0].type: must be the id of a type, such as nvidia-746" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":\"" A "\",\"type\":\"x/../y\"}]}"),
          "intent.vgpus[0].type: must be the id of a type, such as nvidia-746" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":\"" A "\",\"type\":\"x\"}]}"),
          "intent.vgpus[0].framework: must be mdev, vendor-vfio or vf-passthrough" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":\"" A "\",\"type\":\"x\",\"framework\":\"unknown\"}]}"),
          "intent.vgpus[0].framework: must be mdev, vendor-vfio or vf-passthrough" },
        { DOC(1, "{\"vgpus\":[{\"uuid\":\"" A "\",\"type\":\"x\",\"framework\":\"vendor-vfio\"}]}"),
          "intent.vgpus[0].vf: missing: a vGPU of vendor-vfio is on a VF" },
        { WITH(",\"vf\":65536"), "intent.vgpus[0].vf: must be a number from 0 to 65535" },
        { WITH(",\"vf\":-1"), "intent.vgpus[0].vf: must be a number from 0 to 65535" },
        { WITH(",\"type-name\":7"), "intent.vgpus[0].type-name: must be a text in quotes" },
        { WITH(",\"type-name\":\"a\\nb\""), "intent.vgpus[0].type-name: must not have control characters" },
        { WITH(",\"override\":\"" LINE64 LINE64 LINE64 LINE64 "\""),
          "intent.vgpus[0].override: 256 bytes are too many: at most 255" },
        { WITH(",\"params\":\"a\\tb\""),
          "intent.vgpus[0].params: The parameters have a control character at place 2: they are one line" },
        { WITH(",\"params\":[]"), "intent.vgpus[0].params: must be a text in quotes" },
        { WITH(",\"labels\":{\"a\":\"\\n\"}"), "intent.vgpus[0].labels: Label 'a' can't be: a key has 1 to "
                                               "63 bytes, a value at most 255, neither has "
                                               "control characters" },
        { WITH(",\"x\":[" DEEP16 DEEP16_END "]"), "intent.vgpus[0]: 'x' is nested more than 16 deep" },
        { DOC(1, "{\"x\":[" DEEP16 DEEP16_END "]}"), "intent: 'x' is nested more than 16 deep" },
};

START_TEST(what_can_not_be_is_refused_with_its_place) {
        g_autoptr(CarvedIntent) intent = everything(), before = everything();
        g_autoptr(GError) error = NULL;

        ck_assert(!carved_store_parse_intent(violations[_i].text, false, intent, &error));
        ck_assert_str_eq(error->message, violations[_i].message);
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_STATE_UNREADABLE));
        assert_same(intent, before);
}
END_TEST

static const char *const half_characters[] = { DOC(1, "{\"x\":\"\\ud800\"}"), "\"{a\"\"\\ud8000\"}" };

START_TEST(half_a_character_is_refused) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        g_autoptr(GError) error = NULL;

        ck_assert(!carved_store_parse_intent(half_characters[_i], false, intent, &error));
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_STATE_UNREADABLE));
        ck_assert(g_utf8_validate(error->message, -1, NULL));
}
END_TEST

START_TEST(a_million_brackets_do_no_harm) {
        g_autofree char *brackets = g_strnfill(1000000, _i ? '[' : '{');
        g_autofree char *text = g_strconcat("{\"format\":1,\"a\":", brackets, NULL);
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        g_autoptr(GError) error = NULL;

        ck_assert(!carved_store_parse_intent(text, false, intent, &error));
        ck_assert_str_eq(error->message, "nested more than 32 deep");
}
END_TEST

START_TEST(uuids_are_lower_case) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();

        read_into(intent,
                  DOC(1, "{\"vgpus\":[{\"uuid\":\"" B_UPPER "\",\"type\":\"x\",\"framework\":\"mdev\"}]}"),
                  false);
        ck_assert_str_eq(((CarvedWanted *) intent->vgpus->pdata[0])->uuid, B);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("store");
        TCase *files = tcase_create("a GPU's files"), *bad = tcase_create("what can't be read");

        tcase_add_loop_test(files, what_is_written_is_read_again, 0, 2);
        tcase_add_test(files, each_file_has_its_own);
        tcase_add_test(files, what_is_not_set_is_left_out);
        tcase_add_test(files, what_nobody_asked_for_has_no_file);
        tcase_add_test(files, that_all_was_taken_back_is_kept);
        tcase_add_test(files, vfs_switched_off_are_something_to_keep);
        tcase_add_test(files, what_is_left_over_is_in_no_file);
        tcase_add_test(files, how_it_goes_is_not_written);
        tcase_add_loop_test(files, keys_that_we_do_not_know_survive, 0, 2);
        tcase_add_test(files, keys_of_one_file_do_not_move_to_the_other);
        tcase_add_test(files, a_newer_format_is_not_ours_to_read);
        tcase_add_loop_test(files, the_larger_generation_wins, 0, 2);
        tcase_add_loop_test(files, of_what_is_in_both_files_the_newer_counts, 0, 2);
        tcase_add_loop_test(files, files_that_contradict_each_other_are_refused, 0,
                            G_N_ELEMENTS(contradictions));
        suite_add_tcase(suite, files);

        tcase_add_loop_test(bad, what_can_not_be_is_refused_with_its_place, 0, G_N_ELEMENTS(violations));
        tcase_add_loop_test(bad, half_a_character_is_refused, 0, G_N_ELEMENTS(half_characters));
        tcase_add_loop_test(bad, a_million_brackets_do_no_harm, 0, 2);
        tcase_add_test(bad, uuids_are_lower_case);
        suite_add_tcase(suite, bad);

        return tap_run(suite);
}
