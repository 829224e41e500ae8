/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "order.h"
#include "settle.h"
#include "../tap.h"

#define NVIDIA "0000_08_00_0.json"
#define OTHER  "0000_04_00_0.json"

/* The rest of the daemon is not needed: only what it would be told. */
static Manager manager;
static Unsettled *unsettled;
static GPtrArray *warnings;

void manager_apply(Manager *m, CarvedUpdate *update) {
        ck_assert_int_eq(update->kind, CARVED_UPDATE_STORED);
        g_array_unref(carved_model_apply(m->model, update));
}

static void on_log(const char *domain, GLogLevelFlags level, const char *message, void *userdata) {
        if (level & G_LOG_LEVEL_WARNING)
                g_ptr_array_add(warnings, g_strdup(message));
        else
                ck_assert_msg(level > G_LOG_LEVEL_WARNING, "%s", message);
}

static void set_up(void) {
        g_log_set_always_fatal(G_LOG_LEVEL_ERROR); /* to warn is promised here */
        g_log_set_default_handler(on_log, NULL);
        warnings = g_ptr_array_new_with_free_func(g_free);
        manager.model = carved_model_new();
        unsettled = unsettled_new();
}

static void tear_down(void) {
        g_ptr_array_unref(warnings);
        carved_model_free(manager.model);
        unsettled_free(unsettled);
}

/* ---- what is on disk ---- */

typedef struct File {
        const char *name, *text, *wrong; /* no name: none */
} File;

static GVariant *directory(const File *files) {
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE("a(sss)"));
        for (; files->name; files++)
                g_variant_builder_add(&builder, "(sss)", files->name, files->text, files->wrong ?: "");
        return g_variant_builder_end(&builder);
}

#define FILES(...) ((const File[]){ __VA_ARGS__, { NULL } })
#define NO_FILES   ((const File[]){ { NULL } })

static void load_all(const File *gpus, const File *transient, const File *journal,
                     const File *transient_journal) {
        const File *const all[] = { gpus, transient, journal, transient_journal };
        static const char *const names[] = { "gpus", "run/gpus", "journal", "run/journal" };
        g_autoptr(GVariant) loaded = NULL;
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE(STORE_LOADED));
        for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
                g_variant_builder_add(&builder, "(s@a(sss))", names[i], directory(all[i]));
        loaded = g_variant_ref_sink(g_variant_builder_end(&builder));
        settle_load(&manager, unsettled, loaded);
}

static void load(const File *gpus, const File *transient, const File *journal) {
        load_all(gpus, transient, journal, NO_FILES);
}

static CarvedIntent *generation(CarvedIntent *intent, uint64_t n) {
        intent->generation = n;
        return intent;
}

/* A on the second VF of four. */
static CarvedIntent *want_a(uint64_t n) {
        CarvedIntent *intent = intent_new(&nvidia_at, 4);

        intent_add(intent, A, 1);
        return generation(intent, n);
}

static char *file_of(CarvedIntent *intent) {
        g_autoptr(CarvedIntent) mine = intent;

        return carved_store_format_intent(mine, /* transient= */ false);
}

/* That would come of the job; it makes B, on @gpu, and all else that a job can. */
static CarvedEntry *entry_new(const CarvedPciAddress *gpu, uint64_t n, bool committed) {
        g_autoptr(CarvedIntent) intent = generation(intent_new(gpu, 4), n);
        CarvedEntry *entry = carved_entry_new();
        CarvedEntryGpu *row;

        intent_add(intent, A, 1);
        intent_add(intent, B, 2);
        row = carved_entry_add_gpu(entry, intent);
        g_ptr_array_add(row->makes, carved_wanted_copy(intent->vgpus->pdata[1]));
        row->makes_vfs = row->quiets = row->unbinds = true;
        entry->committed = committed;
        return entry;
}

static char *text_of(CarvedEntry *entry) {
        g_autoptr(CarvedEntry) mine = entry;

        return carved_entry_format(mine);
}

