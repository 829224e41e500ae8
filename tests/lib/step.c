/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../tap.h"
#include "card.h"
#include "error.h"
#include "libvirt-xml.h"
#include "plan.h"
#include "vfio-driver.h"

#define UUID  "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define OTHER "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"

#define WHOLE   CARVED_STEP_CREATE, CARVED_FRAMEWORK_VF_PASSTHROUGH
#define VENDOR  CARVED_STEP_CREATE, CARVED_FRAMEWORK_VENDOR_VFIO
#define STEP(k) CARVED_STEP_##k, CARVED_FRAMEWORK_MDEV

static CarvedGpu *card(CarvedFramework framework) {
        return card_new(&(CarvedPciAddress){ 0, 8, 0, 0 }, framework, 2, 2);
}

static CarvedStep *step_new(CarvedStepKind kind, CarvedFramework framework) {
        g_autoptr(CarvedGpu) gpu = card(framework);

        return step_on(gpu, kind, UUID);
}

/* ---- steps and outcomes as values ---- */

static bool is_done(CarvedStepKind kind, CarvedFramework framework, const CarvedGpu *gpu) {
        CarvedStep *step = step_new(kind, framework);
        bool done;

        if (kind == CARVED_STEP_WAIT)
                step->number = gpu->total_vfs;
        done = carved_step_is_done(step, gpu);
        carved_step_free(step);
        return done;
}

START_TEST(a_step_is_done_when_the_card_shows_it) {
        g_autoptr(CarvedGpu) empty = card(CARVED_FRAMEWORK_MDEV), full = card(CARVED_FRAMEWORK_MDEV),
                             other = card(CARVED_FRAMEWORK_MDEV), off = card(CARVED_FRAMEWORK_MDEV);
        CarvedVgpu *vgpu = hold(full, UUID, 1), *another = hold(other, OTHER, 1);

        g_free(another->params);
        another->params = g_strdup("x=1");
        ck_assert(!is_done(STEP(CREATE), empty) && is_done(STEP(CREATE), full));
        ck_assert(is_done(STEP(REMOVE), empty) && !is_done(STEP(REMOVE), full));
        /* Only an mdev carries its name. */
        ck_assert(!is_done(STEP(CREATE), other) && is_done(VENDOR, other));
        ck_assert(is_done(STEP(REMOVE), other));
        ck_assert(!is_done(CARVED_STEP_REMOVE, CARVED_FRAMEWORK_VENDOR_VFIO, other));

        ck_assert(!is_done(STEP(PARAMS), empty) && !is_done(STEP(PARAMS), full));
        ck_assert(!is_done(STEP(PARAMS), other));
        g_free(vgpu->params);
        vgpu->params = g_strdup("x=1");
        ck_assert(is_done(STEP(PARAMS), full));
        vgpu->type[0] = 'x';
        ck_assert(!is_done(STEP(CREATE), full));

        ck_assert(is_done(STEP(WAIT), empty));
        empty->num_vfs = 1;
        ck_assert(!is_done(STEP(WAIT), empty));
        off->total_vfs = off->num_vfs = 0; /* to be waited for: none */
        ck_assert(!is_done(STEP(WAIT), off));
        g_ptr_array_set_size(off->vfs, 0);
        g_ptr_array_set_size(off->types, 0);
        ck_assert(is_done(STEP(WAIT), off));
        /* What these do is seen by the wait that follows, or nowhere. */
        ck_assert(is_done(STEP(NUMVFS), off) && is_done(STEP(SRIOV_MANAGE), off));
        ck_assert(is_done(STEP(AUTOPROBE), off) && is_done(STEP(IDLE), off));
}
END_TEST

