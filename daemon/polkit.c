/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "object.h"
#include "polkit.h"

#define POLKIT_NAME      "org.freedesktop.PolicyKit1"
#define POLKIT_PATH      "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"

/* A person may look for a password; a program gets its answer from rules. */
#define INTERACTIVE_USEC (10 * 60 * G_USEC_PER_SEC)
#define ALONE_USEC       (60 * G_USEC_PER_SEC)

#define CHECKS_MAX         1024U
#define CHECKS_PER_UID_MAX 32U

enum { FLAG_INTERACTION = 1 };

static const char *const action_names[_AUTH_ACTION_MAX] = {
        [AUTH_CONFIGURE_GPU] = CARVED_BUS_NAME ".configure-gpu",
        [AUTH_MANAGE_VGPUS] = CARVED_BUS_NAME ".manage-vgpus",
};

struct Polkit {
        sd_event *event;
        GHashTable *checks; /* message → Check */
        uint64_t last_id;
        sd_bus_slot *leaving; /* tells who leaves, as long as there are checks */
};

/* A call that waits: first for polkit, then for its second turn. */
typedef struct Check {
        Polkit *polkit;
        sd_bus_message *message;
        uint32_t uid;
        uint64_t id;
        char *request; /* what polkit was asked */
        sd_bus_slot *slot;
        sd_event_source *unwanted; /* goes off when the second turn has not come to us */
        bool answered;
        sd_bus_error refusal; /* unset: he may */
} Check;

static void check_free(void *p) {
        Check *check = p;

        sd_event_source_disable_unref(check->unwanted);
        sd_bus_slot_unref(check->slot);
        sd_bus_error_free(&check->refusal);
        sd_bus_message_unref(check->message);
        g_free(check->request);
        g_free(check);
}

Polkit *polkit_new(sd_event *event) {
        Polkit *polkit = g_new0(Polkit, 1);

        polkit->event = sd_event_ref(event);
        polkit->checks = g_hash_table_new_full(NULL, NULL, NULL, check_free);
        return polkit;
}

Polkit *polkit_free(Polkit *polkit) {
        if (!polkit)
                return NULL;

        polkit_reset(polkit);
        g_hash_table_unref(polkit->checks);
        sd_event_unref(polkit->event);
        g_free(polkit);
        return NULL;
}

void polkit_reset(Polkit *polkit) {
        g_hash_table_remove_all(polkit->checks);
        polkit->leaving = sd_bus_slot_unref(polkit->leaving);
}

static void forget(Check *check) {
        Polkit *polkit = check->polkit;

        g_hash_table_remove(polkit->checks, check->message);
        if (g_hash_table_size(polkit->checks) == 0)
                polkit->leaving = sd_bus_slot_unref(polkit->leaving);
}

static void format_id(const Check *check, char buf[static 32]) {
        g_snprintf(buf, 32, "carved-%" G_GUINT64_FORMAT, check->id);
}

/* Whom nobody waits for any more shall not be asked for a password. */
static void cancel(Check *check) {
        g_autoptr(sd_bus_message) call = NULL;
        sd_bus *bus = sd_bus_message_get_bus(check->message);
        char id[32];
        int r;

        format_id(check, id);
        r = sd_bus_message_new_method_call(bus, &call, POLKIT_NAME, POLKIT_PATH, POLKIT_INTERFACE,
                                           "CancelCheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", id);
        if (r >= 0)
                r = sd_bus_message_set_expect_reply(call, false);
        if (r >= 0)
                r = sd_bus_message_set_auto_start(call, false);
        if (r >= 0)
                r = sd_bus_send(bus, call, NULL);
        if (r < 0)
                g_debug("Failed to call polkit off, ignoring: %s", g_strerror(-r));
}

/* ---- the answer ---- */

/* The object is gone, or another handler had the message: nobody comes for the answer. */
static int on_unwanted(sd_event_source *s, void *userdata) {
        forget(userdata);
        return 0;
}

