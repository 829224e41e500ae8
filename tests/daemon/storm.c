/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../tap.h"
#include "cleanup.h"
#include "client.h"
#include "simctl.h"

/* More events than anybody wants. On host mixed, or on one of 16 cards with 64 VFs each, by argument. */

static Client *client;

static void set_up(void) {
        client = client_new();
}

static void tear_down(void) {
        client = client_free(client);
}

static void run(const char *command) {
        g_autofree char *output = shell("%s", command);
}

START_TEST(ten_thousand_events_are_a_few_looks) {
        static const char path[] = "/sys/bus/pci/devices/0000:08:00.0/uevent";
        g_autofree char *before = NULL, *after = NULL;
        unsigned opens_before = 0, opens_after = 0;

        client_settle(client, 500);
        before = shell("carved-simctl log counts");
        for (unsigned i = 0; i < 10000; i++) {
                _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

                ck_assert_int_eq(write(fd, "change", 6), 6);
        }
        ck_assert(property_is(client, &(Expect){ GPU_A2, "org.carved1.Gpu", "State", "ready" }));
        client_settle(client, 800);
        after = shell("carved-simctl log counts");
        ck_assert_uint_eq(client->heard->len, 0); /* nothing became different */

        /* One look at a card with its VFs off opens some 20 files; without coalescing it were 200,000. */
        ck_assert_int_eq(sscanf(before, "opens=%u", &opens_before), 1);
        ck_assert_int_eq(sscanf(after, "opens=%u", &opens_after), 1);
        ck_assert_uint_lt(opens_after - opens_before - 10000, 10000);

        /* And the next change is followed. */
        ck_assert_int_eq(simctl_do("unplug", "0000:5e:00.0"), 0);
        ck_assert(client_wait(client, 10000, object_was_removed, "/org/carved1/gpu/0000_5e_00_0"));
        ck_assert_int_eq(simctl_do("plug", "0000:5e:00.0"), 0);
        ck_assert(client_wait(client, 10000, object_was_added, "/org/carved1/gpu/0000_5e_00_0"));
}
END_TEST

/* One event as udev sends it, to be sent again and again. */
static size_t catch_event(int fd, char *buf, size_t size) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        ssize_t n;

        run("echo change > /sys/bus/pci/devices/0000:08:00.0/uevent");
        ck_assert_int_eq(poll(&wait, 1, 5000), 1);
        n = recv(fd, buf, size, 0);
        ck_assert_int_gt(n, 40);
        return (size_t) n;
}

/* Makes it big by one more property, so that fewer fill a buffer of 128 MiB. */
static size_t inflate(char *buf, size_t len, size_t size) {
        uint32_t properties;

        memset(buf + len, 'x', size - len);
        memcpy(buf + len, "PAD=", 4);
        buf[size - 1] = '\0';
        memcpy(&properties, buf + 20, sizeof properties); /* udev's header: length of the properties */
        properties += (uint32_t) (size - len);
        memcpy(buf + 20, &properties, sizeof properties);
        return size;
}

static void flood(void) {
        struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = 2 };
        _cleanup_close_ int in = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
        _cleanup_close_ int out = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
        char buf[7000];
        size_t len;

        ck_assert_int_eq(bind(in, (struct sockaddr *) &group, sizeof group), 0);
        len = inflate(buf, catch_event(in, buf, 4096), sizeof buf);
        closep(&in);
        for (unsigned i = 0; i < 60000; i++)
                if (sendto(out, buf, len, 0, (struct sockaddr *) &group, sizeof group) < 0)
                        return; /* as full as it can be */
}

START_TEST(events_that_were_lost_are_made_up_for) {
        g_autofree char *pid = shell("carved-simctl daemon pid"), *log = NULL;
        pid_t daemon = (pid_t) g_ascii_strtoll(pid, NULL, 10);

        ck_assert_int_eq(kill(daemon, SIGSTOP), 0);
        flood();
        ck_assert_int_eq(simctl_do("unplug", "0000:5e:00.0"), 0); /* nobody hears of it */
        ck_assert_int_eq(kill(daemon, SIGCONT), 0);
        ck_assert(client_wait(client, 30000, object_was_removed, "/org/carved1/gpu/0000_5e_00_0"));
        log = shell("cat /run/carved-sim/carved.log");
        ck_assert_ptr_nonnull(strstr(log, "Events of udev were lost"));

        ck_assert_int_eq(simctl_do("plug", "0000:5e:00.0"), 0);
        ck_assert(client_wait(client, 10000, object_is_there, "/org/carved1/gpu/0000_5e_00_0"));
}
END_TEST

static bool has_vfs(Client *c, const void *data) {
        return client_count(c, "org.carved1.VirtualFunction") == *(const unsigned *) data;
}

static bool has_hosts(Client *c, const void *data) {
        return client_count(c, "org.carved1.VgpuHost") == *(const unsigned *) data;
}

START_TEST(a_thousand_vfs_come_and_go) {
        const unsigned none = 0, all = 1024, hosts = 1040;

        run("/usr/lib/nvidia/sriov-manage -d ALL; carved-simctl settle");
        ck_assert(client_wait(client, 60000, has_vfs, &none));
        client_settle(client, 500);
        client_forget(client);

        run("/usr/lib/nvidia/sriov-manage -e ALL; carved-simctl settle");
        ck_assert(client_wait(client, 60000, has_vfs, &all));
        ck_assert(client_wait(client, 60000, has_hosts, &hosts));
        client_settle(client, 500);

        /* Each VF came once; its types at the same time or later. */
        for (unsigned i = 0; i < 64; i++) {
                g_autofree char *path = g_strdup_printf("/org/carved1/gpu/0000_01_00_0/vf/%u", i);
                unsigned n = client_heard(client, "InterfacesAdded", path, NULL);

                ck_assert_msg(n == 1 || n == 2, "%s was added %u times", path, n);
        }
}
END_TEST

int main(int argc, char **argv) {
        Suite *suite = suite_create("storm");
        TCase *tcase = tcase_create("storm");

        tcase_set_timeout(tcase, 240);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        if (g_str_equal(argv[1], "mixed")) {
                tcase_add_test(tcase, ten_thousand_events_are_a_few_looks);
                tcase_add_test(tcase, events_that_were_lost_are_made_up_for);
        } else
                tcase_add_test(tcase, a_thousand_vfs_come_and_go);
        client_add_last_test(tcase);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
