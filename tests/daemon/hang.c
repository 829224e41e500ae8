/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "cards.h"
#include "simctl.h"

/* A job's own write does not come back: NVIDIA's sriov-manage has been seen to sit in sriov_numvfs for a
 * minute. On host mixed. Arguments: for how many seconds it hangs while others are measured; `measure`: only
 * that. */

#define HUNG    GPU_A2
#define OTHER   "/org/carved1/gpu/0000_3b_00_0" /* T4: mdev straight on the GPU */
#define THIRD   "/org/carved1/gpu/0000_26_00_0"
#define TYPE    "nvidia-232"
#define NUMVFS  "/sys/devices/*/0000:08:00.0/sriov_numvfs"
#define CONFIG  "/etc/carved/carved.conf"
#define STALLED "org.carved1.Error.Stalled"

#define READS  1200U
#define ROUNDS 25U

static Client *client;
static GPtrArray *start; /* what was there before */
static unsigned seconds;

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

static double seconds_since(int64_t then) {
        return (double) (g_get_monotonic_time() - then) / 1e6;
}

/* ---- as it was ---- */

/* Seen by a fresh look, and by our own eyes. */
static void assert_as_at_start(void) {
        g_autoptr(GVariant) done = client_call(client, HUNG, "org.carved1.Gpu", "Refresh", NULL, "a{sv}", 0);
        g_autoptr(GPtrArray) now = describe_cards(client);
        g_autofree char *numvfs = shell("cat /sys/bus/pci/devices/0000:08:00.0/sriov_numvfs");
        g_autofree char *mdevs = shell("ls /sys/bus/mdev/devices");

        assert_same_lines(now, start);
        ck_assert_str_eq(numvfs, "0\n");
        ck_assert_str_eq(mdevs, "");
}

static bool gpu_is(const char *gpu, const char *state, unsigned ms) {
        return client_wait(client, ms, property_is, &(Expect){ gpu, "org.carved1.Gpu", "State", state });
}

static bool job_is(const char *job, const char *state) {
        return property_is(client, &(Expect){ job, "org.carved1.Job", "State", state });
}

static void restart(void) {
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        ck_assert(client_wait(client, 10000, property_is,
                              &(Expect){ "/org/carved1", MANAGER, "State", "running" }));
}

/* Whatever the last test left: it may have failed. */
static void set_up(void) {
        run("carved-simctl daemon status >&2 || carved-simctl daemon start; carved-simctl forget");
        client = client_new();
        if (g_file_test(CONFIG, G_FILE_TEST_EXISTS)) {
                run("rm " CONFIG);
                restart();
        }
        run("[ -e /sys/bus/pci/devices/0000:08:00.0 ] || carved-simctl plug 0000:08:00.0");
        run("for m in /sys/bus/mdev/devices/*; do [ ! -e $m ] || echo 1 > $m/remove; done");
        ck_assert(gpu_is(HUNG, "ready", 60000));
        run("/usr/lib/nvidia/sriov-manage -d 0000:08:00.0; carved-simctl settle");
        ck_assert(client_wait(client, 10000, object_is_gone, HUNG "/vf/0"));
        ck_assert(gpu_is(HUNG, "ready", 10000));
        client_settle(client, 300);
        client_forget(client);
        start = describe_cards(client);
}

static void tear_down(void) {
        g_clear_pointer(&start, g_ptr_array_unref);
        client = client_free(client);
}

/* ---- hanging ---- */

static void delay_write(unsigned ms) {
        g_autofree char *time = g_strdup_printf("%ums", ms);

        ck_assert_int_eq(simctl_do("delay", NUMVFS, time, "op=write", "times=1"), 0);
}

static bool write_has_begun(Client *c, const void *data) {
        g_autofree char *rules = shell("carved-simctl rules");

        return strstr(rules, "(matched 1 times)") != NULL;
}