/* Back to the handler, from the top. */
static void take_up(Check *check) {
        int r;

        check->answered = true;
        check->slot = sd_bus_slot_unref(check->slot);
        r = sd_bus_message_rewind(check->message, true);
        if (r >= 0)
                r = sd_bus_enqueue_for_read(sd_bus_message_get_bus(check->message), check->message);
        /* After all messages that wait, and so after this one. */
        if (r >= 0)
                r = sd_event_add_defer(check->polkit->event, &check->unwanted, on_unwanted, check);
        if (r >= 0)
                r = sd_event_source_set_priority(check->unwanted, SD_EVENT_PRIORITY_IDLE);
        if (r < 0) {
                g_warning("Failed to take up a call again, ignoring: %s", g_strerror(-r));
                forget(check);
        }
}

static int read_answer(sd_bus_message *reply, Check *check) {
        bool dismissed = false;
        const char *key, *value;
        int r, authorized, challenge;

        r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(reply, "bb", &authorized, &challenge);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "{ss}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(reply, "{ss}", &key, &value)) > 0)
                dismissed = dismissed || g_str_equal(key, "polkit.dismissed");
        if (r < 0)
                return r;

        if (authorized)
                return 0;
        if (challenge && !dismissed)
                return sd_bus_error_setf(&check->refusal, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
                                         "polkit wants uid %u to prove who he is: %s", check->uid,
                                         check->request);

        return sd_bus_error_setf(&check->refusal, SD_BUS_ERROR_ACCESS_DENIED, "polkit denies uid %u this: %s",
                                 check->uid, check->request);
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *failure = sd_bus_message_get_error(reply);
        Check *check = userdata;

        if (failure) {
                /* It may only be slow. */
                if (sd_bus_error_has_name(failure, SD_BUS_ERROR_NO_REPLY) ||
                    sd_bus_error_has_name(failure, SD_BUS_ERROR_TIMEOUT))
                        cancel(check);
                sd_bus_error_setf(&check->refusal, SD_BUS_ERROR_ACCESS_DENIED,
                                  "Only root may change anything as long as polkit can't be asked: %s",
                                  failure->message ?: failure->name);
        } else if (read_answer(reply, check) < 0 && !sd_bus_error_is_set(&check->refusal))
                sd_bus_error_set(&check->refusal, SD_BUS_ERROR_ACCESS_DENIED, "polkit answers nonsense");
        take_up(check);
        return 0;
}

/* ---- the question ---- */

static int on_left(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        g_autoptr(GPtrArray) left = g_ptr_array_new();
        Polkit *polkit = userdata;
        GHashTableIter iter;
        const char *name;
        void *check;

        if (sd_bus_message_read(signal, "s", &name) < 0)
                return 0;

        g_hash_table_iter_init(&iter, polkit->checks);
        while (g_hash_table_iter_next(&iter, NULL, &check))
                if (strcmp(sd_bus_message_get_sender(((Check *) check)->message), name) == 0)
                        g_ptr_array_add(left, check);
        for (unsigned i = 0; i < left->len; i++) {
                check = left->pdata[i];
                if (!((Check *) check)->answered)
                        cancel(check);
                /* One that is to be dispatched again is asked about anew, and polkit knows nobody of that
                 * name. */
                forget(check);
        }
        return 0;
}

/* Without it, whoever leaves would go unnoticed: nobody may pass then. */
static int on_watched(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        g_autoptr(GList) checks = NULL;
        Polkit *polkit = userdata;

        if (!sd_bus_message_is_method_error(reply, NULL))
                return 0;

        checks = g_hash_table_get_values(polkit->checks);
        for (GList *each = checks; each; each = each->next) {
                Check *check = each->data;

                if (check->answered)
                        continue;
                cancel(check);
                sd_bus_error_set(&check->refusal, SD_BUS_ERROR_ACCESS_DENIED,
                                 "Only root may change anything as long as the bus does not tell who leaves");
                take_up(check);
        }
        return 0;
}

