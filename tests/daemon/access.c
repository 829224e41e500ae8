/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "../tap.h"
#include "carver.h"
#include "methods.h"
#include "simctl.h"
#include "visitor.h"

/* Who may do what where there is no polkit. The methods are those that the binary says it has, so a new one
 * is tried the day it comes: what is not known to read must be for root only. On hosts mixed and a100,
 * with a vGPU of each kind and a GPU instance. */

#define A    "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B    "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"
#define ROOT "/org/carved1"
#define VGPU "org.carved1.Vgpu"
#define JOB  "org.carved1.Job"
#define HOST "org.carved1.VgpuHost"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

/* These tell, and change nothing. */
static const char *const reading[] = { "GetGpu",  "GetVf",    "GetVgpu",       "GetInventory",
                                       "Refresh", "GetUsers", "GetLibvirtXml", "ListStored" };

/* A vGPU on each kind of card. */
static const char *const vgpus[][2] = {
        { "a2", A },
        { "l40s", "3a1f0c55-0c7b-4b7e-8a53-6d7e1f0b9c02" },
        { "t4", "8f1a7a52-3c5d-4d0e-9c8f-6f2f1c0b7a11" },
        { "plain", "c0ffee00-1111-4222-8333-444455556666" },
};

static Client *client;

static void must(const char *error, char *text) {
        g_autofree char *said = text;

        if (error)
                ck_abort_msg("%s: %s", error, said);
}

/* Asking again for what is there is no work, so each test may do so. */
static void set_up(void) {
        client = client_new();
        for (unsigned i = 0; i < G_N_ELEMENTS(vgpus); i++) {
                const Card *card = card_find(vgpus[i][0]);
                char *text = NULL;
                const char *error = carve_enable(client, card, &text);

                must(error, text);
                error = carve_create(client, card->path, card->type, vgpus[i][1], NULL, &text);
                must(error, text);
        }
        client_cut(client, "1g.5gb");
        client_settle(client, 150);
        client_forget(client);
}

static void tear_down(void) {
        client = client_free(client);
}

static bool is_reading(const char *method) {
        for (unsigned i = 0; i < G_N_ELEMENTS(reading); i++)
                if (g_str_equal(reading[i], method))
                        return true;

        return false;
}

/* ---- calling ---- */

/* Well-formed ones: a call that is refused for its arguments tells nothing of who may. */
static const struct {
        const char *arg, *value;
} texts[] = {
        { "address s", "0000:08:00.0" }, { "uuid s", A },
        { "type s", "A2-4Q" },           { "params s", "x=1" },
        { "owner s", "somebody" },       { "identity s", "10de:25b6:10de:157e@0000:08:00.0" },
};

static void append_arg(sd_bus_message *m, const char *arg, bool dry_run) {
        const char *type = strchr(arg, ' ') + 1;

        for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++)
                if (g_str_equal(texts[i].arg, arg)) {
                        ck_assert_int_ge(sd_bus_message_append(m, "s", texts[i].value), 0);
                        return;
                }

        if (g_str_equal(arg, "options a{sv}") && dry_run)
                ck_assert_int_ge(sd_bus_message_append(m, "a{sv}", 1, "dry-run", "b", true), 0);
        else if (g_str_equal(arg, "uuids as"))
                ck_assert_int_ge(sd_bus_message_append(m, "as", 1, A), 0);
        else if (strlen(type) == 1 && strchr("bu", *type))
                ck_assert_int_ge(sd_bus_message_append(m, type, 0), 0);
        else if (g_str_equal(type, "a{sv}") || g_str_equal(type, "a{ss}") || g_str_equal(type, "a{su}"))
                ck_assert_int_ge(sd_bus_message_append(m, type, 0), 0);
        else
                ck_abort_msg("this test has no value for an argument '%s' yet", arg);
}

/* "ERROR: MESSAGE", or "ok". */
static char *make_call(sd_bus *bus, const Call *call) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_autoptr(sd_bus_message) m = NULL;
        int r;

        ck_assert_int_ge(sd_bus_message_new_method_call(bus, &m, "org.carved1", call->path, call->interface,
                                                        call->method),
                         0);
        for (unsigned i = 0; i < call->args->len; i++)
                append_arg(m, call->args->pdata[i], call->dry_run);
        r = sd_bus_call(bus, m, 20 * G_USEC_PER_SEC, &error, NULL);
        return visitor_result(r, &error);
}

/* What becomes of each, in a process of uid nobody. */
static GStrv as_nobody(VisitorAct act, const void *const *data, unsigned n) {
        Visitor visitor = visitor_send(NOBODY, act, data, n);

        return visitor_hear(&visitor, n);
}

