/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "settle.h"

typedef struct Row {
        char *name;
        GArray *all;  /* CarvedPciAddress */
        GArray *gpus; /* of them, still to be dealt with */
        bool prepared;
        bool transient;
} Row;

struct Unsettled {
        GPtrArray *rows;
};

static void row_free(void *p) {
        Row *row = p;

        g_free(row->name);
        g_array_unref(row->all);
        g_array_unref(row->gpus);
        g_free(row);
}

static void settled_free(void *p) {
        Settled *settled = p;

        g_free(settled->name);
        g_array_unref(settled->gpus);
        g_free(settled);
}

Unsettled *unsettled_new(void) {
        Unsettled *unsettled = g_new0(Unsettled, 1);

        unsettled->rows = g_ptr_array_new_with_free_func(row_free);
        return unsettled;
}

Unsettled *unsettled_free(Unsettled *unsettled) {
        if (!unsettled)
                return NULL;

        g_ptr_array_unref(unsettled->rows);
        g_free(unsettled);
        return NULL;
}

static int find_gpu(const GArray *gpus, const CarvedPciAddress *gpu) {
        for (unsigned i = 0; i < gpus->len; i++)
                if (carved_pci_address_compare(&g_array_index(gpus, CarvedPciAddress, i), gpu) == 0)
                        return (int) i;

        return -1;
}

GPtrArray *unsettled_take(Unsettled *unsettled, const CarvedPciAddress *gpu, bool prepared) {
        GPtrArray *list = g_ptr_array_new_with_free_func(settled_free);

        for (unsigned i = unsettled->rows->len; i > 0; i--) {
                Row *row = unsettled->rows->pdata[i - 1];
                Settled *settled;
                int at = row->prepared == prepared ? find_gpu(row->gpus, gpu) : -1;

                if (at < 0)
                        continue;
                g_array_remove_index(row->gpus, (guint) at);
                if (row->gpus->len > 0)
                        continue;
                settled = g_new0(Settled, 1);
                settled->name = g_strdup(row->name);
                settled->gpus = g_array_ref(row->all);
                settled->transient = row->transient;
                g_ptr_array_add(list, settled);
                g_ptr_array_remove_index(unsettled->rows, i - 1);
        }
        return list;
}

GArray *unsettled_gpus(const Unsettled *unsettled) {
        GArray *gpus = g_array_new(FALSE, FALSE, sizeof(CarvedPciAddress));

        for (unsigned i = 0; i < unsettled->rows->len; i++) {
                const Row *row = unsettled->rows->pdata[i];

                for (unsigned j = 0; j < row->gpus->len; j++)
                        if (find_gpu(gpus, &g_array_index(row->gpus, CarvedPciAddress, j)) < 0)
                                g_array_append_val(gpus, g_array_index(row->gpus, CarvedPciAddress, j));
        }
        return gpus;
}

char *settle_file_name(const CarvedPciAddress *gpu) {
        char slug[CARVED_PCI_ADDRESS_MAX];

        return g_strdup_printf("%s.json", carved_pci_address_slug(gpu, slug));
}

/* 0000_08_00_0.json → 0000:08:00.0 */
static bool parse_file_name(const char *name, CarvedPciAddress *ret) {
        g_autofree char *slug = g_str_has_suffix(name, ".json") ? g_strndup(name, strlen(name) - 5) : NULL;

        return slug && carved_pci_address_parse_slug(slug, ret);
}

static bool intent_address(const CarvedIntent *intent, CarvedPciAddress *ret) {
        const char *at = intent->identity ? strchr(intent->identity, '@') : NULL;

        return at && carved_pci_address_parse(at + 1, ret);
}

GArray *settle_entry_gpus(const CarvedEntry *entry) {
        GArray *gpus = g_array_new(FALSE, FALSE, sizeof(CarvedPciAddress));

        for (unsigned i = 0; i < entry->gpus->len; i++) {
                const CarvedEntryGpu *gpu = entry->gpus->pdata[i];
                CarvedPciAddress address;

                if (intent_address(gpu->intent, &address) && find_gpu(gpus, &address) < 0)
                        g_array_append_val(gpus, address);
        }
        return gpus;
}

