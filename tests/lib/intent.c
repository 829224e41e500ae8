/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "card.h"
#include "error.h"
#include "store.h"

#define IDENTITY "10de:0000:0000:0000@0000:08:00.0"
#define UUID     "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define FOREIGN  "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"

static const CarvedPciAddress address = { 0, 8, 0, 0 };

static CarvedGpu *card(CarvedFramework framework) {
        return card_new(&address, framework, 2, 2);
}

/* ---- labels ---- */

static void expect_labels(GStrv pairs, GStrv sorted) {
        g_auto(GStrv) labels = carved_labels_new((const char *const *) pairs, NULL);

        ck_assert_ptr_nonnull(labels);
        ck_assert(g_strv_equal((const char *const *) labels, (const char *const *) sorted));
}

static void refuse_labels(GStrv pairs, CarvedError code, const char *message) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_labels_new((const char *const *) pairs, &error));
        ck_assert_str_eq(error->message, message);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) code));
}

#define BAD_LABEL                                                                                            \
        "Label '%s' can't be: a key has 1 to 63 bytes, a value at most 255, neither has control characters"

START_TEST(labels_are_sorted_by_key_and_each_is_there_once) {
        static char *none[] = { NULL };

        expect_labels(LIST("team", "a", "cost", "z", "owner", ""),
                      LIST("cost", "z", "owner", "", "team", "a"));
        expect_labels(none, none);
        expect_labels(NULL, none);
        expect_labels(LIST("a", "1", "A", "1"), LIST("A", "1", "a", "1"));
        refuse_labels(LIST("b", "1", "a", "1", "b", "2"), CARVED_ERROR_INVALID_ARGS,
                      "Label 'b' is given twice");
}
END_TEST

START_TEST(labels_have_limits) {
        g_autofree char *key = g_strnfill(63, 'k'), *long_key = g_strnfill(64, 'k'),
                        *value = g_strnfill(255, 'v'), *long_value = g_strnfill(256, 'v'),
                        *bad_key = g_strdup_printf(BAD_LABEL, long_key);
        g_autoptr(GPtrArray) many = g_ptr_array_new_with_free_func(g_free);

        expect_labels(LIST(key, value), LIST(key, value));
        refuse_labels(LIST(long_key, ""), CARVED_ERROR_INVALID_ARGS, bad_key);
        for (unsigned i = 0; i < 4; i++) {
                const char *const pairs[4][2] = {
                        { "", "x" }, { "k\n", "" }, { "k", "v\x7f" }, { "k", long_value }
                };
                g_autofree char *message = g_strdup_printf(BAD_LABEL, pairs[i][0]);

                refuse_labels(LIST("a", "", pairs[i][0], pairs[i][1]), CARVED_ERROR_INVALID_ARGS, message);
        }

        for (unsigned i = 0; i < 64; i++) {
                g_ptr_array_add(many, g_strdup_printf("k%02u", i));
                g_ptr_array_add(many, g_strdup(""));
        }
        g_ptr_array_add(many, NULL);
        expect_labels((GStrv) many->pdata, (GStrv) many->pdata);
        many->pdata[128] = g_strdup("k64");
        g_ptr_array_add(many, g_strdup(""));
        g_ptr_array_add(many, NULL);
        refuse_labels((GStrv) many->pdata, CARVED_ERROR_LIMITS_EXCEEDED,
                      "65 labels are too many: at most 64");
}
END_TEST

/* ---- what is wanted ---- */

/* A foreign mdev, or vGPU of vendor VFIO, or VF on @driver, on VF 1, and the intent for UUID on VF 1. */
static const struct {
        CarvedFramework framework;
        const char *uuid, *type, *driver;
        int32_t wanted_vf;
        bool ours;
} claims[] = {
        { CARVED_FRAMEWORK_MDEV, UUID, "nvidia-746", NULL, 1, true },
        { CARVED_FRAMEWORK_MDEV, UUID, NULL, NULL, 1, true }, /* its type is not told yet */
        { CARVED_FRAMEWORK_MDEV, UUID, "nvidia-747", NULL, 1, false },
        { CARVED_FRAMEWORK_MDEV, FOREIGN, "nvidia-746", NULL, 1, false },
        { CARVED_FRAMEWORK_MDEV, UUID, "nvidia-746", NULL, 0, false },
        { CARVED_FRAMEWORK_VENDOR_VFIO, FOREIGN, "nvidia-746", NULL, 1, true },
        { CARVED_FRAMEWORK_VENDOR_VFIO, FOREIGN, "nvidia-747", NULL, 1, false },
        { CARVED_FRAMEWORK_VENDOR_VFIO, FOREIGN, "nvidia-746", NULL, 0, false },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, NULL, "xe-vfio-pci", 1, true },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, NULL, "xe", 1, false },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, NULL, NULL, 1, false },
};

