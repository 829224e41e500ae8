/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "error.h"
#include "policy.h"

#define UUID      "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define FOREIGN   "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"
#define LIST(...) ((char **) (const char *const[]){ __VA_ARGS__, NULL })

static const CarvedPciAddress address = { 0, 8, 0, 0 };

/* ---- a card ---- */

static void add_type(CarvedGpu *gpu, const char *id, const char *name, uint64_t mib) {
        CarvedType *type = carved_type_new(id);

        type->name = g_strdup(name);
        type->framebuffer_mib = mib;
        type->known = mib ? CARVED_TYPE_FRAMEBUFFER : 0;
        g_ptr_array_add(gpu->types, type);
}

static CarvedGpu *card(CarvedFramework framework) {
        CarvedGpu *gpu = carved_gpu_new(&address);

        gpu->driver = g_strdup("nvidia");
        gpu->iommu_group = 1;
        gpu->has_sriov = true;
        gpu->total_vfs = gpu->num_vfs = 2;
        gpu->framework = framework;
        if (framework == CARVED_FRAMEWORK_VF_PASSTHROUGH)
                add_type(gpu, CARVED_TYPE_VF, "Virtual function", 0);
        else {
                add_type(gpu, "nvidia-99", NULL, 0);
                add_type(gpu, "nvidia-746", "NVIDIA A2-4Q", 4096);
                add_type(gpu, "nvidia-747", "NVIDIA A2-8Q", 8192);
        }
        for (uint32_t i = 0; i < 2; i++) {
                CarvedVf *vf = carved_gpu_add_vf(gpu, i, &(CarvedPciAddress){ 0, 8, 0, (uint8_t) (4 + i) });

                vf->driver = framework == CARVED_FRAMEWORK_VF_PASSTHROUGH ? NULL : g_strdup("nvidia");
                vf->iommu_group = 10 + (int32_t) i;
                vf->framework = framework;
                vf->settled = true;
                vf->available = g_new0(uint16_t, 3);
                vf->available[1] = vf->available[2] = vf->driver != NULL;
        }
        return gpu;
}

static CarvedVf *vf_of(CarvedGpu *gpu, unsigned i) {
        return gpu->vfs->pdata[i];
}

static void offer(CarvedGpu *gpu, unsigned vf, uint16_t of_746, uint16_t of_747) {
        vf_of(gpu, vf)->available[1] = of_746;
        vf_of(gpu, vf)->available[2] = of_747;
}

static CarvedVgpu *hold(CarvedGpu *gpu, const char *uuid, int32_t vf) {
        CarvedVgpu *vgpu = carved_gpu_add_vgpu(gpu, uuid, vf);

        vgpu->framework = gpu->framework;
        vgpu->type = g_strdup("nvidia-746");
        offer(gpu, (unsigned) vf, 0, 0);
        return vgpu;
}

/* ---- types by name ---- */

/* The long ones are 746 and 2^32 or 2^64. */
static const struct {
        const char *text;
        int index;
} spellings[] = { { "nvidia-746", 1 },  { "NVIDIA-746", 1 },
                  { "746", 1 },         { "747", 2 },
                  { "99", 0 },          { "NVIDIA A2-4Q", 1 },
                  { "A2-8Q", 2 },       { "nvidia a2-8q", 2 },
                  { "a2-4q", 1 },       { "748", -1 },
                  { "", -1 },           { "nvidia", -1 },
                  { "46", -1 },         { "7460", -1 },
                  { " 746", -1 },       { "746 ", -1 },
                  { "+746", -1 },       { "-746", -1 },
                  { "0x2ea", -1 },      { "A2", -1 },
                  { "4294968042", -1 }, { "18446744073709552362", -1 } };

