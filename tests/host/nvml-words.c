/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>

#include "nvml.h"
#include "shell.h"
#include "simctl.h"

void *nvml_symbol(const char *name) {
        static void *library;

        if (!library)
                library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        return library ? dlsym(library, name) : NULL;
}

static nvmlDevice_t device;

static const char *code_text(nvmlReturn_t code) {
        static const char *const texts[] = { [NVML_SUCCESS] = "SUCCESS",
                                             [NVML_ERROR_UNINITIALIZED] = "UNINITIALIZED",
                                             [NVML_ERROR_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
                                             [NVML_ERROR_NOT_SUPPORTED] = "NOT_SUPPORTED",
                                             [NVML_ERROR_NO_PERMISSION] = "NO_PERMISSION",
                                             [NVML_ERROR_NOT_FOUND] = "NOT_FOUND",
                                             [NVML_ERROR_INSUFFICIENT_SIZE] = "INSUFFICIENT_SIZE",
                                             [NVML_ERROR_DRIVER_NOT_LOADED] = "DRIVER_NOT_LOADED",
                                             [NVML_ERROR_GPU_IS_LOST] = "GPU_IS_LOST",
                                             [NVML_ERROR_RESET_REQUIRED] = "RESET_REQUIRED",
                                             [NVML_ERROR_LIB_RM_VERSION_MISMATCH] = "MISMATCH",
                                             [NVML_ERROR_IN_USE] = "IN_USE",
                                             [NVML_ERROR_INSUFFICIENT_RESOURCES] = "INSUFFICIENT_RESOURCES",
                                             [NVML_ERROR_ARGUMENT_VERSION_MISMATCH] = "VERSION_MISMATCH" };

        return code < G_N_ELEMENTS(texts) && texts[code] ? texts[code] : "?";
}

/* A text in case of success, a code otherwise. */
static char *text_or_code(nvmlReturn_t code, const char *text) {
        return g_strdup(code == NVML_SUCCESS ? text : code_text(code));
}

static char *number_or_code(nvmlReturn_t code, unsigned n) {
        return code == NVML_SUCCESS ? g_strdup_printf("%u", n) : g_strdup(code_text(code));
}

static char *do_init(unsigned argc, const unsigned *argv) {
        return g_strdup(nvml_symbol("nvmlInit_v2") ? code_text(nvml(nvmlInit_v2)) : "no library");
}

static char *do_shutdown(unsigned argc, const unsigned *argv) {
        return g_strdup(code_text(nvml(nvmlShutdown)));
}

static char *do_count(unsigned argc, const unsigned *argv) {
        unsigned n;
        nvmlReturn_t r = nvml(nvmlDeviceGetCount_v2, &n);

        return number_or_code(r, n);
}

static char *do_device(unsigned argc, const unsigned *argv) {
        return g_strdup(code_text(nvml(nvmlDeviceGetHandleByIndex_v2, argv[0], &device)));
}

static char *do_mode(unsigned argc, const unsigned *argv) {
        unsigned current, pending;
        nvmlReturn_t r;

        if (argc > 0) {
                nvmlReturn_t activation;

                r = nvml(nvmlDeviceSetMigMode, device, argv[0], &activation);
                return g_strdup_printf("%s%s%s", code_text(r), r == NVML_SUCCESS ? " " : "",
                                       r == NVML_SUCCESS ? code_text(activation) : "");
        }

        r = nvml(nvmlDeviceGetMigMode, device, &current, &pending);
        if (r != NVML_SUCCESS)
                return g_strdup(code_text(r));
        return g_strdup_printf("%u %u", current, pending);
}

/* Id, slices, maximum, memory; v2 and v3 with the name, v3 with what it can do. */
static char *do_info(unsigned argc, const unsigned *argv) {
        nvmlGpuInstanceProfileInfo_t v1;
        nvmlGpuInstanceProfileInfo_v2_t v2 = { .version = NVML_VERSION_WORD(nvmlGpuInstanceProfileInfo_v2_t,
                                                                            2) };
        nvmlGpuInstanceProfileInfo_v3_t v3 = { .version = NVML_VERSION_WORD(nvmlGpuInstanceProfileInfo_v3_t,
                                                                            3) };
        unsigned version = argc > 1 ? argv[1] : 1;
        nvmlReturn_t r;

        if (version == 1) {
                r = nvml(nvmlDeviceGetGpuInstanceProfileInfo, device, argv[0], &v1);
                return r != NVML_SUCCESS ? g_strdup(code_text(r))
                                         : g_strdup_printf("%u %u %u %llu", v1.id, v1.sliceCount,
                                                           v1.instanceCount, v1.memorySizeMB);
        }
        if (version == 2) {
                r = nvml(nvmlDeviceGetGpuInstanceProfileInfoV, device, argv[0], &v2);
                return r != NVML_SUCCESS ? g_strdup(code_text(r))
                                         : g_strdup_printf("%u %u %u %llu %s", v2.id, v2.sliceCount,
                                                           v2.instanceCount, v2.memorySizeMB, v2.name);
        }
        if (version > 3)
                v3.version = version;
        r = nvml(nvmlDeviceGetGpuInstanceProfileInfoV, device, argv[0], &v3);
        return r != NVML_SUCCESS
                       ? g_strdup(code_text(r))
                       : g_strdup_printf("%u %u %u %llu %s %u", v3.id, v3.sliceCount, v3.instanceCount,
                                         v3.memorySizeMB, v3.name, v3.capabilities);
}

static char *do_info_by_id(unsigned argc, const unsigned *argv) {
        nvmlGpuInstanceProfileInfo_v3_t v3 = { .version = NVML_VERSION_WORD(nvmlGpuInstanceProfileInfo_v3_t,
                                                                            3) };
        nvmlReturn_t r = nvml(nvmlDeviceGetGpuInstanceProfileInfoByIdV, device, argv[0], &v3);

        return text_or_code(r, v3.name);
}

static char *placements_text(const nvmlPlacement_t *placements, unsigned n) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text, "%s%u:%u", i > 0 ? " " : "", placements[i].start,
                                       placements[i].size);
        return g_string_free(text, FALSE);
}

