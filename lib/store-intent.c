/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "store-json.h"
#include "store.h"

static CarvedStoreForm form_of(bool transient) {
        return transient ? CARVED_STORE_TRANSIENT : CARVED_STORE_PERSISTENT;
}

char *carved_store_format_intent(const CarvedIntent *intent, bool transient) {
        g_autoptr(JsonNode) root = NULL;
        JsonObject *object;

        if (!carved_store_has(intent, form_of(transient)))
                return NULL;

        object = json_object_new();
        root = json_node_init_object(json_node_alloc(), object);
        json_object_unref(object);
        json_object_set_int_member(object, "format", CARVED_STORE_FORMAT);
        carved_store_put_intent(object, intent, form_of(transient));
        return json_to_string(root, /* pretty= */ TRUE);
}

/* Those of @intent by UUID. */
static GHashTable *index_vgpus(const CarvedIntent *intent) {
        GHashTable *index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        for (unsigned i = 0; i < intent->vgpus->len; i++) {
                CarvedWanted *wanted = intent->vgpus->pdata[i];

                g_hash_table_insert(index, g_ascii_strdown(wanted->uuid, -1), wanted);
        }
        return index;
}

/* Between the writing of one file and of the other, something that changed from transient to persistent, or
 * back, is in both: the newer one knows. They are never of one generation then. */
static bool check_merge(CarvedReader *at, const CarvedIntent *from, const CarvedIntent *into,
                        GHashTable *known) {
        if (into->identity && strcmp(into->identity, from->identity) != 0)
                return carved_reader_refuse_key(at, "identity", "is %s, but %s in the other file",
                                                from->identity, into->identity);
        if (from->generation != into->generation)
                return true;

        carved_reader_enter(at, "intent");
        if (from->vfs >= 0 && into->vfs >= 0)
                return carved_reader_refuse_key(at, "vfs", "is in both files");
        for (unsigned i = 0; i < from->vgpus->len; i++) {
                const CarvedWanted *wanted = from->vgpus->pdata[i];

                if (g_hash_table_contains(known, wanted->uuid))
                        return carved_reader_refuse_key(at, "vgpus", "%s is in both files", wanted->uuid);
        }
        return true;
}

/* Moves the vGPUs of @from, but for those that @into knows better. */
static void merge_vgpus(CarvedIntent *from, CarvedIntent *into, GHashTable *known, bool newer) {
        g_autoptr(GPtrArray) vgpus = g_steal_pointer(&from->vgpus);

        from->vgpus = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        g_ptr_array_set_free_func(vgpus, NULL);
        for (unsigned i = 0; i < vgpus->len; i++) {
                CarvedWanted *wanted = vgpus->pdata[i], *old = g_hash_table_lookup(known, wanted->uuid);

                if (old && newer)
                        g_ptr_array_remove(into->vgpus, old);
                g_ptr_array_add(old && !newer ? from->vgpus : into->vgpus, wanted);
        }
}

/* Only the file that outlives a reboot has it. */
static void merge_mig(CarvedIntent *from, CarvedIntent *into, bool newer) {
        if (from->mig >= 0 && (newer || into->mig < 0))
                into->mig = from->mig;
        if (from->mixed_size >= 0 && (newer || into->mixed_size < 0))
                into->mixed_size = from->mixed_size;
        if (from->layout && (newer || !into->layout)) {
                g_clear_pointer(&into->layout, g_array_unref);
                into->layout = g_steal_pointer(&from->layout);
        }
        if (!into->serial)
                into->serial = g_steal_pointer(&from->serial);
        if (!into->gpu_uuid)
                into->gpu_uuid = g_steal_pointer(&from->gpu_uuid);
}

static void merge(CarvedIntent *from, CarvedIntent *into, GHashTable *known, bool transient) {
        JsonObject **old = transient ? &into->rest_transient : &into->rest;
        JsonObject **rest = transient ? &from->rest_transient : &from->rest;
        bool newer = from->generation > into->generation;

        if (from->vfs >= 0 && (newer || into->vfs < 0)) {
                into->vfs = from->vfs;
                into->vfs_transient = from->vfs_transient;
        }
        if (from->labels && (newer || !into->labels)) {
                g_strfreev(into->labels);
                into->labels = g_steal_pointer(&from->labels);
        }
        merge_mig(from, into, newer);
        merge_vgpus(from, into, known, newer);

        g_clear_pointer(old, json_object_unref);
        *old = g_steal_pointer(rest);
        if (!into->identity)
                into->identity = g_steal_pointer(&from->identity);
        into->generation = MAX(into->generation, from->generation);
}

bool carved_store_parse_intent(const char *text, bool transient, CarvedIntent *intent, GError **error) {
        g_auto(CarvedReader) at = { .error = error };
        g_autoptr(CarvedIntent) parsed = NULL;
        g_autoptr(GHashTable) known = NULL;
        g_autoptr(JsonNode) root = NULL;

        root = carved_reader_open(&at, text);
        if (!root)
                return false;
        parsed = carved_store_get_intent(&at, json_node_get_object(root), form_of(transient));
        if (!parsed)
                return false;
        known = index_vgpus(intent);
        if (!check_merge(&at, parsed, intent, known))
                return false;

        merge(parsed, intent, known, transient);
        return true;
}
