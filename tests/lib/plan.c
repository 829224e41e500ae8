/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "error.h"
#include "plan.h"

#define A         "11111111-7db8-4e96-9a73-f94c389d9bc3"
#define B         "22222222-7db8-4e96-9a73-f94c389d9bc3"
#define C         "33333333-7db8-4e96-9a73-f94c389d9bc3"
#define LIST(...) ((char **) (const char *const[]){ __VA_ARGS__, NULL })

static const CarvedPciAddress nvidia_at = { 0, 8, 0, 0 }, other_at = { 0, 4, 0, 0 },
                              intel_at = { 0, 3, 0, 0 };

static bool same(GStrv a, GStrv b) {
        return g_strv_equal((const char *const *) a, (const char *const *) b);
}

/* ---- cards ---- */

static void add_type(CarvedGpu *gpu, const char *id, const char *name, uint64_t mib) {
        CarvedType *type = carved_type_new(id);

        type->name = g_strdup(name);
        type->framebuffer_mib = mib;
        type->known = mib ? CARVED_TYPE_FRAMEBUFFER : 0;
        g_ptr_array_add(gpu->types, type);
}

static CarvedGpu *card(const CarvedPciAddress *at, CarvedFramework framework, uint32_t vfs) {
        bool whole = framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
        CarvedGpu *gpu = carved_gpu_new(at);

        gpu->vendor_id = whole ? 0x8086 : 0x10de;
        gpu->driver = g_strdup(whole ? "xe" : "nvidia");
        gpu->iommu_group = 1;
        gpu->has_sriov = true;
        gpu->total_vfs = 4;
        gpu->num_vfs = vfs;
        gpu->framework = framework;
        if (whole)
                add_type(gpu, CARVED_TYPE_VF, "Virtual function", 0);
        else {
                add_type(gpu, "nvidia-746", "NVIDIA A2-4Q", 4096);
                add_type(gpu, "nvidia-747", "NVIDIA A2-8Q", 8192);
        }
        for (uint32_t i = 0; i < vfs; i++) {
                CarvedVf *vf =
                        carved_gpu_add_vf(gpu, i, &(CarvedPciAddress){ 0, at->bus, 0, (uint8_t) (4 + i) });

                vf->driver = whole ? NULL : g_strdup("nvidia");
                vf->framework = framework;
                vf->iommu_group = 10 + (int32_t) i;
                vf->settled = true;
                vf->available = g_new0(uint16_t, 2);
                vf->available[0] = vf->available[1] = !whole;
        }
        return gpu;
}

static CarvedGpu *nvidia(uint32_t vfs) {
        return card(&nvidia_at, CARVED_FRAMEWORK_MDEV, vfs);
}

static CarvedGpu *intel(uint32_t vfs) {
        return card(&intel_at, CARVED_FRAMEWORK_VF_PASSTHROUGH, vfs);
}

/* Like a T4: no VFs, types straight on the card. */
static CarvedGpu *t4(void) {
        CarvedGpu *gpu = card(&nvidia_at, CARVED_FRAMEWORK_MDEV, 0);

        gpu->has_sriov = false;
        gpu->has_mdev = true;
        gpu->total_vfs = 0;
        gpu->available = g_new0(uint16_t, 2);
        gpu->available[0] = 2;
        return gpu;
}

static CarvedVf *vf_of(CarvedGpu *gpu, unsigned i) {
        return gpu->vfs->pdata[i];
}

/* As the driver does it: a VF that holds a vGPU offers nothing. */
static CarvedVgpu *hold(CarvedGpu *gpu, const char *uuid, int32_t vf) {
        CarvedVgpu *vgpu = carved_gpu_add_vgpu(gpu, uuid, vf);

        vgpu->framework = gpu->framework;
        vgpu->type = g_strdup("nvidia-746");
        vgpu->params = g_strdup("");
        if (vf >= 0)
                vf_of(gpu, (unsigned) vf)->available[0] = vf_of(gpu, (unsigned) vf)->available[1] = 0;
        return vgpu;
}

static void show(CarvedModel *model, CarvedGpu *gpu) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_READ, .address = gpu->address, .gpu = gpu };

        carved_gpu_finish(gpu);
        g_array_unref(carved_model_apply(model, &update));
}

