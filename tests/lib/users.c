/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "users.h"

/* Devices that nobody else has open: programs are born with /dev/null. */
static const char *const nodes[] = { "/dev/full", "/dev/zero" };

static GArray *devices_new(void) {
        GArray *devices = g_array_new(FALSE, FALSE, sizeof(dev_t));

        for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++) {
                struct stat st;

                ck_assert_int_eq(stat(nodes[i], &st), 0);
                g_array_append_val(devices, st.st_rdev);
        }
        return devices;
}

/* What a process does to each of the two, once or twice; -1: nothing. */
typedef struct Habit {
        int flags[2], again[2];
        const char *command, *shown; /* its name for itself, and for us */
        bool uses[2];
} Habit;

static const Habit habits[] = {
        { { O_RDONLY, -1 }, { -1, -1 }, "qemu", "qemu", { true, false } },
        { { O_WRONLY, -1 }, { -1, -1 }, "qemu", "qemu", { true, false } },
        { { -1, O_RDWR }, { -1, -1 }, "qemu", "qemu", { false, true } },
        { { O_RDWR, O_RDWR }, { O_RDWR, O_RDWR }, "qemu", "qemu", { true, true } },
        { { O_PATH, -1 }, { -1, -1 }, "udevd", "udevd", { false, false } },
        { { O_PATH, O_PATH }, { O_PATH, O_RDONLY }, "udevd", "udevd", { false, true } },
        { { O_RDONLY, O_RDONLY }, { O_PATH, O_PATH }, "udevd", "udevd", { true, true } },
        { { -1, -1 }, { -1, -1 }, "sh", "sh", { false, false } },
        { { O_RDONLY, -1 }, { -1, -1 }, "\xff\xfe", "?", { true, false } },
};

/* In the child: never returns. */
static void live(const Habit *habit, int ready) {
        prctl(PR_SET_NAME, habit->command);
        for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
                if ((habit->flags[i] >= 0 && open(nodes[i], habit->flags[i]) < 0) ||
                    (habit->again[i] >= 0 && open(nodes[i], habit->again[i]) < 0))
                        _exit(EXIT_FAILURE);
        if (write(ready, "", 1) == 1)
                for (;;)
                        pause();
        _exit(EXIT_FAILURE);
}

static pid_t spawn(const Habit *habit) {
        int ends[2];
        pid_t pid;
        char byte;

        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                close(ends[0]);
                live(habit, ends[1]);
        }
        close(ends[1]);
        ck_assert_int_eq(read(ends[0], &byte, 1), 1);
        close(ends[0]);
        return pid;
}

static const CarvedUser *find(const GArray *users, pid_t pid, uint32_t device) {
        const CarvedUser *found = NULL;

        for (unsigned i = 0; i < users->len; i++) {
                const CarvedUser *user = &g_array_index(users, CarvedUser, i);

                if (user->pid != (uint32_t) pid || user->device != device)
                        continue;
                ck_assert_ptr_null(found); /* each once */
                found = user;
        }
        return found;
}

START_TEST(who_has_a_device_open_uses_it_and_who_only_names_it_does_not) {
        g_autoptr(GArray) devices = devices_new(), users = NULL;
        pid_t pid = spawn(&habits[_i]);
        unsigned rows = 0;

        users = carved_users_scan(devices);
        for (uint32_t i = 0; i < G_N_ELEMENTS(nodes); i++) {
                const CarvedUser *user = find(users, pid, i);

                ck_assert_int_eq(user != NULL, habits[_i].uses[i]);
                if (user)
                        ck_assert_str_eq(user->command, habits[_i].shown);
        }
        carved_users_unique(users);
        for (unsigned i = 0; i < users->len; i++)
                rows += g_array_index(users, CarvedUser, i).pid == (uint32_t) pid;
        ck_assert_uint_eq(rows, habits[_i].uses[0] || habits[_i].uses[1]);

        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(what_one_has_open_is_not_told_of_another) {
        static const Habit each[] = { { { O_RDONLY, -1 }, { -1, -1 }, "a", "a", { true, false } },
                                      { { -1, O_RDONLY }, { -1, -1 }, "b", "b", { false, true } } };
        g_autoptr(GArray) devices = devices_new(), users = NULL;
        pid_t pids[] = { spawn(&each[0]), spawn(&each[1]), spawn(&each[0]) };

        users = carved_users_scan(devices);
        for (unsigned i = 0; i < G_N_ELEMENTS(pids); i++) {
                ck_assert_int_eq(find(users, pids[i], 0) != NULL, i != 1);
                ck_assert_int_eq(find(users, pids[i], 1) != NULL, i == 1);
                kill(pids[i], SIGKILL);
                ck_assert_int_eq(waitpid(pids[i], NULL, 0), pids[i]);
        }
}
END_TEST

START_TEST(we_are_no_user_ourselves) {
        g_autoptr(GArray) devices = devices_new(), users = NULL;
        int fd = open(nodes[0], O_RDONLY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        users = carved_users_scan(devices);
        ck_assert_ptr_null(find(users, getpid(), 0));
        close(fd);
}
END_TEST

START_TEST(nothing_has_no_users) {
        g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(dev_t)), of_none = carved_users_scan(none),
                          of_null = carved_users_scan(NULL);

        ck_assert_uint_eq(of_none->len + of_null->len, 0);
        carved_users_unique(of_none);
        ck_assert_uint_eq(of_none->len, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("users");
        TCase *tcase = tcase_create("users");

        tcase_add_loop_test(tcase, who_has_a_device_open_uses_it_and_who_only_names_it_does_not, 0,
                            G_N_ELEMENTS(habits));
        tcase_add_test(tcase, what_one_has_open_is_not_told_of_another);
        tcase_add_test(tcase, we_are_no_user_ourselves);
        tcase_add_test(tcase, nothing_has_no_users);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
