/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "auth.h"
#include "object.h"

/* Names of connections are never given twice, so what is known of one stays true; only room is limited. */
#define KNOWN_MAX   1024
#define PENDING_MAX 1024
#define ASK_USEC    (10 * G_USEC_PER_SEC)

struct Auth {
        GHashTable *known;   /* name of a connection → uid */
        GHashTable *pending; /* Question: those on their way */
};

typedef struct Question {
        Auth *auth;
        sd_bus_message *message;
        sd_bus_slot *slot;
} Question;

static void question_free(void *p) {
        Question *q = p;

        sd_bus_slot_unref(q->slot);
        sd_bus_message_unref(q->message);
        g_free(q);
}

Auth *auth_new(void) {
        Auth *auth = g_new0(Auth, 1);

        auth->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        auth->pending = g_hash_table_new_full(NULL, NULL, question_free, NULL);
        return auth;
}

Auth *auth_free(Auth *auth) {
        if (!auth)
                return NULL;

        g_hash_table_unref(auth->known);
        g_hash_table_unref(auth->pending);
        g_free(auth);
        return NULL;
}

void auth_reset(Auth *auth) {
        g_hash_table_remove_all(auth->known);
        g_hash_table_remove_all(auth->pending);
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Question *q = userdata;
        g_autoptr(sd_bus_message) message = sd_bus_message_ref(q->message);
        const char *sender = sd_bus_message_get_sender(message);
        Auth *auth = q->auth;
        uint32_t uid;
        int r;

        r = sd_bus_message_is_method_error(reply, NULL) ? -EACCES : sd_bus_message_read(reply, "u", &uid);
        g_hash_table_remove(auth->pending, q);
        if (r < 0) {
                /* It left meanwhile: nothing happens. */
                sd_bus_reply_method_errorf(message, SD_BUS_ERROR_ACCESS_DENIED,
                                           "The bus does not know who asks");
                return 0;
        }

        if (g_hash_table_size(auth->known) >= KNOWN_MAX)
                g_hash_table_remove_all(auth->known);
        g_hash_table_insert(auth->known, g_strdup(sender), GUINT_TO_POINTER(uid));

        r = sd_bus_message_rewind(message, true);
        if (r >= 0)
                r = sd_bus_enqueue_for_read(sd_bus_message_get_bus(message), message);
        if (r < 0)
                g_warning("Failed to take up a call again, ignoring: %s", g_strerror(-r));
        return 0;
}

static int ask(Auth *auth, sd_bus_message *message, const char *sender, sd_bus_error *error) {
        g_autoptr(sd_bus_message) call = NULL;
        sd_bus *bus = sd_bus_message_get_bus(message);
        Question *q;
        int r;

        if (g_hash_table_size(auth->pending) >= PENDING_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                        "Too many calls wait for their turn");

        r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                           "org.freedesktop.DBus", "GetConnectionUnixUser");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", sender);
        if (r < 0)
                return r;

        q = g_new0(Question, 1);
        q->auth = auth;
        q->message = sd_bus_message_ref(message);
        r = sd_bus_call_async(bus, &q->slot, call, on_answer, q, ASK_USEC);
        if (r < 0) {
                question_free(q);
                return r;
        }
        g_hash_table_add(auth->pending, q);
        return 0;
}

int auth_get_uid(Auth *auth, sd_bus_message *message, uint32_t *ret_uid, sd_bus_error *error) {
        const char *sender = sd_bus_message_get_sender(message);
        void *uid;

        if (!sender)
                return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED,
                                        "A call without sender is nobody's");
        if (!g_hash_table_lookup_extended(auth->known, sender, NULL, &uid))
                return ask(auth, message, sender, error);

        *ret_uid = GPOINTER_TO_UINT(uid);
        return 1;
}

int auth_check(Auth *auth, sd_bus_message *message, uint32_t *ret_uid, sd_bus_error *error) {
        int r;

        r = auth_get_uid(auth, message, ret_uid, error);
        if (r > 0 && *ret_uid != 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, "Only root may change anything");
        return r;
}
