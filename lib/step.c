/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "step.h"

#define STEP    "(u(uyyy)(qqqq)ui(uyyy)ssssuub(uuub))"
#define OUTCOME "(ibbmsmsmsia(us))"

CarvedStep *carved_step_new(CarvedStepKind kind, const CarvedGpu *gpu) {
        CarvedStep *step = g_new0(CarvedStep, 1);

        step->kind = kind;
        step->gpu = gpu->address;
        step->vendor = gpu->vendor_id;
        step->device = gpu->device_id;
        step->subsystem_vendor = gpu->subsystem_vendor_id;
        step->subsystem_device = gpu->subsystem_device_id;
        step->framework = gpu->framework;
        step->vf_index = -1;
        step->type = g_strdup("");
        step->text = g_strdup("");
        step->old_text = g_strdup("");
        return step;
}

void carved_step_free(CarvedStep *step) {
        if (!step)
                return;

        g_free(step->type);
        g_free(step->text);
        g_free(step->old_text);
        g_free(step);
}

static CarvedStep *copy(const CarvedStep *step) {
        CarvedStep *other = g_memdup2(step, sizeof *step);

        other->type = g_strdup(step->type);
        other->text = g_strdup(step->text);
        other->old_text = g_strdup(step->old_text);
        other->undo = true;
        return other;
}

static CarvedStep *reversed(const CarvedStep *step, CarvedStepKind kind) {
        CarvedStep *back = copy(step);

        back->kind = kind;
        back->number = step->old_number;
        back->old_number = step->number;
        if (kind == CARVED_STEP_PARAMS) {
                g_free(back->text);
                g_free(back->old_text);
                back->text = g_strdup(step->old_text);
                back->old_text = g_strdup(step->text);
        }
        return back;
}

GPtrArray *carved_step_inverse(const CarvedStep *step) {
        GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify) carved_step_free);

        switch (step->kind) {
        case CARVED_STEP_SRIOV_MANAGE:
        case CARVED_STEP_NUMVFS:
                g_ptr_array_add(list, reversed(step, step->kind));
                if (step->old_number > 0)
                        g_ptr_array_add(list, reversed(step, CARVED_STEP_WAIT));
                break;
        case CARVED_STEP_AUTOPROBE:
        case CARVED_STEP_PARAMS:
        case CARVED_STEP_MIG:
        case CARVED_STEP_MIXED_SIZE:
                g_ptr_array_add(list, reversed(step, step->kind));
                break;
        case CARVED_STEP_MAKE_INSTANCE:
                g_ptr_array_add(list, reversed(step, CARVED_STEP_DROP_INSTANCE));
                break;
        case CARVED_STEP_DROP_INSTANCE:
                g_ptr_array_add(list, reversed(step, CARVED_STEP_MAKE_INSTANCE));
                break;
        case CARVED_STEP_CREATE:
                g_ptr_array_add(list, reversed(step, CARVED_STEP_REMOVE));
                break;
        case CARVED_STEP_REMOVE:
                g_ptr_array_add(list, reversed(step, CARVED_STEP_CREATE));
                if (step->framework != CARVED_FRAMEWORK_VF_PASSTHROUGH && *step->text) {
                        CarvedStep *params = copy(step);

                        params->kind = CARVED_STEP_PARAMS;
                        g_ptr_array_add(list, params);
                }
                break;
        case CARVED_STEP_REBIND:
        case CARVED_STEP_WAIT:
        case CARVED_STEP_IDLE:
        case _CARVED_STEP_KIND_MAX:
                break;
        }
        return list;
}

bool carved_step_is_nvml(const CarvedStep *step) {
        switch (step->kind) {
        case CARVED_STEP_MIG:
        case CARVED_STEP_MAKE_INSTANCE:
        case CARVED_STEP_DROP_INSTANCE:
        case CARVED_STEP_MIXED_SIZE:
                return true;
        default:
                return false;
        }
}