START_TEST(only_what_we_made_is_ours_and_the_rest_is_forgotten) {
        bool whole = claims[_i].framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
        CarvedIntent *intent =
                want(UUID, claims[_i].wanted_vf, claims[_i].framework, whole ? CARVED_TYPE_VF : "nvidia-746");
        g_autoptr(CarvedGpu) gpu = card(claims[_i].framework);
        const CarvedVgpu *vgpu;

        if (claims[_i].uuid) {
                CarvedVgpu *shown = hold(gpu, claims[_i].uuid, 1);

                g_free(shown->type);
                shown->type = g_strdup(claims[_i].type);
        }
        if (whole)
                vf_of(gpu, 1)->driver = g_strdup(claims[_i].driver);

        carved_intent_apply(intent, gpu);
        carved_gpu_finish(gpu);
        ck_assert_uint_eq(gpu->vgpus->len, claims[_i].uuid || claims[_i].ours);
        vgpu = gpu->vgpus->len > 0 ? gpu->vgpus->pdata[0] : NULL;
        if (vgpu) {
                ck_assert_int_eq(vgpu->ours, claims[_i].ours);
                ck_assert_str_eq(vgpu->uuid, claims[_i].ours ? UUID : claims[_i].uuid);
                ck_assert_int_eq(vgpu->labels != NULL, claims[_i].ours);
                ck_assert_int_eq(vgpu->framework, claims[_i].framework);
        }
        if (whole && vgpu) {
                ck_assert_str_eq(vgpu->type, CARVED_TYPE_VF);
                ck_assert_int_eq(vgpu->iommu_group, 11);
                ck_assert_int_eq(vf_of(gpu, 1)->role, CARVED_VF_VGPU);
        }

        /* What is wanted and not there is shown as such. */
        ck_assert_uint_eq(gpu->absent->len, !claims[_i].ours);
        carved_intent_free(intent);
}
END_TEST

/* The name is the driver's own word; numbers it may give out anew. */
static const struct {
        const char *type, *name; /* as wanted */
        bool named;              /* does the driver tell names? */
        bool ours;
} renumbered[] = {
        { "nvidia-700", "NVIDIA A2-4Q", true, true },
        { "nvidia-746", "NVIDIA A2-8Q", true, false },
        { "nvidia-746", NULL, true, true },
        { "nvidia-700", NULL, true, false },
        { "nvidia-746", "NVIDIA A2-8Q", false, true },
        { "nvidia-700", "NVIDIA A2-4Q", false, false },
};

START_TEST(the_name_of_a_type_decides_over_its_number) {
        g_autoptr(CarvedIntent) intent = want(UUID, 1, CARVED_FRAMEWORK_MDEV, renumbered[_i].type);
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);
        const CarvedVgpu *vgpu = hold(gpu, UUID, 1);

        ((CarvedWanted *) intent->vgpus->pdata[0])->type_name = g_strdup(renumbered[_i].name);
        if (!renumbered[_i].named)
                g_clear_pointer(&card_type(gpu, CARD_4Q)->name, g_free);
        carved_intent_apply(intent, gpu);
        ck_assert_int_eq(vgpu->ours, renumbered[_i].ours);
        ck_assert_uint_eq(gpu->absent->len, !renumbered[_i].ours);
}
END_TEST

/* ---- what is wanted and not there ---- */

static void as_it_was(CarvedGpu *g) {
}
static void vfs_off(CarvedGpu *g) {
        g->num_vfs = 0;
        g_ptr_array_set_size(g->vfs, 0);
}
static void vf_off(CarvedGpu *g) {
        g_ptr_array_set_size(g->vfs, 1);
}
static void no_driver(CarvedGpu *g) {
        g_clear_pointer(&g->driver, g_free);
}
static void no_mdev(CarvedGpu *g) {
        g->has_mdev = false;
}
static void lost(CarvedGpu *g) {
        g->lost = true;
}