static char *do_places(unsigned argc, const unsigned *argv) {
        nvmlPlacement_t placements[16];
        unsigned n, again;
        nvmlReturn_t r = nvml(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, argv[0], NULL, &n);

        if (r != NVML_SUCCESS)
                return g_strdup(code_text(r));
        r = nvml(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, argv[0], placements, &again);
        ck_assert_int_eq(r, NVML_SUCCESS);
        ck_assert_uint_eq(n, again);
        return placements_text(placements, n);
}

/* How many more of each, in the order of the words. */
static char *do_left(unsigned argc, const unsigned *argv) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < argc; i++) {
                unsigned n;
                nvmlReturn_t r = nvml(nvmlDeviceGetGpuInstanceRemainingCapacity, device, argv[i], &n);
                g_autofree char *one = number_or_code(r, n);

                g_string_append_printf(text, "%s%s", i > 0 ? " " : "", one);
        }
        return g_string_free(text, FALSE);
}

/* Id and place. */
static char *instance_text(nvmlGpuInstance_t gi) {
        nvmlGpuInstanceInfo_t info;
        nvmlReturn_t r = nvml(nvmlGpuInstanceGetInfo, gi, &info);

        ck_assert_int_eq(r, NVML_SUCCESS);
        ck_assert(info.device == device);
        return g_strdup_printf("%u %u:%u", info.id, info.placement.start, info.placement.size);
}

static char *do_create(unsigned argc, const unsigned *argv) {
        nvmlGpuInstance_t gi;
        nvmlReturn_t r;

        if (argc == 1)
                r = nvml(nvmlDeviceCreateGpuInstance, device, argv[0], &gi);
        else
                r = nvml(nvmlDeviceCreateGpuInstanceWithPlacement, device, argv[0],
                         &(nvmlPlacement_t){ argv[1], argv[2] }, &gi);
        return r == NVML_SUCCESS ? instance_text(gi) : g_strdup(code_text(r));
}