/* A call whose reply is the path of a job. */
static char *ask_job(const char *member, bool no_block) {
        bool enable = g_str_equal(member, "EnableVfs");
        g_autoptr(GVariant) reply = enable ? client_call(client, HUNG, "org.carved1.Sriov", member, NULL,
                                                         "ua{sv}", 0, 1, "no-block", "b", no_block)
                                           : client_call(client, HUNG, "org.carved1.Sriov", member, NULL,
                                                         "a{sv}", 1, "no-block", "b", no_block);
        char *job;

        g_variant_get(reply, "(o)", &job);
        return job;
}

/* VFs are being enabled, and the kernel keeps the write for so long. The job. */
static char *hang(unsigned ms) {
        char *job;

        delay_write(ms);
        job = ask_job("EnableVfs", true);
        ck_assert(client_wait(client, 10000, write_has_begun, NULL));
        ck_assert(job_is(job, "running"));
        return job;
}

/* "result error-name", as JobFinished said; NULL: it did not yet. */
static char *end_of(const char *job) {
        for (unsigned i = 0; i < client->heard->len; i++) {
                const Signal *s = client->heard->pdata[i];
                const char *path, *result, *error;

                if (!g_str_equal(s->member, "JobFinished"))
                        continue;
                g_variant_get(s->args, "(t&o&s&s&s)", NULL, &path, &result, &error, NULL);
                if (g_str_equal(path, job))
                        return g_strdup_printf("%s %s", result, error);
        }
        return NULL;
}

static bool job_has_ended(Client *c, const void *job) {
        g_autofree char *end = end_of(job);

        return end != NULL;
}

static void assert_ends(const char *job, unsigned ms, const char *expected) {
        g_autofree char *end = NULL, *message = NULL;

        ck_assert_msg(client_wait(client, ms, job_has_ended, job), "%s goes on", job);
        end = end_of(job);
        message = client_get_string(client, job, "org.carved1.Job", "ErrorMessage");
        ck_assert_msg(g_str_equal(end, expected), "%s: %s", end, message);
}

static void cancel(const char *job) {
        int64_t then = g_get_monotonic_time();
        g_autoptr(GVariant) done = client_call(client, job, "org.carved1.Job", "Cancel", NULL, "a{sv}", 0);

        ck_assert_double_lt(seconds_since(then), 1);
}

static void disable_vfs(void) {
        g_autofree char *job = ask_job("DisableVfs", false);

        ck_assert(job_is(job, "done"));
}

/* ---- measuring ---- */

static int compare_times(const void *a, const void *b) {
        int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

        return x < y ? -1 : x > y;
}

/* The 99th of a hundred, in µs. */
static int64_t measure_reads(void) {
        static const struct {
                const char *path, *interface, *property;
        } what[] = {
                { HUNG, "org.carved1.Gpu", "State" },   { OTHER, "org.carved1.Gpu", "Available" },
                { HUNG, "org.carved1.Gpu", "Types" },   { THIRD, "org.carved1.Sriov", "NumVfs" },
                { HUNG, "org.carved1.Sriov", "Vfs" },   { OTHER, "org.carved1.VgpuHost", "CreatableTypes" },
                { HUNG, "org.carved1.Gpu", "Reasons" }, { THIRD, "org.carved1.Gpu", "State" },
        };
        int64_t times[READS];

        for (unsigned i = 0; i < READS; i++) {
                unsigned n = i % G_N_ELEMENTS(what);
                int64_t then = g_get_monotonic_time();
                g_autoptr(GVariant) value =
                        client_get(client, what[n].path, what[n].interface, what[n].property);

                times[i] = g_get_monotonic_time() - then;
                ck_assert_msg(value != NULL, "%s %s can't be read", what[n].path, what[n].property);
        }
        qsort(times, READS, sizeof times[0], compare_times);
        printf("# %u reads while a write hangs: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", READS,
               (double) times[READS / 2] / 1e3, (double) times[READS * 99 / 100] / 1e3,
               (double) times[READS - 1] / 1e3);
        return times[READS * 99 / 100];
}

