/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "carver.h"
#include "simctl.h"
#include "variant.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

static const Card cards[] = {
        { "a2", "/org/carved1/gpu/0000_08_00_0", "0000:08:00.0", 16, "A2-4Q", "A2-4C", "A2-8Q", true },
        { "l40s", "/org/carved1/gpu/0000_26_00_0", "0000:26:00.0", 32, "L40S-8Q", "L40S-8A", "L40S-4Q",
          true },
        { "t4", "/org/carved1/gpu/0000_3b_00_0", "0000:3b:00.0", 0, "T4-4Q", "T4-4C", "T4-8Q", true },
        { "plain", "/org/carved1/gpu/0000_05_00_0", "0000:05:00.0", 8, "vf", "vf", NULL, false },
};

const Card *card_find(const char *host) {
        for (size_t i = 0; i < G_N_ELEMENTS(cards); i++)
                if (g_str_equal(cards[i].host, host))
                        return &cards[i];

        ck_abort_msg("no card for host '%s'", host);
}

static sd_bus_message *call_new(Client *client, const char *path, const char *interface, const char *member) {
        sd_bus_message *m = NULL;

        ck_assert_int_ge(
                sd_bus_message_new_method_call(client->bus, &m, "org.carved1", path, interface, member), 0);
        return m;
}

const char *carve_send(Client *client, sd_bus_message *message, char **ret_text) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_autoptr(sd_bus_message) m = message, reply = NULL;
        const char *object = "";
        int r;

        r = sd_bus_call(client->bus, m, 60 * G_USEC_PER_SEC, &error, &reply);
        if (r >= 0)
                sd_bus_message_read(reply, "o", &object);
        if (ret_text)
                *ret_text = g_strdup(r < 0 ? error.message : object);
        return r < 0 ? g_intern_string(error.name) : NULL;
}

const char *carve_call(Client *client, const char *path, const char *interface, const char *member,
                       char **ret_text, const char *types, ...) {
        sd_bus_message *m = call_new(client, path, interface, member);
        va_list args;

        va_start(args, types);
        ck_assert_int_ge(sd_bus_message_appendv(m, types, args), 0);
        va_end(args);
        return carve_send(client, m, ret_text);
}

void carve_must(const char *error, char *text) {
        g_autofree char *said = text;

        if (error)
                ck_abort_msg("%s: %s", error, said);
}

const char *carve_enable(Client *client, const Card *card, char **ret_text) {
        sd_bus_message *m;

        if (card->vfs == 0)
                return NULL;

        m = call_new(client, card->path, "org.carved1.Sriov", "EnableVfs");
        sd_bus_message_append(m, "ua{sv}", 0, 0);
        return carve_send(client, m, ret_text);
}

const char *carve_disable(Client *client, const Card *card, bool destroy, char **ret_text) {
        sd_bus_message *m;

        if (card->vfs == 0)
                return NULL;

        m = call_new(client, card->path, "org.carved1.Sriov", "DisableVfs");
        sd_bus_message_append(m, "a{sv}", 1, "destroy-vgpus", "b", destroy);
        return carve_send(client, m, ret_text);
}

static const char *create(Client *client, const char *on, const char *type, const char *uuid,
                          const char *params, bool persist, char **ret_text) {
        sd_bus_message *m = call_new(client, on, "org.carved1.VgpuHost", "CreateVgpu");

        sd_bus_message_append(m, "s", type);
        sd_bus_message_open_container(m, 'a', "{sv}");
        if (uuid)
                sd_bus_message_append(m, "{sv}", "uuid", "s", uuid);
        if (params)
                sd_bus_message_append(m, "{sv}", "params", "s", params);
        if (!persist)
                sd_bus_message_append(m, "{sv}", "persist", "b", false);
        sd_bus_message_close_container(m);
        return carve_send(client, m, ret_text);
}

const char *carve_create(Client *client, const char *on, const char *type, const char *uuid,
                         const char *params, char **ret_text) {
        return create(client, on, type, uuid, params, /* persist= */ true, ret_text);
}

