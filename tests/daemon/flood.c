/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "client.h"
#include "flood.h"

#define GIANT (1024 * 1024)
#define DEPTH 30 /* variants in variants: the bus takes no more than 64 containers */

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

static struct {
        const Flood *flood;
        sd_event *event;
        char *giant;
        bool over;
        unsigned answered, refused, failed, left;
} hostile;

typedef struct Connection {
        sd_bus *bus;
        unsigned kind;
} Connection;

/* ---- what it asks for ---- */

static sd_bus_message *call_new(sd_bus *bus, const char *path, const char *interface, const char *member) {
        sd_bus_message *m = NULL;

        ck_assert_int_ge(sd_bus_message_new_method_call(bus, &m, "org.carved1", path, interface, member), 0);
        return m;
}

static sd_bus_message *ask_for_all(sd_bus *bus) {
        return call_new(bus, "/org/carved1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
}

static sd_bus_message *ask_to_create(sd_bus *bus) {
        sd_bus_message *m = call_new(bus, GPU_A2, "org.carved1.VgpuHost", "CreateVgpu");

        sd_bus_message_append(m, "sa{sv}", "A2-4Q", 0);
        return m;
}

static sd_bus_message *ask_for_a_plan(sd_bus *bus) {
        sd_bus_message *m = call_new(bus, GPU_A2, "org.carved1.Sriov", "DisableVfs");

        sd_bus_message_append(m, "a{sv}", 1, "dry-run", "b", true);
        return m;
}

static sd_bus_message *ask_at_length(sd_bus *bus) {
        sd_bus_message *m = call_new(bus, "/org/carved1", "org.carved1.Manager", "GetGpu");

        sd_bus_message_append(m, "s", hostile.giant);
        return m;
}

static sd_bus_message *ask_deeply(sd_bus *bus) {
        sd_bus_message *m = call_new(bus, GPU_A2, "org.carved1.Gpu", "Resync");

        sd_bus_message_open_container(m, 'a', "{sv}");
        sd_bus_message_open_container(m, 'e', "sv");
        sd_bus_message_append(m, "s", "dry-run");
        for (unsigned i = 0; i < DEPTH; i++)
                ck_assert_int_ge(sd_bus_message_open_container(m, 'v', i + 1 < DEPTH ? "v" : "b"), 0);
        sd_bus_message_append(m, "b", true);
        for (unsigned i = 0; i < DEPTH + 2; i++)
                ck_assert_int_ge(sd_bus_message_close_container(m), 0);
        return m;
}

static sd_bus_message *ask_to_look(sd_bus *bus) {
        sd_bus_message *m = call_new(bus, GPU_A2, "org.carved1.Gpu", "Refresh");

        sd_bus_message_append(m, "a{sv}", 0);
        return m;
}

static sd_bus_message *ask_for_nothing(sd_bus *bus) {
        return call_new(bus, "/org/carved1/gpu/_", "org.carved1.Nothing", "Nothing");
}

static sd_bus_message *(*const kinds[])(sd_bus *bus) = { ask_for_all,    ask_to_create, ask_for_a_plan,
                                                         ask_at_length,  ask_deeply,    ask_to_look,
                                                         ask_for_nothing };

/* ---- how it asks ---- */

static void ask_again(Connection *c);

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *refusal = sd_bus_message_get_error(reply);

        if (!refusal)
                hostile.answered++;
        else if (sd_bus_error_has_name(refusal, SD_BUS_ERROR_LIMITS_EXCEEDED))
                hostile.refused++;
        else
                hostile.failed++;
        if (!hostile.over)
                ask_again(userdata);
        return 0;
}

static void ask_again(Connection *c) {
        g_autoptr(sd_bus_message) m = kinds[c->kind](c->bus);

        sd_bus_call_async(c->bus, NULL, m, on_answer, c, 60 * G_USEC_PER_SEC);
}

/* Comes, asks, and is gone before it is answered. */
static void come_and_go(void) {
        sd_bus *bus = NULL;

        if (sd_bus_open_system(&bus) < 0)
                return;
        for (unsigned i = 0; i < hostile.flood->pipeline; i++) {
                g_autoptr(sd_bus_message) m = ask_to_create(bus);

                sd_bus_send(bus, m, NULL);
        }
        sd_bus_flush(bus);
        sd_bus_close_unref(bus);
        hostile.left++;
}