static char *place(const CarvedStep *step) {
        char gpu[CARVED_PCI_ADDRESS_MAX], vf[CARVED_PCI_ADDRESS_MAX];

        if (step->vf_index < 0)
                return g_strdup_printf("GPU %s", carved_pci_address_format(&step->gpu, gpu));

        return g_strdup_printf("VF %s", carved_pci_address_format(&step->vf, vf));
}

char *carved_step_describe(const CarvedStep *step) {
        g_autofree char *where = place(step);
        char gpu[CARVED_PCI_ADDRESS_MAX];

        carved_pci_address_format(&step->gpu, gpu);
        switch (step->kind) {
        case CARVED_STEP_SRIOV_MANAGE:
                return step->number > 0 ? g_strdup_printf("Run sriov-manage -e %s: %u VFs", gpu, step->number)
                                        : g_strdup_printf("Run sriov-manage -d %s: no VFs", gpu);
        case CARVED_STEP_REBIND:
                return g_strdup_printf("Give GPU %s back to its driver", gpu);
        case CARVED_STEP_NUMVFS:
                return g_strdup_printf("Set the number of VFs of GPU %s to %u", gpu, step->number);
        case CARVED_STEP_AUTOPROBE:
                return g_strdup_printf(step->number
                                               ? "Let the host's drivers take new VFs of GPU %s, as before"
                                               : "Keep the host's drivers from new VFs of GPU %s",
                                       gpu);
        case CARVED_STEP_IDLE:
                return g_strdup_printf("Check that nobody uses vGPU %s", step->uuid);
        case CARVED_STEP_WAIT:
                if (step->number == 0)
                        return g_strdup_printf("Wait until the VFs of GPU %s are gone", gpu);
                return step->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH
                               ? g_strdup_printf("Wait for %u VFs of GPU %s", step->number, gpu)
                               : g_strdup_printf("Wait for %u VFs of GPU %s, their drivers and vGPU types",
                                                 step->number, gpu);
        case CARVED_STEP_CREATE:
                return step->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH
                               ? g_strdup_printf("Bind %s to its vfio driver, as vGPU %s", where, step->uuid)
                               : g_strdup_printf("Create vGPU %s of type %s on %s", step->uuid, step->type,
                                                 where);
        case CARVED_STEP_REMOVE:
                return step->framework == CARVED_FRAMEWORK_VF_PASSTHROUGH
                               ? g_strdup_printf("Take %s, vGPU %s, from its vfio driver", where, step->uuid)
                               : g_strdup_printf("Remove vGPU %s from %s", step->uuid, where);
        case CARVED_STEP_PARAMS:
                return g_strdup_printf("Set the parameters of vGPU %s to '%s'", step->uuid, step->text);
        case CARVED_STEP_MIG:
                return g_strdup_printf("Switch MIG of GPU %s %s", gpu, step->number ? "on" : "off");
        case CARVED_STEP_MAKE_INSTANCE:
                return g_strdup_printf("Create GPU instance %s at %u:%u of GPU %s%s", step->text,
                                       step->placement.start, step->placement.size, gpu,
                                       step->compute ? ", with a compute instance" : "");
        case CARVED_STEP_DROP_INSTANCE:
                return g_strdup_printf("Destroy GPU instance %s at %u:%u of GPU %s%s", step->text,
                                       step->placement.start, step->placement.size, gpu,
                                       step->number ? ", which switching VFs would lose: it is made again"
                                                    : "");
        case CARVED_STEP_MIXED_SIZE:
                return g_strdup_printf(step->number ? "Let GPU %s have vGPUs of several sizes"
                                                    : "Let GPU %s have vGPUs of one size only",
                                       gpu);
        case _CARVED_STEP_KIND_MAX:
                break;
        }
        g_assert_not_reached();
}

GVariant *carved_step_to_variant(const CarvedStep *s) {
        return g_variant_new(STEP, (uint32_t) s->kind, s->gpu.domain, s->gpu.bus, s->gpu.device,
                             s->gpu.function, s->vendor, s->device, s->subsystem_vendor, s->subsystem_device,
                             (uint32_t) s->framework, s->vf_index, s->vf.domain, s->vf.bus, s->vf.device,
                             s->vf.function, s->uuid, s->type, s->text, s->old_text, s->number, s->old_number,
                             s->undo, s->profile, s->placement.start, s->placement.size, s->compute);
}

