/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "cutting.h"
#include "simctl.h"

/* Eight cards at once, each cut in its own way, with vGPUs on the instances. On host dgx-a100. */

#define CARDS 8U

static const char *const slots[CARDS] = { "07", "0f", "47", "4e", "87", "90", "b7", "bd" };

/* How each is cut, and the type of its vGPUs. */
static const char *const layouts[CARDS][2] = {
        { "1g.5gb 7", "A100-1-5C" },
        { "3g.20gb 2", "A100-3-20C" },
        { "4g.20gb 1 3g.20gb 1", "A100-3-20C" },
        { "2g.10gb 3 1g.5gb 1", "A100-2-10C" },
        { "7g.40gb 1", "A100-7-40C" },
        { "3g.20gb 1 2g.10gb 1 1g.5gb 2", "A100-1-5C" },
        { "1g.10gb 4", "A100-1-10C" },
        { "1g.5gb+me 1 1g.5gb 3 3g.20gb 1", "A100-1-5CME" },
};

static Client *client;

static char *path_of(unsigned i) {
        return g_strdup_printf("/org/carved1/gpu/0000_%s_00_0", slots[i]);
}

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static void carve(unsigned i) {
        g_autofree char *path = path_of(i), *address = g_strdup_printf("0000:%s:00.0", slots[i]);
        Card card = { .path = path, .address = address, .vfs = 20 };

        MUST(cut_mode(client, path, true, &text_));
        MUST(carve_enable(client, &card, &text_));
        MUST(cut_apply(client, path, layouts[i][0], "", &text_));
        MUST(carve_create(client, path, layouts[i][1], NULL, NULL, &text_));
}

/* Every instance, with the vGPU that is in it by its type, and every vGPU. */
static GPtrArray *describe(void) {
        GPtrArray *lines = describe_vgpus(client);

        for (unsigned i = 0; i < CARDS; i++) {
                g_autofree char *path = path_of(i), *cut = cut_shown(client, path);

                g_ptr_array_add(lines, g_strdup_printf("%s %s", path, cut));
        }
        return lines;
}

START_TEST(eight_cards_are_the_same_after_a_reboot) {
        g_autofree char *before = NULL, *after = NULL;
        g_autoptr(GPtrArray) then = NULL, now = NULL;

        for (unsigned i = 0; i < CARDS; i++)
                carve(i);
        before = host_cuts();
        then = describe();
        ck_assert_uint_eq(host_count_vgpus(), CARDS);
        sim_reboot(client);
        await_manager(client, "running");
        after = host_cuts();
        now = describe();
        ck_assert_str_eq(before, after);
        ck_assert_uint_eq(now->len, then->len);
        for (unsigned i = 0; i < now->len; i++)
                ck_assert_str_eq(now->pdata[i], then->pdata[i]);
}
END_TEST

/* It would hold all cards, and the driver could not be unbound from any. */
START_TEST(nobody_has_the_library_open_while_sriov_manage_runs) {
        g_autofree char *first = path_of(0), *other = path_of(1), *seen = NULL;
        g_autoptr(GVariant) job = NULL, done = NULL;
        const char *error;

        ck_assert_int_eq(simctl_do("delay", "*/sriov_numvfs", "1500ms"), 0);
        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        job = client_call(client, first, "org.carved1.Sriov", "DisableVfs", NULL, "a{sv}", 2, "destroy-vgpus",
                          "b", true, "no-block", "b", true);
        seen = shell(
                "timeout 10 bash -c 'until carved-simctl log | grep -q unbindLock; do sleep 0.02; done'");
        /* Somebody asks for a look at another card meanwhile: it has what it knew. */
        done = client_call(client, other, GPU, "Refresh", &error, "a{sv}", 0);
        ck_assert_ptr_nonnull(done);
        ck_assert(cut_flag(client, other, MIG, "Enabled"));
        g_free(seen);
        seen = shell("carved-simctl nvml; test $(carved-simctl busy) -gt 0 && echo running");
        ck_assert_str_eq(g_strchomp(seen), "running"); /* still, and nobody has it open */
        await_gpu(client, first, "State", "ready");
        ck_assert(client_wait(client, 20000, all_is_quiet, NULL));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("mig-many");
        TCase *tcase = tcase_create("mig-many");

        tcase_set_timeout(tcase, 240);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, eight_cards_are_the_same_after_a_reboot);
        tcase_add_test(tcase, nobody_has_the_library_open_while_sriov_manage_runs);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