START_TEST(a_card_is_back_when_another_driver_has_it_than_the_one_it_was_lent_to) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_MDEV);
        static const char *const drivers[] = { NULL, "pci-pf-stub", "nvidia", "vfio-pci" };

        gpu->vendor_id = 0x10de;
        for (unsigned i = 0; i < G_N_ELEMENTS(drivers); i++) {
                g_free(gpu->driver);
                gpu->driver = g_strdup(drivers[i]);
                ck_assert_int_eq(is_done(STEP(REBIND), gpu), i >= 2);
        }
}
END_TEST

START_TEST(a_whole_vf_is_there_while_on_a_vfio_driver) {
        g_autoptr(CarvedGpu) gpu = card(CARVED_FRAMEWORK_VF_PASSTHROUGH);
        static const char *const drivers[] = { NULL, "xe", "vfio-pci", "xe-vfio-pci" };

        for (unsigned i = 0; i < G_N_ELEMENTS(drivers); i++) {
                g_free(vf_of(gpu, 1)->driver);
                vf_of(gpu, 1)->driver = g_strdup(drivers[i]);
                ck_assert_int_eq(is_done(WHOLE, gpu), i >= 2);
                ck_assert_int_eq(is_done(CARVED_STEP_REMOVE, CARVED_FRAMEWORK_VF_PASSTHROUGH, gpu), i < 2);
        }
}
END_TEST

START_TEST(a_step_survives_the_journey) {
        CarvedStep step = { CARVED_STEP_REMOVE,
                            { 0x10000, 2, 3, 4 },
                            5,
                            6,
                            7,
                            8,
                            CARVED_FRAMEWORK_VENDOR_VFIO,
                            -1,
                            { 0x10001, 9, 10, 1 },
                            UUID,
                            (char *) "type",
                            (char *) "text",
                            (char *) "old",
                            11,
                            12,
                            true };
        g_autoptr(GVariant) there = g_variant_ref_sink(carved_step_to_variant(&step));
        CarvedStep *back = carved_step_from_variant(there);

        ck_assert_str_eq(back->type, "type");
        ck_assert_str_eq(back->text, "text");
        ck_assert_str_eq(back->old_text, "old");
        ck_assert_str_eq(back->uuid, UUID);
        ck_assert_int_eq(carved_pci_address_compare(&back->gpu, &step.gpu), 0);
        ck_assert_int_eq(carved_pci_address_compare(&back->vf, &step.vf), 0);
        ck_assert(back->kind == step.kind && back->framework == step.framework && back->vf_index == -1);
        ck_assert(back->vendor == 5 && back->device == 6 && back->subsystem_vendor == 7);
        ck_assert(back->subsystem_device == 8 && back->number == 11 && back->old_number == 12 && back->undo);
        carved_step_free(back);
}
END_TEST

START_TEST(an_outcome_survives_the_journey) {
        const CarvedUser two[] = { { 4711, "qemu-system-x86", 0 }, { 12, "x", 0 } };
        CarvedOutcome outcome = { 5, true, true, (char *) "f", NULL, (char *) "said", -3, NULL };
        g_autoptr(GArray) users = g_array_new(FALSE, FALSE, sizeof(CarvedUser));
        g_autoptr(GVariant) there = NULL;
        g_auto(CarvedOutcome) back = { 0 };
        g_autofree char *text = NULL;

        outcome.users = g_array_append_vals(users, two, 2);
        there = g_variant_ref_sink(carved_outcome_to_variant(&outcome));
        ck_assert(carved_outcome_from_variant(there, &back));
        text = carved_users_to_text(back.users);
        ck_assert_str_eq(text, "4711 (qemu-system-x86), 12 (x)");
        ck_assert(back.errnum == 5 && back.in_use && back.again && back.status == -3 && !back.value);
        ck_assert_str_eq(back.file, "f");
        ck_assert_str_eq(back.output, "said");
        ck_assert_uint_eq(g_array_index(back.users, CarvedUser, 1).device, 0);
}
END_TEST