START_TEST(a_type_is_found_by_each_of_its_spellings) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);
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
        ck_assert(carved_policy_may_create(fine, NULL, 1, NULL));
        ck_assert(carved_policy_may_create(fine, vf_of(fine, 1), 1, NULL));
        refusals[_i].change(gpu);
        carved_gpu_finish(gpu);
        expect_refusal(gpu, refusals[_i].vf, 2, refusals[_i].code, refusals[_i].message);
}
END_TEST

START_TEST(a_card_full_of_a_type_has_no_capacity) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);

        full(gpu);
        carved_gpu_finish(gpu);
        expect_refusal(gpu, -1, 1, CARVED_ERROR_NO_CAPACITY,
                       "NVIDIA A2-4Q can't be had on GPU 0000:08:00.0: All that the card can hold of this "
                       "type is there");
        expect_refusal(gpu, 1, 0, CARVED_ERROR_NO_CAPACITY,
                       "nvidia-99 can't be had on VF 0000:08:00.5: All that the card can hold of this type "
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

static void expect_labels(GStrv pairs, GStrv sorted) {
        g_auto(GStrv) labels = carved_labels_new((const char *const *) pairs, NULL);

        ck_assert_ptr_nonnull(labels);
        ck_assert(g_strv_equal((const char *const *) labels, (const char *const *) sorted));
}

static void refuse_labels(GStrv pairs, CarvedError code, const char *message) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_labels_new((const char *const *) pairs, &error));
        ck_assert_str_eq(error->message, message);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) code));
}

#define BAD_LABEL                                                                                            \
        "Label '%s' can't be: a key has 1 to 63 bytes, a value at most 255, neither has control characters"

START_TEST(labels_are_sorted_by_key_and_each_is_there_once) {
        static char *none[] = { NULL };

        expect_labels(LIST("team", "a", "cost", "z", "owner", ""),
                      LIST("cost", "z", "owner", "", "team", "a"));
        expect_labels(none, none);
        expect_labels(NULL, none);
        expect_labels(LIST("a", "1", "A", "1"), LIST("A", "1", "a", "1"));
        refuse_labels(LIST("b", "1", "a", "1", "b", "2"), CARVED_ERROR_INVALID_ARGS,
                      "Label 'b' is given twice");
}
END_TEST

START_TEST(labels_have_limits) {
        g_autofree char *key = g_strnfill(63, 'k'), *long_key = g_strnfill(64, 'k'),
                        *value = g_strnfill(255, 'v'), *long_value = g_strnfill(256, 'v'),
                        *bad_key = g_strdup_printf(BAD_LABEL, long_key);
        g_autoptr(GPtrArray) many = g_ptr_array_new_with_free_func(g_free);

        expect_labels(LIST(key, value), LIST(key, value));
        refuse_labels(LIST(long_key, ""), CARVED_ERROR_INVALID_ARGS, bad_key);
        for (unsigned i = 0; i < 4; i++) {
                const char *const pairs[4][2] = {
                        { "", "x" }, { "k\n", "" }, { "k", "v\x7f" }, { "k", long_value }
                };
                g_autofree char *message = g_strdup_printf(BAD_LABEL, pairs[i][0]);

                refuse_labels(LIST("a", "", pairs[i][0], pairs[i][1]), CARVED_ERROR_INVALID_ARGS, message);
        }

        for (unsigned i = 0; i < 64; i++) {
                g_ptr_array_add(many, g_strdup_printf("k%02u", i));
                g_ptr_array_add(many, g_strdup(""));
        }
        g_ptr_array_add(many, NULL);
        expect_labels((GStrv) many->pdata, (GStrv) many->pdata);
        many->pdata[128] = g_strdup("k64");
        g_ptr_array_add(many, g_strdup(""));
        g_ptr_array_add(many, NULL);
        refuse_labels((GStrv) many->pdata, CARVED_ERROR_LIMITS_EXCEEDED,
                      "65 labels are too many: at most 64");
}
END_TEST

/* ---- what is wanted ---- */

