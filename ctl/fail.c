/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "style.h"

G_DEFINE_QUARK(carvectl, ctl_error)

#define OURS(name)     "org.carved1.Error." name
#define STANDARD(name) "org.freedesktop.DBus.Error." name

static const struct {
        const char *name; /* on the bus */
        int exit_code;
        const char *advice;
} kinds[] = {
        [CTL_FAILED] = { NULL, EXIT_OTHER, NULL },
        [CTL_USAGE] = { NULL, EXIT_USAGE, "See 'carvectl help', or carvectl(1)." },
        [CTL_NOT_FOUND] = { NULL, EXIT_NOT_FOUND, "'carvectl' shows what there is." },
        [CTL_NO_ROOM] = { NULL, EXIT_OTHER, "'carvectl types' shows what can be had, and why not more." },
        [CTL_SILENT] = { NULL, EXIT_OTHER,
                         "Look at it: systemctl status carved. If it hangs, systemd starts it again soon." },
        [CTL_GONE] = { NULL, EXIT_OTHER,
                       "What was under way is finished or undone when it starts again; then ask again." },
        [CTL_TIMEOUT] = { NULL, EXIT_OTHER, "'carvectl' shows how it is now; --timeout=0 waits for ever." },
        [CTL_BUS] = { NULL, EXIT_OTHER, "Is the system bus there? Over ssh, try: ssh HOST carvectl" },

        { OURS("NoSuchGpu"), EXIT_NOT_FOUND, "'carvectl list gpus' shows those there are." },
        { OURS("NoSuchVf"), EXIT_NOT_FOUND, "'carvectl list vfs' shows those there are." },
        { OURS("NoSuchVgpu"), EXIT_NOT_FOUND, "'carvectl list vgpus' shows those there are." },
        { OURS("NoSuchType"), EXIT_NOT_FOUND,
          "'carvectl types' shows those there are; MIG profiles: 'carvectl mig'." },
        { OURS("TypeNotAvailable"), EXIT_OTHER,
          "Take a type that can be had, or destroy what is in the way: 'carvectl explain GPU TYPE' tells." },
        { OURS("NoCapacity"), EXIT_OTHER,
          "Destroy one, or take another GPU: 'carvectl types' shows where there is room." },
        { OURS("NotSupported"), EXIT_OTHER,
          "This card, driver or option can't; carved(8) tells what it takes." },
        { OURS("NotReady"), EXIT_OTHER,
          "Do what it names, then ask again. VFs: 'carvectl enable GPU'; MIG: 'carvectl mig mode GPU on'." },
        { OURS("NotOurs"), EXIT_OTHER, "Take it over first: carvectl adopt; or let its maker remove it." },
        { OURS("InUse"), EXIT_IN_USE,
          "End what it names first: most often a virtual machine is to be shut down." },
        { OURS("Exists"), EXIT_OTHER, "Take another UUID, or none: carved then chooses one." },
        { OURS("Conflict"), EXIT_OTHER, "Clear what is named out of the way." },
        { OURS("KernelRefused"), EXIT_OTHER, "All is as before; dmesg and 'carvectl log' may say more." },
        { OURS("UndoFailed"), EXIT_OTHER, "Put right what it names, then: carvectl resync GPU" },
        { OURS("Stalled"), EXIT_OTHER,
          "Wait: 'carvectl list jobs' shows when the kernel lets go. Never? Reboot." },
        { OURS("Mismatch"), EXIT_OTHER,
          "Take the card that is there: carvectl adopt GPU; or: carvectl forget GPU" },
        { OURS("StateUnreadable"), EXIT_OTHER,
          "Take what is there: carvectl adopt GPU; or: carvectl forget GPU" },
        { OURS("Cancelled"), EXIT_OTHER, "Ask again, if it is still wanted." },
        { OURS("Failed"), EXIT_OTHER, "'carvectl log' may say more." },
        { STANDARD("AccessDenied"), EXIT_OTHER, "Ask as root: sudo carvectl …" },
        { STANDARD("InteractiveAuthorizationRequired"), EXIT_OTHER,
          "Ask on a terminal without --no-ask-password, or as root: sudo carvectl …" },
        { STANDARD("InvalidArgs"), EXIT_USAGE, "Correct what it names; carvectl(1) has the forms." },
        { STANDARD("LimitsExceeded"), EXIT_OTHER, "Too much at a time: wait a moment, then ask again." },
        { STANDARD("UnknownObject"), EXIT_NOT_FOUND,
          "It may have gone meanwhile; 'carvectl' shows what there is." },
        { STANDARD("UnknownMethod"), EXIT_OTHER,
          "That object can't do it, or carved is older than carvectl: 'carvectl --version' tells." },
        { STANDARD("UnknownInterface"), EXIT_OTHER,
          "That object can't do it, or carved is older than carvectl: 'carvectl --version' tells." },
};

