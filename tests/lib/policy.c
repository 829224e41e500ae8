/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "card.h"
#include "error.h"
#include "intent.h"
#include "policy.h"

#define UUID "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"

static const CarvedPciAddress address = { 0, 8, 0, 0 };

static CarvedGpu *card(CarvedFramework framework) {
        return card_new(&address, framework, 2, 2);
}

#define NAMELESS 2 /* the third type of such a card, which no VF offers */

/* The driver tells a number of it, and nothing else. */
static CarvedGpu *card_with_nameless(void) {
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV);

        g_ptr_array_add(gpu->types, carved_type_new("nvidia-999"));
        for (unsigned i = 0; i < 2; i++) {
                vf_of(gpu, i)->available = g_renew(uint16_t, vf_of(gpu, i)->available, 3);
                vf_of(gpu, i)->available[NAMELESS] = 0;
        }
        return gpu;
}

/* ---- types by name ---- */

/* The long ones are 746 and 2^32 or 2^64. */
static const struct {
        const char *text;
        int index;
} spellings[] = { { "nvidia-746", CARD_4Q },
                  { "NVIDIA-746", CARD_4Q },
                  { "746", CARD_4Q },
                  { "747", CARD_8Q },
                  { "999", NAMELESS },
                  { "NVIDIA A2-4Q", CARD_4Q },
                  { "A2-8Q", CARD_8Q },
                  { "nvidia a2-8q", CARD_8Q },
                  { "a2-4q", CARD_4Q },
                  { "748", -1 },
                  { "", -1 },
                  { "nvidia", -1 },
                  { "46", -1 },
                  { "99", -1 },
                  { "7460", -1 },
                  { " 746", -1 },
                  { "746 ", -1 },
                  { "+746", -1 },
                  { "-746", -1 },
                  { "0x2ea", -1 },
                  { "A2", -1 },
                  { "4294968042", -1 },
                  { "18446744073709552362", -1 } };

START_TEST(a_type_is_found_by_each_of_its_spellings) {
        g_autoptr(CarvedGpu) gpu = card_with_nameless();
        g_autofree char *message = g_strdup_printf("GPU 0000:08:00.0 has no type '%s'", spellings[_i].text);
        g_autoptr(GError) error = NULL;

        carved_gpu_finish(gpu);
        ck_assert_int_eq(carved_policy_find_type(gpu, spellings[_i].text, &error), spellings[_i].index);
        ck_assert_int_eq(error == NULL, spellings[_i].index >= 0);
        if (error) {
                ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_TYPE));
                ck_assert_str_eq(error->message, message);
        }
}
END_TEST

START_TEST(before_its_types_are_told_a_card_is_not_ready) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_UNKNOWN);
        g_autoptr(GError) error = NULL;

        g_ptr_array_set_size(gpu->types, 0);
        carved_gpu_finish(gpu);
        ck_assert_int_eq(carved_policy_find_type(gpu, "746", &error), -1);
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_NOT_READY));
        ck_assert_str_eq(error->message, "GPU 0000:08:00.0 can't have a vGPU now: The driver has not "
                                         "published its vGPU types yet");
}
END_TEST

/* What is not UTF-8 can't be said on the bus: the caller would wait for ever. */
START_TEST(what_is_quoted_of_a_long_text_stays_text) {
        g_autofree char *x = g_strnfill(79, 'x'), *text = g_strconcat(x, "ééé", NULL);
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);
        g_autoptr(GError) type = NULL, label = NULL;

        carved_gpu_finish(gpu);
        ck_assert_int_eq(carved_policy_find_type(gpu, text, &type), -1);
        ck_assert_ptr_null(carved_labels_new((const char *const *) LIST(text, ""), &label));
        ck_assert(g_utf8_validate(type->message, -1, NULL));
        ck_assert(g_utf8_validate(label->message, -1, NULL));
}
END_TEST

/* ---- why not ---- */

