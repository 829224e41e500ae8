/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "inforom.h"
#include "nvml.h"
#include "unit.h"

/* How the driver cuts cards: on every board that can do MIG. */

static const char *const boards[] = { "a100-40", "a100-80", "a30",         "h100-80",
                                      "h100-94", "h200",    "rtx-pro-6000" };

static Bench *bench_of(const char *board) {
        g_autofree char *text =
                g_strdup_printf("{'format':1,'gpus':[{'address':'4:0.0','board':'%s'}]}", board);

        return bench_new_from_text(text);
}

static Nvidia *card(Bench *bench) {
        return pci_find(bench->kernel, "0000:04:00.0")->nvidia;
}

static void mig_on(Nvidia *nvidia) {
        nvmlReturn_t activation;

        ck_assert_int_eq(nvidia_mig_set_mode(nvidia, true, 0, &activation), NVML_SUCCESS);
        ck_assert_int_eq(activation, NVML_SUCCESS);
        ck_assert(nvidia_mig_on(nvidia));
}

/* What must always hold, whatever was cut. */
static void check_cut(const Nvidia *nvidia) {
        const MigSpec *mig = nvidia->pf->spec->mig;
        unsigned compute = 0, media = 0;
        uint32_t memory = 0;

        for (unsigned i = 0; i < nvidia->instances->len; i++) {
                const GpuInstance *gi = nvidia->instances->pdata[i];
                uint32_t slices = ((1U << gi->profile->size) - 1) << gi->start;

                ck_assert_uint_eq(memory & slices, 0);
                memory |= slices;
                compute += gi->profile->slices;
                media += gi->profile->media;
                ck_assert_ptr_eq(nvidia_mig_find(nvidia, gi->id), gi); /* no id twice */
                ck_assert_uint_le(gi->start + gi->profile->size, mig->memory_slices);
        }
        ck_assert_uint_le(compute, mig->compute_slices);
        ck_assert_uint_le(media, 1);
}

/* As many as it says can be made, and not one more. */
static void check_capacity(Nvidia *nvidia, const MigProfile *profile) {
        unsigned said = nvidia_mig_capacity(nvidia, profile), n = 0;
        GpuInstance *made[16];

        while (nvidia_mig_create(nvidia, profile, NULL, &made[n]) == NVML_SUCCESS) {
                n++;
                check_cut(nvidia);
        }
        ck_assert_uint_eq(said, n);
        while (n > 0)
                ck_assert_int_eq(nvidia_mig_destroy(nvidia, made[--n]), NVML_SUCCESS);
}

START_TEST(what_is_said_to_be_left_can_be_made_and_no_more) {
        Bench *bench = bench_of(boards[_i]);
        Nvidia *nvidia = card(bench);
        const MigSpec *mig = nvidia->pf->spec->mig;
        g_autoptr(GRand) random = g_rand_new_with_seed(7);

        mig_on(nvidia);
        for (unsigned step = 0; step < 100; step++) {
                const MigProfile *profile =
                        mig->profiles->pdata[g_rand_int_range(random, 0, (gint32) mig->profiles->len)];
                unsigned which = (unsigned) g_rand_int_range(random, 0, (gint32) profile->starts->len);
                nvmlPlacement_t at = { g_array_index(profile->starts, unsigned, which), profile->size };
                GpuInstance *gi;

                if (nvidia->instances->len > 0 && g_rand_int_range(random, 0, 3) == 0)
                        nvidia_mig_destroy(nvidia, nvidia->instances->pdata[(unsigned) g_rand_int_range(
                                                           random, 0, (gint32) nvidia->instances->len)]);
                else
                        nvidia_mig_create(nvidia, profile, g_rand_boolean(random) ? &at : NULL, &gi);
                check_cut(nvidia);
                for (unsigned i = 0; i < mig->profiles->len; i++)
                        check_capacity(nvidia, mig->profiles->pdata[i]);
        }
        bench_free(bench);
}
END_TEST

START_TEST(an_empty_card_takes_as_many_as_each_profile_says) {
        Bench *bench = bench_of(boards[_i]);
        Nvidia *nvidia = card(bench);
        const MigSpec *mig = nvidia->pf->spec->mig;

        mig_on(nvidia);
        for (unsigned i = 0; i < mig->profiles->len; i++) {
                const MigProfile *profile = mig->profiles->pdata[i];

                ck_assert_uint_eq(nvidia_mig_capacity(nvidia, profile), profile->max);
        }
        bench_free(bench);
}
END_TEST