static CarvedModel *host(CarvedGpu *gpu) {
        CarvedModel *model = carved_model_new();

        show(model, gpu);
        return model;
}

/* Marks one as made by us. */
static void own(CarvedModel *model, const CarvedPciAddress *gpu, const char *uuid, int32_t vf,
                const char *old_override) {
        bool whole = carved_model_find_gpu(model, gpu)->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH;
        g_autoptr(GPtrArray) adds = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        CarvedIntentChange change = { .adds = adds };
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .address = *gpu, .intent = &change };
        CarvedWanted *wanted = carved_wanted_new(uuid, vf, carved_model_find_gpu(model, gpu)->framework,
                                                 whole ? CARVED_TYPE_VF : "nvidia-746");

        wanted->old_override = g_strdup(old_override);
        g_ptr_array_add(adds, wanted);
        g_array_unref(carved_model_apply(model, &update));
        ck_assert(carved_model_find_vgpu(model, uuid)->ours);
}

/* A card with vGPUs A and B on its second and third VF: the first @n_ours are ours. */
static CarvedModel *host_with_two(unsigned n_ours, const char *params_of_b) {
        CarvedGpu *gpu = nvidia(4);
        CarvedModel *model;

        hold(gpu, A, 1);
        g_free(hold(gpu, B, 2)->params);
        ((CarvedVgpu *) gpu->vgpus->pdata[1])->params = g_strdup(params_of_b);
        model = host(gpu);
        if (n_ours > 0)
                own(model, &nvidia_at, A, 1, NULL);
        if (n_ours > 1)
                own(model, &nvidia_at, B, 2, NULL);
        return model;
}

/* And a whole VF, vGPU C, that is ours. */
static void add_whole(CarvedModel *model, const char *old_override) {
        CarvedGpu *gpu = intel(1);

        vf_of(gpu, 0)->driver = g_strdup("vfio-pci");
        show(model, gpu);
        own(model, &intel_at, C, 0, old_override);
}

/* ---- orders ---- */

static CarvedOrder enable(const CarvedPciAddress *gpu, uint32_t count) {
        return (CarvedOrder){ .kind = CARVED_ORDER_ENABLE_VFS, .gpu = *gpu, .vf_index = -1, .count = count };
}

static CarvedOrder disable(const CarvedPciAddress *gpu, bool destroy) {
        return (CarvedOrder){
                .kind = CARVED_ORDER_DISABLE_VFS, .gpu = *gpu, .vf_index = -1, .destroy_vgpus = destroy
        };
}

static CarvedOrder create(const CarvedPciAddress *gpu, int32_t vf, const char *type, GStrv uuid) {
        return (CarvedOrder){ .kind = CARVED_ORDER_CREATE_VGPU,
                              .gpu = *gpu,
                              .vf_index = vf,
                              .uuids = uuid,
                              .type = (char *) type,
                              .params = (char *) "" };
}

static CarvedOrder destroy(GStrv uuids) {
        return (CarvedOrder){ .kind = CARVED_ORDER_DESTROY_VGPUS, .vf_index = -1, .uuids = uuids };
}

static CarvedOrder set_params(GStrv uuid, const char *params) {
        return (CarvedOrder){
                .kind = CARVED_ORDER_SET_PARAMS, .vf_index = -1, .uuids = uuid, .params = (char *) params
        };
}

static CarvedPlan *plan_for(const CarvedModel *model, CarvedOrder order) {
        GError *error = NULL;
        CarvedPlan *plan = carved_plan_make(model, &order, &error);

        ck_assert_msg(plan && !error, "refused: %s", error ? error->message : "without a word");
        return plan;
}

static void expect(const CarvedModel *model, CarvedOrder order, const char *golden) {
        g_autoptr(CarvedPlan) plan = plan_for(model, order);
        g_auto(GStrv) words = carved_plan_describe(plan);
        g_autofree char *text = g_strjoinv("\n", words);

        ck_assert_str_eq(text, golden);
}

static void refuse(const CarvedModel *model, CarvedOrder order, CarvedError code, const char *message) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_plan_make(model, &order, &error));
        ck_assert_ptr_nonnull(error);
        ck_assert_str_eq(error->message, message);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) code));
}

