/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "card.h"
#include "store.h"

#define IDENTITY "10de:0000:0000:0000@0000:08:00.0"
#define ANOTHER  "10de:25b6:0000:0000@0000:08:00.0"
#define UUID     "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define FOREIGN  "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"

static const CarvedPciAddress address = { 0, 8, 0, 0 };

static CarvedGpu *card(CarvedFramework framework) {
        return card_new(&address, framework, 2, 2);
}

/* ---- is the card what was asked for? ---- */

/* Two VFs, and UUID with parameters on the second: all there, as it is wanted. */
static CarvedIntent *all_wanted(void) {
        CarvedIntent *intent = want(UUID, 1, CARVED_FRAMEWORK_MDEV, "nvidia-746");

        intent->identity = g_strdup(IDENTITY);
        intent->vfs = 2;
        ((CarvedWanted *) intent->vgpus->pdata[0])->params = g_strdup("x=1");
        return intent;
}

static CarvedGpu *all_there(void) {
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV);
        CarvedVgpu *vgpu = hold(gpu, UUID, 1);

        g_free(vgpu->params);
        vgpu->params = g_strdup("x=1");
        return gpu;
}

static void fine(CarvedIntent *i, CarvedGpu *g) {
}
static void any_vfs(CarvedIntent *i, CarvedGpu *g) {
        i->vfs = -1;
}
static void any_params(CarvedIntent *i, CarvedGpu *g) {
        g_clear_pointer(&((CarvedWanted *) i->vgpus->pdata[0])->params, g_free);
}
static void foreign_too(CarvedIntent *i, CarvedGpu *g) {
        hold(g, FOREIGN, 0);
}
static void nothing(CarvedIntent *i, CarvedGpu *g) {
        g_clear_pointer(&i->identity, g_free);
        g_ptr_array_set_size(i->vgpus, 0);
        i->vfs = -1;
}
static void more_vfs(CarvedIntent *i, CarvedGpu *g) {
        i->vfs = 4;
}
static void no_vfs(CarvedIntent *i, CarvedGpu *g) {
        i->vfs = 0;
}
static void one_more(CarvedIntent *i, CarvedGpu *g) {
        g_ptr_array_add(i->vgpus, carved_wanted_new(FOREIGN, 0, CARVED_FRAMEWORK_MDEV, "nvidia-746"));
}
static void other_params(CarvedIntent *i, CarvedGpu *g) {
        ((CarvedVgpu *) g->vgpus->pdata[0])->params[2] = '2';
}
static void left_over(CarvedIntent *i, CarvedGpu *g) {
        ((CarvedWanted *) i->vgpus->pdata[0])->leftover = true;
}
static void left_over_vfs(CarvedIntent *i, CarvedGpu *g) {
        i->leftover_vfs = true;
}
static void left_over_quiet(CarvedIntent *i, CarvedGpu *g) {
        i->leftover_quiet = true;
}
static void is_lost(CarvedIntent *i, CarvedGpu *g) {
        g->lost = true;
}
static void unreadable(CarvedIntent *i, CarvedGpu *g) {
        i->unreadable = g_strdup("line 1");
}
static void only_unreadable(CarvedIntent *i, CarvedGpu *g) {
        nothing(i, g);
        unreadable(i, g);
}

static const struct {
        void (*now)(CarvedIntent *intent, CarvedGpu *gpu);
        CarvedSyncState sync;
} syncs[] = {
        { fine, CARVED_SYNC_SYNCED },
        { any_vfs, CARVED_SYNC_SYNCED },
        { any_params, CARVED_SYNC_SYNCED },
        { foreign_too, CARVED_SYNC_SYNCED },
        { nothing, CARVED_SYNC_UNMANAGED },
        { more_vfs, CARVED_SYNC_OUT_OF_SYNC },
        { no_vfs, CARVED_SYNC_OUT_OF_SYNC },
        { one_more, CARVED_SYNC_OUT_OF_SYNC },
        { other_params, CARVED_SYNC_OUT_OF_SYNC },
        { left_over, CARVED_SYNC_OUT_OF_SYNC },
        { left_over_vfs, CARVED_SYNC_OUT_OF_SYNC },
        { left_over_quiet, CARVED_SYNC_OUT_OF_SYNC },
        { is_lost, CARVED_SYNC_OUT_OF_SYNC },
        { unreadable, CARVED_SYNC_OUT_OF_SYNC },
        { only_unreadable, CARVED_SYNC_OUT_OF_SYNC },
};

START_TEST(a_card_is_in_sync_when_all_is_as_it_is_wanted) {
        g_autoptr(CarvedIntent) intent = all_wanted();
        g_autoptr(CarvedGpu) gpu = all_there();
        bool off = syncs[_i].sync == CARVED_SYNC_OUT_OF_SYNC;

        syncs[_i].now(intent, gpu);
        carved_intent_apply(intent, gpu);
        ck_assert_int_eq(gpu->sync, syncs[_i].sync);
        ck_assert_pstr_eq(gpu->unreadable, intent->unreadable);
        ck_assert_pstr_eq(gpu->stored_identity, intent->identity);
        intent->contested = true;
        carved_intent_apply(intent, gpu);
        ck_assert_int_eq(gpu->sync, off ? CARVED_SYNC_CONTESTED : syncs[_i].sync);
}
END_TEST

