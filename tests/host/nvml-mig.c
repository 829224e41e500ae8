/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* MIG through the simulated libnvidia-ml.so.1, on an A100 and an H100: what is asked, and what is answered.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>

#include "nvml.h"
#include "simctl.h"

/* All profiles, as nvidia-smi lists them: 1g, 1g+me, 1g double, 2g, 3g, 4g, 7g. */
#define LEFT "left 19 20 15 14 9 5 0"

static const char *address;

START_TEST(profiles_are_found_by_enumeration_and_have_ids_of_their_own) {
        static const NvmlRow rows[] = {
                BEGIN,
                { "mode", "0 0" },
                { "info 0", "19 1 7 4864" },
                { "info 1", "14 2 3 9984" },
                { "info 2", "9 3 2 20096" },
                { "info 3", "5 4 1 20096" },
                { "info 4", "0 7 1 40192" },
                { "info 5", "NOT_SUPPORTED" }, /* a hole */
                { "info 6", "NOT_SUPPORTED" },
                { "info 7", "20 1 1 4864" },
                { "info 8", "NOT_SUPPORTED" },
                { "info 9", "15 1 4 9984" },
                { "info 17", "NOT_SUPPORTED" },
                { "info 18", "INVALID_ARGUMENT" }, /* the end */
                /* These want MIG switched on; places and the oldest form do not. */
                { "info 0 2", "NOT_SUPPORTED" },
                { "info 0 3", "NOT_SUPPORTED" },
                { "info-by-id 19", "NOT_SUPPORTED" },
                { "places 9", "0:4 4:4" },
                { "left 19", "NOT_SUPPORTED" },
                { "list 19", "NOT_SUPPORTED" },
                { "create 19", "NOT_SUPPORTED" },
                MIG_ON,
                { "info 0 2", "19 1 7 4864 MIG 1g.5gb" },
                { "info 0 3", "19 1 7 4864 MIG 1g.5gb 0" },
                { "info 9 3", "15 1 4 9984 MIG 1g.10gb 0" },
                { "info 5 3", "NOT_SUPPORTED" },
                { "info 18 3", "INVALID_ARGUMENT" },
                { "info 0 0x04000098", "VERSION_MISMATCH" },
                { "info 0 0x03000090", "VERSION_MISMATCH" },
                { "info 18 0x03000090", "VERSION_MISMATCH" },
                { "info-by-id 20", "MIG 1g.5gb+me" },
                { "info-by-id 7", "NOT_SUPPORTED" },
                { "places 19", "0:1 1:1 2:1 3:1 4:1 5:1 6:1" },
                { "places 15", "0:2 2:2 4:2 6:2" },
                { "places 14", "0:2 2:2 4:2" },
                { "places 0", "0:8" },
                { "places 1", "INVALID_ARGUMENT" },
                { "left 1", "INVALID_ARGUMENT" },
                { "list 1", "INVALID_ARGUMENT" },
                { "create 1", "INVALID_ARGUMENT" },
                END,
        };

        nvml_run(rows);
}
END_TEST

