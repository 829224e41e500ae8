/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "../tap.h"
#include "card.h"
#include "error.h"
#include "explain.h"
#include "plan.h"

#define UUID  "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define OTHER "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"

/* ---- a card, what may have become of it, and steps ---- */

/* Of its first type it takes two. */
static CarvedGpu *card(CarvedFramework framework) {
        CarvedGpu *gpu = card_new(&(CarvedPciAddress){ 0, 8, 0, 0 }, framework, 2, 2);

        card_type(gpu, 0)->max_instances = 2;
        card_type(gpu, 0)->known |= CARVED_TYPE_MAX_INSTANCES;
        return gpu;
}

static CarvedStep *step_new(CarvedStepKind kind, CarvedFramework framework) {
        g_autoptr(CarvedGpu) gpu = card(framework);

        return step_on(gpu, kind, UUID);
}

static void as_it_was(CarvedGpu *g) {
}
static void gone(CarvedGpu *g) {
        g_assert_not_reached();
}
static void vf_gone(CarvedGpu *g) {
        g_ptr_array_set_size(g->vfs, 1);
}
static void no_driver(CarvedGpu *g) {
        g_clear_pointer(&g->driver, g_free);
}
static void vf_no_driver(CarvedGpu *g) {
        g_clear_pointer(&vf_of(g, 1)->driver, g_free);
}
static void vf_taken(CarvedGpu *g) {
        hold(g, OTHER, 1);
}
static void vf_half_taken(CarvedGpu *g) {
        g_clear_pointer(&hold(g, OTHER, 1)->type, g_free);
}
static void vf_unsettled(CarvedGpu *g) {
        vf_of(g, 1)->settled = false;
}
static void no_types(CarvedGpu *g) {
        g_ptr_array_set_size(g->types, 0);
}
static void too_many(CarvedGpu *g) {
        hold(g, OTHER, 0);
        hold(g, "bbbbbbbb-7db8-4e96-9a73-f94c389d9bc3", -1);
}
static void not_offered(CarvedGpu *g) {
        vf_of(g, 1)->available[0] = 0;
}
static void no_group(CarvedGpu *g) {
        vf_of(g, 1)->iommu_group = -1;
}

/* ---- why it failed ---- */

#define WHOLE   CARVED_STEP_CREATE, CARVED_FRAMEWORK_VF_PASSTHROUGH
#define VENDOR  CARVED_STEP_CREATE, CARVED_FRAMEWORK_VENDOR_VFIO
#define STEP(k) CARVED_STEP_##k, CARVED_FRAMEWORK_MDEV
#define REFUSED CARVED_ERROR_KERNEL_REFUSED
#define UNREADY CARVED_ERROR_NOT_READY
#define IS(e)   "The kernel refused 'v' in 'f' with " e
#define OWN_TROUBLE                                                                                          \
        "size, number and place would fit, so it is the driver's own trouble; dmesg has a line 'Failed to "  \
        "add vgpu create request'"