START_TEST(nonsense_is_no_step_and_no_outcome) {
        CarvedStep *step = step_new(STEP(REMOVE));
        g_autoptr(GVariant) wrong = g_variant_ref_sink(g_variant_new("(su)", "hello", 1));
        CarvedOutcome outcome = { 0 };

        ck_assert_ptr_null(carved_step_from_variant(wrong));
        ck_assert(!carved_outcome_from_variant(wrong, &outcome));
        for (unsigned i = 0; i < 3; i++) {
                g_autoptr(GVariant) good = g_variant_ref_sink(carved_step_to_variant(step)), bad = NULL;
                GVariant *parts[14];

                ck_assert_uint_eq(g_variant_n_children(good), G_N_ELEMENTS(parts));
                for (unsigned k = 0; k < G_N_ELEMENTS(parts); k++)
                        parts[k] = g_variant_get_child_value(good, k);
                g_variant_unref(parts[(unsigned[]){ 0, 3, 6 }[i]]);
                if (i == 0)
                        parts[0] = g_variant_ref_sink(g_variant_new_uint32(_CARVED_STEP_KIND_MAX));
                else if (i == 1)
                        parts[3] = g_variant_ref_sink(g_variant_new_uint32(_CARVED_FRAMEWORK_MAX));
                else
                        parts[6] = g_variant_ref_sink(g_variant_new_string(UUID "0"));
                bad = g_variant_ref_sink(g_variant_new_tuple(parts, G_N_ELEMENTS(parts)));
                ck_assert(g_variant_is_of_type(bad, g_variant_get_type(good)));
                ck_assert_ptr_null(carved_step_from_variant(bad));
                for (unsigned k = 0; k < G_N_ELEMENTS(parts); k++)
                        g_variant_unref(parts[k]);
        }
        carved_step_free(step);
}
END_TEST

/* ---- vfio drivers ---- */

#define BMG "pci:v00008086d0000E20Bsv00008086sd00001100bc03sc00i00"

static const struct {
        const char *aliases, *modalias, *module;
} modules[] = {
        { "alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n"
          "alias vfio_pci:v00008086d0000E20Bsv*sd*bc*sc*i* xe_vfio_pci\n"
          "alias vfio_pci:v00008086d*sv*sd*bc*sc*i* vague\n",
          BMG, "xe_vfio_pci" },
        { "alias vfio_pci:v000010DEd*sv*sd*bc*sc*i* nvgrace\n", BMG, NULL },
        { "alias pci:v00008086d0000E20Bsv*sd*bc*sc*i* xe\n", BMG, NULL },
        { "alias vfio_pci:v00008086d*\nalias vfio_pci:v00008086d* \nalias\n\nalias vfio_pci:\n# v00008086*\n",
          BMG, NULL },
        { "\nalias vfio_pci:v00008086d*   spaced  ", BMG, "spaced" },
        { "alias vfio_pci:v00008086d* x\n", "", NULL },
};

START_TEST(the_most_specific_vfio_module_is_found) {
        g_autofree char *module = carved_vfio_module_find(modules[_i].aliases, modules[_i].modalias);

        ck_assert_pstr_eq(module, modules[_i].module);
}
END_TEST

START_TEST(a_vfio_driver_is_named_with_dashes) {
        g_autofree char *xe = carved_vfio_driver_name("xe_vfio_pci"),
                        *pci = carved_vfio_driver_name(CARVED_VFIO_PCI);

        ck_assert_str_eq(xe, "xe-vfio-pci");
        ck_assert_str_eq(pci, "vfio-pci");
}
END_TEST

/* ---- libvirt ---- */

static void expect_error(GError *error, CarvedError code, const char *text) {
        ck_assert_ptr_nonnull(error);
        ck_assert_str_eq(error->message, text);
        ck_assert(g_error_matches(error, CARVED_ERROR, (int) code));
        g_error_free(error);
}

#define MDEV(attributes)                                                                                     \
        "<hostdev mode='subsystem' type='mdev' model=" attributes ">\n  <source>\n    <address uuid='" UUID  \
        "'/>\n  </source>\n</hostdev>\n"
