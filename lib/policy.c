/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "policy.h"
#include "reason.h"
#include "vfio-driver.h"
#include "vgpu-type.h"

/* What a client can do about it. */
static CarvedError error_for(const char *code) {
        static const struct {
                const char *code;
                CarvedError error;
        } table[] = {
                { "stalled", CARVED_ERROR_STALLED },
                { "mismatch", CARVED_ERROR_MISMATCH },
                { "state-unreadable", CARVED_ERROR_STATE_UNREADABLE },
                { "no-sriov", CARVED_ERROR_NOT_SUPPORTED },
                { "mig-off", CARVED_ERROR_TYPE_NOT_AVAILABLE },
                { "mig-on", CARVED_ERROR_TYPE_NOT_AVAILABLE },
                { "no-gpu-instance", CARVED_ERROR_TYPE_NOT_AVAILABLE },
                { "size-fixed", CARVED_ERROR_TYPE_NOT_AVAILABLE },
                { "not-offered", CARVED_ERROR_TYPE_NOT_AVAILABLE },
                { "full", CARVED_ERROR_NO_CAPACITY },
                { "occupied", CARVED_ERROR_CONFLICT },
                { "host-driver", CARVED_ERROR_CONFLICT },
                { "on-vfio-pci", CARVED_ERROR_CONFLICT },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
                if (g_str_equal(table[i].code, code))
                        return table[i].error;

        return CARVED_ERROR_NOT_READY;
}

bool carved_policy_refuse(GError **error, const CarvedReason *reason, const char *what) {
        g_set_error(error, CARVED_ERROR, error_for(reason->code), "%s: %s", what, reason->text);
        return false;
}

/* Names come with a maker in front, `NVIDIA A2-4Q` or `GRID T4-4Q`, which people leave out. */
static bool is_name(const char *name, const char *text) {
        const char *space = name ? strchr(name, ' ') : NULL;

        return name &&
               (g_ascii_strcasecmp(name, text) == 0 || (space && g_ascii_strcasecmp(space + 1, text) == 0));
}

static bool is_id(const char *id, const char *text) {
        guint64 wanted;
        uint32_t number;

        if (g_ascii_strcasecmp(id, text) == 0)
                return true;

        return carved_type_id_number(id, &number) && strspn(text, "0123456789") == strlen(text) && *text &&
               g_ascii_string_to_unsigned(text, 10, 0, UINT32_MAX, &wanted, NULL) && wanted == number;
}

/* What can be had instead: "nvidia-746 (NVIDIA A2-4Q), …", or nothing. */
static char *list_creatable(const CarvedGpu *gpu, const CarvedVf *vf) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < gpu->types->len; i++) {
                const CarvedType *type = gpu->types->pdata[i];

                if (vf ? carved_vf_is_creatable(vf, i) : carved_gpu_is_creatable(gpu, i))
                        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "",
                                               type->name ?: type->id);
        }
        return g_string_free(text, FALSE);
}

int carved_policy_find_type(const CarvedGpu *gpu, const char *text, GError **error) {
        char address[CARVED_PCI_ADDRESS_MAX];

        for (unsigned i = 0; i < gpu->types->len; i++)
                if (is_id(((CarvedType *) gpu->types->pdata[i])->id, text))
                        return (int) i;
        for (unsigned i = 0; i < gpu->types->len; i++)
                if (is_name(((CarvedType *) gpu->types->pdata[i])->name, text))
                        return (int) i;

        carved_pci_address_format(&gpu->address, address);
        /* Before its types are told, a card has none: that is not the type's fault. */
        if (gpu->types->len == 0 && gpu->reason.code) {
                g_autofree char *what = g_strdup_printf("GPU %s can't have a vGPU now", address);

                carved_policy_refuse(error, &gpu->reason, what);
        } else {
                g_autofree char *quoted = carved_quote(text);

                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NO_SUCH_TYPE, "GPU %s has no type %s", address,
                            quoted);
        }
        return -1;
}

bool carved_policy_may_create(const CarvedGpu *gpu, const CarvedVf *vf, unsigned index, GError **error) {
        const CarvedType *type = gpu->types->pdata[index];
        g_autofree char *what = NULL, *others = NULL;
        g_auto(CarvedReason) reason = { 0 };
        char address[CARVED_PCI_ADDRESS_MAX];

        if (!gpu->stalled && (vf ? carved_vf_is_creatable(vf, index) && !vf->reason.code
                                 : carved_gpu_is_creatable(gpu, index) && !gpu->reason.code))
                return true;

        carved_pci_address_format(vf ? &vf->address : &gpu->address, address);
        what = g_strdup_printf("%s can't be had on %s %s", type->name ?: type->id, vf ? "VF" : "GPU",
                               address);
        if (vf && vf->reason.code && !g_str_equal(vf->reason.code, "full"))
                return carved_policy_refuse(error, &vf->reason, what);

        reason = carved_reason_for_type(gpu, index);
        /* It could be had on another VF: so it is this one that is in the way. */
        if (!reason.code) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_TYPE_NOT_AVAILABLE,
                            "%s: the driver does not offer it on this VF", what);
                return false;
        }
        if (!g_str_equal(reason.code, "size-fixed"))
                return carved_policy_refuse(error, &reason, what);

        others = list_creatable(gpu, vf);
        g_set_error(error, CARVED_ERROR, CARVED_ERROR_TYPE_NOT_AVAILABLE, "%s: %s; to be had %s %s", what,
                    reason.text, *others ? "are" : "is", *others ? others : "nothing");
        return false;
}

bool carved_policy_check_params(const char *params, GError **error) {
        if (strlen(params) > CARVED_PARAMS_MAX) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS,
                            "The parameters have %zu bytes: at most %d can be set", strlen(params),
                            CARVED_PARAMS_MAX);
                return false;
        }
        for (const char *p = params; *p; p++)
                if (g_ascii_iscntrl(*p)) {
                        g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS,
                                    "The parameters have a control character at place %zu: they are one line",
                                    (size_t) (p - params) + 1);
                        return false;
                }
        return true;
}

bool carved_policy_may_switch_vfs(const CarvedGpu *gpu, GError **error) {
        char address[CARVED_PCI_ADDRESS_MAX];
        g_autofree char *what = NULL;

        carved_pci_address_format(&gpu->address, address);
        what = g_strdup_printf("The VFs of GPU %s can't be switched", address);
        if (gpu->stalled || !gpu->driver || carved_vfio_is_driver(gpu->driver))
                return carved_policy_refuse(error, &gpu->reason, what);

        return true;
}

bool carved_policy_is_ours(const CarvedVgpu *vgpu, GError **error) {
        if (vgpu->ours)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_OURS,
                    "vGPU %s was not made by carved: its maker has to do that", vgpu->uuid);
        return false;
}
