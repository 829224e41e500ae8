/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "../tap.h"
#include "cards.h"

/* Two hundred clients who know nothing of each other make and destroy vGPUs at random, all at the same time.
 * On host scale:8x16x4. Arguments: for how many seconds, and the seed if it is to be an old one. */

#define CALLERS     200U
#define GPUS        8U
#define VFS         16U
#define TYPES       4U
#define SEVERAL_MAX 3U
#define WRONG_MAX   20U /* enough to see what is wrong */
#define ANSWER_USEC (60 * G_USEC_PER_SEC)
#define RATE_MIN    2U /* vGPUs made and destroyed per second, on the slowest machine with the slowest build */

typedef enum Kind { CREATE, DESTROY, DESTROY_SEVERAL, _KIND_MAX } Kind;

static const char *const kind_names[_KIND_MAX] = {
        [CREATE] = "VgpuHost.CreateVgpu",
        [DESTROY] = "Vgpu.Destroy",
        [DESTROY_SEVERAL] = "Manager.DestroyVgpus",
};

/* Who comes too late gets one of these, and nothing else is anybody's fault but carved's. */
static const char *const expected[_KIND_MAX][6] = {
        [CREATE] = { "org.carved1.Error.NoCapacity", "org.carved1.Error.TypeNotAvailable",
                     "org.carved1.Error.Conflict", "org.carved1.Error.Exists", SD_BUS_ERROR_LIMITS_EXCEEDED },
        [DESTROY] = { "org.carved1.Error.NoSuchVgpu", "org.carved1.Error.Conflict",
                      SD_BUS_ERROR_UNKNOWN_OBJECT, SD_BUS_ERROR_UNKNOWN_METHOD,
                      SD_BUS_ERROR_LIMITS_EXCEEDED },
        [DESTROY_SEVERAL] = { "org.carved1.Error.NoSuchVgpu", "org.carved1.Error.Conflict",
                              SD_BUS_ERROR_LIMITS_EXCEEDED },
};

/* One of them, and the call it waits for. */
typedef struct Caller {
        sd_bus *bus;
        bool waits, no_block;
        Kind kind;
        char *object; /* it was called on */
        char *uuid;   /* it was called with; NULL: carved chooses */
        int64_t since;
} Caller;

/* What came of it. The tests run in children of the process that has seen it. */
static struct {
        unsigned seconds;
        uint32_t seed;
        GRand *random;
        sd_event *event;
        int64_t end;
        Caller callers[CALLERS];
        unsigned waiting;
        char *last_uuid; /* for who wants what another wants, too */

        sd_bus *watcher;
        GHashTable *live; /* path of each vGPU */
        unsigned on_vf[GPUS][VFS], on_gpu[GPUS], max, added, removed, most;

        unsigned done[_KIND_MAX], begun;
        GHashTable *errors;                /* name → how often */
        GPtrArray *wrong, *broken, *hangs; /* sentences */
        bool quiet;
        char *dump;
} crowd;

static unsigned below(unsigned n) {
        return (unsigned) g_rand_int_range(crowd.random, 0, (int32_t) n);
}

static bool chance(unsigned percent) {
        return below(100) < percent;
}

G_GNUC_PRINTF(2, 3) static void note(GPtrArray *list, const char *format, ...) {
        va_list args;

        va_start(args, format);
        if (list->len < WRONG_MAX)
                g_ptr_array_add(list, g_strdup_vprintf(format, args));
        va_end(args);
}

static char *gpu_path(unsigned gpu) {
        return g_strdup_printf("/org/carved1/gpu/0000_%02x_00_0", gpu + 1);
}

/* ---- who watches ---- */

/* False: that is no vGPU. */
static bool parse_vgpu(const char *path, unsigned *ret_gpu, unsigned *ret_vf, char ret_uuid[static 37]) {
        unsigned bus;

        if (sscanf(path, "/org/carved1/gpu/0000_%02x_00_0/vf/%u/vgpu/%36s", &bus, ret_vf, ret_uuid) != 3)
                return false;

        ck_assert(bus >= 1 && bus <= GPUS && *ret_vf < VFS);
        *ret_gpu = bus - 1;
        g_strdelimit(ret_uuid, "_", '-');
        return true;
}

