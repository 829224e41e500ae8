/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "simctl.h"
#include "variant.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

static void signal_free(void *p) {
        Signal *s = p;

        g_free(s->path);
        g_free(s->member);
        g_variant_unref(s->args);
        g_free(s);
}

static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Client *client = userdata;
        Signal *s = g_new0(Signal, 1);

        s->path = g_strdup(sd_bus_message_get_path(m));
        s->member = g_strdup(sd_bus_message_get_member(m));
        s->args = variant_from_message(m);
        g_ptr_array_add(client->heard, s);
        return 0;
}

Client *client_new(void) {
        Client *client = g_new0(Client, 1);

        client->heard = g_ptr_array_new_with_free_func(signal_free);
        ck_assert_int_ge(sd_bus_open_system(&client->bus), 0);
        ck_assert_int_ge(sd_bus_add_match(client->bus, NULL,
                                          "type='signal',sender='org.carved1',path_namespace='/org/carved1'",
                                          on_signal, client),
                         0);
        return client;
}

Client *client_free(Client *client) {
        if (!client)
                return NULL;

        sd_bus_flush_close_unref(client->bus);
        g_ptr_array_unref(client->heard);
        g_free(client);
        return NULL;
}

GVariant *client_call(Client *client, const char *path, const char *interface, const char *member,
                      const char **ret_error, const char *types, ...) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_autoptr(sd_bus_message) m = NULL, reply = NULL;
        va_list args;
        int r;

        ck_assert_int_ge(
                sd_bus_message_new_method_call(client->bus, &m, "org.carved1", path, interface, member), 0);
        va_start(args, types);
        ck_assert_int_ge(sd_bus_message_appendv(m, types, args), 0);
        va_end(args);

        r = sd_bus_call(client->bus, m, 20 * G_USEC_PER_SEC, &error, &reply);
        if (r >= 0) {
                if (ret_error)
                        *ret_error = NULL;
                return variant_from_message(reply);
        }

        if (ret_error)
                *ret_error = g_intern_string(error.name);
        else
                ck_abort_msg("%s.%s on %s: %s: %s", interface, member, path, error.name ?: g_strerror(-r),
                             error.message ?: "");
        return NULL;
}

GVariant *client_get(Client *client, const char *path, const char *interface, const char *property) {
        const char *error;
        g_autoptr(GVariant) reply = client_call(client, path, "org.freedesktop.DBus.Properties", "Get",
                                                &error, "ss", interface, property);
        g_autoptr(GVariant) boxed = reply ? g_variant_get_child_value(reply, 0) : NULL;

        return boxed ? g_variant_get_variant(boxed) : NULL;
}

char *client_get_string(Client *client, const char *path, const char *interface, const char *property) {
        g_autoptr(GVariant) value = client_get(client, path, interface, property);

        return value ? g_variant_dup_string(value, NULL) : NULL;
}

GVariant *client_objects(Client *client) {
        g_autoptr(GVariant) reply = client_call(client, "/org/carved1", "org.freedesktop.DBus.ObjectManager",
                                                "GetManagedObjects", NULL, "");

        return g_variant_get_child_value(reply, 0);
}

unsigned client_count(Client *client, const char *interface) {
        g_autoptr(GVariant) objects = client_objects(client), interfaces = NULL;
        unsigned n = 0;
        GVariantIter iter;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{o@a{sa{sv}}}", NULL, &interfaces)) {
                g_autoptr(GVariant) found = g_variant_lookup_value(interfaces, interface, NULL);

                n += found != NULL;
        }
        interfaces = NULL;
        return n;
}

/* One round: what is there, or until @end. */
static bool take_in(Client *client, int64_t end) {
        int64_t now = g_get_monotonic_time();
        int r;

        r = sd_bus_process(client->bus, NULL);
        if (r > 0)
                return true;
        if (now >= end)
                return false;

        sd_bus_wait(client->bus, (uint64_t) (end - now));
        return true;
}