/* What is left is coupled, and depends on where things are. */
static const NvmlRow cuts[][32] = {
        { BEGIN,
          MIG_ON,
          { LEFT, "7 1 4 3 2 1 1" },
          { "create 9 0:4", "1 0:4" },
          { LEFT, "3 1 2 1 1 0 0" },
          END },
        { BEGIN, MIG_ON, { "create 9 4:4", "2 4:4" }, { LEFT, "4 1 2 2 1 1 0" }, END },
        { BEGIN, MIG_ON, { "create 19 6:1", "13 6:1" }, { LEFT, "6 1 3 3 1 1 0" }, END },
        /* Where the driver puts them, and that ids tell it. */
        { BEGIN,
          MIG_ON,
          { "create 19", "13 6:1" },
          { "create 19", "11 4:1" },
          { "create 19", "12 5:1" },
          { "create 19", "7 0:1" },
          { "create 19", "8 1:1" },
          { "create 19", "9 2:1" },
          { "create 19", "10 3:1" },
          { "create 19", "INSUFFICIENT_RESOURCES" },
          { "list 19", "7 0:1, 8 1:1, 9 2:1, 10 3:1, 11 4:1, 12 5:1, 13 6:1" },
          END },
        { BEGIN,
          MIG_ON,
          { "create 14", "5 4:2" },
          { "create 14", "3 0:2" },
          { "create 14", "4 2:2" },
          { "create 14", "INSUFFICIENT_RESOURCES" },
          { "create 19", "13 6:1" },
          { LEFT, "0 0 0 0 0 0 0" },
          END },
        { BEGIN,
          MIG_ON,
          { "create 9", "2 4:4" },
          { "create 19", "7 0:1" },
          { "create 14", "4 2:2" },
          { "create 19", "8 1:1" },
          { LEFT, "0 0 0 0 0 0 0" },
          END },
        /* The order counts: smallest first leaves no room for the largest. */
        { BEGIN,
          MIG_ON,
          { "create 19", "13 6:1" },
          { "create 19", "11 4:1" },
          { "create 14", "3 0:2" },
          { "create 9", "INSUFFICIENT_RESOURCES" },
          END },
        /* Seven slices of compute, eight of memory. */
        { BEGIN, MIG_ON, { "create 5", "1 0:4" }, { "create 9", "2 4:4" }, { LEFT, "0 0 0 0 0 0 0" }, END },
        { BEGIN,
          MIG_ON,
          { "create 15", "6 6:2" },
          { "create 15", "5 4:2" },
          { "create 15", "3 0:2" },
          { "create 15", "4 2:2" },
          { LEFT, "0 0 0 0 0 0 0" },
          END },
        /* The media extension is there once. */
        { BEGIN,
          MIG_ON,
          { "create 20 2:1", "9 2:1" },
          { LEFT, "6 0 3 2 1 0 0" },
          { "create 20", "INSUFFICIENT_RESOURCES" },
          END },
        /* Taken, no such place, and an id that is free again. */
        { BEGIN,
          MIG_ON,
          { "create 9 0:4", "1 0:4" },
          { "create 19 3:1", "INSUFFICIENT_RESOURCES" },
          { "create 9 2:4", "INVALID_ARGUMENT" },
          { "create 9 4:2", "INVALID_ARGUMENT" },
          { "create 9 8:4", "INVALID_ARGUMENT" },
          { "destroy 1", "SUCCESS" },
          { "destroy 1", "NOT_FOUND" },
          { "create 5 0:4", "1 0:4" },
          { "list 9", "" },
          { "list 5", "1 0:4" },
          END },
};

START_TEST(instances_take_their_places_and_leave_less) {
        nvml_run(cuts[_i]);
}
END_TEST

START_TEST(a_gpu_instance_is_cut_again_into_compute_instances) {
        static const NvmlRow rows[] = {
                BEGIN,
                MIG_ON,
                { "create 9", "2 4:4" },
                { "devices", "" }, /* one without compute has no device */
                { "compute-profiles 2", "MIG 1c.3g.20gb 3/3, MIG 2c.3g.20gb 1/1, MIG 3g.20gb 1/1" },
                { "compute 2 0", "0 0:1" },
                { "compute 2 2", "INSUFFICIENT_RESOURCES" },
                { "compute 2 3", "INVALID_ARGUMENT" },
                { "compute 2 0 2:1", "1 2:1" },
                { "compute 2 0 2:1", "INSUFFICIENT_RESOURCES" },
                { "compute 2 0 3:1", "INVALID_ARGUMENT" },
                { "devices", "4=2/0 6=2/1" }, /* with holes */
                { "destroy 2", "IN_USE" },
                { "destroy-compute 2 0", "SUCCESS" },
                { "destroy-compute 2 0", "NOT_FOUND" },
                { "compute 2 0 1:1", "0 1:1" }, /* the lowest id that is free */
                { "destroy-compute 2 0", "SUCCESS" },
                { "destroy-compute 2 1", "SUCCESS" },
                { "compute 2 2", "0 0:3" },
                { "destroy-compute 2 0", "SUCCESS" },
                { "destroy 2", "SUCCESS" },
                END,
        };

        nvml_run(rows);
}
END_TEST