static nvmlReturn_t by_id(unsigned id, nvmlGpuInstance_t *ret) {
        return nvml(nvmlDeviceGetGpuInstanceById, device, id, ret);
}

static char *do_destroy(unsigned argc, const unsigned *argv) {
        nvmlGpuInstance_t gi;
        nvmlReturn_t r = by_id(argv[0], &gi);

        return g_strdup(code_text(r == NVML_SUCCESS ? nvml(nvmlGpuInstanceDestroy, gi) : r));
}

/* There is no length to the list: only those there are may be written. */
static char *do_list(unsigned argc, const unsigned *argv) {
        nvmlGpuInstance_t list[8], nobody = (nvmlGpuInstance_t) (uintptr_t) 0x5a5a;
        GString *text = g_string_new(NULL);
        unsigned n;
        nvmlReturn_t r;

        for (size_t i = 0; i < G_N_ELEMENTS(list); i++)
                list[i] = nobody;
        r = nvml(nvmlDeviceGetGpuInstances, device, argv[0], list, &n);
        if (r != NVML_SUCCESS)
                g_string_append(text, code_text(r));
        for (size_t i = 0; r == NVML_SUCCESS && i < G_N_ELEMENTS(list); i++) {
                g_autofree char *one = i < n ? instance_text(list[i]) : NULL;

                ck_assert_int_eq(list[i] == nobody, i >= n);
                if (one)
                        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", one);
        }
        return g_string_free(text, FALSE);
}

static char *compute_text(nvmlComputeInstance_t ci) {
        nvmlComputeInstanceInfo_t info;

        ck_assert_int_eq(nvml(nvmlComputeInstanceGetInfo_v2, ci, &info), NVML_SUCCESS);
        return g_strdup_printf("%u %u:%u", info.id, info.placement.start, info.placement.size);
}

/* GPU instance, profile, and perhaps where. */
static char *do_compute(unsigned argc, const unsigned *argv) {
        nvmlComputeInstance_t ci;
        nvmlGpuInstance_t gi;
        nvmlReturn_t r = by_id(argv[0], &gi);

        if (r == NVML_SUCCESS && argc == 2)
                r = nvml(nvmlGpuInstanceCreateComputeInstance, gi, argv[1], &ci);
        else if (r == NVML_SUCCESS)
                r = nvml(nvmlGpuInstanceCreateComputeInstanceWithPlacement, gi, argv[1],
                         &(nvmlPlacement_t){ argv[2], argv[3] }, &ci);
        return r == NVML_SUCCESS ? compute_text(ci) : g_strdup(code_text(r));
}

static char *do_destroy_compute(unsigned argc, const unsigned *argv) {
        nvmlComputeInstance_t ci;
        nvmlGpuInstance_t gi;
        nvmlReturn_t r = by_id(argv[0], &gi);

        if (r == NVML_SUCCESS)
                r = nvml(nvmlGpuInstanceGetComputeInstanceById, gi, argv[1], &ci);
        return g_strdup(code_text(r == NVML_SUCCESS ? nvml(nvmlComputeInstanceDestroy, ci) : r));
}

/* Of a GPU instance: each profile's name, how many in all and how many more. */
static char *do_compute_profiles(unsigned argc, const unsigned *argv) {
        GString *text = g_string_new(NULL);
        nvmlGpuInstance_t gi;

        ck_assert_int_eq(by_id(argv[0], &gi), NVML_SUCCESS);
        for (unsigned i = 0; i < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; i++) {
                nvmlComputeInstanceProfileInfo_v2_t info = {
                        .version = NVML_VERSION_WORD(nvmlComputeInstanceProfileInfo_v2_t, 2)
                };
                unsigned n;

                if (nvml(nvmlGpuInstanceGetComputeInstanceProfileInfoV, gi, i, 0, &info) ==
                    NVML_ERROR_NOT_SUPPORTED)
                        continue;
                ck_assert_int_eq(nvml(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, gi, info.v1.id, &n),
                                 NVML_SUCCESS);
                g_string_append_printf(text, "%s%s %u/%u", text->len > 0 ? ", " : "", info.name, n,
                                       info.v1.instanceCount);
        }
        return g_string_free(text, FALSE);
}

