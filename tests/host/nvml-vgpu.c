/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* vGPUs on cards that can do MIG and mixed sizes: what NVML says and what /sys says are the same. */

#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>

#include "nvml.h"
#include "shell.h"
#include "simctl.h"

#define VFS LET_GO, { "$ /usr/lib/nvidia/sriov-manage -e ALL >/dev/null && carved-simctl settle", "" }, BEGIN

#define U1 "aaaaaaaa-0000-4000-8000-000000000001"
#define U2 "aaaaaaaa-0000-4000-8000-000000000002"
#define U3 "aaaaaaaa-0000-4000-8000-000000000003"
#define VM "bbbbbbbb-0000-4000-8000-000000000001"

/* On the A100: mediated devices. */
#define A100 "/sys/bus/pci/devices/0000:04:00.0"
#define AVAILABLE(vf)                                                                                        \
        "$ cd " A100 "/virtfn" #vf                                                                           \
        "/mdev_supported_types && grep -l 1 */available_instances | tr -dc '0-9\n' | tr '\n' ' '"
#define MAKE(vf, id, u) "$ echo " u " >" A100 "/virtfn" #vf "/mdev_supported_types/nvidia-" #id "/create"
#define DROP(u)         "$ echo 1 >/sys/bus/mdev/devices/" u "/remove"
#define SHOW(u, file)   "$ cat /sys/bus/mdev/devices/" u "/nvidia/" file

/* On the H100: VFs with a type. */
#define H100 "/sys/bus/pci/devices/0000:19:00.0"
#define CREATABLE(vf)                                                                                        \
        "$ sed 1d " H100 "/virtfn" #vf "/nvidia/creatable_vgpu_types | cut -d' ' -f1 | tr '\n' ' '"
#define SET(vf, id)         "$ echo " #id " >" H100 "/virtfn" #vf "/nvidia/current_vgpu_type"
#define GET(vf, file)       "$ cat " H100 "/virtfn" #vf "/nvidia/" file
#define PUT(vf, file, text) "$ echo " text " >" H100 "/virtfn" #vf "/nvidia/" file

START_TEST(a_card_says_that_it_is_a_host_and_what_types_it_has) {
        static const NvmlRow rows[] = {
                BEGIN,
                { "host", "3 1" },
                { "supported", "468 469 470 471 472 473 474 475 476 477 478 479 480" },
                { "type 470", "GRID A100-8C, Compute, 8053063680, 5, -1, 1, 4096x2160, 60" },
                { "type 476", "GRID A100-3-20C, Compute, 20132659200, 2, 9, 1, 4096x2160, 60" },
                { "type 9999", "INVALID_ARGUMENT" },
                { "capability 2", "1" },
                { "capability 9", "0" },
                { "capability 10", "0" },
                { "capability 12", "INVALID_ARGUMENT" },
                END,
        };

        nvml_run(rows);
}
END_TEST

START_TEST(with_mig_on_only_types_with_a_free_instance_can_be_had_as_mdev) {
        static const NvmlRow rows[] = {
                BEGIN,
                { "creatable", "468 469 470 471 472 473" },
                MIG_ON,
                { "creatable", "none" },
                VFS,
                { "creatable", "none" },
                { AVAILABLE(0), "" },
                { "create 9", "2 4:4" },
                { "create 19", "7 0:1" },
                { "create 19", "8 1:1" },
                { "creatable", "474 476" },
                { AVAILABLE(0), "474 476" },
                { MAKE(0, 470, U1) " 2>/dev/null", "exit 1" },
                { MAKE(0, 475, U1) " 2>/dev/null", "exit 1" },
                { MAKE(0, 476, U1), "" },
                { SHOW(U1, "gpu_instance_id"), "2" },
                { SHOW(U1, "placement_id"), "Not Applicable" },
                { "creatable", "474" },
                { "destroy 2", "IN_USE" },
                { "mode 0", "IN_USE" },
                /* Sizes may differ: each has an instance of its own. */
                { MAKE(1, 474, U2), "" },
                { MAKE(2, 474, U3), "" },
                { SHOW(U2, "gpu_instance_id"), "8" },
                { SHOW(U3, "gpu_instance_id"), "7" },
                { "creatable", "none" },
                { "running", "none" },
                { "$ carved-simctl hold " U1 " vm=" VM " >/dev/null", "" },
                { "running", "476 2 65535 " VM " " U1 },
                { "$ carved-simctl release " U1, "" },
                { "running", "none" },
                { DROP(U1), "" },
                { "creatable", "476" },
                { "destroy 2", "SUCCESS" },
                { "creatable", "none" },
                { DROP(U2), "" },
                { DROP(U3), "" },
                END,
        };

        nvml_run(rows);
}
END_TEST