/* The way back, as it would be walked: last step first. */
static void expect_inverse(const CarvedModel *model, CarvedOrder order, const char *golden) {
        g_autoptr(CarvedPlan) plan = plan_for(model, order);
        g_autoptr(GString) text = g_string_new(NULL);

        for (unsigned i = plan->steps->len; i > 0; i--) {
                g_autoptr(GPtrArray) back = carved_step_inverse(plan->steps->pdata[i - 1]);

                for (unsigned k = 0; k < back->len; k++) {
                        g_autofree char *words = carved_step_describe(back->pdata[k]);

                        ck_assert(((CarvedStep *) back->pdata[k])->undo);
                        g_string_append_printf(text, "%s%s", text->len > 0 ? "\n" : "", words);
                }
        }
        ck_assert_str_eq(text->str, golden);
}

/* ---- VFs ---- */

START_TEST(nvidia_vfs_come_by_its_program) {
        g_autoptr(CarvedModel) model = host(nvidia(0));
        static const char golden[] = "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"
                                     "Wait for 4 VFs of GPU 0000:08:00.0, their drivers and vGPU types";

        expect(model, enable(&nvidia_at, 0), golden);
        expect(model, enable(&nvidia_at, 4), golden);
}
END_TEST

START_TEST(other_vfs_come_by_the_kernel_and_stay_free_of_drivers) {
        g_autoptr(CarvedModel) model = host(intel(0)), off = NULL;
        CarvedGpu *gpu = intel(0);

        expect(model, enable(&intel_at, 3),
               "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
               "Set the number of VFs of GPU 0000:03:00.0 to 3\n"
               "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
               "Wait for 3 VFs of GPU 0000:03:00.0");

        gpu->autoprobe = false; /* somebody's choice, which stays */
        off = host(gpu);
        expect(off, enable(&intel_at, 0),
               "Set the number of VFs of GPU 0000:03:00.0 to 4\nWait for 4 VFs of GPU 0000:03:00.0");
}
END_TEST

START_TEST(what_is_enabled_already_is_at_most_waited_for) {
        g_autoptr(CarvedModel) model = host(nvidia(4));
        CarvedGpu *unsettled = card(&other_at, CARVED_FRAMEWORK_MDEV, 4);
        g_autoptr(CarvedPlan) plan = NULL;

        unsettled->settled = false;
        show(model, unsettled);
        show(model, intel(3));
        plan = plan_for(model, enable(&nvidia_at, 0));
        ck_assert_uint_eq(plan->steps->len, 0);
        ck_assert_uint_eq(plan->gpus->len, 1);
        expect(model, enable(&intel_at, 3), "");
        expect(model, enable(&other_at, 0),
               "Wait for 4 VFs of GPU 0000:04:00.0, their drivers and vGPU types");
}
END_TEST

START_TEST(another_number_of_vfs_goes_through_none) {
        g_autoptr(CarvedModel) model = host(intel(2)), taken = NULL;
        CarvedGpu *gpu = intel(2);

        expect(model, enable(&intel_at, 3),
               "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
               "Set the number of VFs of GPU 0000:03:00.0 to 0\n"
               "Set the number of VFs of GPU 0000:03:00.0 to 3\n"
               "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
               "Wait for 3 VFs of GPU 0000:03:00.0");
        expect_inverse(model, enable(&intel_at, 3),
                       "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
                       "Set the number of VFs of GPU 0000:03:00.0 to 0\n"
                       "Set the number of VFs of GPU 0000:03:00.0 to 2\n"
                       "Wait for 2 VFs of GPU 0000:03:00.0\n"
                       "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before");

        vf_of(gpu, 1)->driver = g_strdup("xe");
        taken = host(gpu);
        refuse(taken, enable(&intel_at, 3), CARVED_ERROR_CONFLICT,
               "2 VFs are enabled, and VF 0000:03:00.5 is taken: another number means to disable them all "
               "first");
}
END_TEST