static const CarvedIntent *loaded_of(const CarvedPciAddress *gpu) {
        return carved_model_intent(manager.model, gpu);
}

static void expect_unsettled(const CarvedPciAddress *gpu, bool prepared, const char *name) {
        g_autoptr(GPtrArray) entries = unsettled_take(unsettled, gpu, prepared);

        ck_assert_uint_eq(entries->len, name != NULL);
        if (name)
                ck_assert_str_eq(((Settled *) entries->pdata[0])->name, name);
}

/* ---- what was under way ---- */

START_TEST(what_a_newer_job_may_have_made_is_left_over) {
        g_autofree char *file = file_of(want_a(3)),
                        *text = text_of(entry_new(&nvidia_at, 4, /* committed= */ false));
        const CarvedIntent *intent;

        load(FILES({ NVIDIA, file }), NO_FILES, FILES({ "1.json", text }));
        intent = loaded_of(&nvidia_at);
        ck_assert_uint_eq(intent->vgpus->len, 2);
        ck_assert(!carved_intent_find(intent, A)->leftover);
        ck_assert(carved_intent_find(intent, B)->leftover);
        ck_assert_int_eq(carved_intent_find(intent, B)->vf_index, 2);
        ck_assert_uint_eq(intent->generation, 3);
        ck_assert_int_eq(intent->vfs, 4);
        ck_assert(!intent->leftover_vfs); /* they are wanted anyway */
        ck_assert(intent->leftover_quiet && intent->leftover_unbound);
        expect_unsettled(&nvidia_at, /* prepared= */ false, NULL);
        expect_unsettled(&nvidia_at, /* prepared= */ true, "1.json");
        expect_unsettled(&nvidia_at, /* prepared= */ true, NULL);
}
END_TEST

START_TEST(the_first_job_of_a_card_leaves_all_over) {
        g_autofree char *text = text_of(entry_new(&nvidia_at, 1, /* committed= */ false));
        const CarvedIntent *intent;

        load(NO_FILES, NO_FILES, FILES({ "1.json", text }));
        intent = loaded_of(&nvidia_at);
        ck_assert_str_eq(intent->identity, "10de:0000:0000:0000@0000:08:00.0");
        ck_assert_uint_eq(intent->vgpus->len, 1);
        ck_assert(carved_intent_find(intent, B)->leftover);
        ck_assert_int_eq(intent->vfs, -1);
        ck_assert(intent->leftover_vfs && intent->leftover_quiet);
        ck_assert_uint_eq(warnings->len, 0);
}
END_TEST

/* What is wanted already may be made again by a job: it stays wanted. */
START_TEST(what_is_wanted_is_never_left_over) {
        g_autoptr(CarvedIntent) intent = want_a(4);
        g_autoptr(CarvedEntry) entry = carved_entry_new();
        g_autofree char *file = file_of(want_a(3)), *text = NULL;

        g_ptr_array_add(carved_entry_add_gpu(entry, intent)->makes,
                        carved_wanted_copy(intent->vgpus->pdata[0]));
        text = carved_entry_format(entry);
        load(FILES({ NVIDIA, file }), NO_FILES, FILES({ "1.json", text }));
        ck_assert_uint_eq(loaded_of(&nvidia_at)->vgpus->len, 1);
        ck_assert(!carved_intent_find(loaded_of(&nvidia_at), A)->leftover);
        ck_assert(!loaded_of(&nvidia_at)->leftover_vfs && !loaded_of(&nvidia_at)->leftover_quiet);
}
END_TEST

/* Generations of the file and the entry; is it committed; does it count? What was under way and is still in
 * the journal could not be undone, whatever came after it. */
static const struct {
        uint64_t file, entry;
        bool committed, counts;
} ages[] = {
        { 3, 4, false, true }, { 3, 3, false, true }, { 3, 2, false, true },
        { 3, 4, true, true },  { 3, 3, true, false }, { 3, 2, true, false },
};