/* MIG devices: index, GPU instance and compute instance of each. */
static char *do_devices(unsigned argc, const unsigned *argv) {
        GString *text = g_string_new(NULL);
        unsigned max, gi, ci;
        nvmlReturn_t r = nvml(nvmlDeviceGetMaxMigDeviceCount, device, &max);

        ck_assert_int_eq(r, NVML_SUCCESS);
        for (unsigned i = 0; i < max; i++) {
                nvmlDevice_t mig, parent;
                char uuid[96];

                r = nvml(nvmlDeviceGetMigDeviceHandleByIndex, device, i, &mig);
                if (r == NVML_ERROR_NOT_FOUND)
                        continue;
                ck_assert_int_eq(r, NVML_SUCCESS);
                ck_assert_int_eq(nvml(nvmlDeviceGetGpuInstanceId, mig, &gi), NVML_SUCCESS);
                ck_assert_int_eq(nvml(nvmlDeviceGetComputeInstanceId, mig, &ci), NVML_SUCCESS);
                ck_assert_int_eq(nvml(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, mig, &parent),
                                 NVML_SUCCESS);
                ck_assert(parent == device);
                ck_assert_int_eq(nvml(nvmlDeviceGetUUID, mig, uuid, sizeof uuid), NVML_SUCCESS);
                ck_assert(g_str_has_prefix(uuid, "MIG-") && strlen(uuid) == 40);
                g_string_append_printf(text, "%s%u=%u/%u", text->len > 0 ? " " : "", i, gi, ci);
        }
        return g_string_free(text, FALSE);
}

typedef nvmlReturn_t (*ListCall)(nvmlDevice_t device, unsigned *count, unsigned *list);

/* Asked as NVML wants it: how many, too little room, and enough. What is behind the list stays as it is. */
static char *ids_text(ListCall call) {
        unsigned list[128], n = 0, again = 1;
        GString *text;
        nvmlReturn_t r = call(device, &n, NULL);

        if (r == NVML_SUCCESS)
                return g_strdup(n == 0 ? "none" : "?");
        if (r != NVML_ERROR_INSUFFICIENT_SIZE)
                return g_strdup(code_text(r));

        list[n] = 0x5a5a;
        if (n > 1)
                ck_assert_int_eq(call(device, &again, list), NVML_ERROR_INSUFFICIENT_SIZE);
        ck_assert_uint_eq(again, n);
        ck_assert_int_eq(call(device, &again, list), NVML_SUCCESS);
        ck_assert_uint_eq(again, n);
        ck_assert_uint_eq(list[n], 0x5a5a);

        text = g_string_new(NULL);
        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text, "%s%u", i > 0 ? " " : "", list[i]);
        return g_string_free(text, FALSE);
}

static char *do_supported(unsigned argc, const unsigned *argv) {
        return ids_text((ListCall) nvml_symbol("nvmlDeviceGetSupportedVgpus"));
}

static char *do_creatable(unsigned argc, const unsigned *argv) {
        return ids_text((ListCall) nvml_symbol("nvmlDeviceGetCreatableVgpus"));
}