START_TEST(a_mode_that_was_set_is_current_and_old_handles_are_nobodys) {
        static const NvmlRow rows[] = {
                BEGIN,
                { "mode 2", "INVALID_ARGUMENT" },
                { "mode 1", "SUCCESS SUCCESS" },
                { "mode", "INVALID_ARGUMENT" },
                { "device 0", "SUCCESS" },
                { "mode", "1 1" },
                { "mode 1", "SUCCESS SUCCESS" }, /* nothing to do: nothing happens */
                { "mode", "1 1" },
                { "create 19", "13 6:1" },
                { "mode 0", "IN_USE" },
                { "mode", "1 1" },
                { "destroy 13", "SUCCESS" },
                { "mode 0", "SUCCESS SUCCESS" },
                { "device 0", "SUCCESS" },
                { "mode", "0 0" },
                END,
        };

        nvml_run(rows);
}
END_TEST

START_TEST(a_card_in_use_gets_its_mode_later) {
        g_autofree char *hold = g_strdup_printf("$ carved-simctl hold %s >/dev/null", address);
        g_autofree char *release = g_strdup_printf("$ carved-simctl release %s", address);
        const NvmlRow rows[] = {
                { hold, "" },
                BEGIN,
                { "mode 1", "SUCCESS IN_USE" },
                { "mode", "0 1" },
                { release, "" },
                { "mode", "0 1" },
                MIG_ON,
                { "mode", "1 1" },
                END,
        };

        nvml_run(rows);
}
END_TEST

START_TEST(a_reset_makes_the_pending_mode_current) {
        g_autofree char *reset = g_strdup_printf("$ carved-simctl reset %s 2>/dev/null", address);
        const NvmlRow rows[] = {
                { "$ carved-simctl fail nvml/activationStatus RESET_REQUIRED >/dev/null", "" },
                BEGIN,
                { "mode 1", "SUCCESS RESET_REQUIRED" },
                { "mode", "0 1" },
                { reset, "exit 1" }, /* we have it open */
                { "shutdown", "SUCCESS" },
                { reset, "" },
                BEGIN,
                { "mode", "1 1" },
                { "create 9", "2 4:4" },
                { "shutdown", "SUCCESS" },
                { reset, "" },
                BEGIN,
                { "mode", "1 1" },
                { "list 9", "" },
                END,
        };

        nvml_run(rows);
}
END_TEST

/* Ampere keeps the mode over a reboot, Hopper does not; a driver that is loaded anew is like a reboot. */
static void survives(const char *what, const char *mode) {
        const NvmlRow rows[] = {
                BEGIN,        MIG_ON, { "create 9", "2 4:4" }, { "shutdown", "SUCCESS" },
                { what, "" }, BEGIN,  { "mode", mode },        END,
        };

        nvml_run(rows);
}

START_TEST(what_of_mig_survives_a_reboot_is_its_mode_on_some) {
        const char *mode = g_str_equal(address, "0000:04:00.0") ? "1 1" : "0 0";

        survives(_i == 0 ? "$ carved-simctl reboot" : "$ carved-simctl reload-driver", mode);
}
END_TEST

