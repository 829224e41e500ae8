/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "keeper.h"
#include "moved.h"
#include "restore.h"

struct Moved {
        Manager *manager;
        bool busy;
        CarvedPciAddress from, to;
};

Moved *moved_new(Manager *m) {
        Moved *moved = g_new0(Moved, 1);

        moved->manager = m;
        return moved;
}

Moved *moved_free(Moved *moved) {
        g_free(moved);
        return NULL;
}

bool moved_is_busy(const Moved *moved) {
        return moved->busy;
}

/* ---- whose it is ---- */

#define MODEL_LEN 19U /* vvvv:dddd:ssss:ssss */

static bool is_known_to_be(const char *a, const char *b) {
        return a && b && strcmp(a, b) == 0;
}

static bool is_of(const CarvedIntent *intent, const CarvedGpu *gpu) {
        return intent && intent->identity && !intent->unreadable && gpu && gpu->identity && !gpu->lost &&
               strncmp(intent->identity, gpu->identity, MODEL_LEN) == 0 &&
               (is_known_to_be(intent->serial, gpu->serial) ||
                is_known_to_be(intent->gpu_uuid, gpu->gpu_uuid));
}

/* The card that it is for is not there. */
static bool is_orphan(const Manager *m, const CarvedIntent *intent, const CarvedPciAddress *at) {
        const CarvedGpu *gpu = carved_model_find_gpu(m->model, at);

        return intent && !carved_intent_is_void(intent) && (!gpu || gpu->lost || gpu->mismatch) &&
               !is_of(intent, gpu);
}

/* Can what is wanted at @from go to where its card, @gpu, is now? */
static bool may_move(const Manager *m, const CarvedPciAddress *from, const CarvedGpu *gpu) {
        const CarvedIntent *intent = carved_model_intent(m->model, from);
        const CarvedIntent *there = carved_model_intent(m->model, &gpu->address);
        const CarvedGpu *old = carved_model_find_gpu(m->model, from);

        if (carved_pci_address_compare(from, &gpu->address) == 0 || gpu->busy || (old && old->busy) ||
            !is_orphan(m, intent, from) || !is_of(intent, gpu))
                return false;

        return !there || carved_intent_is_void(there) || is_of(there, old);
}

/* ---- the move ---- */

/* As it is kept at @at: identity and all that counts changes by it. */
static CarvedIntent *rehome(const Manager *m, const CarvedPciAddress *from, const CarvedPciAddress *at) {
        const CarvedIntent *intent = carved_model_intent(m->model, from),
                           *there = carved_model_intent(m->model, at);
        CarvedIntent *copy = intent ? carved_intent_copy(intent) : carved_intent_new();
        g_autofree char *model =
                copy->identity ? g_strndup(copy->identity, MODEL_LEN) : g_strdup("0000:0000:0000:0000");
        char address[CARVED_PCI_ADDRESS_MAX];

        g_free(copy->identity);
        copy->identity = g_strdup_printf("%s@%s", model, carved_pci_address_format(at, address));
        copy->generation = MAX(copy->generation, there ? there->generation : 0) + 1;
        return copy;
}

static CarvedEntry *form(void *userdata) {
        Moved *moved = userdata;
        CarvedEntry *entry = carved_entry_new();
        g_autoptr(CarvedIntent) here = rehome(moved->manager, &moved->from, &moved->to);
        g_autoptr(CarvedIntent) there = rehome(moved->manager, &moved->to, &moved->from);

        carved_entry_add_gpu(entry, here);
        carved_entry_add_gpu(entry, there);
        return entry;
}

static void set(Manager *m, const CarvedPciAddress *at, CarvedIntent *whole) {
        CarvedUpdate update = { .kind = CARVED_UPDATE_STORED, .address = *at, .whole = whole };

        if (carved_intent_is_void(whole))
                g_clear_pointer(&whole->identity, g_free);
        manager_apply(m, &update);
}

static void on_done(KeeperResult result, const char *text, void *userdata) {
        Moved *moved = userdata;
        Manager *m = moved->manager;
        char from[CARVED_PCI_ADDRESS_MAX], to[CARVED_PCI_ADDRESS_MAX];
        CarvedIntent *here, *there;

        moved->busy = false;
        carved_pci_address_format(&moved->from, from);
        carved_pci_address_format(&moved->to, to);
        if (result == KEEPER_FAILED) {
                g_warning("The card of %s is at %s now, but that can't be kept, ignoring: %s", from, to,
                          text);
                restore_check(m->restore);
                return;
        }

        g_message("The card of %s is at %s now: what is wanted of it goes with it", from, to);
        here = rehome(m, &moved->from, &moved->to);
        there = rehome(m, &moved->to, &moved->from);
        set(m, &moved->to, here);
        set(m, &moved->from, there);
        restore_due(m->restore, &moved->to);
        restore_consider(m->restore, &moved->to);
        if (!carved_intent_is_void(carved_model_intent(m->model, &moved->from))) {
                restore_due(m->restore, &moved->from);
                restore_consider(m->restore, &moved->from);
        }
        moved_consider(moved);
}

void moved_consider(Moved *moved) {
        Manager *m = moved->manager;
        g_autoptr(GArray) wanted = NULL;

        /* A card that was not looked at yet may be the one. */
        if (moved->busy || m->state == MANAGER_STARTING || m->state == MANAGER_STOPPING)
                return;

        wanted = carved_model_wanted_gpus(m->model);
        for (unsigned i = 0; i < wanted->len; i++)
                for (unsigned j = 0; j < carved_model_n_gpus(m->model); j++) {
                        const CarvedPciAddress *from = &g_array_index(wanted, CarvedPciAddress, i);
                        const CarvedGpu *gpu = carved_model_nth_gpu(m->model, j);

                        if (!may_move(m, from, gpu))
                                continue;
                        moved->busy = true;
                        moved->from = *from;
                        moved->to = gpu->address;
                        keeper_commit(m->keeper, keeper_next_id(m->keeper), form, on_done, moved);
                        return;
                }
}
