/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <systemd/sd-bus.h>

/* What goes wrong: one sentence, and what to do about it. A message may bring its own advice, behind a
 * newline; else the table has one for its kind. */

#define CTL_ERROR ctl_error_quark()
GQuark ctl_error_quark(void);

enum {
        EXIT_OTHER = 1,
        EXIT_USAGE = 2,
        EXIT_NOT_FOUND = 3,
        EXIT_IN_USE = 4,
};

/* What carvectl itself finds; the bus's errors follow, in fail.c's table. */
enum {
        CTL_FAILED,
        CTL_USAGE,
        CTL_NOT_FOUND,
        CTL_NO_ROOM,
        CTL_SILENT,  /* carved does not answer */
        CTL_GONE,    /* carved ended while it worked for us */
        CTL_TIMEOUT, /* it did not come to pass */
        CTL_BUS,     /* there is no bus to speak to */
        _CTL_MAX,
};

/* From a reply, or from a call that could not be made (@r). */
void fail_from_bus(GError **error, const sd_bus_error *e, int r);

/* From a job's ErrorName and ErrorMessage. */
void fail_from_name(GError **error, const char *name, const char *message);

/* Another sentence for the same kind: as g_prefix_error(), but behind. */
void fail_append(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* On standard error. Returns what to exit with. */
int fail_report(const GError *error);
int fail_exit_code(const GError *error);
