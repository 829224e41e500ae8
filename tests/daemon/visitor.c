/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "visitor.h"

/* Never returns. */
static void visit(uint32_t uid, int fd, VisitorAct act, const void *const *data, unsigned n) {
        FILE *out = fdopen(fd, "w");
        sd_bus *bus;

        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setresgid(uid, uid, uid), 0);
        ck_assert_int_eq(setresuid(uid, uid, uid), 0);
        ck_assert_int_ge(sd_bus_open_system(&bus), 0);
        for (unsigned i = 0; i < n; i++)
                fprintf(out, "%s\n", act(bus, data[i]));
        fflush(out);
        _exit(EXIT_SUCCESS);
}

Visitor visitor_send(uint32_t uid, VisitorAct act, const void *const *data, unsigned n) {
        Visitor visitor;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        visitor.pid = fork();
        ck_assert_int_ge(visitor.pid, 0);
        if (visitor.pid == 0)
                visit(uid, fds[1], act, data, n);

        close(fds[1]);
        visitor.fd = fds[0];
        return visitor;
}

GStrv visitor_hear(Visitor *visitor, unsigned n) {
        g_autoptr(GIOChannel) channel = g_io_channel_unix_new(visitor->fd);
        g_autofree char *text = NULL;
        GStrv lines;
        int status;

        g_io_channel_set_close_on_unref(channel, TRUE);
        ck_assert_int_eq(g_io_channel_read_to_end(channel, &text, NULL, NULL), G_IO_STATUS_NORMAL);
        ck_assert_int_eq(waitpid(visitor->pid, &status, 0), visitor->pid);
        ck_assert_int_eq(status, 0);
        lines = g_strsplit(g_strchomp(text), "\n", -1);
        ck_assert_uint_eq(g_strv_length(lines), n);
        return lines;
}

void visitor_leave(Visitor *visitor) {
        ck_assert_int_eq(kill(visitor->pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(visitor->pid, NULL, 0), visitor->pid);
        close(visitor->fd);
}

char *visitor_result(int r, const sd_bus_error *error) {
        return r < 0 ? g_strdup_printf("%s: %s", error->name, error->message) : g_strdup("ok");
}