START_TEST(each_mig_backed_type_has_its_profile_and_as_many) {
        Bench *bench = bench_of(boards[_i]);
        const GpuSpec *spec = card(bench)->pf->spec;
        unsigned n = 0;

        for (unsigned i = 0; i < spec->types->len; i++) {
                const TypeSpec *type = spec->types->pdata[i];
                const MigProfile *profile;

                if (!type->mig_backed)
                        continue;
                profile = nvidia_mig_profile(spec->mig, type->gi_profile);
                ck_assert_msg(profile, "%s has no profile", type->name);
                ck_assert_uint_eq(type->max, MIN(profile->max * type->max_per_gi, VGPUS_PER_GPU_MAX));
                n++;
        }
        ck_assert_uint_gt(n, 4);
        bench_free(bench);
}
END_TEST

static const struct {
        const char *board;
        unsigned profile, start, size, id;
} ids[] = {
        { "a100-40", 0, 0, 8, 0 },  { "a100-40", 9, 0, 4, 1 },   { "a100-40", 9, 4, 4, 2 },
        { "a100-40", 14, 0, 2, 3 }, { "a100-40", 14, 4, 2, 5 },  { "a100-40", 15, 6, 2, 6 },
        { "a100-40", 19, 0, 1, 7 }, { "a100-40", 19, 6, 1, 13 }, { "a30", 0, 0, 4, 0 },
        { "a30", 5, 2, 2, 2 },      { "a30", 14, 3, 1, 6 },
};

START_TEST(ids_tell_where_an_instance_is) {
        Bench *bench = bench_of(ids[_i].board);
        Nvidia *nvidia = card(bench);
        const MigProfile *profile = nvidia_mig_profile(nvidia->pf->spec->mig, ids[_i].profile);
        GpuInstance *gi = NULL;

        mig_on(nvidia);
        ck_assert_int_eq(
                nvidia_mig_create(nvidia, profile, &(nvmlPlacement_t){ ids[_i].start, ids[_i].size }, &gi),
                NVML_SUCCESS);
        ck_assert_uint_eq(gi->id, ids[_i].id);
        bench_free(bench);
}
END_TEST

/* What becomes of the mode: asked for on and off in a state of the card. */
START_TEST(vfs_keep_mig_on_and_a_reset_away) {
        Bench *bench = bench_of("a100-40");
        nvmlReturn_t activation;

        bench_enable_vfs(bench, "0000:04:00.0", 20);
        ck_assert_int_eq(nvidia_mig_set_mode(card(bench), true, 0, &activation), NVML_SUCCESS);
        ck_assert_int_eq(activation, NVML_ERROR_IN_USE); /* it would take a reset */
        ck_assert(!nvidia_mig_on(card(bench)));
        ck_assert_int_eq(nvidia_reset(card(bench)->pf), 0);
        bench_settle(bench);
        ck_assert(nvidia_mig_on(card(bench)));
        assert_shows(bench, "bus/pci/devices/0000:04:00.0/sriov_numvfs", "0\n");

        bench_enable_vfs(bench, "0000:04:00.0", 20);
        ck_assert(nvidia_mig_on(card(bench)));
        ck_assert_int_eq(nvidia_mig_set_mode(card(bench), false, 0, &activation), NVML_ERROR_IN_USE);
        ck_assert(card(bench)->pf->mig_pending);
        bench_free(bench);
}
END_TEST

START_TEST(a_mode_asked_for_can_be_taken_back) {
        Bench *bench = bench_of("h100-80");
        Nvidia *nvidia = card(bench);
        nvmlReturn_t activation;

        ck_assert_int_eq(nvidia_mig_set_mode(nvidia, true, 1, &activation), NVML_SUCCESS);
        ck_assert_int_eq(activation, NVML_ERROR_IN_USE);
        ck_assert(nvidia->pf->mig_pending && !nvidia->pf->mig_mode);
        ck_assert_int_eq(nvidia_mig_set_mode(nvidia, false, 1, &activation), NVML_SUCCESS);
        ck_assert_int_eq(activation, NVML_SUCCESS);
        ck_assert(!nvidia->pf->mig_pending && !nvidia->pf->mig_mode);
        bench_free(bench);
}
END_TEST

static const struct {
        const char *board;
        bool kept;
} modes[] = { { "a100-40", true }, { "a30", true }, { "h100-80", false }, { "rtx-pro-6000", false } };

START_TEST(a_mode_outlives_the_power_where_the_card_keeps_it) {
        Bench *bench = bench_of(modes[_i].board);

        mig_on(card(bench));
        reboot(bench->kernel, bench->host);
        ck_assert_int_eq(nvidia_mig_on(card(bench)), modes[_i].kept);
        bench_free(bench);
}
END_TEST

/* A host that starts with what an earlier one has kept in @dir. */
static Bench *bench_keeping(const char *dir) {
        Bench *bench = bench_of("a100-40");
        g_autoptr(GError) error = NULL;

        ck_assert(inforom_load(bench->kernel, bench->host, dir, &error));
        reboot(bench->kernel, bench->host);
        return bench;
}