#define PCI(attributes, address)                                                                             \
        "<hostdev mode='subsystem' type='pci' managed='no'" attributes ">\n  <source>\n"                     \
        "    <address domain='0x0000' bus='0x08' slot='0x00' function=" address "/>\n  </source>\n"          \
        "</hostdev>\n"

static const struct {
        CarvedFramework framework;
        const char *api;
        bool display, ramfb;
        const char *xml, *refusal;
} hostdevs[] = {
        { CARVED_FRAMEWORK_MDEV, NULL, false, false, MDEV("'vfio-pci'"), NULL },
        { CARVED_FRAMEWORK_MDEV, "vfio-pci", true, false, MDEV("'vfio-pci' display='on'"), NULL },
        { CARVED_FRAMEWORK_MDEV, NULL, true, true, MDEV("'vfio-pci' display='on' ramfb='on'"), NULL },
        { CARVED_FRAMEWORK_MDEV, "a'><b&", false, false, MDEV("'a&apos;&gt;&lt;b&amp;'"), NULL },
        { CARVED_FRAMEWORK_MDEV, "vfio-ccw", true, false, NULL, "A vGPU of vfio-ccw has no display" },
        { CARVED_FRAMEWORK_MDEV, NULL, false, true, NULL,
          "ramfb needs display: libvirt takes it no other way" },
        { CARVED_FRAMEWORK_VENDOR_VFIO, NULL, false, false, PCI("", "'0x5'"), NULL },
        { CARVED_FRAMEWORK_VENDOR_VFIO, NULL, true, true, PCI(" display='on' ramfb='on'", "'0x5'"), NULL },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, true, false, PCI(" display='on'", "'0x5'"), NULL },
        { CARVED_FRAMEWORK_VF_PASSTHROUGH, NULL, false, true, NULL,
          "ramfb needs display: libvirt takes it no other way" },
};

START_TEST(a_hostdev_says_how_libvirt_takes_it) {
        g_autoptr(CarvedGpu) gpu = card(hostdevs[_i].framework);
        const CarvedVgpu *vgpu = hold(gpu, UUID, 1);
        g_autofree char *xml = NULL;
        GError *error = NULL;

        ((CarvedType *) gpu->types->pdata[0])->device_api = g_strdup(hostdevs[_i].api);
        carved_gpu_finish(gpu);
        xml = carved_libvirt_xml(vgpu, hostdevs[_i].display, hostdevs[_i].ramfb, &error);
        ck_assert_pstr_eq(xml, hostdevs[_i].xml);
        if (hostdevs[_i].refusal)
                expect_error(error,
                             hostdevs[_i].ramfb ? CARVED_ERROR_INVALID_ARGS : CARVED_ERROR_NOT_SUPPORTED,
                             hostdevs[_i].refusal);
        else
                ck_assert_ptr_null(error);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("step");
        TCase *tcase = tcase_create("step");

        tcase_add_test(tcase, a_step_is_done_when_the_card_shows_it);
        tcase_add_test(tcase, a_card_is_back_when_another_driver_has_it_than_the_one_it_was_lent_to);
        tcase_add_test(tcase, a_whole_vf_is_there_while_on_a_vfio_driver);
        tcase_add_test(tcase, a_step_survives_the_journey);
        tcase_add_test(tcase, an_outcome_survives_the_journey);
        tcase_add_test(tcase, nonsense_is_no_step_and_no_outcome);
        tcase_add_loop_test(tcase, the_most_specific_vfio_module_is_found, 0, G_N_ELEMENTS(modules));
        tcase_add_test(tcase, a_vfio_driver_is_named_with_dashes);
        tcase_add_loop_test(tcase, a_hostdev_says_how_libvirt_takes_it, 0, G_N_ELEMENTS(hostdevs));
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
