/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../tap.h"
#include "carver.h"
#include "simctl.h"

/* Every change is one line in the journal, which says who, what, where and how it went. The journal's socket
 * is this test's. On host a2. */

#define A      "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define VGPU   "org.carved1.Vgpu"
#define SOCKET "/run/systemd/journal/socket"

static Client *client;
static int journal = -1;
static const char *catalog;

static void open_journal(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
        g_autofree char *made = shell("mkdir -p /run/systemd/journal; rm -f " SOCKET);

        journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(journal, (struct sockaddr *) &address, sizeof address), 0);
}

static void set_target(const char *target) {
        ck_assert_int_ge(sd_bus_set_property(client->bus, "org.carved1", "/org/freedesktop/LogControl1",
                                             "org.freedesktop.LogControl1", "LogTarget", NULL, "s", target),
                         0);
}

static void set_up(void) {
        client = client_new();
        open_journal();
        set_target("journal");
}

static void tear_down(void) {
        simctl_do("forget");
        set_target("console");
        host_clear(client, card_find("a2"));
        close(journal);
        client = client_free(client);
}

/* "KEY=VALUE", or KEY, a length and a value that may have any bytes: journald's native protocol. */
static GHashTable *parse(const char *data, size_t len) {
        GHashTable *fields = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        const char *end = data + len;

        while (data < end) {
                const char *line = memchr(data, '\n', (size_t) (end - data));
                const char *equals = memchr(data, '=', (size_t) (line - data));
                uint64_t size;

                if (equals) {
                        g_hash_table_insert(fields, g_strndup(data, (size_t) (equals - data)),
                                            g_strndup(equals + 1, (size_t) (line - equals - 1)));
                        data = line + 1;
                        continue;
                }
                memcpy(&size, line + 1, sizeof size);
                g_hash_table_insert(fields, g_strndup(data, (size_t) (line - data)),
                                    g_strndup(line + 1 + sizeof size, size));
                data = line + 1 + sizeof size + size + 1;
        }
        return fields;
}

/* The next line that tells of a change; NULL: there is none. */
static GHashTable *next_line(void) {
        struct pollfd wait = { journal, POLLIN, 0 };
        char data[65536];

        while (poll(&wait, 1, 300) == 1) {
                ssize_t n = recv(journal, data, sizeof data, 0);
                GHashTable *fields = parse(data, (size_t) n);

                if (g_hash_table_contains(fields, "MESSAGE_ID"))
                        return fields;
                g_hash_table_unref(fields);
        }
        return NULL;
}

static void assert_field(GHashTable *fields, const char *key, const char *value) {
        const char *is = g_hash_table_lookup(fields, key);

        ck_assert_msg(g_strcmp0(is, value) == 0, "%s=%s, not %s: %s", key, is, value,
                      (char *) g_hash_table_lookup(fields, "MESSAGE"));
}

/* What journalctl -x says below it. */
static void assert_in_catalog(GHashTable *fields) {
        g_autofree char *text = NULL;
        g_autofree char *entry =
                g_strdup_printf("\n-- %s\n", (char *) g_hash_table_lookup(fields, "MESSAGE_ID"));

        ck_assert(g_file_get_contents(catalog, &text, NULL, NULL));
        ck_assert_ptr_nonnull(strstr(text, entry));
}

/* One line, by us, of card and perhaps A, and no more. */
static GHashTable *assert_line(const char *verb, const char *vgpu, const char *result) {
        GHashTable *fields = next_line(), *more = next_line();
        g_autofree char *pid = g_strdup_printf("%d", getpid());

        ck_assert_msg(fields, "no line tells of %s", verb);
        ck_assert_msg(!more, "two lines tell of %s: %s", verb,
                      more ? (char *) g_hash_table_lookup(more, "MESSAGE") : "");
        assert_field(fields, "CARVED_VERB", verb);
        assert_field(fields, "CARVED_GPU", "0000:08:00.0");
        assert_field(fields, "CARVED_VGPU", vgpu);
        assert_field(fields, "CARVED_UID", "0");
        assert_field(fields, "CARVED_PID", pid);
        assert_field(fields, "CARVED_RESULT", result);
        assert_field(fields, "PRIORITY", "5");
        assert_in_catalog(fields);
        return fields;
}