static void came(const char *path, unsigned gpu, unsigned vf) {
        if (!g_hash_table_add(crowd.live, g_strdup(path)))
                note(crowd.broken, "%s came twice", path);
        if (++crowd.on_vf[gpu][vf] > 1)
                note(crowd.broken, "%s is one of %u on its VF", path, crowd.on_vf[gpu][vf]);
        if (++crowd.on_gpu[gpu] > crowd.max)
                note(crowd.broken, "%s is one of %u on its GPU", path, crowd.on_gpu[gpu]);
        crowd.most = MAX(crowd.most, crowd.on_gpu[gpu]);
        crowd.added++;
}

static void went(const char *path, unsigned gpu, unsigned vf) {
        if (!g_hash_table_remove(crowd.live, path)) {
                note(crowd.broken, "%s went and had not come", path);
                return;
        }
        crowd.on_vf[gpu][vf]--;
        crowd.on_gpu[gpu]--;
        crowd.removed++;
}

static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *path = "";
        char uuid[37];
        unsigned gpu, vf;

        sd_bus_message_read(m, "o", &path);
        if (!parse_vgpu(path, &gpu, &vf, uuid))
                return 0;

        if (g_str_equal(sd_bus_message_get_member(m), "InterfacesAdded"))
                came(path, gpu, vf);
        else
                went(path, gpu, vf);
        return 0;
}

/* Signals and replies of one sender come in order: after the reply, all from before it are here. */
static void catch_up(void) {
        int r;

        ck_assert_int_ge(sd_bus_call_method(crowd.watcher, "org.carved1", "/org/carved1",
                                            "org.freedesktop.DBus.Peer", "Ping", NULL, NULL, ""),
                         0);
        while ((r = sd_bus_process(crowd.watcher, NULL)) > 0)
                ;
        ck_assert_int_eq(r, 0);
}

/* NULL: there is none. */
static const char *any_vgpu(void) {
        unsigned n = g_hash_table_size(crowd.live), chosen = n > 0 ? below(n) : 0;
        GHashTableIter iter;
        void *path = NULL;

        g_hash_table_iter_init(&iter, crowd.live);
        for (unsigned i = 0; n > 0 && i <= chosen; i++)
                g_hash_table_iter_next(&iter, &path, NULL);
        return path;
}

/* ---- who calls ---- */

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *unused);

static sd_bus_message *call_new(Caller *c, Kind kind) {
        g_auto(GStrv) words = g_strsplit(kind_names[kind], ".", 2);
        g_autofree char *interface = g_strdup_printf("org.carved1.%s", words[0]);
        sd_bus_message *m = NULL;

        c->kind = kind;
        c->no_block = chance(25);
        ck_assert_int_ge(
                sd_bus_message_new_method_call(c->bus, &m, "org.carved1", c->object, interface, words[1]), 0);
        return m;
}

static void send_call(Caller *c, sd_bus_message *m) {
        if (c->no_block)
                ck_assert_int_ge(sd_bus_message_append(m, "{sv}", "no-block", "b", true), 0);
        ck_assert_int_ge(sd_bus_message_close_container(m), 0);
        ck_assert_int_ge(sd_bus_call_async(c->bus, NULL, m, on_reply, c, UINT64_MAX), 0);
        sd_bus_message_unref(m);
        c->waits = true;
        c->since = g_get_monotonic_time();
        crowd.waiting++;
}

/* A new one; one that is there; or the one that another has just asked for, perhaps elsewhere. */
static char *choose_uuid(void) {
        const char *path = any_vgpu();
        char uuid[37];
        unsigned gpu, vf;

        if (chance(10) && path && parse_vgpu(path, &gpu, &vf, uuid))
                return g_strdup(uuid);
        if (crowd.last_uuid && chance(15))
                return g_strdup(crowd.last_uuid);

        g_free(crowd.last_uuid);
        crowd.last_uuid = g_uuid_string_random();
        return g_strdup(crowd.last_uuid);
}