START_TEST(what_stands_and_is_older_has_no_say) {
        g_autofree char *file = file_of(want_a(ages[_i].file)),
                        *text = text_of(entry_new(&nvidia_at, ages[_i].entry, ages[_i].committed));
        const CarvedIntent *intent;
        const CarvedWanted *b;

        load(FILES({ NVIDIA, file }), NO_FILES, FILES({ "1.json", text }));
        intent = loaded_of(&nvidia_at);
        b = carved_intent_find(intent, B);
        ck_assert_int_eq(b != NULL, ages[_i].counts);
        if (b)
                ck_assert_int_eq(b->leftover, !ages[_i].committed);
        ck_assert_uint_eq(intent->generation, ages[_i].counts && ages[_i].committed ? ages[_i].entry : 3);
        /* Its file is to go all the same. */
        expect_unsettled(&nvidia_at, !ages[_i].committed, "1.json");
}
END_TEST

START_TEST(what_was_committed_replaces_what_was) {
        g_autoptr(CarvedIntent) intent = generation(intent_new(&nvidia_at, -1), 4);
        g_autoptr(CarvedEntry) entry = carved_entry_new();
        g_autofree char *file = file_of(want_a(3)), *text = NULL;

        intent_add(intent, B, 2)->transient = true;
        carved_entry_add_gpu(entry, intent);
        entry->committed = true;
        text = carved_entry_format(entry);
        load(FILES({ NVIDIA, file }), NO_FILES, FILES({ "1.json", text }));
        ck_assert_int_eq(loaded_of(&nvidia_at)->vfs, -1);
        ck_assert_uint_eq(loaded_of(&nvidia_at)->vgpus->len, 1);
        ck_assert(carved_intent_find(loaded_of(&nvidia_at), B)->transient);
        ck_assert_str_eq(loaded_of(&nvidia_at)->identity, intent->identity);
}
END_TEST

/* By the journal, or, from a carved that kept it so, by its file. */
START_TEST(where_all_was_taken_back_nothing_is_wanted_of_the_card) {
        g_autoptr(CarvedEntry) entry = carved_entry_new();
        g_autoptr(CarvedIntent) nothing = generation(intent_new(&nvidia_at, -1), 4);
        g_autofree char *file = file_of(want_a(3)), *text = NULL, *empty = NULL;

        carved_entry_add_gpu(entry, nothing);
        entry->committed = true;
        text = carved_entry_format(entry);
        empty = carved_store_format_intent(nothing, /* transient= */ false);
        if (_i)
                load(FILES({ NVIDIA, empty }), NO_FILES, NO_FILES);
        else
                load(FILES({ NVIDIA, file }), NO_FILES, FILES({ "1.json", text }));
        ck_assert_ptr_null(loaded_of(&nvidia_at)->identity);
        ck_assert_uint_eq(loaded_of(&nvidia_at)->generation, 4);
        show(manager.model, nvidia(4));
        ck_assert_int_eq(carved_model_find_gpu(manager.model, &nvidia_at)->sync, CARVED_SYNC_UNMANAGED);
        expect_unsettled(&nvidia_at, /* prepared= */ false, _i ? NULL : "1.json");
}
END_TEST

START_TEST(what_is_not_kept_over_a_reboot_is_wanted_as_well) {
        g_autoptr(CarvedIntent) intent = want_a(3);
        g_autofree char *kept = NULL, *transient = NULL;

        intent_add(intent, B, 2)->transient = true;
        kept = carved_store_format_intent(intent, false);
        transient = carved_store_format_intent(intent, true);
        load(FILES({ NVIDIA, kept }), FILES({ NVIDIA, transient }), NO_FILES);
        ck_assert(!carved_intent_find(loaded_of(&nvidia_at), A)->transient);
        ck_assert(carved_intent_find(loaded_of(&nvidia_at), B)->transient);
}
END_TEST