START_TEST(numbers_that_the_card_does_not_take_are_refused) {
        g_autoptr(CarvedModel) model = host(nvidia(0));

        show(model, intel(0));
        refuse(model, enable(&nvidia_at, 2), CARVED_ERROR_NOT_SUPPORTED,
               "GPU 0000:08:00.0 takes all of its 4 VFs or none: NVIDIA's sriov-manage knows no other "
               "number");
        refuse(model, enable(&intel_at, 5), CARVED_ERROR_INVALID_ARGS, "GPU 0000:03:00.0 has 4 VFs, not 5");
        refuse(model, enable(&nvidia_at, 5), CARVED_ERROR_INVALID_ARGS, "GPU 0000:08:00.0 has 4 VFs, not 5");
}
END_TEST

START_TEST(a_card_that_is_gone_is_no_such_gpu) {
        g_autoptr(CarvedModel) model = host(nvidia(4));
        static const char gone[] = "There is no GPU at 0000:04:00.0 any more";

        refuse(model, enable(&other_at, 0), CARVED_ERROR_NO_SUCH_GPU, gone);
        refuse(model, disable(&other_at, true), CARVED_ERROR_NO_SUCH_GPU, gone);
        refuse(model, create(&other_at, -1, "746", LIST(A)), CARVED_ERROR_NO_SUCH_GPU, gone);
}
END_TEST

START_TEST(disabling_waits_until_the_vfs_are_gone) {
        g_autoptr(CarvedModel) model = host(nvidia(4));

        show(model, intel(2));
        show(model, card(&other_at, CARVED_FRAMEWORK_MDEV, 0));
        expect(model, disable(&nvidia_at, false),
               "Run sriov-manage -d 0000:08:00.0: no VFs\nWait until the VFs of GPU 0000:08:00.0 are gone");
        expect(model, disable(&intel_at, false),
               "Keep the host's drivers from new VFs of GPU 0000:03:00.0\n"
               "Set the number of VFs of GPU 0000:03:00.0 to 0\n"
               "Let the host's drivers take new VFs of GPU 0000:03:00.0, as before\n"
               "Wait until the VFs of GPU 0000:03:00.0 are gone");
        expect(model, disable(&other_at, false), "");
}
END_TEST

START_TEST(disabling_takes_our_vgpus_when_told_so_and_never_others) {
        g_autoptr(CarvedModel) model = host_with_two(2, "x=1"), foreign = host_with_two(1, "");
        g_autoptr(CarvedPlan) plan = plan_for(model, disable(&nvidia_at, true));

        refuse(model, disable(&nvidia_at, false), CARVED_ERROR_CONFLICT,
               "vGPUs are on VFs of GPU 0000:08:00.0: " A ", " B "; option destroy-vgpus destroys them");
        expect(model, disable(&nvidia_at, true),
               "Check that nobody uses vGPU " A "\nCheck that nobody uses vGPU " B "\n"
               "Remove vGPU " A " from VF 0000:08:00.5\nRemove vGPU " B " from VF 0000:08:00.6\n"
               "Run sriov-manage -d 0000:08:00.0: no VFs\nWait until the VFs of GPU 0000:08:00.0 are gone");
        expect_inverse(model, disable(&nvidia_at, true),
                       "Run sriov-manage -e 0000:08:00.0: 4 VFs\n"
                       "Wait for 4 VFs of GPU 0000:08:00.0, their drivers and vGPU types\n"
                       "Create vGPU " B
                       " of type nvidia-746 on VF 0000:08:00.6\nSet the parameters of vGPU " B " to 'x=1'\n"
                       "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.5");
        ck_assert(same(plan->removes, LIST(A, B)));
        for (unsigned i = 0; i < 2; i++)
                refuse(foreign, disable(&nvidia_at, i), CARVED_ERROR_CONFLICT,
                       "vGPUs that carved did not make are on VFs of GPU 0000:08:00.0: " B);
}
END_TEST

/* ---- making vGPUs ---- */

START_TEST(a_vgpu_goes_to_the_lowest_free_vf) {
        g_autoptr(CarvedModel) model = carved_model_new();
        CarvedOrder order = create(&nvidia_at, -1, "A2-4Q", LIST(A));
        g_autoptr(CarvedPlan) plan = NULL;
        const CarvedWanted *wanted;
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, B, 0);
        vf_of(gpu, 1)->iommu_group = -1; /* offers it, but can't be used */
        show(model, gpu);
        expect(model, order, "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.6");
        expect_inverse(model, order, "Remove vGPU " A " from VF 0000:08:00.6");

        order.labels = LIST("team", "ml");
        plan = plan_for(model, order);
        wanted = plan->adds->pdata[0];
        ck_assert_str_eq(wanted->uuid, A);
        ck_assert_int_eq(wanted->vf_index, 2);
        ck_assert_int_eq(wanted->framework, CARVED_FRAMEWORK_MDEV);
        ck_assert_str_eq(wanted->type, "nvidia-746");
        ck_assert_str_eq(wanted->labels[1], "ml");
        ck_assert_ptr_null(plan->removes);
}
END_TEST