START_TEST(with_mig_on_only_types_with_a_free_instance_can_be_had_as_vf) {
        static const NvmlRow rows[] = {
                BEGIN,
                MIG_ON,
                VFS,
                { "mode", "1 1" },
                { CREATABLE(0), "" },
                { SET(0, 1140) " 2>/dev/null", "exit 1" },
                { "create 9", "2 4:4" },
                { "create 20", "7 0:1" },
                { CREATABLE(0), "1140 1143" },
                { "creatable", "1140 1143" },
                { SET(0, 1130) " 2>/dev/null", "exit 1" },
                { SET(0, 1140), "" },
                { GET(0, "gpu_instance_id"), "2" },
                { GET(0, "placement_id"), "Not Applicable" },
                { CREATABLE(1), "1143" },
                { "destroy 2", "IN_USE" },
                { "$ carved-simctl hold 0000:19:00.4 vm=" VM " >/dev/null", "" },
                { "running", "1140 2 65535 " VM " NOT_SUPPORTED" },
                { "$ carved-simctl release 0000:19:00.4", "" },
                { SET(0, 0), "" },
                { "destroy 2", "SUCCESS" },
                { "$ carved-simctl log | grep -c 'create request: 0x38'", "2" },
                END,
        };

        ck_assert_int_eq(simctl_do("log", "clear"), 0);
        nvml_run(rows);
}
END_TEST

START_TEST(mixed_sizes_are_for_an_empty_card_and_have_places) {
        static const NvmlRow rows[] = {
                BEGIN,
                { "mixed", "0" },
                { "placements 1130 1", "NOT_SUPPORTED" },
                VFS,
                { "mixed 1 0x02000008", "VERSION_MISMATCH" },
                { "mixed 2", "INVALID_ARGUMENT" },
                { "type 1130", "NVIDIA H100-4C, Compute, 4026531840, 20, -1, 1, 4096x2160, 60" },
                { "mixed 1", "SUCCESS" },
                { "mixed", "1" },
                { "type 1130", "NVIDIA H100-4C, Compute, 4026531840, 16, -1, 1, 4096x2160, 60" },
                { "placements 1136", "40: 0 40" },
                { "placements 1134", "16: 0 24 40 64" },
                { SET(0, 1136), "" },
                { GET(0, "placement_id"), "0" },
                { "mixed 0", "IN_USE" },
                { "placements 1134 1", "16: 40 64" },
                { SET(1, 1134), "" },
                { GET(1, "placement_id"), "40" },
                { CREATABLE(2), "1130 1131 1132 1133 1134 1135" },
                { "creatable", "1130 1131 1132 1133 1134 1135" },
                /* Believed when written, looked at when a VM starts. */
                { PUT(1, "placement_id", "41"), "" },
                { "$ carved-simctl hold 0000:19:00.5 2>/dev/null", "exit 1" },
                { PUT(1, "placement_id", "x") " 2>/dev/null", "exit 1" },
                { PUT(1, "vgpu_params", "'vgpu-placement-id=0, disable_vnc=1'"), "" },
                { "$ carved-simctl hold 0000:19:00.5 2>/dev/null", "exit 1" },
                { PUT(1, "placement_id", "64"), "" },
                { "$ carved-simctl hold 0000:19:00.5 vm=" VM " >/dev/null", "" },
                { "running", "1134 -1 64 " VM " NOT_SUPPORTED" },
                { PUT(1, "placement_id", "40") " 2>/dev/null", "exit 1" },
                { "$ carved-simctl release 0000:19:00.5", "" },
                /* The driver goes, and with it the mode. */
                LET_GO,
                { "$ /usr/lib/nvidia/sriov-manage -d ALL >/dev/null && carved-simctl settle", "" },
                BEGIN,
                { "mixed", "0" },
                MIG_ON,
                { "mixed 1", "NOT_SUPPORTED" },
                { "mixed", "NOT_SUPPORTED" },
                END,
        };

        nvml_run(rows);
}
END_TEST

int main(int argc, char *argv[]) {
        TCase *tests = tcase_create("nvml-vgpu");

        tcase_add_checked_fixture(tests, NULL, nvml_clean_up);
        if (g_str_equal(argv[1], "0000:04:00.0")) {
                tcase_add_test(tests, a_card_says_that_it_is_a_host_and_what_types_it_has);
                tcase_add_test(tests, with_mig_on_only_types_with_a_free_instance_can_be_had_as_mdev);
        } else {
                tcase_add_test(tests, with_mig_on_only_types_with_a_free_instance_can_be_had_as_vf);
                tcase_add_test(tests, mixed_sizes_are_for_an_empty_card_and_have_places);
        }
        return nvml_run_tests(tests, "nvml-vgpu");
}