static void size_fixed(CarvedGpu *g) {
        hold(g, UUID, 0);
        offer(g, 1, 1, 0);
}
static void full(CarvedGpu *g) {
        hold(g, UUID, 0);
        offer(g, 1, 0, 0);
}
static void other_vf_only(CarvedGpu *g) {
        offer(g, 1, 1, 0);
}
static void no_iommu(CarvedGpu *g) {
        g->iommu_group = vf_of(g, 0)->iommu_group = vf_of(g, 1)->iommu_group = -1;
}
static void pending(CarvedGpu *g) {
        g->settled = false;
        for (unsigned i = 0; i < 2; i++) {
                offer(g, i, 0, 0);
                vf_of(g, i)->settled = false;
        }
}
static void vfs_off(CarvedGpu *g) {
        g->num_vfs = 0;
        g_ptr_array_set_size(g->vfs, 0);
}
static void no_driver(CarvedGpu *g) {
        g_clear_pointer(&g->driver, g_free);
        g_clear_pointer(&vf_of(g, 1)->driver, g_free);
        offer(g, 1, 0, 0);
}
static void on_vfio(CarvedGpu *g) {
        no_driver(g);
        g->driver = g_strdup("vfio-pci");
        vf_of(g, 1)->driver = g_strdup("vfio-pci");
}
static void stalled(CarvedGpu *g) {
        g->stalled = true;
}
static void unreadable(CarvedGpu *g) {
        vf_of(g, 1)->error = g_strdup("It can't be read");
}
static void no_framework(CarvedGpu *g) {
        g->framework = CARVED_FRAMEWORK_NONE;
}

#define ON_GPU "NVIDIA A2-8Q can't be had on GPU 0000:08:00.0: "
#define ON_VF  "NVIDIA A2-8Q can't be had on VF 0000:08:00.5: "
#define FIXED  "vGPU " UUID " fixes the card to its own size, 4096 MiB; to be had "
#define HANGS  "The driver does not answer: somebody holds the card's lock in the kernel"

static const struct {
        void (*change)(CarvedGpu *gpu);
        int vf;
        CarvedError code;
        const char *message;
} refusals[] = {
        { size_fixed, 1, CARVED_ERROR_TYPE_NOT_AVAILABLE, ON_VF FIXED "are NVIDIA A2-4Q" },
        { size_fixed, -1, CARVED_ERROR_TYPE_NOT_AVAILABLE, ON_GPU FIXED "are NVIDIA A2-4Q" },
        { full, -1, CARVED_ERROR_TYPE_NOT_AVAILABLE, ON_GPU FIXED "is nothing" },
        { size_fixed, 0, CARVED_ERROR_CONFLICT,
          "NVIDIA A2-8Q can't be had on VF 0000:08:00.4: The VF holds vGPU " UUID },
        { other_vf_only, 1, CARVED_ERROR_TYPE_NOT_AVAILABLE,
          ON_VF "the driver does not offer it on this VF" },
        { no_iommu, -1, CARVED_ERROR_NOT_READY,
          ON_GPU "The card is in no IOMMU group: the IOMMU is off or missing" },
        { no_iommu, 1, CARVED_ERROR_NOT_READY,
          ON_VF "The VF is in no IOMMU group: the IOMMU is off or missing" },
        { pending, -1, CARVED_ERROR_NOT_READY, ON_GPU "The driver has not published its vGPU types yet" },
        { pending, 1, CARVED_ERROR_NOT_READY, ON_VF "The driver has not published its vGPU types yet" },
        { vfs_off, -1, CARVED_ERROR_NOT_READY, ON_GPU "SR-IOV is off: none of 2 VFs is enabled" },
        { no_driver, -1, CARVED_ERROR_NOT_READY, ON_GPU "No driver is bound to the card" },
        { no_driver, 1, CARVED_ERROR_NOT_READY, ON_VF "No driver is bound to the VF" },
        { on_vfio, -1, CARVED_ERROR_CONFLICT,
          ON_GPU "The card is bound to vfio-pci, to be passed through whole" },
        { on_vfio, 1, CARVED_ERROR_CONFLICT,
          ON_VF "The VF is bound to vfio-pci, to be passed through whole" },
        { stalled, -1, CARVED_ERROR_STALLED, ON_GPU HANGS },
        { stalled, 1, CARVED_ERROR_STALLED, ON_VF HANGS },
        { unreadable, 1, CARVED_ERROR_NOT_READY, ON_VF "It can't be read" },
        { no_framework, -1, CARVED_ERROR_NOT_SUPPORTED,
          ON_GPU "The card has no SR-IOV, and driver nvidia offers no mediated devices" },
};

static void expect_refusal(const CarvedGpu *gpu, int vf, unsigned type, CarvedError code,
                           const char *message) {
        g_autoptr(GError) error = NULL;

        ck_assert(!carved_policy_may_create(gpu, vf < 0 ? NULL : carved_gpu_find_vf(gpu, (uint32_t) vf), type,
                                            &error));
        ck_assert_str_eq(error->message, message);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) code));
}

