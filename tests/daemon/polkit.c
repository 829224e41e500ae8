/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"
#include "carver.h"
#include "polkitd.h"
#include "simctl.h"
#include "visitor.h"

/* Who may do what where there is polkit: the real one, with rules, with people, without an answer, and gone.
 * On host a2. */

#define A    "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B    "5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11"
#define VGPU "org.carved1.Vgpu"
#define JOB  "org.carved1.Job"
#define HOST "org.carved1.VgpuHost"

#define DENIED      SD_BUS_ERROR_ACCESS_DENIED ": "
#define INTERACTIVE SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED ": "

/* On this one card, vGPU A may be made, destroyed and changed, and work on it called off; labels of the card
 * may be set; VFs may never be switched off. All else is for those who prove themselves. */
static const char rules[] =
        "polkit.addRule(function(action, subject) {\n"
        "        var gpu = action.lookup('gpu'), verb = action.lookup('verb'), uuid = "
        "action.lookup('uuid');\n"
        "        if (subject.user != 'nobody' || gpu != '0000:08:00.0')\n"
        "                return;\n"
        "        if (action.id == 'org.carved1.manage-vgpus' && uuid == '" A "')\n"
        "                return polkit.Result.YES;\n"
        "        if (action.id == 'org.carved1.configure-gpu' && verb == 'set-labels' && uuid == '')\n"
        "                return polkit.Result.YES;\n"
        "        if (action.id == 'org.carved1.configure-gpu' && verb == 'disable-vfs')\n"
        "                return polkit.Result.NO;\n"
        "});\n";

static Client *client;
static const char *policy;

static void set_up(void) {
        client = client_new();
        MUST(carve_enable(client, card_find("a2"), &text_));
        polkitd_start(policy, rules);
        client_settle(client, 150);
        client_forget(client);
}

static void tear_down(void) {
        polkitd_end();
        simctl_do("forget");
        carve_destroy(client, A, NULL);
        carve_destroy(client, B, NULL);
        client = client_free(client);
}

/* ---- what nobody asks for ---- */

typedef struct Ask {
        const char *path, *interface, *member, *uuid;
        bool interactive;
} Ask;

static void append_args(sd_bus_message *m, const Ask *ask) {
        if (g_str_equal(ask->member, "CreateVgpu")) {
                ck_assert_int_ge(sd_bus_message_append(m, "s", "A2-4Q"), 0);
                if (ask->uuid)
                        ck_assert_int_ge(sd_bus_message_append(m, "a{sv}", 1, "uuid", "s", ask->uuid), 0);
                else
                        ck_assert_int_ge(sd_bus_message_append(m, "a{sv}", 0), 0);
                return;
        }
        if (g_str_equal(ask->member, "DestroyVgpus"))
                ck_assert_int_ge(sd_bus_message_append(m, "as", 1, ask->uuid), 0);
        if (g_str_equal(ask->member, "SetLabels"))
                ck_assert_int_ge(sd_bus_message_append(m, "a{ss}", 1, "team", "ml"), 0);
        ck_assert_int_ge(sd_bus_message_append(m, "a{sv}", 0), 0);
}

static char *act_ask(sd_bus *bus, const void *data) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        const Ask *ask = data;
        sd_bus_message *m = NULL;
        int r;

        ck_assert_int_ge(sd_bus_message_new_method_call(bus, &m, "org.carved1", ask->path, ask->interface,
                                                        ask->member),
                         0);
        append_args(m, ask);
        ck_assert_int_ge(sd_bus_message_set_allow_interactive_authorization(m, ask->interactive), 0);
        r = sd_bus_call(bus, m, 60 * G_USEC_PER_SEC, &error, NULL);
        sd_bus_message_unref(m);
        return visitor_result(r, &error);
}

/* An agent for its process has to be there before it asks. */
static char *act_wait_and_ask(sd_bus *bus, const void *data) {
        raise(SIGSTOP);
        return act_ask(bus, data);
}

static const Ask make_a = { GPU_A2, HOST, "CreateVgpu", A }, make_b = { GPU_A2, HOST, "CreateVgpu", B },
                 make_b_asking = { GPU_A2, HOST, "CreateVgpu", B, true },
                 make_any = { GPU_A2, HOST, "CreateVgpu", NULL },
                 label_gpu = { GPU_A2, "org.carved1.Gpu", "SetLabels" },
                 disable = { GPU_A2, "org.carved1.Sriov", "DisableVfs" };

static Visitor send_nobody(const Ask *ask) {
        return visitor_send(NOBODY, act_ask, (const void *const[]){ ask }, 1);
}

/* @prefix of what nobody is told. */
static void assert_told(Visitor visitor, const char *prefix) {
        g_auto(GStrv) said = visitor_hear(&visitor, 1);

        ck_assert_msg(g_str_has_prefix(said[0], prefix), "%s", said[0]);
}

static void assert_answer(const Ask *ask, const char *prefix) {
        assert_told(send_nobody(ask), prefix);
}

static bool is_there(const char *uuid) {
        g_autofree char *path = carve_find(client, uuid);

        return path != NULL;
}