const char *carve_create_for_now(Client *client, const char *on, const char *type, const char *uuid,
                                 char **ret_text) {
        return create(client, on, type, uuid, /* params= */ NULL, /* persist= */ false, ret_text);
}

const char *carve_adopt(Client *client, const Card *card, char **ret_text) {
        sd_bus_message *m = call_new(client, card->path, "org.carved1.Gpu", "Adopt");

        sd_bus_message_append(m, "a{sv}", 0);
        return carve_send(client, m, ret_text);
}

char *carve_find(Client *client, const char *uuid) {
        const char *error, *path;
        g_autoptr(GVariant) reply =
                client_call(client, "/org/carved1", MANAGER, "GetVgpu", &error, "s", uuid);

        if (!reply)
                return NULL;

        g_variant_get(reply, "(&o)", &path);
        return g_strdup(path);
}

const char *carve_destroy(Client *client, const char *uuid, char **ret_text) {
        sd_bus_message *m = call_new(client, "/org/carved1", MANAGER, "DestroyVgpus");

        sd_bus_message_append(m, "asa{sv}", 1, uuid, 0);
        return carve_send(client, m, ret_text);
}

const char *carve_destroy_both(Client *client, const char *one, const char *two, char **ret_text) {
        sd_bus_message *m = call_new(client, "/org/carved1", MANAGER, "DestroyVgpus");

        sd_bus_message_append(m, "asa{sv}", 2, one, two, 0);
        return carve_send(client, m, ret_text);
}

const char *carve_params_of(Client *client, const char *path, const char *params, char **ret_text) {
        sd_bus_message *m = call_new(client, path, "org.carved1.Vgpu", "SetParams");

        sd_bus_message_append(m, "sa{sv}", params, 0);
        return carve_send(client, m, ret_text);
}

const char *carve_params(Client *client, const char *uuid, const char *params, char **ret_text) {
        g_autofree char *path = carve_find(client, uuid);

        ck_assert_msg(path, "there is no vGPU %s", uuid);
        return carve_params_of(client, path, params, ret_text);
}

bool all_is_quiet(Client *client, const void *data) {
        const Quiet *quiet = data;
        g_autoptr(GVariant) objects = client_objects(client), interfaces = NULL;
        GVariantIter iter;
        bool is_so = true;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{o@a{sa{sv}}}", NULL, &interfaces)) {
                g_autoptr(GVariant) job = g_variant_lookup_value(interfaces, "org.carved1.Job", NULL);
                g_autoptr(GVariant) gpu = g_variant_lookup_value(interfaces, "org.carved1.Gpu", NULL);
                const char *state;

                if (job && g_variant_lookup(job, "State", "&s", &state))
                        is_so &= !g_str_equal(state, "waiting") && !g_str_equal(state, "running") &&
                                 !g_str_equal(state, "stalled");
                if (gpu && !(quiet && quiet->any_gpu) && g_variant_lookup(gpu, "State", "&s", &state))
                        is_so &= g_str_equal(state, "ready");
        }
        interfaces = NULL;
        return is_so;
}

static void destroy_all(Client *client) {
        g_autoptr(GVariant) objects = client_objects(client), interfaces = NULL;
        GVariantIter iter;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{o@a{sa{sv}}}", NULL, &interfaces)) {
                g_autoptr(GVariant) vgpu = g_variant_lookup_value(interfaces, "org.carved1.Vgpu", NULL);
                const char *uuid;

                if (vgpu && g_variant_lookup(vgpu, "Uuid", "&s", &uuid))
                        ck_assert_ptr_null(carve_destroy(client, uuid, NULL));
        }
        interfaces = NULL;
}

void host_clear(Client *client, const Card *card) {
        g_autofree char *text = NULL;
        const char *error;

        simctl_do("forget");
        destroy_all(client);
        error = carve_disable(client, card, true, &text);
        ck_assert_msg(!error, "%s: %s", error, text);
}
