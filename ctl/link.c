/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "fail.h"
#include "link.h"
#include "variant.h"

/* carved answers from memory: what takes longer is not coming. SYSTEMD_BUS_TIMEOUT= says otherwise. */
#define PATIENCE_USEC (10 * G_USEC_PER_SEC)

static int open_bus(Ctl *ctl) {
        if (ctl->host)
                return sd_bus_open_system_remote(&ctl->bus, ctl->host);

        return sd_bus_open_system(&ctl->bus);
}

bool link_open(Ctl *ctl, GError **error) {
        int r;

        r = open_bus(ctl);
        if (r >= 0 && !getenv("SYSTEMD_BUS_TIMEOUT"))
                r = sd_bus_set_method_call_timeout(ctl->bus, PATIENCE_USEC);
        if (r >= 0)
                r = sd_event_default(&ctl->event);
        if (r >= 0)
                r = sd_bus_attach_event(ctl->bus, ctl->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                return true;

        if (ctl->host)
                g_set_error(error, CTL_ERROR, CTL_BUS,
                            "There is no way to the system bus of %s: %s\nDoes this work? ssh %s "
                            "systemd-stdio-bridge",
                            ctl->host, g_strerror(-r), ctl->host);
        else
                g_set_error(error, CTL_ERROR, CTL_BUS, "There is no way to the system bus: %s\n%s",
                            g_strerror(-r),
                            r == -ENOENT || r == -ECONNREFUSED ? "Is dbus running? systemctl status dbus"
                                                               : "See DBUS_SYSTEM_BUS_ADDRESS=.");
        return false;
}

void link_close(Ctl *ctl) {
        ctl->bus = sd_bus_flush_close_unref(ctl->bus);
        ctl->event = sd_event_unref(ctl->event);
}

uint64_t link_patience_usec(Ctl *ctl) {
        uint64_t usec = PATIENCE_USEC;

        (void) sd_bus_get_method_call_timeout(ctl->bus, &usec);
        return usec;
}

static bool prepare(Ctl *ctl, sd_bus_message **ret, const char *path, const char *interface,
                    const char *member, GError **error, const char *types, va_list args) {
        g_autoptr(sd_bus_message) m = NULL;
        int r;

        r = sd_bus_message_new_method_call(ctl->bus, &m, CARVED_BUS_NAME, path, interface, member);
        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(m, !ctl->no_ask_password);
        if (r >= 0)
                r = sd_bus_message_appendv(m, types, args);
        if (r < 0) {
                fail_from_bus(error, NULL, r);
                return false;
        }
        *ret = g_steal_pointer(&m);
        return true;
}

bool link_prepare(Ctl *ctl, sd_bus_message **ret, const char *path, const char *interface, const char *member,
                  GError **error, const char *types, ...) {
        va_list args;
        bool ok;

        va_start(args, types);
        ok = prepare(ctl, ret, path, interface, member, error, types, args);
        va_end(args);
        return ok;
}

GVariant *link_ask(Ctl *ctl, const char *path, const char *interface, const char *member, GError **error,
                   const char *types, ...) {
        _cleanup_(sd_bus_error_free) sd_bus_error e = SD_BUS_ERROR_NULL;
        g_autoptr(sd_bus_message) m = NULL, reply = NULL;
        GVariant *answer;
        va_list args;
        bool ok;
        int r;

        va_start(args, types);
        ok = prepare(ctl, &m, path, interface, member, error, types, args);
        va_end(args);
        if (!ok)
                return NULL;

        r = sd_bus_call(ctl->bus, m, 0, &e, &reply);
        if (r < 0) {
                fail_from_bus(error, &e, r);
                return NULL;
        }
        answer = variant_from_message(reply);
        if (!answer)
                fail_from_bus(error, NULL, -EBADMSG);
        return answer;
}

GVariant *link_get_all(Ctl *ctl, const char *path, const char *interface, GError **error) {
        g_autoptr(GVariant) reply = link_ask(ctl, path, PROPERTIES, "GetAll", error, "s", interface);

        return reply ? g_variant_get_child_value(reply, 0) : NULL;
}

bool link_listen(Ctl *ctl, Ear *ear, sd_bus_message_handler_t on_signal, sd_bus_message_handler_t on_owner,
                 sd_bus_message_handler_t on_end, void *userdata, GError **error) {
        int r;

        r = sd_bus_add_match(ctl->bus, &ear->signals,
                             "type='signal',sender='" CARVED_BUS_NAME "',path_namespace='" CARVED_BUS_ROOT
                             "'",
                             on_signal, userdata);
        if (r >= 0)
                r = sd_bus_add_match(ctl->bus, &ear->owner,
                                     "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',"
                                     "arg0='" CARVED_BUS_NAME "'",
                                     on_owner, userdata);
        if (r >= 0 && on_end) /* said by sd-bus itself */
                r = sd_bus_add_match(ctl->bus, &ear->end,
                                     "type='signal',sender='org.freedesktop.DBus.Local',"
                                     "interface='org.freedesktop.DBus.Local',member='Disconnected'",
                                     on_end, userdata);
        if (r < 0)
                fail_from_bus(error, NULL, r);
        return r >= 0;
}

void link_ear_clear(Ear *ear) {
        ear->signals = sd_bus_slot_unref(ear->signals);
        ear->owner = sd_bus_slot_unref(ear->owner);
        ear->end = sd_bus_slot_unref(ear->end);
}

bool link_catch_ends(Ctl *ctl, sd_event_source *sources[static 2], sd_event_signal_handler_t handler,
                     void *userdata, GError **error) {
        static const int signals[] = { SIGINT, SIGTERM };
        sigset_t both;
        int r = 0;

        sigemptyset(&both);
        for (unsigned i = 0; i < G_N_ELEMENTS(signals); i++)
                sigaddset(&both, signals[i]);
        sigprocmask(SIG_BLOCK, &both, NULL);
        for (unsigned i = 0; r >= 0 && i < G_N_ELEMENTS(signals); i++)
                r = sd_event_add_signal(ctl->event, &sources[i], signals[i], handler, userdata);
        if (r < 0)
                fail_from_bus(error, NULL, r);
        return r >= 0;
}