static const struct {
        CarvedStepKind kind;
        CarvedFramework framework;
        int errnum, status;
        const char *output;
        void (*now)(CarvedGpu *gpu);
        CarvedError code;
        const char *text;
} failures[] = {
        { STEP(NUMVFS), ENOENT, 0, NULL, as_it_was, CARVED_ERROR_NOT_SUPPORTED,
          "Driver nvidia of GPU 0000:08:00.0 can't switch SR-IOV through sysfs" },
        { STEP(NUMVFS), ENOENT, 0, NULL, no_driver, UNREADY,
          "No driver is bound to GPU 0000:08:00.0, so nobody can switch its VFs" },
        { STEP(NUMVFS), ENOENT, 0, NULL, gone, REFUSED,
          "The kernel refused 'v' in 'f' with ENOENT (No such file or directory)" },
        { STEP(NUMVFS), ERANGE, 0, "2 VFs are there", as_it_was, REFUSED,
          "4 VFs were asked for: 2 VFs are there; the driver takes no more" },
        { STEP(NUMVFS), ERANGE, 0, NULL, as_it_was, CARVED_ERROR_INVALID_ARGS,
          "4 VFs are more than the driver takes now: 2" },
        { STEP(NUMVFS), EBUSY, 0, NULL, as_it_was, CARVED_ERROR_CONFLICT,
          "2 VFs are enabled already, by somebody else, or the driver is locked" },
        { STEP(NUMVFS), ENOMEM, 0, NULL, as_it_was, REFUSED,
          IS("ENOMEM (Cannot allocate memory): there is no room for the VFs' memory or bus numbers; firmware "
             "settings 'Above 4G decoding' and 'ARI' are the usual causes") },
        { STEP(NUMVFS), EIO, 0, NULL, as_it_was, REFUSED,
          IS("EIO (Input/output error): the card's SR-IOV capability contradicts itself (InitialVFs)") },
        { STEP(NUMVFS), ENODEV, 0, NULL, as_it_was, REFUSED,
          IS("ENODEV (No such device): a function that must be switched together with it is missing, or the "
             "driver is not in PF mode") },
        { STEP(NUMVFS), ENOSYS, 0, NULL, as_it_was, REFUSED,
          IS("ENOSYS (Function not implemented): the function that it depends on is no PF") },
        { STEP(NUMVFS), ENOSPC, 0, NULL, as_it_was, REFUSED,
          IS("ENOSPC (No space left on device): the card has nothing left to share") },
        { STEP(NUMVFS), EPERM, 0, NULL, as_it_was, CARVED_ERROR_IN_USE,
          "The driver says that VFs are assigned to guests" },
        { STEP(NUMVFS), ECANCELED, 0, NULL, as_it_was, REFUSED,
          IS("ECANCELED (Operation canceled): the GPU is wedged; it needs a reset") },
        { STEP(NUMVFS), EUCLEAN, 0, NULL, as_it_was, REFUSED,
          IS("EUCLEAN (Structure needs cleaning): resources given to VFs by hand are left over") },
        { STEP(NUMVFS), EINVAL, 0, "and more", as_it_was, REFUSED,
          IS("EINVAL (Invalid argument); and more") },
        { STEP(AUTOPROBE), 9999, 0, NULL, as_it_was, REFUSED, IS("an error (Unknown error 9999)") },

        { STEP(SRIOV_MANAGE), ENOENT, -ENOENT, NULL, as_it_was, CARVED_ERROR_NOT_SUPPORTED,
          "'f' can't be run (No such file or directory): it comes with NVIDIA's vGPU host driver" },
        { STEP(SRIOV_MANAGE), EIO, 1, "x: Cannot obtain unbindLock for y", as_it_was, CARVED_ERROR_IN_USE,
          "A client of NVIDIA's driver has the card open, so its driver can't be unbound (unbindLock): a VM, "
          "DCGM, nvidia-smi or CUDA" },
        { STEP(SRIOV_MANAGE), EIO, 0, "all is well", as_it_was, REFUSED,
          "sriov-manage v said that all went well, but 2 VFs are enabled, not 4; a driver that has just come "
          "up may need half a minute" },
        { STEP(SRIOV_MANAGE), EIO, 3, "no such GPU", as_it_was, REFUSED,
          "sriov-manage v ended with status 3: no such GPU" },

        { STEP(CREATE), EEXIST, 0, NULL, gone, CARVED_ERROR_EXISTS,
          "A mediated device " UUID " exists already on this host, as something else" },
        { STEP(CREATE), EINVAL, 0, NULL, as_it_was, REFUSED,
          IS("EINVAL (Invalid argument): it takes no such UUID") },
        { VENDOR, EINVAL, 0, NULL, as_it_was, REFUSED, IS("EINVAL (Invalid argument): " OWN_TROUBLE) },
        { STEP(CREATE), EIO, 0, NULL, as_it_was, REFUSED, IS("EIO (Input/output error): " OWN_TROUBLE) },
        { STEP(CREATE), EIO, 0, NULL, gone, UNREADY, "The card, or its VF, is gone" },
        { STEP(CREATE), EIO, 0, NULL, vf_gone, UNREADY, "The card, or its VF, is gone" },
        { STEP(CREATE), EIO, 0, NULL, no_driver, UNREADY, "No driver is bound to GPU 0000:08:00.0" },
        { STEP(CREATE), EIO, 0, NULL, vf_no_driver, UNREADY, "No driver is bound to VF 0000:08:00.5" },
        { VENDOR, EIO, 0, NULL, vf_taken, CARVED_ERROR_CONFLICT,
          "VF 0000:08:00.5 holds vGPU " OTHER " already, of type nvidia-746" },
        { STEP(CREATE), EIO, 0, NULL, vf_half_taken, CARVED_ERROR_CONFLICT,
          "VF 0000:08:00.5 holds vGPU " OTHER " already, of type unknown" },
        { STEP(CREATE), EIO, 0, NULL, vf_unsettled, UNREADY,
          "The driver has not published the vGPU types of VF 0000:08:00.5 yet" },
        { STEP(CREATE), ENOENT, 0, NULL, no_types, CARVED_ERROR_NO_SUCH_TYPE,
          "The driver knows no type 'nvidia-746'" },
        { STEP(CREATE), EIO, 0, NULL, too_many, CARVED_ERROR_NO_CAPACITY,
          "NVIDIA A2-4Q: the card takes 2 of it, and 2 vGPUs are there" },
        { STEP(CREATE), EIO, 0, NULL, not_offered, CARVED_ERROR_TYPE_NOT_AVAILABLE,
          "NVIDIA A2-4Q can't be had on VF 0000:08:00.5: the driver does not offer it on this VF" },
        { STEP(CREATE), ENODEV, 0, NULL, as_it_was, UNREADY,
          "The place for the vGPU was going away when it was to be made (No such device)" },
        { STEP(CREATE), ENOENT, 0, NULL, as_it_was, UNREADY,
          "The place for the vGPU was going away when it was to be made (No such file or directory)" },

        { WHOLE, ENODEV, 0, NULL, gone, UNREADY, "The VF is gone" },
        { WHOLE, ENODEV, 0, NULL, vf_gone, UNREADY, "The VF is gone" },
        { WHOLE, ENODEV, 0, NULL, no_group, UNREADY,
          "The VF is in no IOMMU group: the IOMMU is off or missing" },
        { WHOLE, ENODEV, 0, "it said no", as_it_was, REFUSED,
          IS("ENODEV (No such device): the vfio driver did not take the VF; it said no") },

        { STEP(REMOVE), EIO, 0, NULL, gone, UNREADY, "The card is gone" },
        { STEP(REMOVE), EIO, 0, NULL, as_it_was, REFUSED,
          IS("EIO (Input/output error): the driver could not take it away") },
        { STEP(REMOVE), EINVAL, 0, NULL, as_it_was, REFUSED, IS("EINVAL (Invalid argument)") },

        { STEP(PARAMS), E2BIG, 0, NULL, as_it_was, CARVED_ERROR_INVALID_ARGS,
          "The driver takes no parameters of 3 bytes" },
        { STEP(PARAMS), ENXIO, 0, NULL, as_it_was, UNREADY,
          "vGPU " UUID " was gone when its parameters were to be set" },
        { STEP(PARAMS), ENODEV, 0, NULL, as_it_was, UNREADY,
          "vGPU " UUID " was gone when its parameters were to be set" },
        { STEP(PARAMS), ENOENT, 0, NULL, as_it_was, CARVED_ERROR_NOT_SUPPORTED,
          "vGPU " UUID " has no parameters: its driver offers none" },
        { STEP(PARAMS), EINVAL, 0, NULL, as_it_was, REFUSED, IS("EINVAL (Invalid argument)") },
};