static void set_mode(Bench *bench, bool on) {
        nvmlReturn_t activation;

        ck_assert_int_eq(nvidia_mig_set_mode(card(bench), on, 0, &activation), NVML_SUCCESS);
        bench_free(bench);
}

START_TEST(what_a_card_remembers_outlives_the_simulator) {
        g_autofree char *dir = g_dir_make_tmp("carved-inforom-XXXXXX", NULL), *file = NULL;
        Bench *bench = bench_keeping(dir);

        ck_assert(!nvidia_mig_on(card(bench)));
        set_mode(bench, true);
        bench = bench_keeping(dir);
        ck_assert(nvidia_mig_on(card(bench)));
        set_mode(bench, false);
        bench = bench_keeping(dir);
        ck_assert(!nvidia_mig_on(card(bench)));
        bench_free(bench);

        file = g_build_filename(dir, "inforom", NULL);
        ck_assert_int_eq(unlink(file), 0);
        ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* Several vGPUs in one instance, all of one size unless they may be mixed. */
START_TEST(an_instance_of_a_blackwell_card_is_shared) {
        Bench *bench = bench_of("rtx-pro-6000");
        PciDevice *pf;
        Nvidia *nvidia;
        const TypeSpec *small, *large;
        GpuInstance *gi;

        mig_on(card(bench));
        bench_enable_vfs(bench, "0000:04:00.0", 48);
        nvidia = card(bench);
        pf = nvidia->pf;
        small = nvidia_type(pf->spec, 1559); /* 1-8Q: three in an instance */
        large = nvidia_type(pf->spec, 1560); /* 1-12Q: two */
        ck_assert_int_eq(nvidia_may_create(nvidia, pf->vfs[0], small), RM_MIG);
        ck_assert_int_eq(nvidia_mig_create(nvidia, nvidia_mig_profile(pf->spec->mig, 14), NULL, &gi),
                         NVML_SUCCESS);
        ck_assert_int_eq(nvidia_may_create(nvidia, pf->vfs[0], small), RM_MIG); /* it needs +gfx */
        ck_assert_int_eq(nvidia_mig_create(nvidia, nvidia_mig_profile(pf->spec->mig, 47), NULL, &gi),
                         NVML_SUCCESS);

        nvidia_vgpu_new(nvidia, pf->vfs[0], small);
        ck_assert_int_eq(nvidia_may_create(nvidia, pf->vfs[1], large), RM_MIG); /* another size */
        nvidia_vgpu_new(nvidia, pf->vfs[1], small);
        nvidia_vgpu_new(nvidia, pf->vfs[2], small);
        ck_assert_int_eq(nvidia_may_create(nvidia, pf->vfs[3], small), RM_MIG); /* full */
        ck_assert_int_eq(nvidia_set_mixed(nvidia, gi, true), NVML_ERROR_IN_USE);
        ck_assert_int_eq(nvidia_mig_destroy(nvidia, gi), NVML_ERROR_IN_USE);

        while (nvidia->vgpus->len > 0)
                nvidia_vgpu_free(nvidia->vgpus->pdata[0]);
        ck_assert_int_eq(nvidia_set_mixed(nvidia, gi, true), NVML_SUCCESS);
        ck_assert_int_eq(nvidia_vgpu_new(nvidia, pf->vfs[0], small)->placement, 0);
        ck_assert_int_eq(nvidia_vgpu_new(nvidia, pf->vfs[1], large)->placement, 12);
        ck_assert_int_eq(nvidia_may_create(nvidia, pf->vfs[2], large), RM_MIG);
        while (nvidia->vgpus->len > 0)
                nvidia_vgpu_free(nvidia->vgpus->pdata[0]);
        bench_free(bench);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("nvidia-mig");

        add_table_test(tests, what_is_said_to_be_left_can_be_made_and_no_more, boards);
        add_table_test(tests, an_empty_card_takes_as_many_as_each_profile_says, boards);
        add_table_test(tests, each_mig_backed_type_has_its_profile_and_as_many, boards);
        add_table_test(tests, ids_tell_where_an_instance_is, ids);
        tcase_add_test(tests, vfs_keep_mig_on_and_a_reset_away);
        tcase_add_test(tests, a_mode_asked_for_can_be_taken_back);
        add_table_test(tests, a_mode_outlives_the_power_where_the_card_keeps_it, modes);
        tcase_add_test(tests, what_a_card_remembers_outlives_the_simulator);
        tcase_add_test(tests, an_instance_of_a_blackwell_card_is_shared);
        return unit_run(tests, "nvidia-mig");
}
