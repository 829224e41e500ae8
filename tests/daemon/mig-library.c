/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "cutting.h"
#include "simctl.h"

/* A library that is missing, old or of no use costs what only it can tell, and nothing else. The argument is
 * the host's name. */

#define A "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"

static const struct {
        const char *host, *error;
} rows[] = {
        { "nvml-absent", "NVIDIA's library can't be loaded: libnvidia-ml.so.1: *" },
        { "nvml-not-loaded", "NVIDIA's library refuses to start: the driver is not loaded (9)" },
        { "nvml-mismatch",
          "NVIDIA's library refuses to start: library and driver are of different versions (18)" },
        { "nvml-lost", "NVIDIA's library refuses *: the card has fallen off the bus (15)" },
        { "nvml-old", "" },
};

static const Cut *cut;
static const char *host;
static Client *client;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static const char *expected_error(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (g_str_equal(rows[i].host, host))
                        return rows[i].error;
        ck_abort_msg("no row for '%s'", host);
}

START_TEST(it_is_said_what_is_wrong_with_the_library) {
        g_autofree char *error = client_get_string(client, H100, GPU, "LastError");

        ck_assert_msg(g_pattern_match_simple(expected_error(), error), "'%s' is not '%s'", error,
                      expected_error());
        ck_assert_int_eq(client_get(client, H100, MIG, "Enabled") != NULL, g_str_equal(host, "nvml-old"));
}
END_TEST

START_TEST(vfs_and_vgpus_need_no_library) {
        MUST(carve_enable(client, &cut->card, &text_));
        MUST(carve_create(client, H100, cut->sliced, A, NULL, &text_));
        await_vgpu(client, A, "State", "active");
        MUST(carve_destroy(client, A, &text_));
        MUST(carve_disable(client, &cut->card, false, &text_));
        await_gpu(client, H100, "State", "ready");
}
END_TEST

/* Names are made as nvidia-smi makes them. */
START_TEST(an_old_library_cuts_as_well) {
        g_autofree char *shown = NULL;

        if (!g_str_equal(host, "nvml-old"))
                return;
        MUST(cut_mode(client, H100, true, &text_));
        MUST(cut_apply(client, H100, "3g.40gb 1 1g.10gb+me 1 1g.20gb 1", "", &text_));
        shown = cut_shown(client, H100);
        ck_assert_ptr_nonnull(strstr(shown, "3g.40gb@"));
        ck_assert_ptr_nonnull(strstr(shown, "1g.10gb+me@"));
        MUST(cut_clear(client, H100, &text_));
        MUST(cut_mode(client, H100, false, &text_));
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("mig-library");
        TCase *tcase = tcase_create("mig-library");

        host = argv[1];
        cut = cut_find("h100");
        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, it_is_said_what_is_wrong_with_the_library);
        tcase_add_test(tcase, vfs_and_vgpus_need_no_library);
        tcase_add_test(tcase, an_old_library_cuts_as_well);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
