/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The simulated libnvidia-ml.so.1 as a library: who has it, whom it sees, whom it keeps waiting, and how it
 * fails. On a host of many cards; and on hosts where it is not as it should be. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>

#include "nvml.h"
#include "shell.h"
#include "simctl.h"

#define A2 "0000:08:00.0"

static const char *host;

static void tear_down(void) {
        simctl_do("forget");
        simctl_do("nvml", "clear");
}

static char *told(const char *what) {
        return shell(NULL, "carved-simctl %s", what);
}

static void begin(void) {
        ck_assert_int_eq(nvml(nvmlInit_v2), NVML_SUCCESS);
}

static void end(void) {
        ck_assert_int_eq(nvml(nvmlShutdown), NVML_SUCCESS);
}

static nvmlDevice_t card(const char *bus_id) {
        nvmlDevice_t device;

        ck_assert_int_eq(nvml(nvmlDeviceGetHandleByPciBusId_v2, bus_id, &device), NVML_SUCCESS);
        return device;
}

START_TEST(cards_on_the_driver_are_listed_and_no_others) {
        static const char *const ids[] = { "00000000:08:00.0", "00000000:26:00.0", "00000000:3B:00.0",
                                           "00000000:5E:00.0", "00000001:C8:00.0" };
        static const char *const names[] = { "NVIDIA A2", "NVIDIA L40S", "Tesla T4", "Quadro P400",
                                             "NVIDIA A2" };
        unsigned n, minor;

        begin();
        ck_assert_int_eq(nvml(nvmlDeviceGetCount_v2, &n), NVML_SUCCESS);
        ck_assert_uint_eq(n, G_N_ELEMENTS(ids));
        for (unsigned i = 0; i < n; i++) {
                nvmlDevice_t device;
                nvmlPciInfo_t pci;
                char name[96];

                ck_assert_int_eq(nvml(nvmlDeviceGetHandleByIndex_v2, i, &device), NVML_SUCCESS);
                ck_assert_int_eq(nvml(nvmlDeviceGetPciInfo_v3, device, &pci), NVML_SUCCESS);
                ck_assert_str_eq(pci.busId, ids[i]);
                ck_assert_int_eq(nvml(nvmlDeviceGetName, device, name, sizeof name), NVML_SUCCESS);
                ck_assert_str_eq(name, names[i]);
                ck_assert_ptr_eq(card(ids[i]), device);
                ck_assert_int_eq(nvml(nvmlDeviceGetMinorNumber, device, &minor), NVML_SUCCESS);
                ck_assert_uint_eq(minor, i);
        }
        ck_assert_ptr_eq(card("0001:c8:00.0"), card("00000001:C8:00.0"));
        end();
}
END_TEST

static const struct {
        const char *bus_id;
        nvmlReturn_t answer;
} bus_ids[] = {
        { "0000:08:00.0", NVML_SUCCESS },
        { "0:8:0.0", NVML_SUCCESS },
        { "0000:86:00.0", NVML_ERROR_NOT_FOUND }, /* on vfio-pci */
        { "0000:05:00.0", NVML_ERROR_NOT_FOUND },
        { "0000:08:00.4", NVML_ERROR_NOT_FOUND },
        { "", NVML_ERROR_INVALID_ARGUMENT },
        { "0000:08", NVML_ERROR_INVALID_ARGUMENT },
        { "0000:08:00.0x", NVML_ERROR_INVALID_ARGUMENT },
};

START_TEST(a_card_is_found_by_its_bus_id) {
        nvmlDevice_t device;

        begin();
        ck_assert_int_eq(nvml(nvmlDeviceGetHandleByPciBusId_v2, bus_ids[_i].bus_id, &device),
                         bus_ids[_i].answer);
        ck_assert_int_eq(nvml(nvmlDeviceGetHandleByPciBusId_v2, NULL, &device), NVML_ERROR_INVALID_ARGUMENT);
        ck_assert_int_eq(nvml(nvmlDeviceGetHandleByPciBusId_v2, "x", NULL), NVML_ERROR_INVALID_ARGUMENT);
        end();
}
END_TEST