static void make_and_destroy(void) {
        g_autoptr(GVariant) made =
                client_call(client, OTHER, "org.carved1.VgpuHost", "CreateVgpu", NULL, "sa{sv}", TYPE, 0);
        g_autoptr(GVariant) gone = NULL;
        const char *vgpu;

        g_variant_get(made, "(&o&o)", &vgpu, NULL);
        gone = client_call(client, vgpu, "org.carved1.Vgpu", "Destroy", NULL, "a{sv}", 0);
}

/* Median, in µs, of a vGPU made and destroyed on the other card. */
static int64_t measure_rounds(const char *when) {
        int64_t times[ROUNDS];

        for (unsigned i = 0; i < ROUNDS; i++) {
                int64_t then = g_get_monotonic_time();

                make_and_destroy();
                times[i] = g_get_monotonic_time() - then;
        }
        qsort(times, ROUNDS, sizeof times[0], compare_times);
        printf("# %u times create and destroy, %s: median %.1f ms, max %.1f ms\n", ROUNDS, when,
               (double) times[ROUNDS / 2] / 1e3, (double) times[ROUNDS - 1] / 1e3);
        return times[ROUNDS / 2];
}

/* ---- the tests ---- */

START_TEST(reads_and_other_cards_do_not_notice_a_write_that_hangs) {
        int64_t idle = measure_rounds("idle"), hanging, p99;
        g_autofree char *job = hang(seconds * 1000);

        p99 = measure_reads();
        hanging = measure_rounds("while a write hangs");
        fflush(stdout);
        ck_assert_msg(job_is(job, "running"), "it did not hang long enough to be measured");
        ck_assert_int_le(p99, 50 * 1000);
        ck_assert_int_le(hanging, 2 * idle);

        cancel(job);
        assert_ends(job, (seconds + 30) * 1000, "cancelled org.carved1.Error.Cancelled");
        assert_as_at_start();
}
END_TEST

START_TEST(the_job_of_a_write_that_hangs_tells_where_it_is) {
        g_autofree char *job = hang(3000), *gpu = NULL;
        g_autoptr(GVariant) plan = client_get(client, job, "org.carved1.Job", "Plan");
        g_autoptr(GVariant) step = client_get(client, job, "org.carved1.Job", "Step");
        g_autoptr(GVariant) steps = client_get(client, job, "org.carved1.Job", "Steps");
        const char *words;

        ck_assert(job_is(job, "running"));
        ck_assert(gpu_is(HUNG, "busy", 0));
        gpu = client_get_string(client, job, "org.carved1.Job", "Gpu");
        ck_assert_str_eq(gpu, HUNG);
        ck_assert_uint_eq(g_variant_n_children(plan), g_variant_get_uint32(steps));
        ck_assert_uint_eq(g_variant_get_uint32(step), 1); /* the first: it is the one that writes */
        g_variant_get_child(plan, 0, "&s", &words);
        ck_assert_ptr_nonnull(strstr(words, "sriov-manage -e 0000:08:00.0"));

        assert_ends(job, 20000, "done ");
        ck_assert(object_is_there(client, HUNG "/vf/15"));
        disable_vfs();
        assert_as_at_start();
}
END_TEST

START_TEST(an_equal_call_joins_the_job_that_hangs) {
        g_autofree char *job = hang(4000), *again = ask_job("EnableVfs", true), *held = NULL;

        ck_assert_str_eq(again, job);
        ck_assert(job_is(job, "running"));
        held = ask_job("EnableVfs", false);
        ck_assert_str_eq(held, job);
        ck_assert(job_is(job, "done"));
        ck_assert(object_is_there(client, HUNG "/vf/15"));
        disable_vfs();
        assert_as_at_start();
}
END_TEST