static CarvedIntent *want(const char *uuid, int32_t vf, CarvedFramework framework, const char *type) {
        CarvedIntent *intent = carved_intent_new();
        CarvedWanted *wanted = carved_wanted_new(uuid, vf, framework, type);

        wanted->labels = g_strdupv(LIST("team", "ml"));
        g_ptr_array_add(intent->vgpus, wanted);
        return intent;
}

/* A foreign mdev, or vGPU of vendor VFIO, or VF on @driver, on VF 1, and the intent for UUID on VF 1. */
static const struct {
        CarvedFramework framework;
        const char *uuid, *type, *driver;
        int32_t wanted_vf;
        bool ours;
} claims[] = {
        { CARVED_FRAMEWORK_MDEV, UUID, "nvidia-746", NULL, 1, true },
        { CARVED_FRAMEWORK_MDEV, UUID, NULL, NULL, 1, true }, /* its type is not told yet */
        { CARVED_FRAMEWORK_MDEV, UUID, "nvidia-747", NULL, 1, false },
        { CARVED_FRAMEWORK_MDEV, FOREIGN, "nvidia-746", NULL, 1, false },
        { CARVED_FRAMEWORK_MDEV, UUID, "nvidia-746", NULL, 0, false },
        { CARVED_FRAMEWORK_VENDOR_VFIO, FOREIGN, "nvidia-746", NULL, 1, true },
        { CARVED_FRAMEWORK_VENDOR_VFIO, FOREIGN, "nvidia-747", NULL, 1, false },
        { CARVED_FRAMEWORK_VENDOR_VFIO, FOREIGN, "nvidia-746", NULL, 0, false },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, NULL, "xe-vfio-pci", 1, true },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, NULL, "xe", 1, false },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, NULL, NULL, 1, false },
};

START_TEST(only_what_we_made_is_ours_and_the_rest_is_forgotten) {
        bool whole = claims[_i].framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
        CarvedIntent *intent =
                want(UUID, claims[_i].wanted_vf, claims[_i].framework, whole ? CARVED_TYPE_VF : "nvidia-746");
        g_autoptr(CarvedGpu) gpu = card(claims[_i].framework);
        const CarvedVgpu *vgpu;

        if (claims[_i].uuid) {
                CarvedVgpu *shown = hold(gpu, claims[_i].uuid, 1);

                g_free(shown->type);
                shown->type = g_strdup(claims[_i].type);
        }
        if (whole)
                vf_of(gpu, 1)->driver = g_strdup(claims[_i].driver);

        carved_intent_apply(intent, gpu);
        carved_gpu_finish(gpu);
        ck_assert_uint_eq(gpu->vgpus->len, claims[_i].uuid || claims[_i].ours);
        vgpu = gpu->vgpus->len > 0 ? gpu->vgpus->pdata[0] : NULL;
        if (vgpu) {
                ck_assert_int_eq(vgpu->ours, claims[_i].ours);
                ck_assert_str_eq(vgpu->uuid, claims[_i].ours ? UUID : claims[_i].uuid);
                ck_assert_int_eq(vgpu->labels != NULL, claims[_i].ours);
                ck_assert_int_eq(vgpu->framework, claims[_i].framework);
        }
        if (whole && vgpu) {
                ck_assert_str_eq(vgpu->type, CARVED_TYPE_VF);
                ck_assert_int_eq(vgpu->iommu_group, 11);
                ck_assert_int_eq(vf_of(gpu, 1)->role, CARVED_VF_VGPU);
        }

        carved_intent_prune(intent, gpu);
        ck_assert_uint_eq(intent->vgpus->len, claims[_i].ours);
        carved_intent_free(intent);
}
END_TEST

/* ---- what is told of it ---- */

static CarvedModel *model_of(CarvedGpu *gpu) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ, .address = address, .gpu = gpu };
        CarvedModel *model = carved_model_new();

        carved_gpu_finish(gpu);
        g_array_unref(carved_model_apply(model, &update));
        return model;
}