START_TEST(a_vgpu_goes_where_it_is_told) {
        g_autoptr(CarvedModel) model = carved_model_new();
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, B, 0);
        show(model, gpu);
        expect(model, create(&nvidia_at, 3, "747", LIST(A)),
               "Create vGPU " A " of type nvidia-747 on VF 0000:08:00.7");
        refuse(model, create(&nvidia_at, 0, "746", LIST(A)), CARVED_ERROR_CONFLICT,
               "NVIDIA A2-4Q can't be had on VF 0000:08:00.4: The VF holds vGPU " B);
        refuse(model, create(&nvidia_at, 4, "746", LIST(A)), CARVED_ERROR_NO_SUCH_VF, "VF 4 is gone");
        refuse(model, create(&nvidia_at, 3, "748", LIST(A)), CARVED_ERROR_NO_SUCH_TYPE,
               "GPU 0000:08:00.0 has no type '748'");
}
END_TEST

START_TEST(a_card_without_vfs_has_its_vgpus_itself) {
        g_autoptr(CarvedModel) model = host(t4());
        CarvedOrder order = create(&nvidia_at, -1, "nvidia-746", LIST(A));

        expect(model, order, "Create vGPU " A " of type nvidia-746 on GPU 0000:08:00.0");
        order.params = (char *) "frame_rate_limiter=0";
        expect(model, order,
               "Create vGPU " A " of type nvidia-746 on GPU 0000:08:00.0\n"
               "Set the parameters of vGPU " A " to 'frame_rate_limiter=0'");
        expect_inverse(model, order,
                       "Set the parameters of vGPU " A " to ''\nRemove vGPU " A " from GPU 0000:08:00.0");

        order.params = (char *) "two\nlines";
        refuse(model, order, CARVED_ERROR_INVALID_ARGS,
               "The parameters have a control character at place 4: they are one line");
}
END_TEST

START_TEST(a_whole_vf_is_bound_to_its_vfio_driver) {
        CarvedOrder order = create(&intel_at, -1, "vf", LIST(A));
        g_autoptr(CarvedModel) model = NULL;
        g_autoptr(CarvedPlan) plan = NULL;
        CarvedGpu *gpu = intel(2);

        vf_of(gpu, 0)->driver = g_strdup("xe");
        vf_of(gpu, 1)->override = g_strdup("mine");
        model = host(gpu);
        expect(model, order, "Bind VF 0000:03:00.5 to its vfio driver, as vGPU " A);
        expect_inverse(model, order, "Take VF 0000:03:00.5, vGPU " A ", from its vfio driver");
        plan = plan_for(model, order);
        ck_assert_str_eq(((CarvedStep *) plan->steps->pdata[0])->old_text, "mine");
        ck_assert_str_eq(((CarvedWanted *) plan->adds->pdata[0])->old_override, "mine");

        order.params = (char *) "x=1";
        refuse(model, order, CARVED_ERROR_NOT_SUPPORTED, "A whole VF has no parameters");
}
END_TEST

/* What a VF offers counts only where it can be used: never may the card itself stand in for a VF. */
START_TEST(a_card_whose_vfs_are_all_unusable_is_not_bound_itself) {
        CarvedGpu *gpu = _i ? intel(2) : nvidia(2);
        CarvedOrder order = create(&gpu->address, -1, _i ? "vf" : "nvidia-746", LIST(A));
        g_autoptr(CarvedModel) model = NULL;
        g_autoptr(CarvedPlan) plan = NULL;
        g_autoptr(GError) error = NULL;

        vf_of(gpu, 0)->iommu_group = -1;
        vf_of(gpu, 1)->error = g_strdup("It can't be read");
        model = host(gpu);
        plan = carved_plan_make(model, &order, &error);
        ck_assert_ptr_null(plan);
        ck_assert(g_error_matches(error, CARVED_ERROR, CARVED_ERROR_NOT_READY));
}
END_TEST