static const struct {
        int32_t vf; /* -1: straight on the card */
        void (*now)(CarvedGpu *gpu);
        bool missing;
        const char *error;
        CarvedVgpuState state;
} absents[] = {
        { 1, as_it_was, false, NULL, CARVED_VGPU_DEFINED },
        { 1, as_it_was, true, NULL, CARVED_VGPU_MISSING },
        { 1, as_it_was, false, "no", CARVED_VGPU_FAILED },
        { 1, as_it_was, true, "no", CARVED_VGPU_FAILED },
        { 1, vfs_off, false, NULL, CARVED_VGPU_DEFINED },
        { 1, vfs_off, true, NULL, CARVED_VGPU_DEFINED },
        { 1, vfs_off, true, "no", CARVED_VGPU_DEFINED },
        { 1, vf_off, true, NULL, CARVED_VGPU_DEFINED },
        { 1, no_driver, true, NULL, CARVED_VGPU_DEFINED },
        { 1, no_driver, false, "no", CARVED_VGPU_DEFINED },
        { 1, lost, true, "no", CARVED_VGPU_DEFINED },
        { -1, as_it_was, false, NULL, CARVED_VGPU_DEFINED },
        { -1, as_it_was, true, NULL, CARVED_VGPU_MISSING },
        { -1, as_it_was, true, "no", CARVED_VGPU_FAILED },
        { -1, no_mdev, true, "no", CARVED_VGPU_DEFINED },
        { -1, no_driver, true, "no", CARVED_VGPU_DEFINED },
};

static CarvedGpu *card_for(int32_t vf) {
        return vf < 0 ? card_new_t4(&address) : card(CARVED_FRAMEWORK_MDEV);
}

START_TEST(what_is_not_there_is_listed_with_its_state) {
        g_autoptr(CarvedIntent) intent = want(UUID, absents[_i].vf, CARVED_FRAMEWORK_MDEV, "nvidia-700");
        g_autoptr(CarvedGpu) gpu = card_for(absents[_i].vf);
        CarvedWanted *wanted = intent->vgpus->pdata[0];
        const CarvedVgpu *vgpu;

        wanted->type_name = g_strdup("NVIDIA A2-4Q");
        wanted->params = g_strdup("x=1");
        wanted->missing = absents[_i].missing;
        wanted->error = g_strdup(absents[_i].error);
        wanted->transient = _i % 2;
        absents[_i].now(gpu);
        for (unsigned i = 0; i < 2; i++) /* twice lists it once */
                carved_intent_apply(intent, gpu);

        ck_assert_uint_eq(gpu->vgpus->len, 0);
        ck_assert_uint_eq(gpu->absent->len, 1);
        vgpu = gpu->absent->pdata[0];
        ck_assert_int_eq(vgpu->state, absents[_i].state);
        ck_assert_ptr_eq(vgpu->gpu, gpu);
        ck_assert_str_eq(vgpu->uuid, UUID);
        ck_assert_int_eq(vgpu->vf_index, absents[_i].vf);
        ck_assert_int_eq(vgpu->framework, CARVED_FRAMEWORK_MDEV);
        ck_assert_str_eq(vgpu->type, "nvidia-700");
        ck_assert_str_eq(vgpu->type_name, "NVIDIA A2-4Q");
        ck_assert_str_eq(vgpu->params, "x=1");
        ck_assert_pstr_eq(vgpu->error, absents[_i].error);
        ck_assert_str_eq(vgpu->labels[1], "ml");
        ck_assert(vgpu->ours && vgpu->persistent == !wanted->transient);
}
END_TEST

/* After @active, a card with the vGPU; then @now with one that it is not on. */
static const struct {
        int32_t vf;
        bool active;
        void (*now)(CarvedGpu *gpu);
        bool ours, missing;
} removals[] = {
        { 1, true, as_it_was, false, true },   { -1, true, as_it_was, false, true },
        { 1, true, as_it_was, true, false },   { 1, false, as_it_was, false, false },
        { 1, true, vfs_off, false, false },    { 1, true, vf_off, false, false },
        { 1, true, no_driver, false, false },  { -1, true, no_mdev, false, false },
        { -1, true, no_driver, false, false },
};

