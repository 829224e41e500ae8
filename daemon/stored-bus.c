/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "auth.h"
#include "bus-error.h"
#include "intent-change.h"
#include "order.h"
#include "stored-bus.h"

/* How it is with what is stored, in one word: the card's, where there is one. */
static const char *state_of(const CarvedIntent *intent, const CarvedGpu *gpu) {
        if (intent->unreadable)
                return "unreadable";
        if (!gpu || gpu->lost)
                return "lost";
        if (gpu->mismatch)
                return "mismatch";

        return carved_sync_state_to_string(gpu->sync);
}

static int append_row(sd_bus_message *reply, Manager *m, const CarvedPciAddress *address) {
        const CarvedIntent *intent = carved_model_intent(m->model, address);
        const CarvedGpu *gpu = carved_model_find_gpu(m->model, address);
        char text[CARVED_PCI_ADDRESS_MAX], path[OBJECT_PATH_MAX] = "/";

        if (gpu)
                object_path_gpu(address, path);
        carved_pci_address_format(address, text);
        /* What can't be read has no identity but the place that it is for. */
        return sd_bus_message_append(reply, "(ssos)", intent->identity ?: text, text, path,
                                     state_of(intent, gpu));
}

int method_list_stored(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;
        g_autoptr(GArray) gpus = carved_model_wanted_gpus(m->model);
        g_autoptr(sd_bus_message) reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssos)");
        for (unsigned i = 0; r >= 0 && i < gpus->len; i++)
                r = append_row(reply, m, &g_array_index(gpus, CarvedPciAddress, i));
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

/* By identity; what can't be read, by its address. */
static bool find_stored(Manager *m, const char *identity, CarvedPciAddress *ret) {
        g_autoptr(GArray) gpus = carved_model_wanted_gpus(m->model);
        CarvedPciAddress address;

        for (unsigned i = 0; i < gpus->len; i++) {
                const CarvedPciAddress *gpu = &g_array_index(gpus, CarvedPciAddress, i);
                const CarvedIntent *intent = carved_model_intent(m->model, gpu);
                bool same = intent->identity ? g_ascii_strcasecmp(intent->identity, identity) == 0
                                             : carved_pci_address_parse(identity, &address) &&
                                                       carved_pci_address_compare(&address, gpu) == 0;

                if (same) {
                        *ret = *gpu;
                        return true;
                }
        }
        return false;
}

int method_forget(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;
        CarvedPciAddress address;
        const CarvedIntent *intent;
        const CarvedGpu *gpu;
        char text[CARVED_PCI_ADDRESS_MAX] = "";
        const char *identity;
        Caller *caller;
        bool found;
        int r;

        r = sd_bus_message_read(message, "s", &identity);
        if (r >= 0)
                r = options_read_none(message, error);
        if (r < 0)
                return r;
        found = find_stored(m, identity, &address);
        if (found)
                carved_pci_address_format(&address, text);
        r = auth_check(m->auth, message, &(AuthRequest){ AUTH_CONFIGURE_GPU, "forget", text, "" }, &caller,
                       error);
        if (r <= 0)
                return r < 0 ? r : 1;
        if (!found) {
                g_autofree char *quoted = carved_quote(identity);
                g_autofree char *said = g_strdup_printf("Nothing is stored for %s; ListStored tells", quoted);

                return bus_error_set(error, CARVED_ERROR_NO_SUCH_GPU, said);
        }

        intent = carved_model_intent(m->model, &address);
        gpu = carved_model_find_gpu(m->model, &address);
        if (gpu && !gpu->lost && !gpu->mismatch && !intent->unreadable)
                return bus_error_set(
                        error, CARVED_ERROR_CONFLICT,
                        "The card is there, and is the one: destroy its vGPUs and disable its VFs, and "
                        "nothing is stored of it");

        return intent_change(m, &address, &(CarvedIntentChange){ .anew = true }, message);
}