#define MINUTE (60 * (uint64_t) G_USEC_PER_SEC)

static const struct {
        uint64_t at[4]; /* minutes; 0: no more */
        bool ours;
        bool contested;
} quarrels[] = {
        { { 1, 2, 3 }, false, true },        { { 1, 6, 11 }, false, true }, { { 1, 6, 12 }, false, false },
        { { 1, 2 }, false, false },          { { 1, 2, 3 }, true, false },  { { 1, 9, 12, 13 }, false, true },
        { { 1, 20, 40, 60 }, false, false },
};

START_TEST(three_removals_in_ten_minutes_are_a_quarrel) {
        g_autoptr(CarvedIntent) intent = all_wanted();
        g_autoptr(CarvedGpu) there = all_there(), gone = card(CARVED_FRAMEWORK_MDEV);
        bool contested = false;

        carved_intent_apply(intent, there);
        for (unsigned i = 0; i < 4 && quarrels[_i].at[i] > 0; i++) {
                uint64_t now = quarrels[_i].at[i] * MINUTE;

                carved_intent_note(intent, there, gone, now, quarrels[_i].ours);
                /* That it is still gone is no other removal. */
                carved_intent_apply(intent, gone);
                carved_intent_note(intent, gone, gone, now, quarrels[_i].ours);
                contested = intent->contested;
                carved_intent_note(intent, gone, there, now, quarrels[_i].ours);
                ck_assert(!intent->contested); /* all is there: peace, until the next one */
        }
        ck_assert_int_eq(contested, quarrels[_i].contested);
}
END_TEST

START_TEST(to_another_card_nothing_is_applied) {
        g_autoptr(CarvedIntent) intent = all_wanted();
        g_autoptr(CarvedGpu) gpu = all_there();
        const CarvedVgpu *vgpu = gpu->vgpus->pdata[0];

        g_free(intent->identity);
        intent->identity = g_strdup(ANOTHER);
        intent->labels = g_strdupv(LIST("rack", "7"));
        one_more(intent, gpu);
        carved_intent_apply(intent, gpu);
        ck_assert(gpu->mismatch);
        ck_assert_str_eq(gpu->stored_identity, ANOTHER);
        ck_assert_int_eq(gpu->sync, CARVED_SYNC_OUT_OF_SYNC);
        ck_assert_uint_eq(gpu->absent->len, 0);
        ck_assert_ptr_null(gpu->labels);
        ck_assert(!vgpu->ours && !vgpu->labels);

        gpu->device_id = 0x25b6; /* the right one comes back */
        carved_intent_apply(intent, gpu);
        ck_assert(!gpu->mismatch && vgpu->ours);
        ck_assert_uint_eq(gpu->absent->len, 1);
        ck_assert_str_eq(gpu->labels[1], "7");
}
END_TEST

/* ---- what becomes different ---- */

START_TEST(a_change_counts_once_and_names_the_card) {
        g_autoptr(CarvedIntent) intent = carved_intent_new(), more = all_wanted();
        CarvedIntentChange adds = { .adds = more->vgpus, .identity = IDENTITY }, again = adds;
        const CarvedWanted *wanted;

        carved_intent_change(intent, &adds);
        ck_assert_str_eq(intent->identity, IDENTITY);
        ck_assert_uint_eq(intent->generation, 1);
        /* In place of what has the same UUID, as a copy; the card is named already. */
        ((CarvedWanted *) more->vgpus->pdata[0])->vf_index = 0;
        again.identity = ANOTHER;
        carved_intent_change(intent, &again);
        g_ptr_array_set_size(more->vgpus, 0);
        ck_assert_str_eq(intent->identity, IDENTITY);
        ck_assert_uint_eq(intent->generation, 2);
        ck_assert_uint_eq(intent->vgpus->len, 1);
        wanted = intent->vgpus->pdata[0];
        ck_assert_int_eq(wanted->vf_index, 0);
        ck_assert_str_eq(wanted->params, "x=1");
}
END_TEST

/* What is taken back one after the other; the identity goes with the last. */
START_TEST(an_intent_that_wants_nothing_is_of_no_card) {
        g_autoptr(CarvedIntent) intent = all_wanted();
        static char *none[] = { NULL };
        CarvedIntentChange steps[] = {
                { .set_labels = true, .label = "", .labels = LIST("rack", "7"), .identity = IDENTITY },
                { .removes = LIST(FOREIGN, UUID), .identity = IDENTITY },
                { .set_vfs = true, .vfs = -1, .identity = IDENTITY },
                { .set_labels = true, .label = "", .labels = none, .identity = IDENTITY },
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
                ck_assert_str_eq(intent->identity, IDENTITY);
                carved_intent_change(intent, &steps[i]);
                ck_assert_int_eq(carved_intent_is_void(intent), i == 3);
        }
        ck_assert_ptr_null(intent->identity);
        ck_assert_uint_eq(intent->generation, 4); /* what is older goes on having no say */
}
END_TEST