static void expect_error(GError *error, CarvedError code, const char *text) {
        ck_assert_ptr_nonnull(error);
        ck_assert_str_eq(error->message, text);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) code));
        g_error_free(error);
}

START_TEST(a_failed_step_is_told_with_its_cause) {
        CarvedOutcome outcome = { .errnum = failures[_i].errnum,
                                  .file = (char *) "f",
                                  .value = (char *) "v",
                                  .output = (char *) failures[_i].output,
                                  .status = failures[_i].status };
        g_autoptr(CarvedGpu) gpu = card(failures[_i].framework);
        CarvedStep *step = step_new(failures[_i].kind, failures[_i].framework);

        if (failures[_i].now != gone) {
                failures[_i].now(gpu);
                carved_gpu_finish(gpu);
        }
        expect_error(carved_explain(step, &outcome, failures[_i].now == gone ? NULL : gpu), failures[_i].code,
                     failures[_i].text);
        carved_step_free(step);
}
END_TEST

START_TEST(a_missing_vfio_driver_is_told_by_name) {
        CarvedOutcome outcome = { .errnum = ENODEV, .file = (char *) "bus/pci/drivers/xe-vfio-pci" };
        CarvedStep *step = step_new(WHOLE);
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_VF_PASSTHROUGH);

        carved_gpu_finish(gpu);
        expect_error(carved_explain(step, &outcome, gpu), CARVED_ERROR_NOT_SUPPORTED,
                     "There is no driver xe-vfio-pci, and its module could not be loaded");
        outcome.output = (char *) "modprobe: no";
        expect_error(carved_explain(step, &outcome, gpu), CARVED_ERROR_NOT_SUPPORTED,
                     "There is no driver xe-vfio-pci, and its module could not be loaded: modprobe: no");
        carved_step_free(step);
}
END_TEST