/* ---- reading ---- */

static CarvedIntent *intent_of(GHashTable *intents, const CarvedPciAddress *address) {
        char text[CARVED_PCI_ADDRESS_MAX];
        CarvedIntent *intent;

        carved_pci_address_format(address, text);
        intent = g_hash_table_lookup(intents, text);
        if (!intent) {
                intent = carved_intent_new();
                g_hash_table_insert(intents, g_strdup(text), intent);
        }
        return intent;
}

static void take_gpu(GHashTable *intents, const char *name, const char *text, const char *wrong,
                     bool transient) {
        CarvedPciAddress address;
        g_autoptr(GError) error = NULL;
        CarvedIntent *intent;

        if (!parse_file_name(name, &address)) {
                g_warning("'%s' is the name of no GPU, ignoring", name);
                return;
        }

        intent = intent_of(intents, &address);
        if (!*wrong && carved_store_parse_intent(text, transient, intent, &error))
                return;

        g_warning("What is wanted of the GPU of '%s' can't be read: %s", name,
                  error ? error->message : wrong);
        g_free(intent->unreadable);
        intent->unreadable = g_strdup(error ? error->message : wrong);
}

static bool has_vf(const CarvedIntent *intent, int32_t vf_index) {
        for (unsigned i = 0; vf_index >= 0 && i < intent->vgpus->len; i++)
                if (((CarvedWanted *) intent->vgpus->pdata[i])->vf_index == vf_index)
                        return true;

        return false;
}

static bool is_wanted(const CarvedIntent *intent, const CarvedWantedInstance *made) {
        for (unsigned i = 0; intent->layout && i < intent->layout->len; i++) {
                const CarvedWantedInstance *wanted = &g_array_index(intent->layout, CarvedWantedInstance, i);

                if (wanted->profile == made->profile && wanted->placement.start == made->placement.start &&
                    wanted->placement.size == made->placement.size)
                        return true;
        }
        return false;
}

/* The same of what the card was cut into. */
static void take_mig(CarvedIntent *intent, const CarvedEntryGpu *gpu) {
        for (unsigned i = 0; gpu->makes_instances && i < gpu->makes_instances->len; i++) {
                const CarvedWantedInstance *made =
                        &g_array_index(gpu->makes_instances, CarvedWantedInstance, i);

                if (is_wanted(intent, made))
                        continue;
                if (!intent->leftover_instances)
                        intent->leftover_instances = g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));
                g_array_append_val(intent->leftover_instances, *made);
        }
        if (intent->mig < 0)
                intent->leftover_mig = gpu->mig_was;
        if (intent->mixed_size < 0)
                intent->leftover_mixed_size = gpu->mixed_size_was;
}

/* What it may have made is ours, and not wanted: a half-made vGPU never becomes somebody else's. So also
 * where other things were wanted since (@old): then it could not be undone. */
static void take_prepared(CarvedIntent *intent, const CarvedEntryGpu *gpu, bool old) {
        for (unsigned i = 0; i < gpu->makes->len; i++) {
                const CarvedWanted *make = gpu->makes->pdata[i];
                CarvedWanted *made;

                if (carved_intent_find(intent, make->uuid) || has_vf(intent, make->vf_index))
                        continue;
                made = carved_wanted_copy(make);
                made->leftover = true;
                g_ptr_array_add(intent->vgpus, made);
        }
        if (!old)
                take_mig(intent, gpu);
        if (gpu->makes_vfs && intent->vfs < 0 && !old)
                intent->leftover_vfs = true;
        intent->leftover_quiet |= gpu->quiets;
        intent->leftover_unbound |= gpu->unbinds;
        if (!intent->identity && !carved_intent_is_void(intent))
                intent->identity = g_strdup(gpu->intent->identity);
}