static void assert_change(const char *verb, const char *vgpu, const char *result) {
        g_hash_table_unref(assert_line(verb, vgpu, result));
}

START_TEST(every_change_is_one_line) {
        g_autofree char *path = NULL;
        g_autoptr(GVariant) labelled = NULL, kept = NULL, same = NULL, planned = NULL;
        GHashTable *fields;

        MUST(carve_enable(client, card_find("a2"), &text_));
        fields = assert_line("enable-vfs", NULL, "done");
        ck_assert_ptr_nonnull(g_hash_table_lookup(fields, "CARVED_JOB"));
        g_hash_table_unref(fields);
        MUST(carve_create(client, GPU_A2, "A2-4Q", A, NULL, &text_));
        assert_change("create-vgpu", A, "done");
        path = carve_find(client, A);
        labelled = client_call(client, path, VGPU, "SetLabels", NULL, "a{ss}a{sv}", 1, "team", "ml", 0);
        assert_change("set-labels", A, "done");
        kept = client_call(client, path, VGPU, "SetPersistent", NULL, "ba{sv}", false, 0);
        assert_change("set-persistent", A, "done");
        MUST(carve_params(client, A, "enable_uvm=1", &text_));
        assert_change("set-params", A, "done");
        MUST(carve_disable(client, card_find("a2"), true, &text_));
        assert_change("disable-vfs", A, "done");

        /* What is so already, and what is only a plan, is no change. */
        same = client_call(client, GPU_A2, "org.carved1.Sriov", "DisableVfs", NULL, "a{sv}", 0);
        planned = client_call(client, GPU_A2, "org.carved1.Sriov", "EnableVfs", NULL, "ua{sv}", 0, 1,
                              "dry-run", "b", true);
        ck_assert_ptr_null(next_line());
}
END_TEST

START_TEST(what_failed_says_why) {
        GHashTable *fields;

        MUST(carve_enable(client, card_find("a2"), &text_));
        assert_change("enable-vfs", NULL, "done");
        ck_assert_int_eq(simctl_do("fail", "*/create", "EIO"), 0);
        ck_assert_str_eq(carve_create(client, GPU_A2, "A2-4Q", A, NULL, NULL),
                         "org.carved1.Error.KernelRefused");
        fields = assert_line("create-vgpu", A, "failed");
        ck_assert_ptr_nonnull(strstr(g_hash_table_lookup(fields, "CARVED_ERROR"), "Input/output error"));
        g_hash_table_unref(fields);
}
END_TEST

START_TEST(what_was_cancelled_is_told) {
        g_autoptr(GVariant) reply = NULL, cancelled = NULL;
        const char *vgpu, *job;

        MUST(carve_enable(client, card_find("a2"), &text_));
        assert_change("enable-vfs", NULL, "done");
        ck_assert_int_eq(simctl_do("delay", "*/create", "500ms"), 0);
        reply = client_call(client, GPU_A2, "org.carved1.VgpuHost", "CreateVgpu", NULL, "sa{sv}", "A2-4Q", 3,
                            "no-block", "b", true, "uuid", "s", A, "params", "s", "enable_uvm=1");
        g_variant_get(reply, "(&o&o)", &vgpu, &job);
        ck_assert(client_wait(client, 5000, property_is,
                              &(Expect){ job, "org.carved1.Job", "State", "running" }));
        cancelled = client_call(client, job, "org.carved1.Job", "Cancel", NULL, "a{sv}", 0);
        ck_assert(client_wait(client, 10000, property_is,
                              &(Expect){ job, "org.carved1.Job", "State", "cancelled" }));
        assert_change("create-vgpu", A, "cancelled");
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("audit");
        TCase *tcase = tcase_create("audit"), *last = tcase_create("last");

        catalog = argv[1];
        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, every_change_is_one_line);
        tcase_add_test(tcase, what_failed_says_why);
        tcase_add_test(tcase, what_was_cancelled_is_told);
        suite_add_tcase(suite, tcase);
        tcase_set_timeout(last, 60);
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