static Ask of_vgpu(const char *path, const char *member) {
        return (Ask){ path, VGPU, member };
}

/* ---- the promises ---- */

START_TEST(rules_decide_by_action_gpu_verb_and_vgpu) {
        g_autofree char *a = NULL, *b = NULL;
        Ask label_a, label_b, destroy_b;

        assert_answer(&make_a, "ok");
        ck_assert(is_there(A));
        assert_answer(&make_b, INTERACTIVE);
        assert_answer(&make_any, INTERACTIVE);
        assert_answer(&disable, DENIED "polkit denies uid 65534 this: org.carved1.configure-gpu, "
                                       "disable-vfs, GPU 0000:08:00.0");
        assert_answer(&label_gpu, "ok");

        MUST(carve_create(client, GPU_A2, "A2-4Q", B, NULL, &text_));
        a = carve_find(client, A);
        b = carve_find(client, B);
        label_a = of_vgpu(a, "SetLabels");
        label_b = of_vgpu(b, "SetLabels");
        destroy_b = of_vgpu(b, "Destroy");
        assert_answer(&label_a, "ok");
        assert_answer(&label_b, INTERACTIVE);
        assert_answer(&destroy_b, INTERACTIVE);
        ck_assert(is_there(B));
        assert_answer(&(Ask){ "/org/carved1", MANAGER, "DestroyVgpus", A }, "ok");
        ck_assert(!is_there(A));
}
END_TEST

START_TEST(one_job_is_cancelled_by_whom_polkit_lets) {
        g_autoptr(GVariant) first = NULL, second = NULL;
        const char *path, *on_a, *on_b;

        ck_assert_int_eq(simctl_do("delay", "*/create", "2s"), 0);
        first = client_call(client, GPU_A2, HOST, "CreateVgpu", NULL, "sa{sv}", "A2-4Q", 2, "no-block", "b",
                            true, "uuid", "s", A);
        second = client_call(client, GPU_A2, HOST, "CreateVgpu", NULL, "sa{sv}", "A2-4Q", 2, "no-block", "b",
                             true, "uuid", "s", B);
        g_variant_get(first, "(&o&o)", &path, &on_a);
        g_variant_get(second, "(&o&o)", &path, &on_b);
        assert_answer(&(Ask){ on_b, JOB, "Cancel" }, INTERACTIVE);
        assert_answer(&(Ask){ on_a, JOB, "Cancel" }, "ok");
        ck_assert(client_wait(client, 10000, property_is, &(Expect){ on_a, JOB, "State", "cancelled" }));
        ck_assert(client_wait(client, 10000, property_is, &(Expect){ on_b, JOB, "State", "done" }));
}
END_TEST

/* With an agent: it stops until that is there. */
static Visitor send_nobody_with(Agent *agent, const Ask *ask) {
        Visitor visitor = visitor_send(NOBODY, act_wait_and_ask, (const void *const[]){ ask }, 1);

        g_free(shell("until grep -q '^State:.*T' /proc/%d/status; do :; done", visitor.pid));
        agent_register(agent, client, visitor.pid);
        ck_assert_int_eq(kill(visitor.pid, SIGCONT), 0);
        return visitor;
}

static bool agent_was_asked(Client *c, const void *agent) {
        return ((const Agent *) agent)->begun > 0;
}

static bool agent_was_called_off(Client *c, const void *agent) {
        return ((const Agent *) agent)->cancelled > 0;
}

START_TEST(who_proves_himself_may) {
        __attribute__((cleanup(agent_end))) Agent agent = { AGENT_PROVES };
        Visitor visitor = send_nobody_with(&agent, &make_b_asking);

        ck_assert(client_wait(client, 10000, agent_was_asked, &agent));
        assert_told(visitor, "ok");
        ck_assert(is_there(B));
}
END_TEST

START_TEST(who_declines_to_may_not) {
        __attribute__((cleanup(agent_end))) Agent agent = { AGENT_DECLINES };
        Visitor visitor = send_nobody_with(&agent, &make_b_asking);

        ck_assert(client_wait(client, 10000, agent_was_asked, &agent));
        assert_told(visitor, DENIED);
        ck_assert(!is_there(B));
}
END_TEST

START_TEST(nobody_is_bothered_who_did_not_ask_for_it) {
        __attribute__((cleanup(agent_end))) Agent agent = { AGENT_PROVES };
        Visitor visitor = send_nobody_with(&agent, &make_b);

        assert_told(visitor, INTERACTIVE);
        client_settle(client, 100);
        ck_assert_uint_eq(agent.begun, 0);
}
END_TEST

START_TEST(who_leaves_while_he_is_asked_has_asked_for_nothing) {
        __attribute__((cleanup(agent_end))) Agent agent = { AGENT_WAITS };
        Visitor visitor = send_nobody_with(&agent, &make_b_asking);

        ck_assert(client_wait(client, 10000, agent_was_asked, &agent));
        visitor_leave(&visitor);
        ck_assert(client_wait(client, 5000, agent_was_called_off, &agent));
        ck_assert(!is_there(B));
        ck_assert_uint_eq(client_heard(client, "InterfacesAdded", NULL, NULL), 0);
}
END_TEST