START_TEST(another_call_waits_for_it_and_can_be_cancelled_at_once) {
        g_autofree char *job = hang(4000), *other = ask_job("DisableVfs", true);

        ck_assert_str_ne(other, job);
        ck_assert(job_is(other, "waiting"));
        cancel(other);
        assert_ends(other, 1000, "cancelled org.carved1.Error.Cancelled");
        ck_assert(job_is(other, "cancelled"));
        ck_assert(job_is(job, "running"));

        assert_ends(job, 20000, "done ");
        ck_assert(object_is_there(client, HUNG "/vf/15"));
        disable_vfs();
        assert_as_at_start();
}
END_TEST

START_TEST(a_cancelled_job_is_undone_when_its_write_comes_back) {
        g_autofree char *job = hang(4000);
        int64_t then = g_get_monotonic_time();

        cancel(job);
        client_settle(client, 500);
        ck_assert(job_is(job, "running")); /* a write can't be interrupted */
        assert_ends(job, 20000, "cancelled org.carved1.Error.Cancelled");
        ck_assert_double_gt(seconds_since(then), 3);
        ck_assert(job_is(job, "cancelled"));
        assert_as_at_start();
}
END_TEST

/* ---- past the deadline ---- */

static char *find_stalled_job(void) {
        g_autoptr(GVariant) objects = client_objects(client);
        const char *path;
        GVariantIter iter;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_next(&iter, "{&o@a{sa{sv}}}", &path, NULL))
                if (g_str_has_prefix(path, "/org/carved1/job/") && job_is(path, "stalled"))
                        return g_strdup(path);

        ck_abort_msg("no job is stalled");
}

/* Its write takes 6 s, and 2 are allowed: who asked has been told. The job. */
static char *stall(void) {
        int64_t then;
        const char *error;

        run("mkdir -p /etc/carved && printf '[Manager]\\nStepTimeoutSec=2\\n' > " CONFIG);
        restart();
        client_forget(client);
        delay_write(6000);
        then = g_get_monotonic_time();
        ck_assert_ptr_null(
                client_call(client, HUNG, "org.carved1.Sriov", "EnableVfs", &error, "ua{sv}", 0, 0));
        ck_assert_str_eq(error, STALLED);
        ck_assert_double_gt(seconds_since(then), 1.9);
        ck_assert_double_lt(seconds_since(then), 4);
        return find_stalled_job();
}

START_TEST(who_asked_for_a_late_write_is_told_and_it_is_undone_when_it_returns) {
        g_autofree char *job = stall(), *name = NULL;

        ck_assert(gpu_is(HUNG, "stalled", 0));
        ck_assert(job_is(job, "stalled"));

        assert_ends(job, 20000, "failed " STALLED);
        ck_assert(job_is(job, "failed"));
        name = client_get_string(client, job, "org.carved1.Job", "ErrorName");
        ck_assert_str_eq(name, STALLED);
        ck_assert(gpu_is(HUNG, "ready", 5000));
        assert_as_at_start();
}
END_TEST

static void assert_refused(const char *interface, const char *member, bool with_count) {
        int64_t then = g_get_monotonic_time();
        const char *error = NULL;
        g_autoptr(GVariant) reply =
                with_count ? client_call(client, HUNG, interface, member, &error, "ua{sv}", 0, 0)
                           : client_call(client, HUNG, interface, member, &error, "a{sv}", 0);

        ck_assert_msg(g_strcmp0(error, STALLED) == 0, "%s: %s after %.1f s", member, error ?: "went well",
                      seconds_since(then));
        ck_assert_msg(seconds_since(then) < 1, "%s: refused only after %.1f s", member, seconds_since(then));
}

START_TEST(calls_on_a_stalled_card_are_refused_at_once) {
        g_autofree char *job = stall();

        assert_refused("org.carved1.Gpu", "Refresh", false);
        assert_refused("org.carved1.Sriov", "DisableVfs", false);
        assert_refused("org.carved1.Sriov", "EnableVfs",
                       true); /* equal, but that one neither waits nor runs */
        ck_assert(job_is(job, "stalled"));
        assert_ends(job, 20000, "failed " STALLED);
        assert_as_at_start();
}
END_TEST

