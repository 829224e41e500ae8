/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fnmatch.h>
#include <string.h>

#include "../tap.h"
#include "client.h"
#include "explain.h"
#include "simctl.h"

/* What the kernel refuses becomes an error to act on and a sentence with the cause, and leaves nothing
 * behind: a row each, in explain-rows.c. On the host named by the argument. */

#define ERROR_PREFIX "org.carved1.Error."
#define PATIENCE     (60 * G_USEC_PER_SEC) /* retries take up to 15 seconds */

/* Words that the rows' shell commands may use. */
static const char prelude[] =
        "set -e; pci=/sys/bus/pci/devices\n"
        "refuse() { carved-simctl fail \"$@\"; }\n"
        /* Somebody else acts while a write to such a file is under way, and the kernel has not looked yet. */
        "meanwhile() { carved-simctl delay \"$1\" 1s\n"
        "  setsid bash -c \"until carved-simctl rules | grep -q 'matched [1-9]'; do sleep .02; done; $2\""
        " </dev/null >/dev/null 2>&1 & }\n"
        "config() { echo \"[Manager]\n$1\" >/etc/carved/carved.conf\n"
        "  carved-simctl daemon stop; carved-simctl daemon start; }\n"
        "driver() { basename \"$(readlink $pci/$1/driver || echo none)\"; }\n"
        /* The driver of mdevs and the directory of VFIO groups come with the first one, and stay. */
        "state() { carved-simctl settle\n"
        "  carved-simctl dump | grep -v -e ^/sys/bus/mdev/drivers/nvidia- -e ^/sys/devices/virtual/vfio/$; "
        "}\n";

#define PRELUDE "/run/explain.sh"

static Client *client;
static const char *host;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

static void run(const char *command) {
        g_autofree char *output = shell(". " PRELUDE "; %s", command);
}

/* ---- calls in words ---- */

typedef enum Target { ON_GPU, ON_PLACE, ON_VGPU } Target;

static const struct Verb {
        const char *verb, *interface, *member, *types; /* of the words behind it */
        Target target;
} verbs[] = {
        { "enable", "org.carved1.Sriov", "EnableVfs", "u", ON_GPU },
        { "disable", "org.carved1.Sriov", "DisableVfs", "", ON_GPU },
        { "refresh", "org.carved1.Gpu", "Refresh", "", ON_GPU },
        { "create", "org.carved1.VgpuHost", "CreateVgpu", "s", ON_PLACE },
        { "destroy", "org.carved1.Vgpu", "Destroy", "", ON_VGPU },
        { "params", "org.carved1.Vgpu", "SetParams", "s", ON_VGPU },
};

static const struct Verb *find_verb(const char *word) {
        for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++)
                if (g_str_equal(verbs[i].verb, word))
                        return &verbs[i];

        ck_abort_msg("'%s' is no verb", word);
}

/* The value of "key=value" among the words, or NULL. */
static const char *word_value(char **words, const char *key) {
        for (; *words; words++)
                if (g_str_has_prefix(*words, key) && (*words)[strlen(key)] == '=')
                        return *words + strlen(key) + 1;

        return NULL;
}

/* The card of each host that is meant unless "at=" names another. */
static const char *default_gpu(void) {
        static const char *const gpus[][2] = {
                { "a2", "0000:08:00.0" },         { "half", "0000:08:00.0" },
                { "l40s", "0000:26:00.0" },       { "limits", "0000:06:00.0" },
                { "plain", "0000:05:00.0" },      { "no-iommu", "0000:08:00.0" },
                { "old-kernel", "0000:08:00.0" }, { "strict", "0000:26:00.0" },
                { "t4", "0000:3b:00.0" },
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(gpus); i++)
                if (g_str_equal(gpus[i][0], host))
                        return gpus[i][1];

        ck_abort_msg("'%s' is no host", host);
}

static char *find_path(const struct Verb *verb, char **words) {
        g_autofree char *slug = g_strdup(word_value(words, "at") ?: default_gpu());
        const char *vf = verb->target == ON_PLACE ? word_value(words, "on") : NULL;
        g_autoptr(GVariant) found = NULL;
        char *path;

        if (verb->target != ON_VGPU)
                return g_strdup_printf("/org/carved1/gpu/%s%s%s", g_strdelimit(slug, ":.", '_'),
                                       vf ? "/vf/" : "", vf ?: "");

        found = client_call(client, "/org/carved1", MANAGER, "GetVgpu", NULL, "s", words[1]);
        g_variant_get(found, "(o)", &path);
        return path;
}

static void append_arguments(sd_bus_message *m, const struct Verb *verb, char **words) {
        const char *word = words[verb->target == ON_VGPU ? 2 : 1];

        if (g_str_equal(verb->types, "u"))
                ck_assert_int_ge(sd_bus_message_append(m, "u", (uint32_t) g_ascii_strtoull(word, NULL, 10)),
                                 0);
        else if (g_str_equal(verb->types, "s"))
                ck_assert_int_ge(sd_bus_message_append(m, "s", word), 0);
}

static void append_options(sd_bus_message *m, char **words) {
        static const char *const keys[] = { "uuid", "params" };

        sd_bus_message_open_container(m, 'a', "{sv}");
        for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
                const char *value = word_value(words, keys[i]);

                if (value)
                        ck_assert_int_ge(sd_bus_message_append(m, "{sv}", keys[i], "s", value), 0);
        }
        if (g_strv_contains((const char *const *) words, "destroy-vgpus"))
                ck_assert_int_ge(sd_bus_message_append(m, "{sv}", "destroy-vgpus", "b", true), 0);
        ck_assert_int_ge(sd_bus_message_close_container(m), 0);
}