bool client_wait(Client *client, unsigned ms, bool (*is_so)(Client *client, const void *data),
                 const void *data) {
        int64_t end = g_get_monotonic_time() + (int64_t) ms * 1000;

        for (;;) {
                int64_t now = g_get_monotonic_time();

                if (is_so(client, data))
                        return true;
                if (now >= end)
                        return false;
                /* A signal wakes it; what sends none is asked for again soon. */
                take_in(client, MIN(now + 20 * 1000, end));
        }
}

void client_settle(Client *client, unsigned ms) {
        unsigned before;

        do {
                int64_t end = g_get_monotonic_time() + (int64_t) ms * 1000;

                before = client->heard->len;
                while (g_get_monotonic_time() < end)
                        take_in(client, end);
        } while (client->heard->len != before);
}

void client_forget(Client *client) {
        g_ptr_array_set_size(client->heard, 0);
}

/* Whom a signal is about: ObjectManager's come from the root. */
static const char *subject(const Signal *s) {
        const char *path = s->path;

        if (g_str_has_prefix(s->member, "Interfaces"))
                g_variant_get_child(s->args, 0, "&o", &path);
        return path;
}

unsigned client_heard(Client *client, const char *member, const char *path, const char *interface) {
        unsigned n = 0;

        for (unsigned i = 0; i < client->heard->len; i++) {
                const Signal *s = client->heard->pdata[i];
                const char *about;

                if (!g_str_equal(s->member, member) || (path && !g_str_equal(subject(s), path)))
                        continue;
                if (interface) {
                        g_variant_get_child(s->args, 0, "&s", &about);
                        if (!g_str_equal(about, interface))
                                continue;
                }
                n++;
        }
        return n;
}

bool object_is_there(Client *client, const void *path) {
        g_autoptr(GVariant) objects = client_objects(client);
        g_autoptr(GVariant) found = g_variant_lookup_value(objects, path, NULL);

        return found != NULL;
}

bool object_is_gone(Client *client, const void *path) {
        return !object_is_there(client, path);
}

bool object_was_added(Client *client, const void *path) {
        return client_heard(client, "InterfacesAdded", path, NULL) > 0;
}

bool object_was_removed(Client *client, const void *path) {
        return client_heard(client, "InterfacesRemoved", path, NULL) > 0;
}

bool property_is(Client *client, const void *expect) {
        const Expect *e = expect;
        g_autofree char *value = client_get_string(client, e->path, e->interface, e->property);

        return g_strcmp0(value, e->value) == 0;
}

void client_cut(Client *client, const char *profile) {
        g_autoptr(GVariant) on =
                client_call(client, GPU_A100, "org.carved1.Mig", "SetMode", NULL, "ba{sv}", true, 0);
        g_autoptr(GVariant) done = client_call(client, GPU_A100, "org.carved1.Mig", "ApplyLayout", NULL,
                                               "a{su}a{sv}", 1, profile, 1, 0);
}

char *shell(const char *format, ...) {
        g_autofree char *command = NULL, *error = NULL;
        const char *argv[] = { "bash", "-c", NULL, NULL };
        char *output = NULL;
        va_list args;
        int status;

        va_start(args, format);
        command = g_strdup_vprintf(format, args);
        va_end(args);
        argv[2] = command;
        ck_assert(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, &error,
                               &status, NULL));
        ck_assert_msg(status == 0, "'%s' failed: %s%s", command, output, error);
        return output;
}

START_TEST(it_ends_without_a_complaint) {
        static const char *const complaints[] = { "Sanitizer", "runtime error", "CRITICAL", "assertion" };
        g_autofree char *log = NULL;

        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        log = shell("cat /run/carved-sim/carved.log");
        for (unsigned i = 0; i < G_N_ELEMENTS(complaints); i++) {
                const char *complaint = strstr(log, complaints[i]);

                /* check takes no longer messages */
                if (complaint)
                        ck_abort_msg("%.3000s", complaint);
        }
}
END_TEST

void client_add_last_test(TCase *tcase) {
        tcase_add_test(tcase, it_ends_without_a_complaint);
}
