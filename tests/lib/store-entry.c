/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "stored.h"

static CarvedEntry *entry_of_everything(void) {
        g_autoptr(CarvedIntent) intent = everything(), newer = carved_intent_new(),
                                other = carved_intent_new();
        CarvedEntry *entry = carved_entry_new();
        CarvedEntryGpu *gpu;

        intent->vfs_transient = true;
        gpu = carved_entry_add_gpu(entry, intent);
        gpu->makes_vfs = gpu->quiets = true;
        g_ptr_array_add(gpu->makes, carved_wanted_copy(intent->vgpus->pdata[1]));

        read_into(newer, NEWER, false);
        read_into(newer, "{\"format\":1," STORED_IDENTITY ",\"generation\":2,\"intent\":{\"p\":3},\"q\":4}",
                  true);
        g_free(newer->identity);
        newer->identity = g_strdup("10de:25b6:10de:157e@0001:08:00.0");
        carved_entry_add_gpu(entry, newer);

        other->identity = g_strdup("10de:25b6:10de:157e@10000:08:00.0");
        carved_entry_add_gpu(entry, other);
        return entry;
}

START_TEST(an_entry_is_read_as_it_was_written) {
        g_autoptr(CarvedEntry) entry = entry_of_everything(), back = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL, *again = NULL;

        entry->committed = _i;
        text = carved_entry_format(entry);
        back = carved_entry_parse(text, &error);
        ck_assert_msg(back, "%s", error ? error->message : "");
        ck_assert_int_eq(back->committed, _i);
        ck_assert_uint_eq(back->gpus->len, 3);
        for (unsigned i = 0; i < 3; i++) {
                const CarvedEntryGpu *a = entry->gpus->pdata[i], *b = back->gpus->pdata[i];

                assert_same(a->intent, b->intent);
                ck_assert_int_eq(a->makes_vfs, b->makes_vfs);
                ck_assert_int_eq(a->quiets, b->quiets);
                ck_assert_uint_eq(a->makes->len, b->makes->len);
                if (a->makes->len > 0)
                        assert_same_wanted(a->makes->pdata[0], b->makes->pdata[0]);
        }
        again = carved_entry_format(back);
        ck_assert_str_eq(text, again);
}
END_TEST

/* A crash after the commit: the entry is all that there is. */
START_TEST(keys_that_we_do_not_know_survive_the_journal) {
        g_autoptr(CarvedEntry) entry = entry_of_everything(), back = NULL;
        g_autofree char *text = carved_entry_format(entry);
        const CarvedEntryGpu *before = entry->gpus->pdata[1], *after;

        back = carved_entry_parse(text, NULL);
        after = back->gpus->pdata[1];
        for (int transient = 0; transient < 2; transient++) {
                g_autofree char *a = carved_store_format_intent(before->intent, transient);
                g_autofree char *b = carved_store_format_intent(after->intent, transient);

                ck_assert_str_eq(a, b);
                ck_assert_ptr_nonnull(strstr(a, transient ? "\"q\"" : "lease"));
        }
}
END_TEST

START_TEST(an_entry_is_a_copy) {
        g_autoptr(CarvedIntent) intent = everything();
        g_autoptr(CarvedEntry) entry = carved_entry_new();
        const CarvedEntryGpu *gpu = carved_entry_add_gpu(entry, intent);

        intent->vfs = 3;
        g_ptr_array_set_size(intent->vgpus, 0);
        ck_assert_int_eq(gpu->intent->vfs, 16);
        ck_assert_uint_eq(gpu->intent->vgpus->len, 2);
        carved_entry_free(NULL);
}
END_TEST

static const struct {
        const char *text, *message;
} bad_entries[] = {
        { "{}", "format: missing, or less than 1" },
        { "{\"format\":1,\"gpus\":[]}", "state: must be prepared or committed" },
        { "{\"format\":1,\"state\":\"done\",\"gpus\":[]}", "state: must be prepared or committed" },
        { "{\"format\":1,\"state\":\"prepared\"}", "gpus: missing" },
        { "{\"format\":1,\"state\":\"prepared\",\"gpus\":{}}", "gpus: must be a list" },
        { ENTRY("7"), "gpus[0]: must be an object" },
        { ENTRY("{}"), "gpus[0].identity: missing" },
        { ENTRY(GPU("") "," GPU("")), "gpus[1].identity: " IDENTITY " is there twice" },
        { ENTRY(GPU(",\"makes-vfs\":1")), "gpus[0].makes-vfs: must be true or false" },
        { ENTRY(GPU(",\"makes\":[" VGPU(",\"transient\":1") "]")),
          "gpus[0].makes[0].transient: must be true or false" },
        { ENTRY(GPU(",\"makes\":[" VGPU("") "," VGPU("") "]")),
          "gpus[0].makes[1].uuid: " A " is there twice" },
        { ENTRY(GPU(",\"rest-transient\":1")), "gpus[0].rest-transient: must be an object" },
        { ENTRY(GPU(",\"rest-transient\":{\"intent\":1}")),
          "gpus[0].rest-transient.intent: must be an object" },
        { ENTRY("{" STORED_IDENTITY ",\"generation\":8,\"intent\":{\"vgpus\":[" VGPU(",\"vf\":\"a\"") "]}}"),
          "gpus[0].intent.vgpus[0].vf: must be a number from 0 to 65535" },
        { ENTRY("{" STORED_IDENTITY ",\"generation\":8,\"intent\":{\"vfs-transient\":0}}"),
          "gpus[0].intent.vfs-transient: must be true or false" },
};

START_TEST(an_entry_that_can_not_be_is_refused_with_its_place) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_entry_parse(bad_entries[_i].text, &error));
        ck_assert_str_eq(error->message, bad_entries[_i].message);
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_STATE_UNREADABLE));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("store-entry");
        TCase *journal = tcase_create("journal");

        tcase_add_loop_test(journal, an_entry_is_read_as_it_was_written, 0, 2);
        tcase_add_test(journal, keys_that_we_do_not_know_survive_the_journal);
        tcase_add_test(journal, an_entry_is_a_copy);
        tcase_add_loop_test(journal, an_entry_that_can_not_be_is_refused_with_its_place, 0,
                            G_N_ELEMENTS(bad_entries));
        suite_add_tcase(suite, journal);
        return tap_run(suite);
}