CarvedStep *carved_step_from_variant(GVariant *variant) {
        CarvedStep *s = g_new0(CarvedStep, 1);
        uint32_t kind = _CARVED_STEP_KIND_MAX, framework = _CARVED_FRAMEWORK_MAX;
        const char *uuid = "";
        gboolean undo = FALSE, compute = FALSE;

        if (g_variant_is_of_type(variant, G_VARIANT_TYPE(STEP)))
                g_variant_get(variant, "(u(uyyy)(qqqq)ui(uyyy)&ssssuub(uuub))", &kind, &s->gpu.domain,
                              &s->gpu.bus, &s->gpu.device, &s->gpu.function, &s->vendor, &s->device,
                              &s->subsystem_vendor, &s->subsystem_device, &framework, &s->vf_index,
                              &s->vf.domain, &s->vf.bus, &s->vf.device, &s->vf.function, &uuid, &s->type,
                              &s->text, &s->old_text, &s->number, &s->old_number, &undo, &s->profile,
                              &s->placement.start, &s->placement.size, &compute);
        if (kind >= _CARVED_STEP_KIND_MAX || framework >= _CARVED_FRAMEWORK_MAX ||
            strlen(uuid) > CARVED_UUID_LEN) {
                carved_step_free(s);
                return NULL;
        }

        s->kind = (CarvedStepKind) kind;
        s->framework = (CarvedFramework) framework;
        s->undo = undo;
        s->compute = compute;
        g_strlcpy(s->uuid, uuid, sizeof s->uuid);
        return s;
}

void carved_outcome_clear(CarvedOutcome *outcome) {
        g_free(outcome->file);
        g_free(outcome->value);
        g_free(outcome->output);
        g_clear_pointer(&outcome->users, g_array_unref);
        memset(outcome, 0, sizeof *outcome);
}

GVariant *carved_outcome_to_variant(const CarvedOutcome *o) {
        GVariantBuilder users;

        g_variant_builder_init(&users, G_VARIANT_TYPE("a(us)"));
        for (unsigned i = 0; o->users && i < o->users->len; i++) {
                const CarvedUser *user = &g_array_index(o->users, CarvedUser, i);

                g_variant_builder_add(&users, "(us)", user->pid, user->command);
        }
        return g_variant_new(OUTCOME, o->errnum, o->in_use, o->again, o->file, o->value, o->output, o->status,
                             &users);
}

bool carved_outcome_from_variant(GVariant *variant, CarvedOutcome *ret) {
        g_autoptr(GVariantIter) users = NULL;
        gboolean in_use, again;
        CarvedOutcome o = { 0 };
        CarvedUser user = { 0 };
        const char *command;

        if (!g_variant_is_of_type(variant, G_VARIANT_TYPE(OUTCOME)))
                return false;

        g_variant_get(variant, OUTCOME, &o.errnum, &in_use, &again, &o.file, &o.value, &o.output, &o.status,
                      &users);
        o.in_use = in_use;
        o.again = again;
        o.users = g_array_new(FALSE, FALSE, sizeof(CarvedUser));
        while (g_variant_iter_next(users, "(u&s)", &user.pid, &command)) {
                g_strlcpy(user.command, command, sizeof user.command);
                g_array_append_val(o.users, user);
        }
        *ret = o;
        return true;
}

char *carved_users_to_text(const GArray *users) {
        GString *text;

        if (!users || users->len == 0)
                return NULL;

        text = g_string_new(NULL);
        for (unsigned i = 0; i < users->len; i++) {
                const CarvedUser *user = &g_array_index(users, CarvedUser, i);

                g_string_append_printf(text, "%s%u (%s)", i > 0 ? ", " : "", user->pid, user->command);
        }
        return g_string_free(text, FALSE);
}