static void take_entry(GHashTable *intents, Unsettled *unsettled, const char *name, const CarvedEntry *entry,
                       bool transient) {
        Row *row = g_new0(Row, 1);

        row->name = g_strdup(name);
        row->all = settle_entry_gpus(entry);
        row->gpus = settle_entry_gpus(entry);
        row->prepared = !entry->committed;
        row->transient = transient;
        g_ptr_array_add(unsettled->rows, row);
        g_message("Journal: '%s' was %s", name,
                  entry->committed ? "committed; it stands" : "under way; it is undone");

        for (unsigned i = 0; i < entry->gpus->len; i++) {
                const CarvedEntryGpu *gpu = entry->gpus->pdata[i];
                char text[CARVED_PCI_ADDRESS_MAX];
                CarvedPciAddress address;
                CarvedIntent *intent;
                bool old;

                if (!intent_address(gpu->intent, &address))
                        continue;
                intent = intent_of(intents, &address);
                old = gpu->intent->generation <= intent->generation;
                if (intent->unreadable)
                        continue;
                if (!entry->committed)
                        take_prepared(intent, gpu, old);
                /* Older than what is kept: it is in the file, and only its own stayed. */
                if (!entry->committed || old)
                        continue;
                g_hash_table_replace(intents, g_strdup(carved_pci_address_format(&address, text)),
                                     carved_intent_copy(gpu->intent));
        }
}

static void take_journal(GHashTable *intents, Unsettled *unsettled, GVariant *files, bool transient,
                         bool committed) {
        const char *name, *text, *wrong;
        GVariantIter iter;

        g_variant_iter_init(&iter, files);
        while (g_variant_iter_next(&iter, "(&s&s&s)", &name, &text, &wrong)) {
                g_autoptr(GError) error = NULL;
                g_autoptr(CarvedEntry) entry = *wrong ? NULL : carved_entry_parse(text, &error);

                if (entry && entry->committed == committed)
                        take_entry(intents, unsettled, name, entry, transient);
                else if (!entry && committed)
                        g_warning("Entry '%s' of the journal can't be read, ignoring: %s", name,
                                  error ? error->message : wrong);
        }
}

static void take_gpus(GHashTable *intents, GVariant *files, bool transient) {
        const char *name, *text, *wrong;
        GVariantIter iter;

        g_variant_iter_init(&iter, files);
        while (g_variant_iter_next(&iter, "(&s&s&s)", &name, &text, &wrong))
                take_gpu(intents, name, text, wrong, transient);
}

static void apply(Manager *m, GHashTable *intents) {
        GHashTableIter iter;
        void *address, *intent;

        g_hash_table_iter_init(&iter, intents);
        while (g_hash_table_iter_next(&iter, &address, &intent)) {
                CarvedUpdate update = { .kind = CARVED_UPDATE_STORED, .whole = carved_intent_copy(intent) };

                /* All was taken back, and only its generation kept. */
                if (carved_intent_is_void(update.whole))
                        g_clear_pointer(&update.whole->identity, g_free);
                carved_pci_address_parse(address, &update.address);
                manager_apply(m, &update);
        }
}

/* The directories come in the order in which they are asked for: GPUs, transient ones, journal, transient
 * one. */
void settle_load(Manager *m, Unsettled *unsettled, GVariant *loaded) {
        g_autoptr(GHashTable) intents =
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify) carved_intent_free);
        g_autoptr(GVariant) gpus = NULL, transient_gpus = NULL, journal = NULL, transient_journal = NULL;

        if (!g_variant_is_of_type(loaded, G_VARIANT_TYPE(STORE_LOADED)) ||
            g_variant_n_children(loaded) != 4) {
                g_critical("The worker process read nonsense");
                return;
        }

        g_variant_get_child(loaded, 0, "(&s@a(sss))", NULL, &gpus);
        g_variant_get_child(loaded, 1, "(&s@a(sss))", NULL, &transient_gpus);
        g_variant_get_child(loaded, 2, "(&s@a(sss))", NULL, &journal);
        g_variant_get_child(loaded, 3, "(&s@a(sss))", NULL, &transient_journal);
        take_gpus(intents, gpus, /* transient= */ false);
        take_gpus(intents, transient_gpus, /* transient= */ true);
        /* What stands comes before what is undone: the one says what is wanted, the other what is not. */
        for (int committed = 1; committed >= 0; committed--) {
                take_journal(intents, unsettled, journal, /* transient= */ false, committed);
                take_journal(intents, unsettled, transient_journal, /* transient= */ true, committed);
        }
        apply(m, intents);
}