static int watch(Polkit *polkit, sd_bus *bus) {
        if (polkit->leaving)
                return 0;

        return sd_bus_add_match_async(
                bus, &polkit->leaving,
                "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''",
                on_left, on_watched, polkit);
}

static int compose(const Check *check, const AuthRequest *request, uint32_t flags, sd_bus_message **ret) {
        g_autoptr(sd_bus_message) call = NULL;
        char id[32];
        int r;

        format_id(check, id);
        r = sd_bus_message_new_method_call(sd_bus_message_get_bus(check->message), &call, POLKIT_NAME,
                                           POLKIT_PATH, POLKIT_INTERFACE, "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(call, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
                                          sd_bus_message_get_sender(check->message),
                                          action_names[request->action], 3, "verb", request->verb, "gpu",
                                          request->gpu, "uuid", request->uuid, flags, id);
        if (r < 0)
                return r;

        *ret = g_steal_pointer(&call);
        return 0;
}

/* One user can fill only a part of the room. */
static int check_room(Polkit *polkit, uint32_t uid, sd_bus_error *error) {
        GHashTableIter iter;
        unsigned same = 0;
        void *check;

        g_hash_table_iter_init(&iter, polkit->checks);
        while (g_hash_table_iter_next(&iter, NULL, &check))
                same += ((Check *) check)->uid == uid;
        if (same >= CHECKS_PER_UID_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%u calls of uid %u wait for polkit already", same, uid);
        if (g_hash_table_size(polkit->checks) >= CHECKS_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%u calls wait for polkit already", CHECKS_MAX);

        return 0;
}

static int ask(Polkit *polkit, sd_bus_message *message, uint32_t uid, const AuthRequest *request, char *text,
               sd_bus_error *error) {
        bool interactive = sd_bus_message_get_allow_interactive_authorization(message) > 0;
        g_autofree char *owned = text;
        g_autoptr(sd_bus_message) call = NULL;
        sd_bus *bus = sd_bus_message_get_bus(message);
        Check *check;
        int r;

        r = check_room(polkit, uid, error);
        if (r >= 0)
                r = watch(polkit, bus); /* first: polkit looks the caller up after that */
        if (r < 0)
                return r;

        check = g_new0(Check, 1);
        check->polkit = polkit;
        check->message = sd_bus_message_ref(message);
        check->uid = uid;
        check->id = ++polkit->last_id;
        check->request = g_steal_pointer(&owned);
        g_hash_table_insert(polkit->checks, check->message, check);
        r = compose(check, request, interactive ? FLAG_INTERACTION : 0, &call);
        if (r >= 0)
                r = sd_bus_call_async(bus, &check->slot, call, on_answer, check,
                                      interactive ? INTERACTIVE_USEC : ALONE_USEC);
        if (r < 0)
                forget(check);
        return r < 0 ? r : 0;
}

/* What was asked, in words: the answer counts for this and nothing else. */
static char *describe(const AuthRequest *request) {
        return g_strdup_printf("%s, %s%s%s%s%s", action_names[request->action], request->verb,
                               *request->gpu ? ", GPU " : "", request->gpu, *request->uuid ? ", vGPU " : "",
                               request->uuid);
}

int polkit_check(Polkit *polkit, sd_bus_message *message, uint32_t uid, const AuthRequest *request,
                 sd_bus_error *error) {
        g_autofree char *text = describe(request);
        Check *check = g_hash_table_lookup(polkit->checks, message);
        int r = 1;

        if (!check)
                return ask(polkit, message, uid, request, g_steal_pointer(&text), error);
        if (!check->answered)
                return 0;

        /* The world may have moved between the two: the same words mean another card now. */
        if (!g_str_equal(check->request, text)) {
                forget(check);
                return ask(polkit, message, uid, request, g_steal_pointer(&text), error);
        }

        if (sd_bus_error_is_set(&check->refusal))
                r = sd_bus_error_copy(error, &check->refusal);
        forget(check);
        return r;
}
