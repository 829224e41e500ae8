/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "auth.h"
#include "object.h"
#include "polkit.h"

/* Names of connections are never given twice, so what is known of one stays true; only room is limited. */
#define KNOWN_MAX 1024U

/* Calls of one connection that wait until the bus has said whose it is. */
#define WAITING_MAX 32U

#define ASK_USEC (10 * G_USEC_PER_SEC)

struct Auth {
        GHashTable *known; /* name of a connection → Caller */
        GHashTable *asked; /* name of a connection → Question */
        Polkit *polkit;
};

typedef struct Question {
        Auth *auth;
        char *sender;        /* the key */
        GPtrArray *messages; /* that wait for it */
        sd_bus_slot *slot;
} Question;

static void free_message(void *p) {
        sd_bus_message_unref(p);
}

static void question_free(void *p) {
        Question *q = p;

        sd_bus_slot_unref(q->slot);
        g_ptr_array_unref(q->messages);
        g_free(q->sender);
        g_free(q);
}

Auth *auth_new(sd_event *event) {
        Auth *auth = g_new0(Auth, 1);

        auth->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, caller_unref);
        auth->asked = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, question_free);
        auth->polkit = polkit_new(event);
        return auth;
}

Auth *auth_free(Auth *auth) {
        if (!auth)
                return NULL;

        g_hash_table_unref(auth->known);
        g_hash_table_unref(auth->asked);
        polkit_free(auth->polkit);
        g_free(auth);
        return NULL;
}

void auth_reset(Auth *auth) {
        g_hash_table_remove_all(auth->known);
        g_hash_table_remove_all(auth->asked);
        polkit_reset(auth->polkit);
}

static int read_credentials(sd_bus_message *reply, Caller **ret) {
        uint32_t uid = UINT32_MAX, pid = 0;
        const char *key, *contents;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                r = sd_bus_message_read(reply, "s", &key);
                if (r >= 0)
                        r = sd_bus_message_peek_type(reply, NULL, &contents);
                if (r < 0)
                        return r;
                if (g_str_equal(key, "UnixUserID") && g_str_equal(contents, "u"))
                        r = sd_bus_message_read(reply, "v", "u", &uid);
                else if (g_str_equal(key, "ProcessID") && g_str_equal(contents, "u"))
                        r = sd_bus_message_read(reply, "v", "u", &pid);
                else
                        r = sd_bus_message_skip(reply, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
                if (r < 0)
                        return r;
        }
        if (r < 0 || uid == UINT32_MAX)
                return -EACCES;

        *ret = caller_new(uid, (pid_t) pid);
        return 0;
}

static void learn(Auth *auth, const char *sender, Caller *caller) {
        if (g_hash_table_size(auth->known) >= KNOWN_MAX)
                g_hash_table_remove_all(auth->known);
        g_hash_table_insert(auth->known, g_strdup(sender), caller);
}

static void take_up(sd_bus_message *message) {
        int r;

        r = sd_bus_message_rewind(message, true);
        if (r >= 0)
                r = sd_bus_enqueue_for_read(sd_bus_message_get_bus(message), message);
        if (r < 0)
                g_warning("Failed to take up a call again, ignoring: %s", g_strerror(-r));
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Question *q = userdata;
        g_autoptr(GPtrArray) messages = g_ptr_array_ref(q->messages);
        Caller *caller = NULL;
        int r;

        r = sd_bus_message_is_method_error(reply, NULL) ? -EACCES : read_credentials(reply, &caller);
        if (r >= 0)
                learn(q->auth, q->sender, caller);
        g_hash_table_remove(q->auth->asked, q->sender);
        for (unsigned i = 0; i < messages->len; i++)
                if (r >= 0)
                        take_up(messages->pdata[i]);
                else /* It left meanwhile: nothing happens. */
                        sd_bus_reply_method_errorf(messages->pdata[i], SD_BUS_ERROR_ACCESS_DENIED,
                                                   "The bus does not know who asks");
        return 0;
}

/* @message, if given, is taken up again when it is known. */
static int ask(Auth *auth, sd_bus *bus, const char *sender, sd_bus_message *message) {
        g_autoptr(sd_bus_message) call = NULL;
        Question *q;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                           "org.freedesktop.DBus", "GetConnectionCredentials");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", sender);
        if (r < 0)
                return r;

        q = g_new0(Question, 1);
        q->auth = auth;
        q->sender = g_strdup(sender);
        q->messages = g_ptr_array_new_with_free_func(free_message);
        if (message)
                g_ptr_array_add(q->messages, sd_bus_message_ref(message));
        r = sd_bus_call_async(bus, &q->slot, call, on_answer, q, ASK_USEC);
        if (r < 0) {
                question_free(q);
                return r;
        }
        g_hash_table_insert(auth->asked, q->sender, q);
        return 0;
}

int auth_identify(Auth *auth, sd_bus_message *message, Caller **ret, sd_bus_error *error) {
        const char *sender = sd_bus_message_get_sender(message);
        Caller *caller;
        Question *q;

        if (!sender)
                return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED,
                                        "A call without sender is nobody's");
        caller = g_hash_table_lookup(auth->known, sender);
        if (caller) {
                *ret = caller;
                return 1;
        }

        q = g_hash_table_lookup(auth->asked, sender);
        if (!q)
                return ask(auth, sd_bus_message_get_bus(message), sender, message);
        if (q->messages->len >= WAITING_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%u calls of this connection wait for the bus to say whose it is",
                                         q->messages->len);

        g_ptr_array_add(q->messages, sd_bus_message_ref(message));
        return 0;
}

const Caller *auth_look_up(Auth *auth, sd_bus *bus, const char *sender) {
        const Caller *caller = g_hash_table_lookup(auth->known, sender);
        int r = 0;

        if (!caller && !g_hash_table_contains(auth->asked, sender))
                r = ask(auth, bus, sender, /* message= */ NULL);
        if (r < 0)
                g_debug("Failed to ask the bus who %s is, ignoring: %s", sender, g_strerror(-r));
        return caller;
}

bool auth_is_same_user(Auth *auth, sd_bus_message *a, sd_bus_message *b) {
        const char *one = sd_bus_message_get_sender(a), *other = sd_bus_message_get_sender(b);
        const Caller *x = one ? g_hash_table_lookup(auth->known, one) : NULL;
        const Caller *y = other ? g_hash_table_lookup(auth->known, other) : NULL;

        if (x && y)
                return x->uid == y->uid && x->uid != 0;

        return g_strcmp0(one, other) == 0;
}

int auth_check(Auth *auth, sd_bus_message *message, const AuthRequest *request, Caller **ret,
               sd_bus_error *error) {
        Caller *caller = NULL;
        int r;

        r = auth_identify(auth, message, &caller, error);
        if (r <= 0 || !caller)
                return r;
        if (caller->uid != 0)
                r = polkit_check(auth->polkit, message, caller->uid, request, error);
        if (r > 0)
                *ret = caller;
        return r;
}
