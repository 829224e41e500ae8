/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polkitd.h"
#include "visitor.h"

#define POLKITD   "/usr/lib/polkit-1/polkitd"
#define NAME      "org.freedesktop.PolicyKit1"
#define PATH      "/org/freedesktop/PolicyKit1/Authority"
#define AUTHORITY "org.freedesktop.PolicyKit1.Authority"
#define AGENT     "org.freedesktop.PolicyKit1.AuthenticationAgent"
#define AGENT_AT  "/agent"
#define DIR       "/run/polkit-test"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

static pid_t polkitd;

/* Its directories are compiled in. */
static void cover(const char *with, const char *directory) {
        if (mount(with, directory, NULL, MS_BIND, NULL) < 0)
                _exit(100 + errno);
}

static void run(void) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                _exit(99);
        cover(DIR "/actions", "/usr/share/polkit-1/actions");
        cover(DIR "/rules", "/etc/polkit-1/rules.d");
        cover(DIR "/none", "/usr/share/polkit-1/rules.d");
        execl(POLKITD, "polkitd", "--no-debug", NULL);
        _exit(98);
}

static bool is_on_bus(Client *client, const void *data) {
        return sd_bus_get_name_creds(client->bus, NAME, 0, NULL) >= 0;
}

void polkitd_start(const char *policy, const char *rules) {
        g_autoptr(Client) client = client_new();
        g_autofree char *made = shell("umask 022; rm -rf " DIR "; mkdir -p " DIR "/actions " DIR "/rules " DIR
                                      "/none && cp '%s' " DIR "/actions && chmod -R a+rX " DIR,
                                      policy);

        ck_assert(g_file_set_contents_full(DIR "/rules/10-test.rules", rules, -1, G_FILE_SET_CONTENTS_NONE,
                                           0644, NULL));
        polkitd = fork();
        ck_assert_int_ge(polkitd, 0);
        if (polkitd == 0)
                run();
        ck_assert_msg(client_wait(client, 20000, is_on_bus, NULL), "polkitd did not come to the bus");
}

void polkitd_kill(int signal) {
        ck_assert_int_gt(polkitd, 0);
        ck_assert_int_eq(kill(polkitd, signal), 0);
}

static bool is_off_bus(Client *client, const void *data) {
        return !is_on_bus(client, data);
}

void polkitd_end(void) {
        g_autoptr(Client) client = client_new();

        if (polkitd <= 0)
                return;

        polkitd_kill(SIGKILL);
        ck_assert_int_eq(waitpid(polkitd, NULL, 0), polkitd);
        polkitd = 0;
        ck_assert(client_wait(client, 5000, is_off_bus, NULL));
}

/* ---- the agent ---- */

/* Root may say for whom somebody has proved himself: here, that he is root. */
static int prove(sd_bus *bus, const char *cookie, sd_bus_error *error) {
        return sd_bus_call_method(bus, NAME, PATH, AUTHORITY, "AuthenticationAgentResponse2", error, NULL,
                                  "us(sa{sv})", 0, cookie, "unix-user", 1, "uid", "u", 0);
}

static int on_begin(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *action, *text, *icon, *cookie;
        Agent *agent = userdata;
        int r;

        agent->begun++;
        r = sd_bus_message_read(message, "sss", &action, &text, &icon);
        if (r >= 0)
                r = sd_bus_message_skip(message, "a{ss}");
        if (r >= 0)
                r = sd_bus_message_read(message, "s", &cookie);
        if (r < 0)
                return r;
        if (agent->mood == AGENT_WAITS)
                return 1;
        if (agent->mood == AGENT_DECLINES)
                return sd_bus_error_set(error, "org.freedesktop.PolicyKit1.Error.Cancelled", "No");

        r = prove(sd_bus_message_get_bus(message), cookie, error);
        return r < 0 ? r : sd_bus_reply_method_return(message, NULL);
}