static char *act_call(sd_bus *bus, const void *data) {
        return make_call(bus, data);
}

/* It went well, or got as far as not finding it: GetVf is given the address of a GPU. */
static bool is_answered(const char *said) {
        return g_str_equal(said, "ok") || g_str_has_prefix(said, "org.carved1.Error.NoSuch");
}

/* By carved itself, not by the bus's policy, which says: "Rejected send message, …". */
static bool is_denied(const char *said) {
        return g_str_has_prefix(said, SD_BUS_ERROR_ACCESS_DENIED ": Only root ");
}

/* ---- the promises ---- */

START_TEST(what_does_not_only_read_is_for_root) {
        g_autofree char *before = host_summary(), *after = NULL;
        g_autoptr(GPtrArray) calls = all_calls(client);
        unsigned jobs = client_count(client, JOB), denied = 0, read = 0;
        g_auto(GStrv) said = NULL;

        client_forget(client);
        said = as_nobody(act_call, (const void *const *) calls->pdata, calls->len);
        for (unsigned i = 0; i < calls->len; i++) {
                const Call *call = calls->pdata[i];
                bool reads = is_reading(call->method);

                ck_assert_msg(reads ? is_answered(said[i]) : is_denied(said[i]),
                              "nobody called %s.%s on %s: %s", call->interface, call->method, call->path,
                              said[i]);
                *(reads ? &read : &denied) += 1;
        }
        /* Not by having found nothing: each VF has a CreateVgpu. */
        ck_assert_uint_gt(denied, 50);
        ck_assert_uint_gt(read, G_N_ELEMENTS(reading));

        after = host_summary();
        ck_assert_str_eq(before, after);
        client_settle(client, 150);
        ck_assert_uint_eq(client_heard(client, "InterfacesAdded", NULL, NULL), 0);
        ck_assert_uint_eq(client_heard(client, "JobFinished", NULL, NULL), 0);
        ck_assert_uint_le(client_count(client, JOB), jobs); /* an old one may have gone */
}
END_TEST

static Call *dry_run(const char *path, const char *interface, const char *method, const char *arg) {
        Call *call = call_new(path, interface, method);

        g_ptr_array_add(call->args, g_strdup(arg));
        g_ptr_array_add(call->args, g_strdup("options a{sv}"));
        call->dry_run = true;
        return call;
}

static char *act_dry_create(sd_bus *bus, const void *data) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_autoptr(sd_bus_message) reply = NULL;
        const char *vgpu, *job;
        int r;

        r = sd_bus_call_method(bus, "org.carved1", data, HOST, "CreateVgpu", &error, &reply, "sa{sv}",
                               "A2-4Q", 1, "dry-run", "b", true);
        if (r >= 0)
                r = sd_bus_message_read(reply, "oo", &vgpu, &job);
        /* It is his own job. */
        if (r >= 0)
                r = sd_bus_call_method(bus, "org.carved1", job, JOB, "Cancel", &error, NULL, "a{sv}", 0);
        return r < 0 ? g_strdup_printf("%s: %s", error.name, error.message) : g_strdup(job);
}

START_TEST(a_dry_run_is_for_everyone_and_his_own) {
        g_autofree char *before = host_summary(), *after = NULL;
        g_autoptr(GVariant) uid = NULL;
        g_autoptr(GPtrArray) calls = g_ptr_array_new_with_free_func(call_free);
        g_auto(GStrv) enable = NULL, create = NULL;

        g_ptr_array_add(calls, dry_run(GPU_A2, "org.carved1.Sriov", "EnableVfs", "count u"));
        enable = as_nobody(act_call, (const void *const *) calls->pdata, calls->len);
        ck_assert_str_eq(enable[0], "ok");
        create = as_nobody(act_dry_create, (const void *const[]){ GPU_A2 }, 1);
        ck_assert_msg(g_str_has_prefix(create[0], ROOT "/job/"), "%s", create[0]);
        uid = client_get(client, create[0], JOB, "Uid");
        ck_assert_uint_eq(g_variant_get_uint32(uid), NOBODY);

        after = host_summary();
        ck_assert_str_eq(before, after);
}
END_TEST

/* On a GPU where it hangs long enough for both to try. */
static char *a_running_job(void) {
        g_autoptr(GVariant) reply = NULL;
        const char *vgpu, *job;

        ck_assert_int_eq(simctl_do("delay", "*/create", "2s"), 0);
        reply = client_call(client, GPU_A2, HOST, "CreateVgpu", NULL, "sa{sv}", "A2-4C", 3, "no-block", "b",
                            true, "uuid", "s", B, "params", "s", "enable_uvm=1");
        g_variant_get(reply, "(&o&o)", &vgpu, &job);
        ck_assert(client_wait(client, 5000, property_is, &(Expect){ job, JOB, "State", "running" }));
        return g_strdup(job);
}