/* What is for now stands in a journal of its own; it is settled like the other, and taken out of its own. */
START_TEST(an_entry_goes_from_the_journal_that_it_is_in) {
        g_autofree char *committed = text_of(entry_new(&nvidia_at, 4, true)),
                        *prepared = text_of(entry_new(&other_at, 4, false));
        g_autoptr(GPtrArray) one = NULL, other = NULL;

        load_all(NO_FILES, NO_FILES, FILES({ "1.json", committed }), FILES({ "2.json", prepared }));
        ck_assert_ptr_nonnull(carved_intent_find(loaded_of(&nvidia_at), B));
        ck_assert(carved_intent_find(loaded_of(&other_at), B)->leftover);
        one = unsettled_take(unsettled, &nvidia_at, /* prepared= */ false);
        other = unsettled_take(unsettled, &other_at, /* prepared= */ true);
        ck_assert_uint_eq(one->len, 1);
        ck_assert(!((Settled *) one->pdata[0])->transient);
        ck_assert_uint_eq(other->len, 1);
        ck_assert(((Settled *) other->pdata[0])->transient);
}
END_TEST

/* ---- what can't be read ---- */

static const struct {
        const char *text, *wrong;
        const char *unreadable, *warning;
} damages[] = {
        { "{", "", NULL, "What is wanted of the GPU of '" NVIDIA "' can't be read: *" },
        { "{}", "", "format: missing, or less than 1", "*format: missing*" },
        { "{\"format\":2}", "", NULL, "What is wanted of the GPU of '" NVIDIA "' can't be read: *" },
        { "", "it is a directory", "it is a directory", "*can't be read: it is a directory" },
};

START_TEST(what_can_not_be_read_costs_no_other_card) {
        g_autoptr(CarvedIntent) intent = generation(intent_new(&other_at, 4), 1);
        g_autofree char *other = carved_store_format_intent(intent, false),
                        *text = text_of(entry_new(&nvidia_at, 9, /* committed= */ _i % 2));

        load(FILES({ OTHER, other }, { NVIDIA, damages[_i].text, damages[_i].wrong }), NO_FILES,
             FILES({ "1.json", text }));
        ck_assert_int_eq(loaded_of(&other_at)->vfs, 4);
        ck_assert_ptr_null(loaded_of(&other_at)->unreadable);

        ck_assert_ptr_nonnull(loaded_of(&nvidia_at)->unreadable);
        if (damages[_i].unreadable)
                ck_assert_str_eq(loaded_of(&nvidia_at)->unreadable, damages[_i].unreadable);
        /* Nothing is made of half of it. */
        ck_assert_uint_eq(loaded_of(&nvidia_at)->vgpus->len, 0);
        ck_assert_uint_eq(warnings->len, 1);
        ck_assert(g_pattern_match_simple(damages[_i].warning, warnings->pdata[0]));
        show(manager.model, nvidia(4));
        ck_assert_str_eq(carved_model_find_gpu(manager.model, &nvidia_at)->reason.code, "state-unreadable");
}
END_TEST

START_TEST(half_of_what_is_wanted_is_unreadable_too) {
        g_autofree char *file = file_of(want_a(3));

        load(FILES({ NVIDIA, file }), FILES({ NVIDIA, "[]" }), NO_FILES);
        ck_assert_ptr_nonnull(loaded_of(&nvidia_at)->unreadable);
        ck_assert_str_eq(loaded_of(&nvidia_at)->identity, "10de:0000:0000:0000@0000:08:00.0");
        ck_assert_uint_eq(warnings->len, 1);
}
END_TEST

START_TEST(files_of_no_card_and_entries_of_no_sense_are_passed_over) {
        static const char *const names[] = { "x.json", "0000_08_00_0", "0000_08_00.json", ".json", "_.json" };
        g_autofree char *good = text_of(entry_new(&nvidia_at, 1, /* committed= */ true)),
                        *file = file_of(want_a(3));

        for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
                load(FILES({ names[i], file }), NO_FILES, NO_FILES);
        ck_assert_uint_eq(warnings->len, G_N_ELEMENTS(names));
        ck_assert_str_eq(warnings->pdata[0], "'x.json' is the name of no GPU, ignoring");
        ck_assert_ptr_null(loaded_of(&nvidia_at));

        load(NO_FILES, NO_FILES,
             FILES({ "1.json", "{" }, { "2.json", good }, { "3.json", good, "it is a link" }));
        ck_assert_uint_eq(warnings->len, G_N_ELEMENTS(names) + 2);
        ck_assert_str_eq(warnings->pdata[warnings->len - 1],
                         "Entry '3.json' of the journal can't be read, ignoring: it is a link");
        ck_assert_uint_eq(loaded_of(&nvidia_at)->vgpus->len, 2);
        expect_unsettled(&nvidia_at, /* prepared= */ false, "2.json");
}
END_TEST