static void create(Caller *c) {
        g_autofree char *gpu = gpu_path(below(GPUS)),
                        *type = g_strdup_printf("nvidia-%u", 1000 + below(TYPES));
        sd_bus_message *m;

        c->object = chance(40) ? g_strdup_printf("%s/vf/%u", gpu, below(VFS)) : g_strdup(gpu);
        c->uuid = chance(50) ? choose_uuid() : NULL;
        m = call_new(c, CREATE);
        ck_assert_int_ge(sd_bus_message_append(m, "s", type), 0);
        ck_assert_int_ge(sd_bus_message_open_container(m, 'a', "{sv}"), 0);
        if (c->uuid)
                ck_assert_int_ge(sd_bus_message_append(m, "{sv}", "uuid", "s", c->uuid), 0);
        if (chance(30))
                ck_assert_int_ge(sd_bus_message_append(m, "{sv}", "params", "s", "frame_rate_limiter=0"), 0);
        send_call(c, m);
}

static void destroy(Caller *c, const char *path) {
        sd_bus_message *m;

        c->object = g_strdup(path);
        m = call_new(c, DESTROY);
        ck_assert_int_ge(sd_bus_message_open_container(m, 'a', "{sv}"), 0);
        send_call(c, m);
}

/* Up to three, on as many GPUs. */
static void destroy_several(Caller *c) {
        bool used[GPUS] = { false };
        sd_bus_message *m;

        c->object = g_strdup("/org/carved1");
        m = call_new(c, DESTROY_SEVERAL);
        ck_assert_int_ge(sd_bus_message_open_container(m, 'a', "s"), 0);
        for (unsigned i = 0; i < SEVERAL_MAX; i++) {
                unsigned gpu, vf;
                char uuid[37];

                if (!parse_vgpu(any_vgpu(), &gpu, &vf, uuid) || used[gpu])
                        continue;
                used[gpu] = true;
                ck_assert_int_ge(sd_bus_message_append(m, "s", uuid), 0);
        }
        ck_assert_int_ge(sd_bus_message_close_container(m), 0);
        ck_assert_int_ge(sd_bus_message_open_container(m, 'a', "{sv}"), 0);
        send_call(c, m);
}

static void act(Caller *c) {
        const char *path = any_vgpu();

        g_clear_pointer(&c->object, g_free);
        g_clear_pointer(&c->uuid, g_free);
        if (g_get_monotonic_time() >= crowd.end || crowd.wrong->len >= WRONG_MAX)
                return;
        if (!path || chance(55))
                create(c);
        else if (chance(70))
                destroy(c, path);
        else
                destroy_several(c);
}

static void take_error(const Caller *c, const sd_bus_error *error) {
        const char *name = g_intern_string(error->name);
        unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(crowd.errors, name));

        g_hash_table_insert(crowd.errors, (void *) name, GUINT_TO_POINTER(n + 1));
        for (unsigned i = 0; i < G_N_ELEMENTS(expected[c->kind]) && expected[c->kind][i]; i++)
                if (g_str_equal(expected[c->kind][i], name))
                        return;

        note(crowd.wrong, "%s on %s, UUID %s: %s: %s", kind_names[c->kind], c->object, c->uuid ?: "any", name,
             error->message);
}

/* Made where it was asked for, and as what. */
static void take_created(const Caller *c, sd_bus_message *m) {
        g_autofree char *object = g_strdup_printf("%s/", c->object);
        const char *path = "", *job = "";
        unsigned gpu, vf;
        char uuid[37];

        sd_bus_message_read(m, "oo", &path, &job);
        if (c->no_block ? !g_str_equal(path, "/")
                        : !g_str_has_prefix(path, object) || !parse_vgpu(path, &gpu, &vf, uuid) ||
                                  (c->uuid && !g_str_equal(uuid, c->uuid)))
                note(crowd.wrong, "%s on %s, UUID %s, gave %s", kind_names[c->kind], c->object,
                     c->uuid ?: "any", path);
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *unused) {
        Caller *c = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(m);

        c->waits = false;
        crowd.waiting--;
        if (error)
                take_error(c, error);
        else if (c->no_block)
                crowd.begun++;
        else
                crowd.done[c->kind]++;
        if (!error && c->kind == CREATE)
                take_created(c, m);
        act(c);
        return 0;
}