/* The last look, to see what was done, is no write, but it can hang as well. */
START_TEST(who_was_told_of_an_undo_gets_one_though_all_steps_were_done) {
        const char *error;
        g_autofree char *job = NULL;

        ck_assert_int_eq(
                simctl_do("delay", "/sys/devices/*/0000:3b:00.0/numa_node", "8s", "op=read", "times=1"), 0);
        ck_assert_ptr_null(
                client_call(client, OTHER, "org.carved1.VgpuHost", "CreateVgpu", &error, "sa{sv}", TYPE, 0));
        ck_assert_str_eq(error, STALLED);
        job = find_stalled_job();
        assert_ends(job, 20000, "failed " STALLED);
        ck_assert(gpu_is(OTHER, "ready", 5000));
        assert_as_at_start();
}
END_TEST

START_TEST(other_cards_work_while_one_is_stalled) {
        g_autofree char *job = stall();

        ck_assert(gpu_is(OTHER, "ready", 0));
        make_and_destroy();
        ck_assert(job_is(job, "stalled"));
        assert_ends(job, 20000, "failed " STALLED);
        assert_as_at_start();
}
END_TEST

/* Both are destroyed, and are only to be seen as gone, when one card is pulled: all or nothing. */
START_TEST(a_card_pulled_during_a_job_over_two_turns_the_job_back) {
        static const char on_hung[] = "8f1a7a52-3c5d-4d0e-9c8f-6f2f1c0b7a11";
        static const char on_other[] = "8f1a7a52-3c5d-4d0e-9c8f-6f2f1c0b7a12";
        g_autofree char *enabled = ask_job("EnableVfs", false);
        g_autoptr(GVariant) one = client_call(client, HUNG, "org.carved1.VgpuHost", "CreateVgpu", NULL,
                                              "sa{sv}", "A2-4Q", 1, "uuid", "s", on_hung);
        g_autoptr(GVariant) two = client_call(client, OTHER, "org.carved1.VgpuHost", "CreateVgpu", NULL,
                                              "sa{sv}", TYPE, 1, "uuid", "s", on_other);
        g_autoptr(GVariant) reply = NULL, back = NULL, gone = NULL;
        g_autofree char *disabled = NULL;
        const char *job;

        client_settle(client, 500);
        ck_assert_int_eq(
                simctl_do("delay", "/sys/devices/*/0000:3b:00.0/numa_node", "3s", "op=read", "times=1"), 0);
        reply = client_call(client, "/org/carved1", MANAGER, "DestroyVgpus", NULL, "asa{sv}", 2, on_hung,
                            on_other, 1, "no-block", "b", true);
        g_variant_get(reply, "(&o)", &job);
        ck_assert(client_wait(client, 10000, write_has_begun, NULL)); /* the read, that is */
        ck_assert_int_eq(simctl_do("unplug", "0000:08:00.0"), 0);
        assert_ends(job, 20000, "failed org.carved1.Error.NoSuchGpu");
        ck_assert(gpu_is(OTHER, "ready", 5000));
        back = client_call(client, "/org/carved1", MANAGER, "GetVgpu", NULL, "s", on_other);

        /* Back in its slot, the card gets back what was on it: nobody withdrew that. */
        ck_assert_int_eq(simctl_do("plug", "0000:08:00.0"), 0);
        ck_assert(client_wait(client, 20000, object_is_there,
                              HUNG "/vf/0/vgpu/8f1a7a52_3c5d_4d0e_9c8f_6f2f1c0b7a11"));
        gone = client_call(client, "/org/carved1", MANAGER, "DestroyVgpus", NULL, "asa{sv}", 2, on_hung,
                           on_other, 0);
        disabled = ask_job("DisableVfs", false);
        ck_assert(gpu_is(HUNG, "ready", 10000)); /* in another IOMMU group: not quite as at the start */
        ck_assert_uint_eq(client_count(client, "org.carved1.Vgpu"), 0);
        ck_assert_uint_eq(client_count(client, "org.carved1.VirtualFunction"), 0);
}
END_TEST

