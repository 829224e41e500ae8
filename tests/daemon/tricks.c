/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "../tap.h"
#include "carver.h"
#include "methods.h"
#include "simctl.h"
#include "visitor.h"

/* Calls that are wrong or too much, by root, whom nothing else holds back: refused in a short sentence, and
 * nothing is done. On host mixed. */

#define A    "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B    "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"
#define HOST "org.carved1.VgpuHost"
#define JOB  "org.carved1.Job"

#define LONG     (1024 * 1024)
#define TEXT_MAX 1000U

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

static Client *client;

static void set_up(void) {
        client = client_new();
        MUST(carve_enable(client, card_find("a2"), &text_));
        MUST(carve_create(client, GPU_A2, "A2-4Q", A, NULL, &text_));
        client_cut(client, "1g.5gb");
}

static void tear_down(void) {
        simctl_do("forget");
        client = client_free(client);
}

/* ---- strings ---- */

/* A NUL can't be sent: it ends the string. */
static char *tricks[] = { (char *) "../../../etc/passwd",
                          (char *) "/etc/passwd",
                          (char *) "0000:08:00.0/../0000:26:00.0",
                          (char *) "dd6772a8-7db8-4e96-9a73-f94c389d9bc3\n",
                          (char *) "dd6772a8-7db8-4e96-9a73-f94c389d9bc3/../../x",
                          (char *) "a\nb\r\x1b[31m",
                          (char *) "%s%n%n%n%n",
                          (char *) "$(reboot) `reboot` ; reboot",
                          (char *) "\xe2\x80\xae",
                          (char *) "",
                          NULL /* a long one */ };

/* As good as any where another argument is the bad one. */
static const char *good_text(const char *arg) {
        return g_str_equal(arg, "type s") ? "A2-4Q" : g_str_equal(arg, "address s") ? "0000:08:00.0" : A;
}

/* All arguments, with @trick in the @bad one. */
static void append_args(sd_bus_message *m, const Call *call, unsigned bad, const char *trick) {
        for (unsigned i = 0; i < call->args->len; i++) {
                const char *arg = call->args->pdata[i], *type = strchr(arg, ' ') + 1;
                const char *text = i == bad ? trick : good_text(arg);
                int r;

                if (g_str_equal(type, "s"))
                        r = sd_bus_message_append(m, "s", text);
                else if (g_str_equal(type, "as"))
                        r = sd_bus_message_append(m, "as", 1, text);
                else if (g_str_equal(type, "a{ss}"))
                        r = sd_bus_message_append(m, "a{ss}", 1, i == bad ? trick : "key", "value");
                else if (g_str_equal(type, "a{su}"))
                        r = sd_bus_message_append(m, "a{su}", 1, i == bad ? trick : "19", 1);
                else if (g_str_equal(type, "a{sv}") && i == bad)
                        r = sd_bus_message_append(m, "a{sv}", 1, trick, "s", trick);
                else if (g_str_equal(arg, "options a{sv}"))
                        r = sd_bus_message_append(m, "a{sv}", 0);
                else if (strlen(type) == 1 && strchr("bu", *type))
                        r = sd_bus_message_append(m, type, 0);
                else
                        r = sd_bus_message_append(m, type, 0); /* an empty list */
                ck_assert_msg(r >= 0, "%s", arg);
        }
}

static bool is_textual(const char *arg) {
        return strchr(strchr(arg, ' '), 's') != NULL;
}

/* Where words go through as they are: into labels, and to the driver, which has the last word on its
 * parameters. */
static bool may_succeed(const char *arg, const char *trick) {
        return (g_str_has_suffix(arg, "a{ss}") && *trick && strlen(trick) < 64 && !strpbrk(trick, "\n\r")) ||
               (g_str_equal(arg, "params s") && strlen(trick) < 64 && !strpbrk(trick, "\n\r"));
}

static void try_trick(const Call *call, unsigned bad, const char *trick) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_autoptr(sd_bus_message) m = NULL;
        int r;

        ck_assert_int_ge(sd_bus_message_new_method_call(client->bus, &m, "org.carved1", call->path,
                                                        call->interface, call->method),
                         0);
        append_args(m, call, bad, trick);
        r = sd_bus_call(client->bus, m, 20 * G_USEC_PER_SEC, &error, NULL);
        if (r >= 0 && may_succeed(call->args->pdata[bad], trick))
                return;

        ck_assert_msg(r < 0, "%s.%s took '%.60s' for %s", call->interface, call->method, trick,
                      (char *) call->args->pdata[bad]);
        ck_assert_msg(!g_str_has_suffix(error.name, ".Failed") &&
                              !g_str_has_suffix(error.name, ".KernelRefused") &&
                              !g_str_has_suffix(error.name, ".NoReply"),
                      "%s.%s with '%.60s': %s: %.200s", call->interface, call->method, trick, error.name,
                      error.message);
        ck_assert_msg(strlen(error.message) < TEXT_MAX, "%s.%s answers with %zu bytes", call->interface,
                      call->method, strlen(error.message));
}

/* Files of carved's that are not called as it calls its files. */
static char *strange_files(void) {
        return shell("cd / && find var/lib/carved run/carved -mindepth 1 -printf '%%P\\n' | "
                     "grep -vxE "
                     "'gpus|journal|(store|carved|nvml|nvml-mutex)\\.lock|((gpus|journal)/"
                     ")?[0-9a-f_:.-]+\\.(json|lock)' || "
                     "true");
}