/* ---- the run, once for all tests ---- */

static void set_up_watcher(void) {
        static const char match[] =
                "type='signal',sender='org.carved1',interface='org.freedesktop.DBus.ObjectManager'";
        g_autofree char *gpu = gpu_path(0);
        g_autoptr(Client) c = client_new();
        g_autoptr(GVariant) types = client_get(c, gpu, "org.carved1.Gpu", "Types");
        g_autoptr(GVariant) type = g_variant_lookup_value(types, "nvidia-1000", NULL);

        ck_assert(g_variant_lookup(type, "MaxInstances", "u", &crowd.max));
        crowd.live = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        ck_assert_int_ge(sd_bus_open_system(&crowd.watcher), 0);
        ck_assert_int_ge(sd_bus_add_match(crowd.watcher, NULL, match, on_signal, NULL), 0);
        ck_assert_int_ge(sd_bus_attach_event(crowd.watcher, crowd.event, SD_EVENT_PRIORITY_NORMAL), 0);
}

static void set_up_callers(void) {
        for (unsigned i = 0; i < CALLERS; i++) {
                Caller *c = &crowd.callers[i];

                ck_assert_int_ge(sd_bus_open_system(&c->bus), 0);
                ck_assert_int_ge(sd_bus_attach_event(c->bus, crowd.event, SD_EVENT_PRIORITY_NORMAL), 0);
        }
}

static bool no_job_is_at_work(Client *c, const void *data) {
        static const char *const ends[] = { "done", "failed", "cancelled", NULL };
        g_autoptr(GVariant) objects = client_objects(c);
        GVariant *interfaces;
        GVariantIter iter;
        bool none = true;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{o@a{sa{sv}}}", NULL, &interfaces)) {
                g_autoptr(GVariant) job = g_variant_lookup_value(interfaces, "org.carved1.Job", NULL);
                const char *state;

                if (job && g_variant_lookup(job, "State", "&s", &state) && !g_strv_contains(ends, state))
                        none = false;
        }
        return none;
}

static void list_hangs(void) {
        for (unsigned i = 0; i < CALLERS; i++) {
                const Caller *c = &crowd.callers[i];

                if (c->waits)
                        note(crowd.hangs, "client %u: %s on %s, UUID %s%s: no answer for %.1f s", i,
                             kind_names[c->kind], c->object, c->uuid ?: "any",
                             c->no_block ? ", no-block" : "",
                             (double) (g_get_monotonic_time() - c->since) / 1e6);
        }
}

static void print_figures(void) {
        GHashTableIter iter;
        void *name, *n;

        printf("# %u vGPUs came, %u went, at most %u on one of the cards\n", crowd.added, crowd.removed,
               crowd.most);
        for (unsigned i = 0; i < _KIND_MAX; i++)
                printf("# %s: %u done\n", kind_names[i], crowd.done[i]);
        printf("# begun with no-block: %u\n", crowd.begun);
        g_hash_table_iter_init(&iter, crowd.errors);
        while (g_hash_table_iter_next(&iter, &name, &n))
                printf("# %s: %u\n", (char *) name, GPOINTER_TO_UINT(n));
        fflush(stdout); /* before the tests fork */
}

/* The connections are the parent's: children open their own. */
static void tear_down_run(void) {
        for (unsigned i = 0; i < CALLERS; i++)
                sd_bus_flush_close_unref(crowd.callers[i].bus);
        sd_bus_flush_close_unref(crowd.watcher);
        sd_event_unref(crowd.event);
}