/* ---- told to stop ---- */

/* The name of the error that a call was answered with, for as long as the answer is waited for. */
static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *unused) {
        const sd_bus_error *error = sd_bus_message_get_error(m);

        *(const char **) userdata = error ? g_intern_string(error->name) : "none";
        return 0;
}

static bool is_answered(Client *c, const void *answer) {
        return *(const char *const *) answer != NULL;
}

START_TEST(a_daemon_told_to_stop_tells_its_callers_and_leaves_the_write_behind) {
        const char *running = NULL, *waiting = NULL;
        int64_t then;

        delay_write(20000);
        ck_assert_int_ge(sd_bus_call_method_async(client->bus, NULL, "org.carved1", HUNG, "org.carved1.Sriov",
                                                  "EnableVfs", on_reply, &running, "ua{sv}", 0, 0),
                         0);
        ck_assert(client_wait(client, 10000, write_has_begun, NULL));
        ck_assert_int_ge(sd_bus_call_method_async(client->bus, NULL, "org.carved1", HUNG, "org.carved1.Sriov",
                                                  "DisableVfs", on_reply, &waiting, "a{sv}", 0),
                         0);
        client_settle(client, 500);
        ck_assert_ptr_null(running);
        ck_assert_ptr_null(waiting);

        then = g_get_monotonic_time();
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        printf("# stopped after %.1f s\n", seconds_since(then));
        fflush(stdout);
        ck_assert_double_lt(seconds_since(then), 15); /* then it is killed */
        ck_assert(client_wait(client, 1000, is_answered, &running));
        ck_assert(client_wait(client, 1000, is_answered, &waiting));
        ck_assert_str_eq(running, "org.carved1.Error.Cancelled");
        ck_assert_str_eq(waiting, "org.carved1.Error.Cancelled");

        /* The next one finds the card held; when the write is through, it is undone: nobody was promised it. */
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
        ck_assert(gpu_is(HUNG, "stalled", 10000));
        ck_assert(gpu_is(HUNG, "ready", 60000));
        ck_assert(client_wait(client, 20000, object_is_gone, HUNG "/vf/0"));
        ck_assert(gpu_is(HUNG, "ready", 20000));
        assert_as_at_start();
}
END_TEST

static void add_others(TCase *tcase) {
        tcase_add_test(tcase, the_job_of_a_write_that_hangs_tells_where_it_is);
        tcase_add_test(tcase, an_equal_call_joins_the_job_that_hangs);
        tcase_add_test(tcase, another_call_waits_for_it_and_can_be_cancelled_at_once);
        tcase_add_test(tcase, a_cancelled_job_is_undone_when_its_write_comes_back);
        tcase_add_test(tcase, who_asked_for_a_late_write_is_told_and_it_is_undone_when_it_returns);
        tcase_add_test(tcase, calls_on_a_stalled_card_are_refused_at_once);
        tcase_add_test(tcase, who_was_told_of_an_undo_gets_one_though_all_steps_were_done);
        tcase_add_test(tcase, other_cards_work_while_one_is_stalled);
        tcase_add_test(tcase, a_card_pulled_during_a_job_over_two_turns_the_job_back);
        tcase_add_test(tcase, a_daemon_told_to_stop_tells_its_callers_and_leaves_the_write_behind);
}

int main(int argc, char **argv) {
        Suite *suite = suite_create("hang");
        TCase *tcase = tcase_create("hang");

        seconds = argc > 1 ? (unsigned) atoi(argv[1]) : 15;
        tcase_set_timeout(tcase, 120 + seconds);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        if (argc > 2)
                tcase_add_test(tcase, reads_and_other_cards_do_not_notice_a_write_that_hangs);
        else
                add_others(tcase);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