/* Name, class, bytes of frame buffer, most on this card, profile, heads, resolution, frame rate. */
static char *do_type(unsigned argc, const unsigned *argv) {
        char name[64], class[64];
        unsigned size = 4, of = sizeof class, max, profile, heads, x, y, rate;
        unsigned long long bytes;
        nvmlReturn_t r = nvml(nvmlVgpuTypeGetName, argv[0], name, &size);

        if (r != NVML_ERROR_INSUFFICIENT_SIZE)
                return g_strdup(code_text(r));
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetName, argv[0], name, &size), NVML_SUCCESS);
        ck_assert_uint_eq(size, strlen(name) + 1);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetClass, argv[0], class, &of), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetFramebufferSize, argv[0], &bytes), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetMaxInstances, device, argv[0], &max), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetGpuInstanceProfileId, argv[0], &profile), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetNumDisplayHeads, argv[0], &heads), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetResolution, argv[0], 0, &x, &y), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetResolution, argv[0], heads, &heads, &heads),
                         NVML_ERROR_INVALID_ARGUMENT);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetNumDisplayHeads, argv[0], &heads), NVML_SUCCESS);
        ck_assert_int_eq(nvml(nvmlVgpuTypeGetFrameRateLimit, argv[0], &rate), NVML_SUCCESS);
        return g_strdup_printf("%s, %s, %llu, %u, %d, %u, %ux%u, %u", name, class, bytes, max, (int) profile,
                               heads, x, y, rate);
}

/* Of each that runs: type, GPU instance, placement, and whose. */
static char *do_running(unsigned argc, const unsigned *argv) {
        unsigned list[32], n = G_N_ELEMENTS(list), type, gi, kind;
        GString *text = g_string_new(NULL);
        char vm[80], mdev[80];

        ck_assert_int_eq(nvml(nvmlDeviceGetActiveVgpus, device, &n, list), NVML_SUCCESS);
        for (unsigned i = 0; i < n; i++) {
                nvmlVgpuPlacementId_t at = { .version = NVML_VERSION_WORD(nvmlVgpuPlacementId_t, 1) };
                nvmlReturn_t r;

                ck_assert_int_eq(nvml(nvmlVgpuInstanceGetType, list[i], &type), NVML_SUCCESS);
                ck_assert_int_eq(nvml(nvmlVgpuInstanceGetGpuInstanceId, list[i], &gi), NVML_SUCCESS);
                ck_assert_int_eq(nvml(nvmlVgpuInstanceGetPlacementId, list[i], &at), NVML_SUCCESS);
                ck_assert_int_eq(nvml(nvmlVgpuInstanceGetVmID, list[i], vm, sizeof vm, &kind), NVML_SUCCESS);
                ck_assert_uint_eq(kind, 1);
                r = nvml(nvmlVgpuInstanceGetMdevUUID, list[i], mdev, sizeof mdev);
                g_string_append_printf(text, "%s%u %d %u %s %s", i > 0 ? ", " : "", type, (int) gi,
                                       at.placementId, vm, r == NVML_SUCCESS ? mdev : code_text(r));
        }
        if (n == 0)
                g_string_append(text, "none");
        return g_string_free(text, FALSE);
}

static char *do_mixed(unsigned argc, const unsigned *argv) {
        nvmlVgpuHeterogeneousMode_t mode = { argc > 1 ? argv[1]
                                                      : NVML_VERSION_WORD(nvmlVgpuHeterogeneousMode_t, 1),
                                             argv[0] };
        nvmlReturn_t r = argc > 0 ? nvml(nvmlDeviceSetVgpuHeterogeneousMode, device, &mode)
                                  : nvml(nvmlDeviceGetVgpuHeterogeneousMode, device, &mode);

        return argc > 0 ? g_strdup(code_text(r)) : number_or_code(r, mode.mode);
}

/* Size of one, then where: those there are, or those that are free now. */
static char *do_placements(unsigned argc, const unsigned *argv) {
        nvmlVgpuPlacementList_v2_t list = { .version = NVML_VERSION_WORD(nvmlVgpuPlacementList_v2_t, 2) };
        __typeof__(nvmlDeviceGetVgpuTypeSupportedPlacements) *call =
                nvml_symbol(argc > 1 && argv[1] ? "nvmlDeviceGetVgpuTypeCreatablePlacements"
                                                : "nvmlDeviceGetVgpuTypeSupportedPlacements");
        unsigned ids[64];
        nvmlReturn_t r;
        GString *text;

        r = call(device, argv[0], &list);
        if (r != NVML_ERROR_INSUFFICIENT_SIZE)
                return g_strdup(r == NVML_SUCCESS ? "none" : code_text(r));
        list.placementIds = ids;
        ck_assert_int_eq(call(device, argv[0], &list), NVML_SUCCESS);
        text = g_string_new(NULL);
        g_string_append_printf(text, "%u:", list.placementSize);
        for (unsigned i = 0; i < list.count; i++)
                g_string_append_printf(text, " %u", ids[i]);
        return g_string_free(text, FALSE);
}