/* The host with nothing on it; but what its drivers make at the first vGPU, and keep, is there. */
static char *dump_empty(void) {
        static const char uuid[] = "8f1a7a52-3c5d-4d0e-9c8f-6f2f1c0b7a11";
        g_autoptr(Client) c = client_new();
        g_autofree char *gpu = gpu_path(0);
        g_autoptr(GVariant) made = client_call(c, gpu, "org.carved1.VgpuHost", "CreateVgpu", NULL, "sa{sv}",
                                               "nvidia-1000", 1, "uuid", "s", uuid);
        g_autoptr(GVariant) gone =
                client_call(c, "/org/carved1", MANAGER, "DestroyVgpus", NULL, "asa{sv}", 1, uuid, 0);

        return shell("carved-simctl settle; carved-simctl dump");
}

static void run_crowd(void) {
        g_autoptr(Client) c = NULL;

        printf("# seed %u\n", crowd.seed);
        fflush(stdout); /* whatever comes */
        crowd.random = g_rand_new_with_seed(crowd.seed);
        crowd.errors = g_hash_table_new(g_str_hash, g_str_equal);
        crowd.wrong = g_ptr_array_new_with_free_func(g_free);
        crowd.broken = g_ptr_array_new_with_free_func(g_free);
        crowd.hangs = g_ptr_array_new_with_free_func(g_free);
        crowd.dump = dump_empty();
        ck_assert_int_ge(sd_event_new(&crowd.event), 0);
        set_up_watcher();
        set_up_callers();

        crowd.end = g_get_monotonic_time() + crowd.seconds * G_USEC_PER_SEC;
        for (unsigned i = 0; i < CALLERS; i++)
                act(&crowd.callers[i]);
        while (crowd.waiting > 0 && g_get_monotonic_time() < crowd.end + ANSWER_USEC)
                ck_assert_int_ge(sd_event_run(crowd.event, G_USEC_PER_SEC), 0);
        list_hangs();

        /* If there is no daemon any more, that is for the tests to tell. */
        if (crowd.wrong->len == 0) {
                c = client_new();
                crowd.quiet = client_wait(c, 60000, no_job_is_at_work, NULL);
                catch_up();
        }
        print_figures();
        tear_down_run();
}

/* ---- what must hold ---- */

static Client *client;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static void assert_none(GPtrArray *sentences) {
        for (unsigned i = 0; i < sentences->len; i++)
                printf("# %s\n", (char *) sentences->pdata[i]);
        fflush(stdout);
        ck_assert_uint_eq(sentences->len, 0);
}

START_TEST(every_call_is_answered_and_every_job_ends) {
        assert_none(crowd.hangs);
        ck_assert(crowd.quiet);
}
END_TEST

START_TEST(only_expected_answers_come_back) {
        assert_none(crowd.wrong);
}
END_TEST

START_TEST(no_vf_has_two_vgpus_and_no_card_more_than_it_takes) {
        assert_none(crowd.broken);
}
END_TEST

/* A test that did nothing would be a good one otherwise. */
START_TEST(much_was_done_in_every_way) {
        ck_assert_uint_ge(crowd.added, RATE_MIN * crowd.seconds);
        ck_assert_uint_ge(crowd.removed, RATE_MIN * crowd.seconds);
        for (unsigned i = 0; i < _KIND_MAX; i++)
                ck_assert_uint_ge(crowd.done[i], 10);
        ck_assert_uint_ge(crowd.begun, 10);
        ck_assert_uint_ge(g_hash_table_size(crowd.live),
                          GPUS); /* else the tests that follow have no subject */
}
END_TEST

START_TEST(the_model_is_what_a_fresh_look_shows) {
        g_autoptr(GPtrArray) before = describe_cards(client), after = NULL;

        ck_assert_uint_ge(before->len, GPUS + GPUS * VFS);
        for (unsigned i = 0; i < GPUS; i++) {
                g_autofree char *gpu = gpu_path(i);
                g_autoptr(GVariant) done =
                        client_call(client, gpu, "org.carved1.Gpu", "Refresh", NULL, "a{sv}", 0);
        }
        after = describe_cards(client);
        assert_same_lines(after, before);
}
END_TEST