START_TEST(what_was_there_and_whose_place_is_was_removed_by_somebody) {
        g_autoptr(CarvedIntent) intent = want(UUID, removals[_i].vf, CARVED_FRAMEWORK_MDEV, "nvidia-746");
        g_autoptr(CarvedGpu) old = card_for(removals[_i].vf), gpu = card_for(removals[_i].vf);
        const CarvedWanted *wanted = intent->vgpus->pdata[0];

        if (removals[_i].active)
                hold(old, UUID, removals[_i].vf);
        removals[_i].now(gpu);
        carved_intent_apply(intent, old);
        carved_intent_apply(intent, gpu);
        carved_intent_note(intent, old, gpu, 1, removals[_i].ours);
        ck_assert_int_eq(wanted->missing, removals[_i].missing);
        ck_assert_uint_eq(intent->deleted[2], removals[_i].missing);
}
END_TEST

START_TEST(what_is_there_again_is_neither_missing_nor_failed) {
        g_autoptr(CarvedIntent) intent = want(UUID, 1, CARVED_FRAMEWORK_MDEV, "nvidia-746");
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV), another = card(CARVED_FRAMEWORK_MDEV);
        CarvedWanted *wanted = intent->vgpus->pdata[0];

        wanted->missing = true;
        wanted->error = g_strdup("no");
        hold(gpu, UUID, 1);
        hold(another, UUID, 1);
        another->mismatch = true; /* says nothing of ours */
        carved_intent_note(intent, NULL, another, 1, false);
        ck_assert(wanted->missing && wanted->error);
        carved_intent_note(intent, NULL, gpu, 1, false);
        ck_assert(!wanted->missing && !wanted->error);
}
END_TEST

/* ---- what is left over ---- */

START_TEST(what_is_left_over_is_ours_until_it_is_gone) {
        g_autoptr(CarvedIntent) intent = want(UUID, 1, CARVED_FRAMEWORK_MDEV, "nvidia-746");
        g_autoptr(CarvedGpu) there = card(CARVED_FRAMEWORK_MDEV), gone = card(CARVED_FRAMEWORK_MDEV);
        const CarvedVgpu *vgpu = hold(there, UUID, 1);

        intent->identity = g_strdup(IDENTITY);
        intent->vfs = 2;
        ((CarvedWanted *) intent->vgpus->pdata[0])->leftover = true;
        carved_intent_apply(intent, there);
        carved_intent_note(intent, NULL, there, 1, false);
        ck_assert(vgpu->ours && !vgpu->persistent);
        ck_assert_int_eq(there->sync, CARVED_SYNC_OUT_OF_SYNC);
        ck_assert_uint_eq(intent->vgpus->len, 1);

        carved_intent_apply(intent, gone);
        ck_assert_uint_eq(gone->absent->len, 0);
        ck_assert_int_eq(gone->sync, CARVED_SYNC_SYNCED);
        carved_intent_note(intent, there, gone, 1, false);
        ck_assert_uint_eq(intent->vgpus->len, 0);
        ck_assert_uint_eq(intent->deleted[2], 0); /* nobody wanted it */
}
END_TEST

START_TEST(vfs_and_quiet_are_left_over_until_the_card_shows_otherwise) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);

        intent->leftover_vfs = intent->leftover_quiet = true;
        gpu->autoprobe = false;
        carved_intent_note(intent, NULL, gpu, 1, false);
        ck_assert(intent->leftover_vfs && intent->leftover_quiet);
        gpu->autoprobe = true;
        carved_intent_note(intent, NULL, gpu, 1, false);
        ck_assert(intent->leftover_vfs && !intent->leftover_quiet);
        vfs_off(gpu);
        carved_intent_note(intent, NULL, gpu, 1, false);
        ck_assert(!intent->leftover_vfs);
}
END_TEST

/* ---- what is for now ---- */

/* By what would be in the file that is kept. */
static bool leaves_file(const CarvedIntent *before, const CarvedIntentChange *change) {
        g_autoptr(CarvedIntent) after = carved_intent_copy(before);
        g_autofree char *one = carved_store_format_intent(before, /* transient= */ false), *other = NULL;

        carved_intent_change(after, change);
        after->generation = before->generation;
        other = carved_store_format_intent(after, /* transient= */ false);
        return g_strcmp0(one, other) == 0;
}

#define KEPT UUID
#define NOW  FOREIGN
#define NEW  "bbbbbbbb-7db8-4e96-9a73-f94c389d9bc3"