/* ---- entries that must stay for a while ---- */

START_TEST(an_entry_of_two_cards_stays_until_both_are_dealt_with) {
        g_autoptr(CarvedIntent) more = generation(intent_new(&other_at, 4), 1);
        g_autofree char *of_two = NULL, *of_one = text_of(entry_new(&other_at, 2, _i));
        CarvedEntry *two = entry_new(&nvidia_at, 1, _i);
        g_autoptr(GArray) gpus = NULL, rest = NULL;

        carved_entry_add_gpu(two, more);
        of_two = text_of(two);
        load(NO_FILES, NO_FILES, FILES({ "1.json", of_two }, { "2.json", of_one }));
        gpus = unsettled_gpus(unsettled);
        ck_assert_uint_eq(gpus->len, 2); /* each once */

        expect_unsettled(&intel_at, !_i, NULL);
        expect_unsettled(&nvidia_at, _i, NULL);
        expect_unsettled(&nvidia_at, !_i, NULL);
        rest = unsettled_gpus(unsettled);
        ck_assert_uint_eq(rest->len, 1);
        ck_assert_uint_eq(g_array_index(rest, CarvedPciAddress, 0).bus, other_at.bus);
        for (unsigned i = 0; i < 2; i++) {
                g_autoptr(GPtrArray) entries = unsettled_take(unsettled, &other_at, !_i);

                ck_assert_uint_eq(entries->len, i == 0 ? 2 : 0);
                /* With all the cards that they tell of: each has a file to follow. */
                for (unsigned j = 0; j < entries->len; j++) {
                        const Settled *settled = entries->pdata[j];

                        ck_assert_uint_eq(settled->gpus->len, g_str_equal(settled->name, "1.json") ? 2 : 1);
                }
        }
}
END_TEST

START_TEST(a_card_has_one_file_name) {
        g_autofree char *name = settle_file_name(&nvidia_at),
                        *far = settle_file_name(&(CarvedPciAddress){ 0x10000, 8, 0x1f, 7 });

        ck_assert_str_eq(name, NVIDIA);
        ck_assert_str_eq(far, "10000_08_1f_7.json");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("settle");
        TCase *tcase = tcase_create("settle");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, what_a_newer_job_may_have_made_is_left_over);
        tcase_add_test(tcase, the_first_job_of_a_card_leaves_all_over);
        tcase_add_test(tcase, what_is_wanted_is_never_left_over);
        tcase_add_loop_test(tcase, what_stands_and_is_older_has_no_say, 0, G_N_ELEMENTS(ages));
        tcase_add_test(tcase, what_was_committed_replaces_what_was);
        tcase_add_loop_test(tcase, where_all_was_taken_back_nothing_is_wanted_of_the_card, 0, 2);
        tcase_add_test(tcase, what_is_not_kept_over_a_reboot_is_wanted_as_well);
        tcase_add_test(tcase, an_entry_goes_from_the_journal_that_it_is_in);
        tcase_add_loop_test(tcase, what_can_not_be_read_costs_no_other_card, 0, G_N_ELEMENTS(damages));
        tcase_add_test(tcase, half_of_what_is_wanted_is_unreadable_too);
        tcase_add_test(tcase, files_of_no_card_and_entries_of_no_sense_are_passed_over);
        tcase_add_loop_test(tcase, an_entry_of_two_cards_stays_until_both_are_dealt_with, 0, 2);
        tcase_add_test(tcase, a_card_has_one_file_name);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