static char *identity(const char *bus_id) {
        nvmlDevice_t device, again;
        char serial[30], uuid[96];

        begin();
        device = card(bus_id);
        ck_assert_int_eq(nvml(nvmlDeviceGetSerial, device, serial, sizeof serial), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlDeviceGetUUID, device, uuid, sizeof uuid), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlDeviceGetSerial, device, serial, 4), NVML_ERROR_INSUFFICIENT_SIZE);
        ck_assert_int_eq(nvml(nvmlDeviceGetSerial, device, serial, sizeof serial), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlDeviceGetHandleByUUID, uuid, &again), NVML_SUCCESS);
        ck_assert_ptr_eq(device, again);
        end();
        ck_assert(g_str_has_prefix(uuid, "GPU-") && strlen(uuid) == 40);
        return g_strdup_printf("%s %s", serial, uuid);
}

START_TEST(a_card_is_itself_wherever_it_is_and_another_one_is_not) {
        g_autofree char *mine = identity(A2), *sister = identity("0001:c8:00.0"), *moved = NULL, *back = NULL,
                        *other = NULL, *same = NULL;

        ck_assert_str_ne(mine, sister);
        g_free(told("unplug " A2));
        g_free(told("plug 0000:41:00.0 from=" A2));
        moved = identity("0000:41:00.0");
        ck_assert_str_eq(mine, moved);

        g_free(told("unplug 0000:41:00.0"));
        g_free(told("plug " A2 " a2"));
        other = identity(A2);
        ck_assert_str_ne(mine, other);
        ck_assert_str_ne(sister, other);

        g_free(told("unplug " A2));
        g_free(told("plug " A2 " a2 serial=4711"));
        same = identity(A2);
        ck_assert(g_str_has_prefix(same, "4711 "));

        g_free(told("unplug " A2));
        g_free(told("plug " A2 " from=0000:41:00.0"));
        back = identity(A2);
        ck_assert_str_eq(mine, back);
}
END_TEST

START_TEST(a_card_is_in_use_from_the_first_init_to_the_last_shutdown) {
        static const NvmlRow rows[] = {
                { "$ carved-simctl nvml", "" },
                { "shutdown", "UNINITIALIZED" },
                { "init", "SUCCESS" },
                { "init", "SUCCESS" },
                { "$ /usr/lib/nvidia/sriov-manage -e " A2 " | grep -o unbindLock", "unbindLock" },
                { "$ carved-simctl reload-driver 2>/dev/null", "exit 1" },
                { "shutdown", "SUCCESS" },
                { "$ carved-simctl nvml | grep -c " A2, "1" },
                { "$ /usr/lib/nvidia/sriov-manage -e " A2 " | grep -o unbindLock", "unbindLock" },
                { "$ carved-simctl nvml met | cut -d' ' -f1,2", A2 " unbindLock\n" A2 " unbindLock" },
                { "shutdown", "SUCCESS" },
                { "shutdown", "UNINITIALIZED" },
                { "$ carved-simctl nvml", "" },
                { "$ carved-simctl nvml clear", "" },
                { "$ /usr/lib/nvidia/sriov-manage -e " A2, "Enabling VFs on " A2 },
                { "$ /usr/lib/nvidia/sriov-manage -d " A2, "Disabling VFs on " A2 },
                { "$ carved-simctl nvml met", "" },
                {},
        };

        nvml_run(rows);
}
END_TEST