START_TEST(who_is_in_the_way_is_named) {
        g_autoptr(GArray) users = g_array_new(FALSE, FALSE, sizeof(CarvedUser));
        const CarvedUser two[] = { { 4711, "qemu-system-x86", 0 }, { 12, "x", 0 } };
        CarvedOutcome outcome = { .errnum = EBUSY, .in_use = true, .users = users };
        CarvedStep *vgpu = step_new(STEP(REMOVE)), *vfs = step_new(STEP(NUMVFS));

        expect_error(carved_explain(vgpu, &outcome, NULL), CARVED_ERROR_IN_USE,
                     "vGPU " UUID " is in use: the kernel says so, though no process has it open; a VM that "
                     "just ended may take some seconds to let go");
        g_array_append_vals(users, two, 2);
        expect_error(carved_explain(vgpu, &outcome, NULL), CARVED_ERROR_IN_USE,
                     "vGPU " UUID " is in use by process 4711 (qemu-system-x86), 12 (x)");
        expect_error(carved_explain(vfs, &outcome, NULL), CARVED_ERROR_IN_USE,
                     "VFs are in use by process 4711 (qemu-system-x86), 12 (x)");
        carved_step_free(vgpu);
        carved_step_free(vfs);
}
END_TEST

static void vfs_no_driver(CarvedGpu *g) {
        for (unsigned i = 0; i < g->vfs->len; i++)
                g_clear_pointer(&((CarvedVf *) g->vfs->pdata[i])->driver, g_free);
}

static void vf_no_driver_no_group(CarvedGpu *g) {
        vf_no_driver(g);
        no_group(g);
}

static const struct {
        void (*now)(CarvedGpu *gpu);
        const char *text;
} waits[] = {
        { gone, "The card is gone" },
        { vf_gone, "1 VFs are there, not 2" },
        { no_driver, "The card has lost its driver" },
        { vf_no_driver, "1 of 2 VFs got no driver: 0000:08:00.5" },
        { vfs_no_driver, "2 of 2 VFs got no driver: it may be the ordinary driver, not the vGPU host driver, "
                         "which takes no VFs" },
        { vf_no_driver_no_group, "1 of 2 VFs got no driver: the IOMMU is off or missing" },
        { vf_unsettled, "The vGPU types of 1 of 2 VFs were not published in time: has nvidia-vgpud run?" },
};

START_TEST(a_wait_without_end_says_for_what) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);
        CarvedStep *step = step_new(STEP(WAIT));

        step->number = 2;
        if (waits[_i].now != gone)
                waits[_i].now(gpu);
        ck_assert(!carved_step_is_done(step, gpu) || waits[_i].now == gone);
        expect_error(carved_explain_wait(step, waits[_i].now == gone ? NULL : gpu), UNREADY, waits[_i].text);
        carved_step_free(step);
}
END_TEST

/* Vendor VFIO: each VF is through, and the driver offers nothing on any. */
START_TEST(a_wait_for_types_does_not_blame_no_vf) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_VENDOR_VFIO);
        CarvedStep *step = step_new(CARVED_STEP_WAIT, CARVED_FRAMEWORK_VENDOR_VFIO);
        g_autoptr(GError) error = NULL;

        step->number = 2;
        no_types(gpu);
        ck_assert(!carved_step_is_done(step, gpu));
        error = carved_explain_wait(step, gpu);
        ck_assert_msg(!strstr(error->message, " 0 of 2 "), "%s", error->message);
        carved_step_free(step);
}
END_TEST

/* A whole VF is to have no driver: what keeps it is something else. */
START_TEST(a_wait_for_whole_vfs_does_not_miss_drivers) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_VF_PASSTHROUGH);
        CarvedStep *step = step_new(CARVED_STEP_WAIT, CARVED_FRAMEWORK_VF_PASSTHROUGH);
        g_autoptr(GError) error = NULL;

        step->number = 2;
        ck_assert(carved_step_is_done(step, gpu));
        vf_unsettled(gpu);
        ck_assert(!carved_step_is_done(step, gpu));
        error = carved_explain_wait(step, gpu);
        ck_assert_msg(!strstr(error->message, "got no driver"), "%s", error->message);
        carved_step_free(step);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("explain");
        TCase *tcase = tcase_create("explain");

        tcase_add_loop_test(tcase, a_failed_step_is_told_with_its_cause, 0, G_N_ELEMENTS(failures));
        tcase_add_test(tcase, a_missing_vfio_driver_is_told_by_name);
        tcase_add_test(tcase, who_is_in_the_way_is_named);
        tcase_add_loop_test(tcase, a_wait_without_end_says_for_what, 0, G_N_ELEMENTS(waits));
        tcase_add_test(tcase, a_wait_for_types_does_not_blame_no_vf);
        tcase_add_test(tcase, a_wait_for_whole_vfs_does_not_miss_drivers);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