/* "create A2-4Q on=3 uuid=…", as it would be typed. The error, or nothing when it went well. */
static void call(const char *line, sd_bus_error *ret) {
        g_auto(GStrv) words = g_strsplit(line, " ", -1);
        const struct Verb *verb = find_verb(words[0]);
        g_autofree char *path = find_path(verb, words);
        g_autoptr(sd_bus_message) m = NULL, reply = NULL;
        int r;

        ck_assert_int_ge(sd_bus_message_new_method_call(client->bus, &m, "org.carved1", path, verb->interface,
                                                        verb->member),
                         0);
        append_arguments(m, verb, words);
        append_options(m, words);
        r = sd_bus_call(client->bus, m, PATIENCE, ret, &reply);
        ck_assert_msg(r >= 0 || sd_bus_error_is_set(ret), "'%s': %s", line, g_strerror(-r));
}

static void call_all(char **lines) {
        for (; *lines; lines++) {
                __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;

                call(*lines, &error);
                ck_assert_msg(!error.name, "'%s': %s: %s", *lines, error.name, error.message);
        }
}

/* ---- before and after ---- */

/* All objects but jobs. When, not whether, somebody is seen at a node is not what this is about. */
static char *show(void) {
        g_autoptr(GVariant) objects = client_objects(client);
        GString *text = g_string_new(NULL);
        g_autoptr(GRegex) in_use = g_regex_new("'InUse': <(true|false)>", 0, 0, NULL);
        g_autofree char *all = NULL;
        GVariantIter iter;
        GVariant *object;

        g_variant_iter_init(&iter, objects);
        while ((object = g_variant_iter_next_value(&iter))) {
                g_autofree char *printed = g_variant_print(object, FALSE);

                if (!strstr(printed, "'/org/carved1/job/"))
                        g_string_append_printf(text, "%s\n", printed);
                g_variant_unref(object);
        }
        all = g_string_free(text, FALSE);
        return g_regex_replace_literal(in_use, all, -1, 0, "", 0, NULL);
}

static bool is_shown(Client *c, const void *before) {
        g_autofree char *now = show();

        return g_str_equal(now, before);
}

static void check_nothing_is_left(const char *before) {
        run("state >/run/explain.after; diff /run/explain.before /run/explain.after");
        if (!client_wait(client, 3000, is_shown, before)) {
                g_autofree char *now = show();

                ck_abort_msg("shown is\n%s\nand was\n%s", now, before);
        }
}

/* What a reboot does not take along goes first. */
static void set_up(void) {
        ck_assert(g_file_set_contents(PRELUDE, prelude, -1, NULL));
        simctl_do("forget");
        run("rm -rf /etc/carved/* /var/lib/carved/*; "
            "carved-simctl daemon status >/dev/null || carved-simctl daemon start; "
            "carved-simctl reboot; carved-simctl settle");
        client = client_new();
}

static void tear_down(void) {
        simctl_do("forget");
        client = client_free(client);
}

static bool is_text(const char *text, const char *expected) {
        return strchr(expected, '*') ? fnmatch(expected, text, FNM_NOESCAPE) == 0
                                     : g_str_equal(text, expected);
}

static void check_error(const Row *row, const sd_bus_error *error) {
        const char *name = error->name;

        ck_assert_msg(name, "%s: '%s' went well", row->promise, row->call);
        if (g_str_has_prefix(name, ERROR_PREFIX))
                name += strlen(ERROR_PREFIX);
        ck_assert_msg(g_str_equal(name, row->error) && is_text(error->message, row->text),
                      "%s: '%s' is\n%s: %s\nnot\n%s: %s", row->promise, row->call, name, error->message,
                      row->error, row->text);
}

START_TEST(row) {
        const Row *r = &rows[_i];
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_auto(GStrv) given = g_strsplit(r->given ?: "", "; ", -1), calls = g_strsplit(r->call, "; ", -1);
        g_autofree char *last = NULL, *before = NULL;
        unsigned n = g_strv_length(calls);

        call_all(given);
        if (r->shell)
                run(r->shell);
        last = g_steal_pointer(&calls[n - 1]);
        call_all(calls);
        if (!r->after) {
                run("state >/run/explain.before");
                client_settle(client, 300);
                before = show();
        }

        call(last, &error);
        simctl_do("forget");
        check_error(r, &error);
        if (r->after)
                run(r->after);
        else
                check_nothing_is_left(before);
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("explain");
        TCase *last = tcase_create("end");

        g_assert(argc == 2);
        host = argv[1];
        for (unsigned i = 0; i < n_rows; i++) {
                TCase *tcase;

                if (!g_str_equal(rows[i].host, host))
                        continue;
                /* A case each, for its name. */
                tcase = tcase_create(rows[i].promise);
                tcase_set_timeout(tcase, 90);
                tcase_add_checked_fixture(tcase, set_up, tear_down);
                tcase_add_loop_test(tcase, row, (int) i, (int) i + 1);
                suite_add_tcase(suite, tcase);
        }
        client_add_last_test(last);
        suite_add_tcase(suite, last);
        return tap_run(suite);
}