static int on_cancel(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Agent *agent = userdata;

        agent->cancelled++;
        return sd_bus_reply_method_return(message, NULL);
}

static const sd_bus_vtable agent_vtable[] = { SD_BUS_VTABLE_START(0),
                                              SD_BUS_METHOD("BeginAuthentication", "sssa{ss}sa(sa{sv})", NULL,
                                                            on_begin, SD_BUS_VTABLE_UNPRIVILEGED),
                                              SD_BUS_METHOD("CancelAuthentication", "s", NULL, on_cancel,
                                                            SD_BUS_VTABLE_UNPRIVILEGED),
                                              SD_BUS_VTABLE_END };

/* By which polkit knows that the number of a process was not given to another meanwhile. */
static uint64_t start_time(int pid) {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid), *text = NULL;
        g_auto(GStrv) words = NULL;

        ck_assert(g_file_get_contents(path, &text, NULL, NULL));
        words = g_strsplit(strrchr(text, ')') + 2, " ", -1);
        return g_ascii_strtoull(words[19], NULL, 10);
}

void agent_register(Agent *agent, Client *client, int pid) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        ck_assert_int_ge(
                sd_bus_add_object_vtable(client->bus, &agent->slot, AGENT_AT, AGENT, agent_vtable, agent), 0);
        r = sd_bus_call_method(client->bus, NAME, PATH, AUTHORITY, "RegisterAuthenticationAgent", &error,
                               NULL, "(sa{sv})ss", "unix-process", 3, "pid", "u", pid, "start-time", "t",
                               start_time(pid), "uid", "i", NOBODY, "C", AGENT_AT);
        ck_assert_msg(r >= 0, "%s", error.message);
}

void agent_end(Agent *agent) {
        agent->slot = sd_bus_slot_unref(agent->slot);
}

/* ---- the spy ---- */

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *member = sd_bus_message_get_member(message);
        Spy *spy = userdata;

        if (sd_bus_message_is_method_call(message, AUTHORITY, NULL) > 0) {
                spy->asked += g_str_equal(member, "CheckAuthorization");
                spy->called_off += g_str_equal(member, "CancelCheckAuthorization");
        }
        return 1;
}

Spy *spy_new(void) {
        Spy *spy = g_new0(Spy, 1);

        ck_assert_int_ge(sd_bus_new(&spy->bus), 0);
        ck_assert_int_ge(sd_bus_set_address(spy->bus, g_getenv("DBUS_SYSTEM_BUS_ADDRESS")), 0);
        ck_assert_int_ge(sd_bus_set_bus_client(spy->bus, true), 0);
        ck_assert_int_ge(sd_bus_set_monitor(spy->bus, true), 0);
        ck_assert_int_ge(sd_bus_start(spy->bus), 0);
        ck_assert_int_ge(sd_bus_call_method(spy->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                            "org.freedesktop.DBus.Monitoring", "BecomeMonitor", NULL, NULL,
                                            "asu", 1, "interface='" AUTHORITY "'", 0),
                         0);
        ck_assert_int_ge(sd_bus_add_filter(spy->bus, NULL, on_message, spy), 0);
        return spy;
}

Spy *spy_free(Spy *spy) {
        sd_bus_close_unref(spy->bus);
        g_free(spy);
        return NULL;
}

void spy_wait(Spy *spy, unsigned asked, unsigned called_off) {
        int64_t end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;

        while (spy->asked < asked || spy->called_off < called_off) {
                ck_assert_msg(g_get_monotonic_time() < end,
                              "polkit was asked %u times, and called off %u times", spy->asked,
                              spy->called_off);
                if (sd_bus_process(spy->bus, NULL) == 0)
                        sd_bus_wait(spy->bus, 100 * 1000);
        }
        ck_assert_uint_eq(spy->asked, asked);
        ck_assert_uint_eq(spy->called_off, called_off);
}