static const struct {
        const char *remove, *add;
        bool add_transient, set_vfs, vfs_transient, anew, label;
        int32_t had_vfs, vfs;
        bool had_transient, is_transient;
} changes[] = {
        { .had_vfs = 4, .is_transient = true },
        { .remove = KEPT, .had_vfs = 4 },
        { .remove = NOW, .had_vfs = 4, .is_transient = true },
        { .remove = NEW, .had_vfs = 4, .is_transient = true },
        { .add = NEW, .had_vfs = 4 },
        { .add = NEW, .add_transient = true, .had_vfs = 4, .is_transient = true },
        { .add = KEPT, .add_transient = true, .had_vfs = 4 },
        { .add = NOW, .had_vfs = 4 },
        { .add = NOW, .add_transient = true, .had_vfs = 4, .is_transient = true },
        { .remove = KEPT, .add = NEW, .add_transient = true, .had_vfs = 4 },
        { .set_vfs = true, .had_vfs = -1, .vfs = 4 },
        { .set_vfs = true, .vfs_transient = true, .had_vfs = -1, .vfs = 4, .is_transient = true },
        { .set_vfs = true, .vfs_transient = true, .had_vfs = 4, .vfs = 4 },
        { .set_vfs = true, .had_vfs = 4, .vfs = -1 },
        { .set_vfs = true, .had_vfs = 4, .had_transient = true, .vfs = -1, .is_transient = true },
        { .set_vfs = true, .had_vfs = 4, .had_transient = true, .vfs = 4 },
        { .anew = true, .had_vfs = 4 },
        { .label = true, .had_vfs = 4 },
};

START_TEST(a_change_for_now_leaves_alone_what_is_kept) {
        char *removes[] = { (char *) changes[_i].remove, NULL };
        g_autoptr(GPtrArray) adds = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        CarvedIntentChange change = { .adds = adds,
                                      .removes = removes,
                                      .set_vfs = changes[_i].set_vfs,
                                      .vfs = changes[_i].vfs,
                                      .vfs_transient = changes[_i].vfs_transient,
                                      .anew = changes[_i].anew,
                                      .set_labels = changes[_i].label,
                                      .label = "",
                                      .labels = LIST("team", "a"),
                                      .identity = IDENTITY };
        CarvedWanted *wanted;

        intent->identity = g_strdup(IDENTITY);
        intent->vfs = changes[_i].had_vfs;
        intent->vfs_transient = changes[_i].had_transient;
        g_ptr_array_add(intent->vgpus, carved_wanted_new(KEPT, 0, CARVED_FRAMEWORK_MDEV, "nvidia-746"));
        wanted = carved_wanted_new(NOW, 1, CARVED_FRAMEWORK_MDEV, "nvidia-746");
        wanted->transient = true;
        g_ptr_array_add(intent->vgpus, wanted);
        if (changes[_i].add) {
                wanted = carved_wanted_new(changes[_i].add, 2, CARVED_FRAMEWORK_MDEV, "nvidia-746");
                wanted->transient = changes[_i].add_transient;
                g_ptr_array_add(adds, wanted);
        }
        ck_assert_int_eq(carved_intent_change_is_transient(intent, &change), changes[_i].is_transient);
        if (changes[_i].is_transient)
                ck_assert(leaves_file(intent, &change));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("intent");
        TCase *tcase = tcase_create("intent");

        tcase_add_test(tcase, labels_are_sorted_by_key_and_each_is_there_once);
        tcase_add_test(tcase, labels_have_limits);
        tcase_add_loop_test(tcase, only_what_we_made_is_ours_and_the_rest_is_forgotten, 0,
                            G_N_ELEMENTS(claims));
        tcase_add_loop_test(tcase, the_name_of_a_type_decides_over_its_number, 0, G_N_ELEMENTS(renumbered));
        tcase_add_loop_test(tcase, what_is_not_there_is_listed_with_its_state, 0, G_N_ELEMENTS(absents));
        tcase_add_loop_test(tcase, what_was_there_and_whose_place_is_was_removed_by_somebody, 0,
                            G_N_ELEMENTS(removals));
        tcase_add_test(tcase, what_is_there_again_is_neither_missing_nor_failed);
        tcase_add_test(tcase, what_is_left_over_is_ours_until_it_is_gone);
        tcase_add_test(tcase, vfs_and_quiet_are_left_over_until_the_card_shows_otherwise);
        tcase_add_loop_test(tcase, a_change_for_now_leaves_alone_what_is_kept, 0, G_N_ELEMENTS(changes));
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
