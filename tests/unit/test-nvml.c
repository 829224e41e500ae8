/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "bench.h"
#include "nvml.h"
#include "rules.h"
#include "unit.h"

/* Calls of NVML as they reach the driver: every one is there, and every one can be made to fail. */

static Bench *bench;
static NvmlSession *session;

static uint32_t call(NvmlCallId id, uint64_t handle, NvmlReply *reply) {
        static NvmlReply nobody;
        NvmlRequest request = { .call = id, .handle = handle };

        nvml_call(session, &request, reply ?: &nobody);
        return (reply ?: &nobody)->code;
}

static void setup(void) {
        bench = bench_new("a100");
        bench->kernel->rules = rules_new();
        session = nvml_session_new(bench->kernel, 1, 0);
        ck_assert_uint_eq(call(NVML_CALL(nvmlInit_v2), 0, NULL), NVML_SUCCESS);
}

static void teardown(void) {
        nvml_session_free(session);
        rules_clear(bench->kernel->rules);
        bench_free(bench);
}

static uint64_t device(void) {
        NvmlReply reply;
        uint64_t handle;

        ck_assert_uint_eq(call(NVML_CALL(nvmlDeviceGetHandleByIndex_v2), 0, &reply), NVML_SUCCESS);
        memcpy(&handle, reply.data, sizeof handle);
        return handle;
}

static void add_rule(const char *text) {
        g_auto(GStrv) words = g_strsplit(text, " ", -1);
        g_autofree char *why = NULL;
        Rule *rule = rule_parse((const char *const *) words, &why);

        ck_assert_msg(rule, "%s", why);
        rules_add(bench->kernel->rules, rule);
}

START_TEST(every_call_does_something) {
        for (unsigned id = 0; id < NVML_CALL_COUNT; id++) {
                if (id != NVML_CALL(nvmlShutdown))
                        ck_assert_msg(call(id, device(), NULL) != NVML_ERROR_FUNCTION_NOT_FOUND, "%s",
                                      nvml_call_name(id));
        }
        ck_assert_uint_eq(call(NVML_CALL_COUNT, 0, NULL), NVML_ERROR_FUNCTION_NOT_FOUND);
}
END_TEST

START_TEST(every_call_fails_with_every_code) {
        uint64_t handle = device();

        for (unsigned id = 0; id < NVML_CALL_COUNT; id++)
                for (unsigned code = 1; code <= 999; code++) {
                        g_autofree char *rule = NULL;

                        if (!nvml_code_name(code))
                                continue;
                        rule = g_strdup_printf("fail nvml/%s %u", nvml_call_name(id), code);
                        add_rule(rule);
                        ck_assert_uint_eq(call(id, handle, NULL), code);
                        rules_clear(bench->kernel->rules);
                }
        ck_assert(session->initialised);
}
END_TEST

static const struct {
        const char *pattern;
        bool strikes;
} patterns[] = {
        { "nvml/nvmlDeviceGetGpuInstanceProfileInfoV", true },
        { "nvml/nvmlDeviceGetGpuInstanceProfileInfoV/0000:04:00.0", true },
        { "nvml/nvmlDeviceGetGpuInstanceProfileInfoV/0000:04:00.0/v3", true },
        { "nvml/*/0000:04:*", true },
        { "nvml/*", true },
        { "nvml/*/v3", true },
        { "nvml/nvmlDeviceGet*V", true },
        { "nvml/nvmlDeviceGetGpuInstanceProfileInfo", false },
        { "nvml/nvmlDeviceGetGpuInstanceProfileInfoV/0000:05:00.0", false },
        { "nvml/*/v2", false },
};

START_TEST(a_rule_is_for_calls_cards_and_versions) {
        g_autofree char *rule = g_strdup_printf("fail %s MEMORY", patterns[_i].pattern);
        NvmlRequest request = { .call = NVML_CALL(nvmlDeviceGetGpuInstanceProfileInfoV), .handle = device() };
        NvmlReply reply;

        request.args[NVML_ARGS_MAX - 1] = NVML_VERSION_WORD(nvmlGpuInstanceProfileInfo_v3_t, 3);
        add_rule(rule);
        nvml_call(session, &request, &reply);
        ck_assert_int_eq(reply.code == NVML_ERROR_MEMORY, patterns[_i].strikes);
}
END_TEST

START_TEST(rules_for_files_are_not_for_calls) {
        add_rule("fail * EIO always");
        ck_assert_uint_eq(call(NVML_CALL(nvmlDeviceGetCount_v2), 0, NULL), NVML_SUCCESS);
}
END_TEST

START_TEST(a_call_that_is_ignored_or_crashes_has_no_effect_and_one_that_crashes_after_has) {
        uint64_t handle = device();
        NvmlRequest request = { .call = NVML_CALL(nvmlDeviceSetMigMode), .args = { 1 }, .handle = handle };
        const PciDevice *pf = pci_find(bench->kernel, "0000:04:00.0");
        NvmlReply reply;

        add_rule("fail nvml/nvmlDeviceSetMigMode ignore");
        add_rule("fail nvml/nvmlDeviceSetMigMode crash nth=2");
        add_rule("fail nvml/nvmlDeviceSetMigMode crash-after nth=3");
        nvml_call(session, &request, &reply);
        ck_assert_uint_eq(reply.code, NVML_SUCCESS);
        ck_assert(!pf->mig_mode);
        nvml_call(session, &request, &reply);
        ck_assert_uint_eq(reply.code, NVML_REPLY_CRASH);
        ck_assert(!pf->mig_mode);
        nvml_call(session, &request, &reply);
        ck_assert_uint_eq(reply.code, NVML_REPLY_CRASH);
        ck_assert(pf->mig_mode);
}
END_TEST

START_TEST(a_session_ends_with_the_host) {
        reboot(bench->kernel, bench->host);
        ck_assert(!session->initialised);
        ck_assert_uint_eq(call(NVML_CALL(nvmlDeviceGetCount_v2), 0, NULL), NVML_ERROR_UNINITIALIZED);
        ck_assert_uint_eq(call(NVML_CALL(nvmlInit_v2), 0, NULL), NVML_SUCCESS);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("nvml");

        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_test(tests, every_call_does_something);
        tcase_add_test(tests, every_call_fails_with_every_code);
        add_table_test(tests, a_rule_is_for_calls_cards_and_versions, patterns);
        tcase_add_test(tests, rules_for_files_are_not_for_calls);
        tcase_add_test(tests, a_call_that_is_ignored_or_crashes_has_no_effect_and_one_that_crashes_after_has);
        tcase_add_test(tests, a_session_ends_with_the_host);
        return unit_run(tests, "nvml");
}