START_TEST(no_string_leads_anywhere_else) {
        g_autofree char *long_one = g_strnfill(LONG, 'A'), *before = host_summary();
        g_autofree char *after = NULL, *strange = NULL;
        g_autoptr(GPtrArray) calls = all_calls(client);
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        unsigned tried = 0;

        tricks[G_N_ELEMENTS(tricks) - 1] = long_one;
        for (unsigned i = 0; i < calls->len; i++) {
                const Call *call = calls->pdata[i];

                if (!g_hash_table_add(seen, g_strdup_printf("%s.%s", call->interface, call->method)))
                        continue;
                for (unsigned bad = 0; bad < call->args->len; bad++)
                        for (unsigned t = 0; is_textual(call->args->pdata[bad]) && t < G_N_ELEMENTS(tricks);
                             t++, tried++)
                                try_trick(call, bad, tricks[t]);
        }
        ck_assert_uint_gt(tried, 200);
        MUST(carve_params(client, A, "", &text_));
        after = host_summary();
        ck_assert_str_eq(before, after);
        strange = strange_files();
        ck_assert_str_eq(strange, "");
}
END_TEST

/* ---- too much ---- */

START_TEST(an_option_is_given_once) {
        const char *error;

        client_call(client, GPU_A2, HOST, "CreateVgpu", &error, "sa{sv}", "A2-4Q", 2, "uuid", "s", B, "uuid",
                    "s", A);
        ck_assert_str_eq(error, SD_BUS_ERROR_INVALID_ARGS);
}
END_TEST

START_TEST(so_many_vgpus_no_host_has) {
        g_autoptr(sd_bus_message) m = NULL;
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;

        ck_assert_int_ge(sd_bus_message_new_method_call(client->bus, &m, "org.carved1", "/org/carved1",
                                                        MANAGER, "DestroyVgpus"),
                         0);
        ck_assert_int_ge(sd_bus_message_open_container(m, 'a', "s"), 0);
        for (unsigned i = 0; i < 4097; i++)
                ck_assert_int_ge(sd_bus_message_append(m, "s", A), 0);
        ck_assert_int_ge(sd_bus_message_close_container(m), 0);
        ck_assert_int_ge(sd_bus_message_append(m, "a{sv}", 0), 0);
        ck_assert_int_lt(sd_bus_call(client->bus, m, 0, &error, NULL), 0);
        ck_assert_str_eq(error.name, SD_BUS_ERROR_LIMITS_EXCEEDED);
}
END_TEST

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        unsigned *n = userdata;

        n[sd_bus_message_get_errno(reply) == ENOBUFS]++;
        return 0;
}

static bool all_answered(Client *c, const void *n) {
        return ((const unsigned *) n)[0] + ((const unsigned *) n)[1] == 120;
}

/* A job that waits for the kernel, and whoever else asks for it joins. The bus lets one connection have so
 * many calls open. */
START_TEST(who_asks_for_the_same_a_hundred_times_gets_it_once) {
        unsigned n[2] = { 0 };

        ck_assert_int_eq(simctl_do("delay", "*/create", "500ms"), 0);
        for (unsigned i = 0; i < 120; i++)
                ck_assert_int_ge(sd_bus_call_method_async(client->bus, NULL, "org.carved1", GPU_A2, HOST,
                                                          "CreateVgpu", on_answer, n, "sa{sv}", "A2-4Q", 1,
                                                          "uuid", "s", B),
                                 0);
        ck_assert(client_wait(client, 10000, all_answered, n));
        ck_assert_uint_eq(n[0], 120);
        ck_assert_uint_eq(client_count(client, "org.carved1.Vgpu"), 2);
}
END_TEST

static char *act_plan(sd_bus *bus, const void *data) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        unsigned n = 0;

        for (unsigned i = 0; i < 200; i++)
                n += sd_bus_call_method(bus, "org.carved1", GPU_A2, "org.carved1.Sriov", "DisableVfs", NULL,
                                        NULL, "a{sv}", 2, "dry-run", "b", true, "destroy-vgpus", "b",
                                        true) >= 0;
        return g_strdup_printf("%u", n);
}

START_TEST(plans_of_others_do_not_crowd_out_my_job) {
        g_autoptr(GVariant) reply =
                client_call(client, GPU_A2, "org.carved1.Gpu", "Resync", NULL, "a{sv}", 0);
        Visitor visitor = visitor_send(NOBODY, act_plan, (const void *const[]){ NULL }, 1);
        g_auto(GStrv) said = visitor_hear(&visitor, 1);
        const char *job;

        ck_assert_int_gt(atoi(said[0]), 64);
        g_variant_get(reply, "(&o)", &job);
        ck_assert(object_is_there(client, job));
        ck_assert_uint_le(client_count(client, JOB), 64);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("tricks");
        TCase *tcase = tcase_create("tricks"), *last = tcase_create("last");

        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, no_string_leads_anywhere_else);
        tcase_add_test(tcase, an_option_is_given_once);
        tcase_add_test(tcase, so_many_vgpus_no_host_has);
        tcase_add_test(tcase, who_asks_for_the_same_a_hundred_times_gets_it_once);
        tcase_add_test(tcase, plans_of_others_do_not_crowd_out_my_job);
        suite_add_tcase(suite, tcase);
        tcase_set_timeout(last, 60);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