static char *do_capability(unsigned argc, const unsigned *argv) {
        unsigned n;
        nvmlReturn_t r = nvml(nvmlDeviceGetVgpuCapabilities, device, argv[0], &n);

        return number_or_code(r, n);
}

/* Virtualization mode and host mode. */
static char *do_host(unsigned argc, const unsigned *argv) {
        unsigned virtualization, host;
        nvmlReturn_t r;

        ck_assert_int_eq(nvml(nvmlDeviceGetVirtualizationMode, device, &virtualization), NVML_SUCCESS);
        r = nvml(nvmlDeviceGetHostVgpuMode, device, &host);
        return r == NVML_SUCCESS ? g_strdup_printf("%u %u", virtualization, host)
                                 : g_strdup_printf("%u %s", virtualization, code_text(r));
}

static const struct {
        const char *name;
        char *(*run)(unsigned argc, const unsigned *argv);
} operations[] = {
        { "init", do_init },
        { "shutdown", do_shutdown },
        { "count", do_count },
        { "device", do_device },
        { "mode", do_mode },
        { "info", do_info },
        { "info-by-id", do_info_by_id },
        { "places", do_places },
        { "left", do_left },
        { "create", do_create },
        { "destroy", do_destroy },
        { "list", do_list },
        { "compute", do_compute },
        { "destroy-compute", do_destroy_compute },
        { "compute-profiles", do_compute_profiles },
        { "devices", do_devices },
        { "supported", do_supported },
        { "creatable", do_creatable },
        { "type", do_type },
        { "running", do_running },
        { "mixed", do_mixed },
        { "placements", do_placements },
        { "capability", do_capability },
        { "host", do_host },
};

/* A command line: what it printed if all went well, else its exit code. */
static char *do_shell(const char *command) {
        int code;
        char *out = shell(&code, "%s", command);

        if (code == 0)
                return g_strchomp(out);
        g_free(out);
        return g_strdup_printf("exit %d", code);
}

char *nvml_do(const char *words) {
        g_auto(GStrv) word = g_strsplit_set(words, " :", -1);
        unsigned argv[8] = {}, argc = 0;

        if (g_str_has_prefix(words, "$ "))
                return do_shell(words + 2);

        for (; word[argc + 1]; argc++)
                argv[argc] = (unsigned) strtoul(word[argc + 1], NULL, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(operations); i++)
                if (g_str_equal(operations[i].name, word[0]))
                        return operations[i].run(argc, argv);

        ck_abort_msg("'%s' is no operation", words);
}

void nvml_run(const NvmlRow *rows) {
        for (unsigned i = 0; rows[i].words; i++) {
                g_autofree char *answer = nvml_do(rows[i].words);

                ck_assert_msg(g_str_equal(answer, rows[i].answer), "row %u: %s: '%s', not '%s'", i,
                              rows[i].words, answer, rows[i].answer);
        }
}

void nvml_clean_up(void) {
        static const NvmlRow rows[] = { BEGIN, { "mode 0", "SUCCESS SUCCESS" }, END };

        simctl_do("forget");
        ck_assert_int_eq(simctl_do("reboot"), 0);
        nvml_run(rows);
}

int nvml_run_tests(TCase *tests, const char *name) {
        Suite *suite = suite_create(name);
        SRunner *runner;
        int failed;

        tcase_set_timeout(tests, 60);
        suite_add_tcase(suite, tests);
        runner = srunner_create(suite);
        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