START_TEST(what_was_left_over_and_is_gone_is_of_no_card) {
        g_autoptr(CarvedIntent) intent = want(UUID, 1, CARVED_FRAMEWORK_MDEV, "nvidia-746");
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);

        intent->identity = g_strdup(IDENTITY);
        ((CarvedWanted *) intent->vgpus->pdata[0])->leftover = true;
        carved_intent_note(intent, NULL, gpu, 1, false);
        ck_assert(carved_intent_is_void(intent));
        carved_intent_apply(intent, gpu);
        ck_assert_int_eq(gpu->sync, CARVED_SYNC_UNMANAGED);
}
END_TEST

#define DOCUMENT(intent, more)                                                                               \
        "{\"format\":1,\"generation\":1,\"identity\":{\"vendor\":\"10de\",\"device\":\"0000\","              \
        "\"subsystem-vendor\":\"0000\",\"subsystem-device\":\"0000\",\"address\":\"0000:08:00.0\"},"         \
        "\"intent\":{" intent "}" more "}"

/* Nobody may be asked to write down what is of no card. */
START_TEST(what_a_newer_carved_wrote_keeps_its_card) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        CarvedIntentChange off = { .set_vfs = true, .vfs = -1 };
        g_autofree char *text = NULL;

        ck_assert(carved_store_parse_intent(
                _i ? DOCUMENT("", ",\"lease\":1") : DOCUMENT("\"vfs\":2", ",\"mig\":1"), _i, intent, NULL));
        carved_intent_change(intent, &off);
        text = carved_store_format_intent(intent, _i);
        ck_assert_ptr_nonnull(strstr(text, _i ? "lease" : "mig"));
        ck_assert_str_eq(intent->identity, IDENTITY);
}
END_TEST

START_TEST(anew_forgets_all_that_was_wanted) {
        g_autoptr(CarvedIntent) intent = all_wanted();
        CarvedIntentChange anew = { .anew = true, .identity = ANOTHER };

        ck_assert(carved_store_parse_intent(DOCUMENT("", ",\"mig\":1"), false, intent, NULL));
        ck_assert(carved_store_parse_intent(DOCUMENT("", ",\"lease\":1"), true, intent, NULL));
        intent->labels = g_strdupv(LIST("rack", "7"));
        intent->unreadable = g_strdup("line 1");
        intent->error = g_strdup("no");
        intent->leftover_vfs = intent->leftover_quiet = intent->contested = true;
        intent->deleted[0] = intent->deleted[1] = intent->deleted[2] = MINUTE;
        carved_intent_change(intent, &anew);

        ck_assert(carved_intent_is_void(intent));
        ck_assert(!intent->identity && !intent->labels && !intent->unreadable && !intent->error);
        ck_assert(intent->vfs < 0 && intent->vgpus->len == 0 && !intent->contested);
        ck_assert(!intent->rest && !intent->rest_transient);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_uint_eq(intent->deleted[i], 0);
}
END_TEST

START_TEST(anew_what_comes_with_it_is_wanted_of_the_new_card) {
        g_autoptr(CarvedIntent) intent = all_wanted(), more = want(FOREIGN, 0, CARVED_FRAMEWORK_MDEV, "x");
        CarvedIntentChange anew = { .anew = true, .identity = ANOTHER, .adds = more->vgpus };

        carved_intent_change(intent, &anew);
        ck_assert_str_eq(intent->identity, ANOTHER);
        ck_assert_uint_eq(intent->vgpus->len, 1);
        ck_assert_ptr_nonnull(carved_intent_find(intent, FOREIGN));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("intent-sync");
        TCase *tcase = tcase_create("intent-sync");

        tcase_add_loop_test(tcase, a_card_is_in_sync_when_all_is_as_it_is_wanted, 0, G_N_ELEMENTS(syncs));
        tcase_add_loop_test(tcase, three_removals_in_ten_minutes_are_a_quarrel, 0, G_N_ELEMENTS(quarrels));
        tcase_add_test(tcase, to_another_card_nothing_is_applied);
        tcase_add_test(tcase, a_change_counts_once_and_names_the_card);
        tcase_add_test(tcase, an_intent_that_wants_nothing_is_of_no_card);
        tcase_add_test(tcase, what_was_left_over_and_is_gone_is_of_no_card);
        tcase_add_loop_test(tcase, what_a_newer_carved_wrote_keeps_its_card, 0, 2);
        tcase_add_test(tcase, anew_forgets_all_that_was_wanted);
        tcase_add_test(tcase, anew_what_comes_with_it_is_wanted_of_the_new_card);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