START_TEST(what_can_be_had_is_allowed_the_rest_refused_with_its_reason) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV), fine = card(CARVED_FRAMEWORK_MDEV);

        size_fixed(fine);
        carved_gpu_finish(fine);
        ck_assert(carved_policy_may_create(fine, NULL, CARD_4Q, NULL));
        ck_assert(carved_policy_may_create(fine, vf_of(fine, 1), CARD_4Q, NULL));
        refusals[_i].change(gpu);
        carved_gpu_finish(gpu);
        expect_refusal(gpu, refusals[_i].vf, CARD_8Q, refusals[_i].code, refusals[_i].message);
}
END_TEST

START_TEST(a_card_full_of_a_type_has_no_capacity) {
        g_autoptr(CarvedGpu) gpu = card_with_nameless();

        full(gpu);
        carved_gpu_finish(gpu);
        expect_refusal(gpu, -1, CARD_4Q, CARVED_ERROR_NO_CAPACITY,
                       "NVIDIA A2-4Q can't be had on GPU 0000:08:00.0: All that the card can hold of this "
                       "type is there");
        expect_refusal(gpu, 1, NAMELESS, CARVED_ERROR_NO_CAPACITY,
                       "nvidia-999 can't be had on VF 0000:08:00.5: All that the card can hold of this type "
                       "is there");
}
END_TEST

START_TEST(a_vf_that_the_host_uses_is_in_the_way) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_VF_PASSTHROUGH);

        vf_of(gpu, 1)->driver = g_strdup("xe");
        carved_gpu_finish(gpu);
        ck_assert(carved_policy_may_create(gpu, vf_of(gpu, 0), 0, NULL));
        expect_refusal(gpu, 1, 0, CARVED_ERROR_CONFLICT,
                       "Virtual function can't be had on VF 0000:08:00.5: The host itself uses the VF, by "
                       "driver xe");
}
END_TEST

START_TEST(a_card_that_cannot_be_switched_says_why) {
        void (*const changes[])(CarvedGpu *) = { no_driver, on_vfio, stalled };
        const CarvedError codes[] = { CARVED_ERROR_NOT_READY, CARVED_ERROR_CONFLICT, CARVED_ERROR_STALLED };
        const char *const reasons[] = { "no-driver", "on-vfio-pci", "stalled" };
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);
        g_autoptr(GError) error = NULL;
        g_autofree char *message = NULL;

        ck_assert(carved_policy_may_switch_vfs(gpu, NULL));
        changes[_i](gpu);
        carved_gpu_finish(gpu);
        ck_assert_str_eq(gpu->reason.code, reasons[_i]);
        message = g_strconcat("The VFs of GPU 0000:08:00.0 can't be switched: ", gpu->reason.text, NULL);
        ck_assert(!carved_policy_may_switch_vfs(gpu, &error));
        ck_assert_str_eq(error->message, message);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) codes[_i]));
}
END_TEST

/* ---- texts of clients ---- */

START_TEST(parameters_are_one_line_of_limited_length) {
        static const char *const bad[] = { "\n", "\t", "\x01", "\x7f" };
        g_autofree char *most = g_strnfill(1024, 'x'), *more = g_strnfill(1025, 'x');
        g_autoptr(GError) error = NULL;

        ck_assert(carved_policy_check_params("frame_rate_limiter=0, é", NULL));
        ck_assert(carved_policy_check_params(most, NULL));
        ck_assert(!carved_policy_check_params(more, &error));
        ck_assert_str_eq(error->message, "The parameters have 1025 bytes: at most 1024 can be set");
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS));
        for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *text = g_strconcat("ab", bad[i], NULL);

                g_clear_error(&error);
                ck_assert(!carved_policy_check_params(text, &error));
                ck_assert_str_eq(error->message, "The parameters have a control character at place 3: they "
                                                 "are one line");
                ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS));
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("policy");
        TCase *tcase = tcase_create("policy");

        tcase_add_loop_test(tcase, a_type_is_found_by_each_of_its_spellings, 0, G_N_ELEMENTS(spellings));
        tcase_add_test(tcase, before_its_types_are_told_a_card_is_not_ready);
        tcase_add_test(tcase, what_is_quoted_of_a_long_text_stays_text);
        tcase_add_loop_test(tcase, what_can_be_had_is_allowed_the_rest_refused_with_its_reason, 0,
                            G_N_ELEMENTS(refusals));
        tcase_add_test(tcase, a_card_full_of_a_type_has_no_capacity);
        tcase_add_test(tcase, a_vf_that_the_host_uses_is_in_the_way);
        tcase_add_loop_test(tcase, a_card_that_cannot_be_switched_says_why, 0, 3);
        tcase_add_test(tcase, parameters_are_one_line_of_limited_length);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