static void expect_changes(CarvedModel *model, CarvedUpdate update, unsigned n, const CarvedChange *golden) {
        g_autoptr(GArray) list = NULL;

        update.address = address;
        list = carved_model_apply(model, &update);
        ck_assert_uint_eq(list->len, n);
        for (unsigned i = 0; i < n; i++) {
                const CarvedChange *change = &g_array_index(list, CarvedChange, i);

                ck_assert_int_eq(change->object.kind, golden[i].object.kind);
                ck_assert_int_eq(change->object.vf_index, golden[i].object.vf_index);
                ck_assert_str_eq(change->object.uuid, golden[i].object.uuid);
                ck_assert_uint_eq(change->removed, golden[i].removed);
                ck_assert_uint_eq(change->added, golden[i].added);
                ck_assert_uint_eq(change->kept, golden[i].kept);
                ck_assert_uint_eq(change->fields, golden[i].fields);
        }
}

#define GPU_FACETS (CARVED_FACET_GPU | CARVED_FACET_SRIOV | CARVED_FACET_VGPU_HOST)
#define GPU_CHANGE(what)                                                                                     \
        { .object = { CARVED_OBJECT_GPU, { 0 }, -1, "" }, .kept = GPU_FACETS, .fields = what }
#define VGPU_CHANGE(uuid, ...)                                                                               \
        { .object = { CARVED_OBJECT_VGPU, { 0 }, 1, uuid }, __VA_ARGS__ }
#define KEPT(what) .kept = CARVED_FACET_VGPU, .fields = what

START_TEST(labels_change_labels_only) {
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV);
        CarvedIntentChange of_card = { .label = "", .labels = LIST("rack", "7") },
                           of_nobody = { .label = FOREIGN, .labels = LIST("rack", "7") };

        hold(gpu, UUID, 1);
        model = model_of(gpu);
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_INTENT, .intent = &of_card }, 1,
                       (CarvedChange[]){ GPU_CHANGE(CARVED_FIELD_LABELS) });
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_INTENT, .intent = &of_nobody }, 0, NULL);
        ck_assert_str_eq(carved_model_find_gpu(model, &address)->labels[1], "7");
}
END_TEST

START_TEST(what_becomes_ours_changes_its_origin_or_its_name) {
        CarvedFramework framework = _i ? CARVED_FRAMEWORK_VENDOR_VFIO : CARVED_FRAMEWORK_MDEV;
        CarvedIntent *wanted = want(UUID, 1, framework, "nvidia-746");
        CarvedIntentChange adds = { .adds = wanted->vgpus };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .intent = &adds };
        const CarvedChange vf = { .object = { CARVED_OBJECT_VF, { 0 }, 1, "" },
                                  .kept = CARVED_FACET_VF | CARVED_FACET_VGPU_HOST,
                                  .fields = CARVED_FIELD_VGPU | CARVED_FIELD_REASONS };
        g_autoptr(CarvedModel) model = NULL;
        CarvedGpu *gpu = card(framework);

        hold(gpu, _i ? FOREIGN : UUID, 1);
        model = model_of(gpu);
        if (_i)
                expect_changes(model, update, 3,
                               (CarvedChange[]){ VGPU_CHANGE(FOREIGN, .removed = CARVED_FACET_VGPU),
                                                 VGPU_CHANGE(UUID, .added = CARVED_FACET_VGPU), vf });
        else
                expect_changes(model, update, 1,
                               (CarvedChange[]){
                                       VGPU_CHANGE(UUID, KEPT(CARVED_FIELD_ORIGIN | CARVED_FIELD_LABELS)) });
        carved_intent_free(wanted);
}
END_TEST