/* "UUID address-of-its-VF", of each that carved shows, and has told of. */
static GPtrArray *list_vgpus(void) {
        g_autoptr(GVariant) objects = client_objects(client);
        GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
        const char *path, *uuid, *parent;
        GVariant *interfaces;
        GVariantIter iter;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &interfaces)) {
                g_autoptr(GVariant) vgpu = g_variant_lookup_value(interfaces, "org.carved1.Vgpu", NULL);
                g_autofree char *address = NULL;

                if (!vgpu)
                        continue;
                ck_assert_msg(g_hash_table_contains(crowd.live, path), "no signal told of %s", path);
                ck_assert(g_variant_lookup(vgpu, "Uuid", "&s", &uuid));
                ck_assert(g_variant_lookup(vgpu, "Parent", "&o", &parent));
                address = client_get_string(client, parent, "org.carved1.VirtualFunction", "Address");
                g_ptr_array_add(lines, g_strdup_printf("%s %s", uuid, address));
        }
        ck_assert_uint_eq(lines->len, g_hash_table_size(crowd.live));
        g_ptr_array_sort(lines, compare_lines);
        return lines;
}

/* The same, of each that the kernel has. */
static GPtrArray *list_mdevs(void) {
        g_autofree char *text = shell("cd /sys/bus/mdev/devices && for m in *; do [ ! -e $m ] || "
                                      "echo $m $(basename $(dirname $(readlink -f $m))); done");
        g_auto(GStrv) words = g_strsplit(text, "\n", -1);
        GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

        for (char **word = words; *word; word++)
                if (**word)
                        g_ptr_array_add(lines, g_strdup(*word));
        g_ptr_array_sort(lines, compare_lines);
        return lines;
}

START_TEST(the_model_is_what_the_kernel_has_and_what_the_signals_said) {
        g_autoptr(GPtrArray) vgpus = list_vgpus(), mdevs = list_mdevs();

        assert_same_lines(vgpus, mdevs);
}
END_TEST

START_TEST(when_all_is_destroyed_the_host_is_as_before) {
        g_autoptr(GPtrArray) vgpus = list_vgpus(), mdevs = NULL;
        g_autofree char *dump = NULL;

        for (unsigned i = 0; i < vgpus->len; i++) {
                g_autofree char *uuid = g_strndup(vgpus->pdata[i], 36);
                g_autoptr(GVariant) job = client_call(client, "/org/carved1", MANAGER, "DestroyVgpus", NULL,
                                                      "asa{sv}", 1, uuid, 0);
        }
        mdevs = list_mdevs();
        ck_assert_uint_eq(mdevs->len, 0);
        ck_assert_uint_eq(client_count(client, "org.carved1.Vgpu"), 0);
        ck_assert(no_job_is_at_work(client, NULL));
        for (unsigned i = 0; i < GPUS; i++) {
                g_autofree char *gpu = gpu_path(i);
                g_autofree char *state = client_get_string(client, gpu, "org.carved1.Gpu", "State");

                ck_assert_str_eq(state, "ready");
        }
        dump = shell("carved-simctl settle; carved-simctl dump");
        ck_assert_msg(g_str_equal(dump, crowd.dump), "something was left behind in /sys");
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("crowd");
        TCase *tcase = tcase_create("crowd");

        crowd.seconds = argc > 1 ? (unsigned) atoi(argv[1]) : 20;
        crowd.seed = argc > 2 ? (uint32_t) strtoul(argv[2], NULL, 10) : g_random_int();
        tcase_set_timeout(tcase, 120);
        tcase_add_unchecked_fixture(tcase, run_crowd, NULL);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, every_call_is_answered_and_every_job_ends);
        tcase_add_test(tcase, only_expected_answers_come_back);
        tcase_add_test(tcase, no_vf_has_two_vgpus_and_no_card_more_than_it_takes);
        tcase_add_test(tcase, much_was_done_in_every_way);
        tcase_add_test(tcase, the_model_is_what_a_fresh_look_shows);
        tcase_add_test(tcase, the_model_is_what_the_kernel_has_and_what_the_signals_said);
        tcase_add_test(tcase, when_all_is_destroyed_the_host_is_as_before);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