START_TEST(a_name_that_exists_is_as_asked_or_refused) {
        static const char exists[] =
                "vGPU " A " exists already, as nvidia-746 on GPU 0000:08:00.0, VF index 1";
        g_autoptr(CarvedModel) model = carved_model_new();
        CarvedGpu *gpu = nvidia(4);

        hold(gpu, A, 1);
        g_clear_pointer(&hold(gpu, B, 2)->type, g_free);
        show(model, gpu);
        show(model, card(&other_at, CARVED_FRAMEWORK_MDEV, 4));
        expect(model, create(&nvidia_at, -1, "746", LIST(A)), "");
        expect(model, create(&nvidia_at, 1, "A2-4Q", LIST(A)), "");
        refuse(model, create(&nvidia_at, 2, "746", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse(model, create(&nvidia_at, -1, "747", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse(model, create(&other_at, -1, "746", LIST(A)), CARVED_ERROR_EXISTS, exists);
        refuse(model, create(&nvidia_at, -1, "746", LIST(B)), CARVED_ERROR_EXISTS,
               "vGPU " B " exists already, as something unknown on GPU 0000:08:00.0, VF index 2");
}
END_TEST

/* ---- the rest of a vGPU's life ---- */

START_TEST(several_are_destroyed_only_when_all_are_idle) {
        g_autoptr(CarvedModel) model = host_with_two(2, "");
        g_autoptr(CarvedPlan) plan = NULL;

        add_whole(model, "mine");
        expect(model, destroy(LIST(A)), "Remove vGPU " A " from VF 0000:08:00.5");
        expect(model, destroy(LIST(B, C, A)),
               "Check that nobody uses vGPU " B "\nCheck that nobody uses vGPU " C "\n"
               "Check that nobody uses vGPU " A "\nRemove vGPU " B " from VF 0000:08:00.6\n"
               "Take VF 0000:03:00.4, vGPU " C ", from its vfio driver\n"
               "Remove vGPU " A " from VF 0000:08:00.5");
        expect_inverse(model, destroy(LIST(A, C)),
                       "Bind VF 0000:03:00.4 to its vfio driver, as vGPU " C "\n"
                       "Create vGPU " A " of type nvidia-746 on VF 0000:08:00.5");

        plan = plan_for(model, destroy(LIST(B, C, A)));
        ck_assert_uint_eq(plan->gpus->len, 2);
        ck_assert_uint_eq(g_array_index(plan->gpus, CarvedPciAddress, 0).bus, 3);
        ck_assert_uint_eq(g_array_index(plan->gpus, CarvedPciAddress, 1).bus, 8);
        ck_assert(same(plan->removes, LIST(B, C, A)));
        ck_assert_str_eq(((CarvedStep *) plan->steps->pdata[4])->old_text, "mine");
}
END_TEST

START_TEST(only_what_is_ours_and_answers_is_destroyed) {
        CarvedUpdate stalled = { .kind = CARVED_UPDATE_STALLED, .address = nvidia_at };
        g_autoptr(CarvedModel) model = host_with_two(1, "");

        refuse(model, destroy(LIST(A, B)), CARVED_ERROR_NOT_OURS,
               "vGPU " B " was not made by carved: its maker has to do that");
        refuse(model, destroy(LIST(A, C)), CARVED_ERROR_NO_SUCH_VGPU, "There is no vGPU '" C "'");

        g_array_unref(carved_model_apply(model, &stalled));
        refuse(model, destroy(LIST(A)), CARVED_ERROR_STALLED,
               "It can't be destroyed: The driver does not answer: somebody holds the card's lock in the "
               "kernel");
}
END_TEST

START_TEST(parameters_are_set_once) {
        g_autoptr(CarvedModel) model = host_with_two(2, "x=1"), foreign = host_with_two(1, "x=1");

        add_whole(model, NULL);
        expect(model, set_params(LIST(B), "x=1"), "");
        expect(model, set_params(LIST(B), "x=2"), "Set the parameters of vGPU " B " to 'x=2'");
        expect_inverse(model, set_params(LIST(B), "x=2"), "Set the parameters of vGPU " B " to 'x=1'");
        refuse(foreign, set_params(LIST(B), "x=2"), CARVED_ERROR_NOT_OURS,
               "vGPU " B " was not made by carved: its maker has to do that");
        refuse(model, set_params(LIST(C), ""), CARVED_ERROR_NOT_SUPPORTED,
               "vGPU " C " has no parameters: its driver offers none");
        refuse(model, set_params(LIST("x"), ""), CARVED_ERROR_NO_SUCH_VGPU, "There is no vGPU 'x'");
}
END_TEST

/* ---- orders and plans as values ---- */

static char *key(CarvedOrder order) {
        return carved_order_key(&order);
}

START_TEST(an_order_has_one_key_and_no_other_has_it) {
        CarvedOrder first = create(&nvidia_at, 1, "746", LIST(A)), others[9];
        g_autofree char *mine = key(first), *again = NULL;

        again = key(create(&(CarvedPciAddress){ 0, 8, 0, 0 }, 1, "746", LIST(A)));
        ck_assert_str_eq(mine, again);

        for (unsigned i = 0; i < G_N_ELEMENTS(others); i++)
                others[i] = first;
        others[0].kind = CARVED_ORDER_SET_PARAMS;
        others[1].gpu.domain = 1;
        others[2].vf_index = -1;
        others[3].type = (char *) "747";
        others[4].uuids = LIST(B);
        others[5].params = (char *) "x=1";
        others[6].labels = LIST("team", "ml");
        others[7].destroy_vgpus = true;
        others[8].count = 2;
        for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
                g_autofree char *other = key(others[i]);

                ck_assert_msg(strcmp(mine, other) != 0, "order %u has the same key", i);
        }
}
END_TEST

START_TEST(plans_are_equal_by_what_they_do) {
        g_autoptr(CarvedModel) model = host(nvidia(4));
        g_autoptr(CarvedPlan) a = plan_for(model, create(&nvidia_at, -1, "746", LIST(A))),
                              alike = plan_for(model, create(&nvidia_at, 0, "A2-4Q", LIST(A))),
                              vf = plan_for(model, create(&nvidia_at, 1, "746", LIST(A))),
                              none = plan_for(model, enable(&nvidia_at, 0));

        ck_assert(carved_plan_equal(a, alike));
        ck_assert(!carved_plan_equal(a, vf));
        ck_assert(!carved_plan_equal(a, none));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("plan");
        TCase *tcase = tcase_create("plan");

        tcase_add_test(tcase, nvidia_vfs_come_by_its_program);
        tcase_add_test(tcase, other_vfs_come_by_the_kernel_and_stay_free_of_drivers);
        tcase_add_test(tcase, what_is_enabled_already_is_at_most_waited_for);
        tcase_add_test(tcase, another_number_of_vfs_goes_through_none);
        tcase_add_test(tcase, numbers_that_the_card_does_not_take_are_refused);
        tcase_add_test(tcase, a_card_that_is_gone_is_no_such_gpu);
        tcase_add_test(tcase, disabling_waits_until_the_vfs_are_gone);
        tcase_add_test(tcase, disabling_takes_our_vgpus_when_told_so_and_never_others);
        tcase_add_test(tcase, a_vgpu_goes_to_the_lowest_free_vf);
        tcase_add_test(tcase, a_vgpu_goes_where_it_is_told);
        tcase_add_test(tcase, a_card_without_vfs_has_its_vgpus_itself);
        tcase_add_test(tcase, a_whole_vf_is_bound_to_its_vfio_driver);
        tcase_add_test(tcase, a_name_that_exists_is_as_asked_or_refused);
        tcase_add_test(tcase, several_are_destroyed_only_when_all_are_idle);
        tcase_add_test(tcase, only_what_is_ours_and_answers_is_destroyed);
        tcase_add_test(tcase, parameters_are_set_once);
        tcase_add_test(tcase, an_order_has_one_key_and_no_other_has_it);
        tcase_add_test(tcase, plans_are_equal_by_what_they_do);
        tcase_add_loop_test(tcase, a_card_whose_vfs_are_all_unusable_is_not_bound_itself, 0, 2);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