/* A whole VF is a vGPU only because we say so. */
START_TEST(a_whole_vf_that_is_no_longer_wanted_is_no_vgpu) {
        CarvedIntent *wanted = want(UUID, 1, CARVED_FRAMEWORK_VF_PASSTHROUGH, CARVED_TYPE_VF);
        CarvedIntentChange adds = { .adds = wanted->vgpus }, removes = { .removes = LIST(UUID) };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .address = address, .intent = &adds };
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_VF_PASSTHROUGH);
        g_autoptr(CarvedModel) model = NULL;

        vf_of(gpu, 1)->driver = g_strdup("vfio-pci");
        model = model_of(gpu);
        g_array_unref(carved_model_apply(model, &update));
        carved_intent_free(wanted);
        ck_assert(carved_model_find_vgpu(model, UUID)->ours);

        update.intent = &removes;
        g_array_unref(carved_model_apply(model, &update));
        ck_assert_ptr_null(carved_model_find_vgpu(model, UUID));
}
END_TEST

START_TEST(users_change_only_who_is_in_use) {
        g_autoptr(GHashTable) users = g_hash_table_new(g_str_hash, g_str_equal);
        CarvedUpdate update = { .kind = CARVED_UPDATE_USERS, .in_use = users };
        CarvedGpu *gpu = card(CARVED_FRAMEWORK_MDEV), *again = card(CARVED_FRAMEWORK_MDEV);
        const CarvedChange golden[] = { VGPU_CHANGE(UUID, KEPT(CARVED_FIELD_IN_USE)) };
        g_autoptr(CarvedModel) model = NULL;

        hold(gpu, UUID, 1);
        hold(gpu, FOREIGN, 0);
        hold(again, UUID, 1);
        hold(again, FOREIGN, 0);
        carved_gpu_finish(again);
        model = model_of(gpu);
        expect_changes(model, update, 0, NULL);
        g_hash_table_add(users, (void *) UUID);
        expect_changes(model, update, 1, golden);
        expect_changes(model, update, 0, NULL);
        /* The hardware does not know, so another look at it changes nothing. */
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_READ, .gpu = again }, 0, NULL);
        ck_assert(carved_model_find_vgpu(model, UUID)->in_use);
        g_hash_table_remove_all(users);
        expect_changes(model, update, 1, golden);
}
END_TEST

START_TEST(work_changes_the_state_until_it_ends) {
        g_autoptr(CarvedModel) model = model_of(card(CARVED_FRAMEWORK_MDEV)), none = carved_model_new();
        CarvedUpdate begin = { .kind = CARVED_UPDATE_BUSY, .busy = true }, end = { CARVED_UPDATE_BUSY };
        const CarvedChange golden[] = { GPU_CHANGE(CARVED_FIELD_STATE) };
        CarvedGpu *again = card(CARVED_FRAMEWORK_MDEV);

        carved_gpu_finish(again);
        expect_changes(none, begin, 0, NULL);
        expect_changes(model, begin, 1, golden);
        expect_changes(model, begin, 0, NULL);
        expect_changes(model, (CarvedUpdate){ .kind = CARVED_UPDATE_READ, .gpu = again }, 0, NULL);
        ck_assert_int_eq(carved_model_find_gpu(model, &address)->state, CARVED_GPU_BUSY);
        expect_changes(model, end, 1, golden);
        ck_assert_int_eq(carved_model_find_gpu(model, &address)->state, CARVED_GPU_READY);
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
        tcase_add_test(tcase, labels_are_sorted_by_key_and_each_is_there_once);
        tcase_add_test(tcase, labels_have_limits);
        tcase_add_loop_test(tcase, only_what_we_made_is_ours_and_the_rest_is_forgotten, 0,
                            G_N_ELEMENTS(claims));
        tcase_add_test(tcase, labels_change_labels_only);
        tcase_add_loop_test(tcase, what_becomes_ours_changes_its_origin_or_its_name, 0, 2);
        tcase_add_test(tcase, a_whole_vf_that_is_no_longer_wanted_is_no_vgpu);
        tcase_add_test(tcase, users_change_only_who_is_in_use);
        tcase_add_test(tcase, work_changes_the_state_until_it_ends);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