/* What the bus says when nobody is there, or nobody answers, says little to people. */
static const struct {
        const char *name;
        int kind;
        const char *sentence;
} rewritten[] = {
        { STANDARD("ServiceUnknown"), CTL_FAILED,
          "carved is not running, and can't be started by the bus\nStart it: systemctl start carved" },
        { STANDARD("NameHasNoOwner"), CTL_FAILED, "carved is not running\nStart it: systemctl start carved" },
        { STANDARD("NoReply"), CTL_SILENT, "carved does not answer" },
        { STANDARD("Timeout"), CTL_SILENT, "carved does not answer" },
        { STANDARD("TimedOut"), CTL_SILENT, "carved does not answer" },
        { STANDARD("Disconnected"), CTL_BUS, "The bus went away" },
};

void fail_from_name(GError **error, const char *name, const char *message) {
        for (unsigned i = 0; i < G_N_ELEMENTS(rewritten); i++)
                if (g_strcmp0(rewritten[i].name, name) == 0) {
                        g_set_error_literal(error, CTL_ERROR, rewritten[i].kind, rewritten[i].sentence);
                        return;
                }
        for (unsigned i = _CTL_MAX; i < G_N_ELEMENTS(kinds); i++)
                if (g_strcmp0(kinds[i].name, name) == 0) {
                        g_set_error_literal(error, CTL_ERROR, (int) i, message);
                        return;
                }
        if (name && g_str_has_prefix(name, "org.freedesktop.DBus.Error.Spawn."))
                g_set_error(error, CTL_ERROR, CTL_FAILED,
                            "carved could not be started: %s\nSee why: systemctl status carved", message);
        else
                g_set_error(error, CTL_ERROR, CTL_FAILED, "%s", *message ? message : name);
}

void fail_from_bus(GError **error, const sd_bus_error *e, int r) {
        /* What sd-bus finds by itself has a number, and may have a name of no use. */
        if (r == -ETIMEDOUT)
                fail_from_name(error, STANDARD("NoReply"), "");
        else if (r == -ENOTCONN || r == -ECONNRESET || r == -EPIPE)
                fail_from_name(error, STANDARD("Disconnected"), "");
        else if (e && sd_bus_error_is_set(e))
                fail_from_name(error, e->name, e->message ?: "");
        else
                g_set_error(error, CTL_ERROR, CTL_FAILED, "It could not be asked for: %s", g_strerror(-r));
}

void fail_append(GError **error, const char *format, ...) {
        g_autofree char *more = NULL, *old = NULL, *advice = NULL;
        char *end;
        va_list args;

        if (!error || !*error)
                return;

        va_start(args, format);
        more = g_strdup_vprintf(format, args);
        va_end(args);
        old = g_steal_pointer(&(*error)->message);
        end = strchr(old, '\n');
        advice = g_strdup(end ?: "");
        if (end)
                *end = '\0';
        (*error)->message = g_strconcat(old, more, advice, NULL);
}

int fail_exit_code(const GError *error) {
        return error->domain == CTL_ERROR ? kinds[error->code].exit_code : EXIT_OTHER;
}

int fail_report(const GError *error) {
        const char *newline = strchr(error->message, '\n');
        int len = newline ? (int) (newline - error->message) : (int) strlen(error->message);
        const char *advice = newline                      ? newline + 1
                             : error->domain == CTL_ERROR ? kinds[error->code].advice
                                                          : NULL;

        fprintf(stderr, "%scarvectl:%s %.*s\n", style(STDERR, STYLE_BAD), style(STDERR, STYLE_PLAIN), len,
                error->message);
        if (advice)
                fprintf(stderr, "%s %s\n", glyph(GLYPH_ARROW), advice);
        return fail_exit_code(error);
}
