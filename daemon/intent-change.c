/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "audit.h"
#include "auth.h"
#include "bus-error.h"
#include "intent-change.h"
#include "keeper.h"
#include "object.h"
#include "order.h"

typedef struct Call {
        Manager *manager;
        CarvedPciAddress gpu;
        CarvedIntentChange change;
        char *label, *identity;
        sd_bus_message *message;
        Caller *caller;
} Call;

static void call_free(Call *call) {
        g_clear_pointer(&call->change.adds, g_ptr_array_unref);
        g_strfreev(call->change.labels);
        g_free(call->label);
        g_free(call->identity);
        sd_bus_message_unref(call->message);
        caller_unref(call->caller);
        g_free(call);
}

static CarvedEntry *form(void *userdata) {
        Call *call = userdata;
        const CarvedIntent *now = carved_model_intent(call->manager->model, &call->gpu);
        g_autoptr(CarvedIntent) intent = now ? carved_intent_copy(now) : carved_intent_new();
        g_autofree char *old = g_strdup(intent->identity);
        CarvedEntry *entry = carved_entry_new();
        char address[CARVED_PCI_ADDRESS_MAX];

        carved_intent_change(intent, &call->change);
        /* Also an entry that nothing is wanted any more says of which card. */
        if (!intent->identity)
                intent->identity = old || call->identity
                                           ? g_strdup(old ?: call->identity)
                                           : g_strdup_printf("0000:0000:0000:0000@%s",
                                                             carved_pci_address_format(&call->gpu, address));
        carved_entry_add_gpu(entry, intent);
        return entry;
}

static void audit(const Call *call, JobState result, const char *why) {
        g_autofree char *verb = order_verb(call->message);
        g_autoptr(GPtrArray) gpus = g_ptr_array_new(), vgpus = g_ptr_array_new();
        char address[CARVED_PCI_ADDRESS_MAX];
        CarvedObject object;

        carved_pci_address_format(&call->gpu, address);
        g_ptr_array_add(gpus, address);
        if (object_parse_path(sd_bus_message_get_path(call->message), &object) &&
            object.kind == CARVED_OBJECT_VGPU)
                g_ptr_array_add(vgpus, object.uuid);
        audit_log(&(AuditEntry){ verb, gpus, vgpus, /* job= */ 0, call->caller, result, why });
}

static void on_done(KeeperResult result, const char *text, void *userdata) {
        Call *call = userdata;
        CarvedUpdate update = { .kind = CARVED_UPDATE_INTENT, .address = call->gpu, .intent = &call->change };
        int r;

        if (result != KEEPER_FAILED)
                manager_apply(call->manager, &update);
        audit(call, result == KEEPER_FAILED ? JOB_FAILED : JOB_DONE, result == KEEPER_KEPT ? NULL : text);
        if (result == KEEPER_KEPT)
                r = sd_bus_reply_method_return(call->message, NULL);
        else
                r = sd_bus_reply_method_errorf(
                        call->message, bus_error_name(CARVED_ERROR_FAILED),
                        result == KEEPER_UNSURE ? "It is done, but may be lost with power: %s"
                                                : "What is wanted can't be kept, so nothing was changed: %s",
                        text);
        if (r < 0)
                g_debug("Failed to answer a caller, ignoring: %s", g_strerror(-r));
        call_free(call);
}

int intent_change(Manager *m, const CarvedPciAddress *gpu, const CarvedIntentChange *change,
                  sd_bus_message *message) {
        const CarvedGpu *shown = carved_model_find_gpu(m->model, gpu);
        Call *call = g_new0(Call, 1);
        const Caller *caller =
                auth_look_up(m->auth, sd_bus_message_get_bus(message), sd_bus_message_get_sender(message));

        call->manager = m;
        call->gpu = *gpu;
        call->change = *change;
        call->change.adds = change->adds ? g_ptr_array_ref(change->adds) : NULL;
        call->change.labels = g_strdupv(change->labels);
        call->change.label = call->label = g_strdup(change->label);
        call->change.identity = call->identity = g_strdup(shown ? shown->identity : NULL);
        call->message = sd_bus_message_ref(message);
        /* He was let, so he is known. */
        call->caller = caller ? caller_ref(caller) : NULL;
        keeper_commit(m->keeper, keeper_next_id(m->keeper), form, on_done, call);
        return 1;
}
