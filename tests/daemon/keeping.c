/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "cards.h"
#include "keeping.h"
#include "simctl.h"

#define PATIENCE_MS 20000

const char *short_name(const char *error) {
        return error && strrchr(error, '.') ? strrchr(error, '.') + 1 : error;
}

const char *call_plain(Client *client, const char *path, const char *interface, const char *member) {
        const char *error = NULL;
        g_autoptr(GVariant) reply = client_call(client, path, interface, member, &error, "a{sv}", 0);

        return error;
}

const char *call_forget(Client *client, const char *identity) {
        const char *error = NULL;
        g_autoptr(GVariant) reply =
                client_call(client, ROOT, MANAGER, "Forget", &error, "sa{sv}", identity, 0);

        return error;
}

void await(Client *client, const char *path, const char *interface, const char *property, const char *value) {
        g_autofree char *last = NULL;

        if (client_wait(client, PATIENCE_MS, property_is, &(Expect){ path, interface, property, value }))
                return;
        last = client_get_string(client, path, interface, property);
        ck_abort_msg("%s of %s is '%s', not '%s'", property, path, last ?: "(not there)", value);
}

void await_gpu(Client *client, const char *path, const char *property, const char *value) {
        await(client, path, GPU, property, value);
}

/* Its path is another with each state. */
static bool vgpu_is(Client *client, const void *expect) {
        const Expect *e = expect;
        g_autofree char *path = carve_find(client, e->path);

        return path && property_is(client, &(Expect){ path, e->interface, e->property, e->value });
}

void await_vgpu(Client *client, const char *uuid, const char *property, const char *value) {
        g_autofree char *path = NULL, *last = NULL;

        if (client_wait(client, PATIENCE_MS, vgpu_is, &(Expect){ uuid, VGPU, property, value }))
                return;
        path = carve_find(client, uuid);
        last = path ? client_get_string(client, path, VGPU, property) : NULL;
        ck_abort_msg("%s of vGPU %s is '%s', not '%s'", property, uuid, last ?: "(not there)", value);
}

void await_manager(Client *client, const char *state) {
        await(client, ROOT, MANAGER, "State", state);
}

char *gpu_reason(Client *client, const char *path) {
        g_autoptr(GVariant) reasons = client_get(client, path, GPU, "Reasons");
        const char *code = "";

        ck_assert_ptr_nonnull(reasons);
        if (g_variant_n_children(reasons) > 0)
                g_variant_get_child(reasons, 0, "(&s&s)", &code, NULL);
        return g_strdup(code);
}

char *stored_state(Client *client, const char *address) {
        g_autoptr(GVariant) reply = client_call(client, ROOT, MANAGER, "ListStored", NULL, "");
        g_autoptr(GVariant) rows = g_variant_get_child_value(reply, 0);
        const char *at, *state;
        GVariantIter iter;

        g_variant_iter_init(&iter, rows);
        while (g_variant_iter_next(&iter, "(&s&s&o&s)", NULL, &at, NULL, &state))
                if (g_str_equal(at, address))
                        return g_strdup(state);

        return NULL;
}

bool heard_restored(Client *client, uint32_t *ret_ok, uint32_t *ret_failed) {
        client_settle(client, 50);
        for (unsigned i = client->heard->len; i > 0; i--) {
                const Signal *s = client->heard->pdata[i - 1];

                if (!g_str_equal(s->member, "Restored"))
                        continue;
                g_variant_get(s->args, "(uu)", ret_ok, ret_failed);
                return true;
        }
        return false;
}

/* Volatile numbers are left out: groups, and nodes that are called after them. */
static char *describe_vgpu(const char *path, GVariant *vgpu) {
        const char *uuid = "", *type = "", *state = "", *params = "", *origin = "";
        g_autoptr(GVariant) labels = g_variant_lookup_value(vgpu, "Labels", NULL);
        g_autofree char *text = g_variant_print(labels, FALSE);

        g_variant_lookup(vgpu, "Uuid", "&s", &uuid);
        g_variant_lookup(vgpu, "TypeName", "&s", &type);
        g_variant_lookup(vgpu, "State", "&s", &state);
        g_variant_lookup(vgpu, "Params", "&s", &params);
        g_variant_lookup(vgpu, "Origin", "&s", &origin);
        return g_strdup_printf("%s %s %s %s %s '%s' %s", path, uuid, type, origin, state, params, text);
}

GPtrArray *describe_vgpus(Client *client) {
        g_autoptr(GVariant) objects = client_objects(client);
        GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
        GVariant *interfaces;
        GVariantIter iter;
        const char *path;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &interfaces)) {
                g_autoptr(GVariant) vgpu = g_variant_lookup_value(interfaces, VGPU, NULL);

                if (vgpu)
                        g_ptr_array_add(lines, describe_vgpu(path, vgpu));
        }
        g_ptr_array_sort(lines, compare_lines);
        return lines;
}

void sim_reboot(Client *client) {
        client_settle(client, 0);
        client_forget(client);
        ck_assert_int_eq(simctl_do("reboot"), 0);
}

void sim_restart(Client *client) {
        client_settle(client, 0);
        client_forget(client);
        ck_assert_int_eq(simctl_do("daemon", "stop"), 0);
        ck_assert_int_eq(simctl_do("daemon", "start"), 0);
}

static bool is_empty(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

        return !dir || !g_dir_read_name(dir);
}

bool journal_is_empty(Client *client, const void *unused) {
        return is_empty("/var/lib/carved/journal") && is_empty("/run/carved/journal");
}

char *label_of(Client *client, const char *path, const char *interface, const char *key) {
        g_autoptr(GVariant) labels = client_get(client, path, interface, "Labels");
        const char *value = "";

        if (labels)
                g_variant_lookup(labels, key, "&s", &value);
        return g_strdup(value);
}