START_TEST(a_job_of_root_is_cancelled_by_root_only) {
        g_autoptr(GPtrArray) calls = g_ptr_array_new_with_free_func(call_free);
        g_autofree char *before = host_summary(), *after = NULL, *job = a_running_job();
        g_auto(GStrv) said = NULL;
        Call *cancel = call_new(job, JOB, "Cancel");
        char *root;

        g_ptr_array_add(cancel->args, g_strdup("options a{sv}"));
        g_ptr_array_add(calls, cancel);
        said = as_nobody(act_call, (const void *const *) calls->pdata, calls->len);
        ck_assert_msg(is_denied(said[0]), "%s", said[0]);
        ck_assert(property_is(client, &(Expect){ job, JOB, "State", "running" }));

        root = make_call(client->bus, cancel);
        ck_assert_str_eq(root, "ok");
        g_free(root);
        ck_assert(client_wait(client, 10000, property_is, &(Expect){ job, JOB, "State", "cancelled" }));
        after = host_summary();
        ck_assert_str_eq(before, after);
}
END_TEST

static char *act_own(sd_bus *bus, const void *data) {
        int r = sd_bus_request_name(bus, data, SD_BUS_NAME_REPLACE_EXISTING | SD_BUS_NAME_QUEUE);

        return g_strdup(r < 0 ? g_strerror(-r) : "ok");
}

START_TEST(nobody_else_can_be_carved) {
        g_auto(GStrv) beside = NULL, instead = NULL;

        beside = as_nobody(act_own, (const void *const[]){ "org.carved1" }, 1);
        ck_assert_str_eq(beside[0], g_strerror(EACCES));
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        instead = as_nobody(act_own, (const void *const[]){ "org.carved1" }, 1);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        ck_assert_str_eq(instead[0], g_strerror(EACCES));
}
END_TEST

static char *act_log(sd_bus *bus, const void *data) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_set_property(bus, "org.carved1", "/org/freedesktop/LogControl1",
                                "org.freedesktop.LogControl1", data, &error, "s",
                                g_str_equal(data, "LogLevel") ? "debug" : "journal");
        return g_strdup(r < 0 ? error.name : "ok");
}

START_TEST(the_log_is_turned_up_by_root_only) {
        g_auto(GStrv) said = as_nobody(act_log, (const void *const[]){ "LogLevel", "LogTarget" }, 2);

        ck_assert_str_eq(said[0], SD_BUS_ERROR_ACCESS_DENIED);
        ck_assert_str_eq(said[1], SD_BUS_ERROR_ACCESS_DENIED);
}
END_TEST

/* With each of the four ways to make a vGPU: that root can was seen in set_up(). */
START_TEST(root_may_do_it_all) {
        for (unsigned i = 0; i < G_N_ELEMENTS(vgpus); i++) {
                g_autofree char *path = carve_find(client, vgpus[i][1]);
                const Card *card = card_find(vgpus[i][0]);
                g_autoptr(GVariant) labelled = NULL, kept = NULL, gone = NULL;
                const char *error;

                labelled =
                        client_call(client, path, VGPU, "SetLabels", NULL, "a{ss}a{sv}", 1, "team", "ml", 0);
                kept = client_call(client, path, VGPU, "SetPersistent", NULL, "ba{sv}", false, 0);
                error = card->has_params ? carve_params(client, vgpus[i][1], "enable_uvm=1", NULL) : NULL;
                ck_assert_ptr_null(error);
                gone = client_call(client, path, VGPU, "Destroy", NULL, "a{sv}", 0);
                error = carve_disable(client, card, false, NULL);
                ck_assert_ptr_null(error);
        }
        ck_assert_uint_eq(client_count(client, VGPU), 0);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("access");
        TCase *tcase = tcase_create("access"), *last = tcase_create("last");

        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, what_does_not_only_read_is_for_root);
        tcase_add_test(tcase, a_dry_run_is_for_everyone_and_his_own);
        tcase_add_test(tcase, a_job_of_root_is_cancelled_by_root_only);
        tcase_add_test(tcase, the_log_is_turned_up_by_root_only);
        tcase_add_test(tcase, root_may_do_it_all);
        suite_add_tcase(suite, tcase);
        tcase_set_timeout(last, 60);
        tcase_add_test(last, nobody_else_can_be_carved);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