START_TEST(who_leaves_while_polkit_hangs_has_asked_for_nothing) {
        Spy *spy = spy_new();
        Visitor visitor;

        polkitd_kill(SIGSTOP);
        visitor = send_nobody(&make_a);
        spy_wait(spy, 1, 0);
        visitor_leave(&visitor);
        spy_wait(spy, 1, 1);
        polkitd_kill(SIGCONT);
        /* Behind the first in polkit's queue, and in carved's. */
        assert_answer(&make_b, INTERACTIVE);
        client_settle(client, 200);
        ck_assert(!is_there(A));
        ck_assert_uint_eq(client_heard(client, "InterfacesAdded", NULL, NULL), 0);
        assert_answer(&make_a, "ok");
        spy_free(spy);
}
END_TEST

/* Sends its call so often, without waiting, and says what the last one was told. */
static char *act_flood(sd_bus *bus, const void *data) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *m = NULL, *reply = NULL;
        int r;

        /* Then carved knows who asks. */
        ck_assert_int_ge(sd_bus_call_method(bus, "org.carved1", GPU_A2, HOST, "CreateVgpu", NULL, NULL,
                                            "sa{sv}", "A2-4Q", 1, "dry-run", "b", true),
                         0);
        for (unsigned i = 0; i < 32; i++) {
                ck_assert_int_ge(
                        sd_bus_message_new_method_call(bus, &m, "org.carved1", GPU_A2, HOST, "CreateVgpu"),
                        0);
                append_args(m, &make_a);
                ck_assert_int_ge(sd_bus_send(bus, m, NULL), 0);
                m = sd_bus_message_unref(m);
        }
        r = sd_bus_call_method(bus, "org.carved1", GPU_A2, "org.carved1.Sriov", "DisableVfs", &error, &reply,
                               "a{sv}", 0);
        return visitor_result(r, &error);
}

START_TEST(a_polkit_that_hangs_costs_root_and_readers_nothing) {
        Visitor visitor;
        Spy *spy = spy_new();

        polkitd_kill(SIGSTOP);
        visitor = visitor_send(NOBODY, act_flood, (const void *const[]){ NULL }, 1);
        assert_told(visitor, SD_BUS_ERROR_LIMITS_EXCEEDED ": 32 calls of uid 65534 wait for polkit already");
        spy_wait(spy, 32, 32); /* it has left */
        MUST(carve_create(client, GPU_A2, "A2-4Q", B, NULL, &text_));
        ck_assert(is_there(B));
        polkitd_kill(SIGCONT);
        assert_answer(&disable, DENIED);
        ck_assert(!is_there(A));
        spy_free(spy);
}
END_TEST

START_TEST(a_polkit_that_dies_lets_nobody_pass) {
        Visitor visitor;
        Spy *spy = spy_new();

        polkitd_kill(SIGSTOP);
        visitor = send_nobody(&make_a);
        spy_wait(spy, 1, 0);
        polkitd_end();
        assert_told(visitor, DENIED "Only root may change anything");
        assert_answer(&make_a, DENIED "Only root may change anything");
        ck_assert(!is_there(A));
        spy_free(spy);
}
END_TEST

/* What was A on this card when polkit was asked is on none when it has answered: its yes is for something
 * else. */
START_TEST(the_answer_counts_for_what_was_asked) {
        Ask destroy = { "/org/carved1", MANAGER, "DestroyVgpus", A };
        Visitor visitor;
        Spy *spy = spy_new();

        MUST(carve_create(client, GPU_A2, "A2-4Q", A, NULL, &text_));
        polkitd_kill(SIGSTOP);
        visitor = send_nobody(&destroy);
        spy_wait(spy, 1, 0);
        MUST(carve_destroy(client, A, &text_));
        polkitd_kill(SIGCONT);
        assert_told(visitor, INTERACTIVE);
        spy_wait(spy, 2, 0);
        spy_free(spy);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("polkit");
        TCase *tcase = tcase_create("polkit"), *last = tcase_create("last");

        policy = argv[1];
        tcase_set_timeout(tcase, 120);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, rules_decide_by_action_gpu_verb_and_vgpu);
        tcase_add_test(tcase, one_job_is_cancelled_by_whom_polkit_lets);
        tcase_add_test(tcase, who_proves_himself_may);
        tcase_add_test(tcase, who_declines_to_may_not);
        tcase_add_test(tcase, nobody_is_bothered_who_did_not_ask_for_it);
        tcase_add_test(tcase, who_leaves_while_he_is_asked_has_asked_for_nothing);
        tcase_add_test(tcase, who_leaves_while_polkit_hangs_has_asked_for_nothing);
        tcase_add_test(tcase, a_polkit_that_hangs_costs_root_and_readers_nothing);
        tcase_add_test(tcase, a_polkit_that_dies_lets_nobody_pass);
        tcase_add_test(tcase, the_answer_counts_for_what_was_asked);
        suite_add_tcase(suite, tcase);
        tcase_set_timeout(last, 60);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