/* No half characters on the bus: whoever sends them is thrown out by it. */
static void speak_nonsense(void) {
        /* Hello, and then GetGpu with a string that is no UTF-8. */
        static const char hello[] =
                "l\1\0\1\0\0\0\0\1\0\0\0m\0\0\0\1\1o\0\25\0\0\0/org/freedesktop/DBus\0\0\0"
                "\3\1s\0\5\0\0\0Hello\0\0\0\2\1s\0\24\0\0\0org.freedesktop.DBus\0\0\0\0"
                "\6\1s\0\24\0\0\0org.freedesktop.DBus\0\0\0\0";
        static const char call[] = "l\1\0\1\10\0\0\0\2\0\0\0]\0\0\0\1\1o\0\14\0\0\0/org/carved1\0\0\0\0"
                                   "\3\1s\0\6\0\0\0GetGpu\0\0\2\1s\0\23\0\0\0org.carved1.Manager\0\0\0\0\0"
                                   "\6\1s\0\13\0\0\0org.carved1\0\0\0\0\0\10\1g\0\1s\0\0\3\0\0\0\377\376\300";
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/run/dbus/system_bus_socket" };
        char auth[64], digits[16];
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), n;

        n = snprintf(digits, sizeof digits, "%u", getuid());
        auth[0] = '\0';
        snprintf(auth + 1, sizeof auth - 1, "AUTH EXTERNAL ");
        for (int i = 0; i < n; i++)
                snprintf(auth + 15 + 2 * i, 3, "%02x", digits[i]);
        snprintf(auth + 15 + 2 * n, sizeof auth - 15 - 2 * (size_t) n, "\r\nBEGIN\r\n");
        if (connect(fd, (struct sockaddr *) &address, sizeof address) == 0) {
                send(fd, auth, 15 + 2 * (size_t) n + strlen("\r\nBEGIN\r\n"), MSG_NOSIGNAL);
                send(fd, hello, sizeof hello - 1, MSG_NOSIGNAL);
                send(fd, call, sizeof call - 1, MSG_NOSIGNAL);
                shutdown(fd, SHUT_WR);
                while (recv(fd, auth, sizeof auth, 0) > 0)
                        ;
        }
        close(fd);
        hostile.left++;
}

static int on_tick(sd_event_source *s, uint64_t usec, void *userdata) {
        come_and_go();
        speak_nonsense();
        sd_event_source_set_time_relative(s, 20 * 1000);
        sd_event_source_set_enabled(s, hostile.over ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
        return 0;
}

static int on_end(sd_event_source *s, uint64_t usec, void *userdata) {
        hostile.over = true;
        return sd_event_exit(hostile.event, 0);
}

/* Of the giants one at a time: more would wait in the bus, which lets anybody fill a queue of 127 MB to
 * anybody. */
static void begin(Connection *c) {
        unsigned n = kinds[c->kind] == ask_at_length ? 1 : hostile.flood->pipeline;

        for (unsigned i = 0; i < n; i++)
                ask_again(c);
}

static void connect_all(void) {
        for (unsigned i = 0; i < hostile.flood->connections; i++) {
                Connection *c = g_new0(Connection, 1);
                const char *name;

                c->kind = i % G_N_ELEMENTS(kinds);
                ck_assert_int_ge(sd_bus_open_system(&c->bus), 0);
                /* One after the other: the bus takes in no more than 64 at a time. */
                ck_assert_int_ge(sd_bus_get_unique_name(c->bus, &name), 0);
                ck_assert_int_ge(sd_bus_attach_event(c->bus, hostile.event, 0), 0);
                if (i < hostile.flood->flooding)
                        begin(c);
        }
}

static void run(const Flood *flood) {
        hostile.flood = flood;
        hostile.giant = g_strnfill(GIANT, '.');
        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setresgid(flood->uid, flood->uid, flood->uid), 0);
        ck_assert_int_eq(setresuid(flood->uid, flood->uid, flood->uid), 0);
        ck_assert_int_ge(sd_event_new(&hostile.event), 0);
        sd_event_add_time_relative(hostile.event, NULL, CLOCK_MONOTONIC, flood->seconds * G_USEC_PER_SEC, 0,
                                   on_end, NULL);
        sd_event_add_time_relative(hostile.event, NULL, CLOCK_MONOTONIC, 0, 0, on_tick, NULL);
        connect_all();
        sd_event_loop(hostile.event);
        printf("# uid %u: %u calls answered, %u refused, %u failed, %u connections gone before they were "
               "answered\n",
               flood->uid, hostile.answered, hostile.refused, hostile.failed, hostile.left);
        fflush(stdout);
        _exit(EXIT_SUCCESS);
}

pid_t flood_start(const Flood *flood) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0)
                run(flood);
        return pid;
}