/* A process that has NVML open and stays. */
static pid_t client(void) {
        int ready[2];
        char c;
        pid_t pid;

        ck_assert_int_eq(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                c = (char) nvml(nvmlInit_v2);
                if (write(ready[1], &c, 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        ck_assert_int_eq(read(ready[0], &c, 1), 1);
        ck_assert_int_eq(c, NVML_SUCCESS);
        close(ready[0]);
        close(ready[1]);
        return pid;
}

START_TEST(whoever_dies_lets_go) {
        g_autofree char *alive = NULL, *dead = NULL, *start = NULL;
        pid_t pid = client();

        alive = told("nvml");
        start = g_strdup_printf("%d " A2 " ", pid);
        ck_assert_msg(g_str_has_prefix(alive, start), "it says: %s", alive);
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        dead = told("nvml");
        ck_assert_str_eq(dead, "");
}
END_TEST

START_TEST(unbinding_waits_for_whoever_has_it_open) {
        pid_t pid = client();
        g_autofree char *order = shell(NULL,
                                       "exec 3>&1; (echo " A2 " >/sys/bus/pci/drivers/nvidia/unbind; echo "
                                       "unbound >&3) & until carved-simctl nvml met | grep -q unbind; do :; "
                                       "done; echo waits; kill -9 %d; wait",
                                       pid);

        ck_assert_str_eq(order, "waits\nunbound\n");
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        g_free(shell(NULL, "echo " A2 " >/sys/bus/pci/drivers/nvidia/bind; carved-simctl settle"));
}
END_TEST

START_TEST(the_card_s_node_is_open_meanwhile) {
        g_autofree char *before = NULL, *during = NULL, *after = NULL;

        before = shell(NULL, "ls -l /proc/%d/fd | grep -c /dev/nvidia || true", getpid());
        begin();
        during = shell(NULL, "ls -l /proc/%d/fd | grep -c /dev/nvidia", getpid());
        end();
        after = shell(NULL, "ls -l /proc/%d/fd | grep -c /dev/nvidia || true", getpid());
        ck_assert_str_eq(before, "0\n");
        ck_assert_str_eq(during, "5\n");
        ck_assert_str_eq(after, "0\n");
}
END_TEST

START_TEST(what_failed_has_written_garbage_and_what_strikes_is_logged) {
        nvmlPciInfo_t pci = {}, zero = {};
        g_autofree char *log = NULL;
        nvmlDevice_t device;
        unsigned n = 0;

        simctl_do("log", "clear");
        ck_assert_int_eq(simctl_do("fail", "nvml/nvmlDeviceGetCount_v2", "TIMEOUT", "nth=2"), 0);
        ck_assert_int_eq(simctl_do("fail", "nvml/*PciInfo*/" A2, "999", "always"), 0);
        begin();
        ck_assert_int_eq(nvml(nvmlDeviceGetCount_v2, &n), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlDeviceGetCount_v2, &n), NVML_ERROR_TIMEOUT);
        ck_assert_uint_eq(n, 0xa5a5a5a5);
        ck_assert_int_eq(nvml(nvmlDeviceGetCount_v2, &n), NVML_SUCCESS);
        ck_assert_uint_eq(n, 5);

        device = card(A2);
        ck_assert_int_eq(nvml(nvmlDeviceGetPciInfo_v3, device, &pci), NVML_ERROR_UNKNOWN);
        ck_assert_int_ne(memcmp(&pci, &zero, sizeof pci), 0);
        ck_assert_int_eq(nvml(nvmlDeviceGetPciInfo_v3, card("0000:26:00.0"), &pci), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t) (uintptr_t) 0xa5a5a5a5a5a5a5a5, &pci),
                         NVML_ERROR_INVALID_ARGUMENT);
        end();

        log = told("log");
        ck_assert_uint_eq(lines_with(log, "nvml nvmlDeviceGetCount_v2 0 0 0 = TIMEOUT"), 1);
        ck_assert_uint_eq(lines_with(log, "nvml nvmlDeviceGetPciInfo_v3/" A2 " 0 0 0 = UNKNOWN"), 1);
}
END_TEST

START_TEST(a_call_takes_its_time_when_told_so) {
        int64_t start = g_get_monotonic_time();
        unsigned n;

        ck_assert_int_eq(simctl_do("delay", "nvml/nvmlDeviceGetCount_v2", "200ms"), 0);
        begin();
        ck_assert_int_eq(nvml(nvmlDeviceGetCount_v2, &n), NVML_SUCCESS);
        ck_assert_int_ge(g_get_monotonic_time() - start, 200000);
        end();
}
END_TEST