START_TEST(sriov_manage_wipes_instances_and_keeps_the_mode) {
        static const NvmlRow rows[] = {
                BEGIN,
                MIG_ON,
                { "create 9", "2 4:4" },
                { "$ /usr/lib/nvidia/sriov-manage -e ALL | grep -o 'Cannot obtain unbindLock'",
                  "Cannot obtain unbindLock" },
                { "shutdown", "SUCCESS" },
                { "$ /usr/lib/nvidia/sriov-manage -e ALL >/dev/null && carved-simctl settle", "" },
                BEGIN,
                { "mode", "1 1" },
                { "list 9", "" },
                { "mode 0", "IN_USE" }, /* not while VFs are on */
                { "mode", "1 1" },
                END,
        };

        nvml_run(rows);
}
END_TEST

/* In a process of its own, once told to: it must not inherit an open library. */
static pid_t later(const NvmlRow *rows, int *ret_go) {
        int go[2];
        char c;
        pid_t pid;

        ck_assert_int_eq(pipe(go), 0);
        pid = fork();
        if (pid == 0) {
                close(go[1]);
                if (read(go[0], &c, 1) == 1)
                        nvml_run(rows);
                _exit(0);
        }
        close(go[0]);
        *ret_go = go[1];
        return pid;
}

START_TEST(what_one_process_changes_another_sees) {
        static const NvmlRow others[] = { BEGIN, { "create 9", "2 4:4" }, { "compute 2 2", "0 0:3" }, END };
        static const NvmlRow before[] = { BEGIN, MIG_ON, { "list 9", "" }, {} };
        static const NvmlRow after[] = {
                { "list 9", "2 4:4" },
                { "left 19 9", "4 1" },
                { "devices", "4=2/0" },
                { "destroy 2", "IN_USE" },
                { "destroy-compute 2 0", "SUCCESS" },
                { "destroy 2", "SUCCESS" },
                END,
        };
        int go, status;
        pid_t pid = later(others, &go);

        nvml_run(before);
        ck_assert_int_eq(write(go, "", 1), 1);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        nvml_run(after);
        close(go);
}
END_TEST

START_TEST(others_than_root_may_look_and_not_touch) {
        static const NvmlRow before[] = { BEGIN, MIG_ON, END };
        static const NvmlRow rows[] = {
                BEGIN,
                { "mode", "1 1" },
                { "info 0 3", "19 1 7 4864 MIG 1g.5gb 0" },
                { "mode 0", "NO_PERMISSION" },
                { "places 19", "NO_PERMISSION" },
                { "left 19", "NO_PERMISSION" },
                { "create 19", "NO_PERMISSION" },
                { "list 19", "NO_PERMISSION" },
                END,
        };

        nvml_run(before);
        ck_assert_int_eq(seteuid(65534), 0);
        nvml_run(rows);
        ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

int main(int argc, char *argv[]) {
        TCase *tests = tcase_create("nvml-mig");

        address = argv[1];
        tcase_add_checked_fixture(tests, NULL, nvml_clean_up);
        if (g_str_equal(address, "0000:04:00.0")) {
                tcase_add_test(tests, profiles_are_found_by_enumeration_and_have_ids_of_their_own);
                tcase_add_test(tests, a_gpu_instance_is_cut_again_into_compute_instances);
                tcase_add_test(tests, others_than_root_may_look_and_not_touch);
        }
        tcase_add_test(tests, what_one_process_changes_another_sees);
        tcase_add_loop_test(tests, instances_take_their_places_and_leave_less, 0, G_N_ELEMENTS(cuts));
        tcase_add_test(tests, a_mode_that_was_set_is_current_and_old_handles_are_nobodys);
        tcase_add_test(tests, a_card_in_use_gets_its_mode_later);
        tcase_add_test(tests, a_reset_makes_the_pending_mode_current);
        tcase_add_loop_test(tests, what_of_mig_survives_a_reboot_is_its_mode_on_some, 0, 2);
        tcase_add_test(tests, sriov_manage_wipes_instances_and_keeps_the_mode);
        return nvml_run_tests(tests, "nvml-mig");
}
