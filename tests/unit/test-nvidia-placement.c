/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bench.h"
#include "nvidia-mig.h"
#include "unit.h"

/* Where vGPUs of mixed sizes may be: the tables that NVIDIA prints, for cards of each size. */

static const struct {
        const char *board;
        unsigned size; /* GiB of the type */
        const char *ids;
} tables[] = {
        { "h100-94", 94, "0" },
        { "h100-94", 47, "0 47" },
        { "h100-94", 23, "0 24 47 71" },
        { "h100-94", 15, "0 32 47 79" },
        { "h100-94", 11, "0 12 23 36 47 59 70 83" },
        { "h100-94", 6, "0 17 23 41 47 64 70 88" },
        { "h100-94", 4, "0 7 11 19 23 31 35 43 47 54 58 66 70 78 82 90" },
        { "h100-80", 40, "0 40" },
        { "h100-80", 20, "0 20 40 60" },
        { "h100-80", 16, "0 24 40 64" },
        { "h100-80", 10, "0 10 20 30 40 50 60 70" },
        { "h100-80", 8, "0 12 20 32 40 52 60 72" },
        { "h100-80", 5, "0 5 10 15 20 25 30 35 40 45 50 55 60 65 70 75" },
        { "a100-80", 4, "0 6 10 16 20 26 30 36 40 46 50 56 60 66 70 76" },
        { "a100-40", 20, "0 20" },
        { "a100-40", 10, "0 10 20 30" },
        { "a100-40", 8, "0 12 20 32" },
        { "a100-40", 5, "0 5 10 15 20 25 30 35" },
        { "a100-40", 4, "0 6 10 16 20 26 30 36" },
        { "a30", 12, "0 12" },
        { "a30", 8, "0 16" },
        { "a30", 6, "0 6 12 18" },
        { "a30", 4, "0 8 12 20" },
        { "l40s", 24, "0 24" },
        { "l40s", 16, "0 32" },
        { "l40s", 12, "0 12 24 36" },
        { "l40s", 8, "0 16 24 40" },
        { "l40s", 6, "0 6 12 18 24 30 36 42" },
        { "l40s", 4, "0 8 12 20 24 32 36 44" },
        { "l40s", 3, "0 3 6 9 12 15 18 21 24 27 30 33 36 39 42 45" },
        { "l40s", 2, "0 4 6 10 12 16 18 22 24 28 30 34 36 40 42 46" },
        /* Pairs, without those that Ada denies. */
        { "l40s", 1, "0 5 6 11 12 17 18 23 24 29 30 35 36 41 42 47" },
        /* Blackwell: at even distances. */
        { "rtx-pro-6000", 24, "0 24 48 72" },
        { "rtx-pro-6000", 32, "0 32 64" },
};

static GpuSpec *board(const char *name) {
        g_autoptr(GError) error = NULL;
        GpuSpec *spec = board_load(SIM_SOURCE_DIR, name, &error);

        ck_assert_msg(spec, "%s", error ? error->message : "");
        return spec;
}

static const TypeSpec *type_of_size(const GpuSpec *spec, unsigned gib) {
        for (unsigned i = 0; i < spec->types->len; i++) {
                const TypeSpec *type = spec->types->pdata[i];

                if (!type->mig_backed && type->framebuffer_mib == gib * 1024)
                        return type;
        }

        ck_abort_msg("no type of %u GiB", gib);
}

static int ascending(const void *a, const void *b) {
        return (int) (*(const unsigned *) a - *(const unsigned *) b);
}

static char *text_of(GArray *ids) {
        GString *text = g_string_new(NULL);

        g_array_sort(ids, ascending);
        for (unsigned i = 0; i < ids->len; i++)
                g_string_append_printf(text, "%s%u", i > 0 ? " " : "", g_array_index(ids, unsigned, i));
        return g_string_free(text, FALSE);
}

START_TEST(places_are_those_of_the_tables) {
        g_autoptr(GpuSpec) spec = board(tables[_i].board);
        g_autoptr(GArray) ids = nvidia_placements(spec, type_of_size(spec, tables[_i].size));
        g_autofree char *text = text_of(ids);

        ck_assert_str_eq(text, tables[_i].ids);
}
END_TEST

/* How many of a type fit when sizes are mixed, against how many when all are the same. */
static const struct {
        const char *board;
        unsigned size, equal, mixed;
} maxima[] = {
        { "a100-80", 16, 5, 4 }, { "a100-80", 8, 10, 8 }, { "a100-80", 4, 20, 16 },
        { "a100-40", 8, 5, 4 },  { "a30", 8, 3, 2 },
};

START_TEST(fewer_fit_when_sizes_are_mixed) {
        g_autoptr(GpuSpec) spec = board(maxima[_i].board);
        const TypeSpec *type = type_of_size(spec, maxima[_i].size);
        g_autoptr(GArray) ids = nvidia_placements(spec, type);

        ck_assert_uint_eq(type->max, maxima[_i].equal);
        ck_assert_uint_eq(ids->len, maxima[_i].mixed);
}
END_TEST

START_TEST(a_place_next_to_others_is_taken_and_given_back) {
        Bench *bench = bench_new_from_text("{'format':1,'gpus':[{'address':'4:0.0','board':'a100-40'}]}");
        PciDevice *pf = pci_find(bench->kernel, "0000:04:00.0");
        const TypeSpec *half, *small;
        Vgpu *first, *second;

        bench_enable_vfs(bench, "0000:04:00.0", 20);
        ck_assert_int_eq(nvidia_set_mixed(pf->nvidia, NULL, true), NVML_SUCCESS);
        half = type_of_size(pf->spec, 20);
        small = type_of_size(pf->spec, 8);
        first = nvidia_vgpu_new(pf->nvidia, pf->vfs[0], small);
        ck_assert_int_eq(first->placement, 0);
        second = nvidia_vgpu_new(pf->nvidia, pf->vfs[1], half);
        ck_assert_int_eq(second->placement, 20);
        ck_assert_int_eq(nvidia_may_create(pf->nvidia, pf->vfs[2], half), RM_FULL);
        ck_assert_int_eq(nvidia_may_create(pf->nvidia, pf->vfs[2], small), RM_OK);
        nvidia_vgpu_free(first);
        ck_assert_int_eq(nvidia_may_create(pf->nvidia, pf->vfs[2], half), RM_OK);
        nvidia_vgpu_free(second);
        bench_free(bench);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("nvidia-placement");

        add_table_test(tests, places_are_those_of_the_tables, tables);
        add_table_test(tests, fewer_fit_when_sizes_are_mixed, maxima);
        tcase_add_test(tests, a_place_next_to_others_is_taken_and_given_back);
        return unit_run(tests, "nvidia-placement");
}