START_TEST(a_crash_takes_the_caller_down_and_lets_go) {
        pid_t pid;
        int status;

        ck_assert_int_eq(simctl_do("fail", "nvml/nvmlDeviceGetCount_v2", "crash"), 0);
        pid = fork();
        if (pid == 0) {
                unsigned n;

                signal(SIGSEGV, SIG_DFL); /* no sanitizer shall have a say */
                if (nvml(nvmlInit_v2) == NVML_SUCCESS)
                        nvml(nvmlDeviceGetCount_v2, &n);
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        {
                g_autofree char *open = told("nvml");

                ck_assert_str_eq(open, "");
        }
}
END_TEST

START_TEST(a_lost_card_answers_nothing_until_it_is_reset) {
        static const NvmlRow rows[] = {
                { "$ carved-simctl lose " A2, "" },
                { "init", "SUCCESS" },
                { "count", "5" },
                { "device 0", "GPU_IS_LOST" },
                { "device 1", "SUCCESS" },
                { "mode", "NOT_SUPPORTED" },
                { "shutdown", "SUCCESS" },
                { "$ carved-simctl reset " A2, "" },
                { "init", "SUCCESS" },
                { "device 0", "SUCCESS" },
                { "shutdown", "SUCCESS" },
                {},
        };

        nvml_run(rows);
}
END_TEST

START_TEST(nothing_goes_without_init) {
        static const NvmlRow rows[] = {
                { "count", "UNINITIALIZED" },
                { "device 0", "UNINITIALIZED" },
                { "mode", "UNINITIALIZED" },
                { "info 0", "UNINITIALIZED" },
                { "info 0 3", "UNINITIALIZED" },
                { "create 9", "UNINITIALIZED" },
                { "mixed", "UNINITIALIZED" },
                { "type 746", "UNINITIALIZED" },
                {},
        };

        nvml_run(rows);
}
END_TEST

/* Hosts where it is not as it should be: the answer to init. */
static const struct {
        const char *host, *answer;
} troubles[] = {
        { "absent", "no library" },
        { "not-loaded", "DRIVER_NOT_LOADED" },
        { "mismatch", "MISMATCH" },
        { "plain", "no library" },
};

START_TEST(a_library_in_trouble_says_so_at_init) {
        for (size_t i = 0; i < G_N_ELEMENTS(troubles); i++)
                if (g_str_equal(troubles[i].host, host)) {
                        g_autofree char *answer = nvml_do("init");

                        ck_assert_str_eq(answer, troubles[i].answer);
                        return;
                }

        ck_abort_msg("no such trouble");
}
END_TEST

START_TEST(an_old_library_lacks_what_the_host_file_says) {
        ck_assert_ptr_null(nvml_symbol("nvmlDeviceGetGpuInstanceProfileInfoV"));
        ck_assert_ptr_null(nvml_symbol("nvmlDeviceGetGpuInstanceProfileInfoByIdV"));
        ck_assert_ptr_nonnull(nvml_symbol("nvmlDeviceGetGpuInstanceProfileInfo"));
        begin();
        end();
}
END_TEST

static void add_tests(TCase *tests) {
        if (g_str_equal(host, "old")) {
                tcase_add_test(tests, an_old_library_lacks_what_the_host_file_says);
                return;
        }
        if (!g_str_equal(host, "mixed")) {
                tcase_add_test(tests, a_library_in_trouble_says_so_at_init);
                return;
        }

        tcase_add_test(tests, cards_on_the_driver_are_listed_and_no_others);
        tcase_add_loop_test(tests, a_card_is_found_by_its_bus_id, 0, G_N_ELEMENTS(bus_ids));
        tcase_add_test(tests, a_card_is_in_use_from_the_first_init_to_the_last_shutdown);
        tcase_add_test(tests, whoever_dies_lets_go);
        tcase_add_test(tests, unbinding_waits_for_whoever_has_it_open);
        tcase_add_test(tests, the_card_s_node_is_open_meanwhile);
        tcase_add_test(tests, what_failed_has_written_garbage_and_what_strikes_is_logged);
        tcase_add_test(tests, a_call_takes_its_time_when_told_so);
        tcase_add_test(tests, a_crash_takes_the_caller_down_and_lets_go);
        tcase_add_test(tests, a_lost_card_answers_nothing_until_it_is_reset);
        tcase_add_test(tests, nothing_goes_without_init);
        tcase_add_test(tests, a_card_is_itself_wherever_it_is_and_another_one_is_not);
}

int main(int argc, char *argv[]) {
        TCase *tests = tcase_create("nvml-session");

        host = argv[1];
        tcase_add_checked_fixture(tests, NULL, tear_down);
        add_tests(tests);
        return nvml_run_tests(tests, "nvml-session");
}
