/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "store-json.h"
#include "store.h"

static void gpu_free(void *p) {
        CarvedEntryGpu *gpu = p;

        carved_intent_free(gpu->intent);
        g_ptr_array_unref(gpu->makes);
        g_clear_pointer(&gpu->makes_instances, g_array_unref);
        g_free(gpu);
}

CarvedEntry *carved_entry_new(void) {
        CarvedEntry *entry = g_new0(CarvedEntry, 1);

        entry->gpus = g_ptr_array_new_with_free_func(gpu_free);
        return entry;
}

void carved_entry_free(CarvedEntry *entry) {
        if (!entry)
                return;

        g_ptr_array_unref(entry->gpus);
        g_free(entry);
}

static CarvedEntryGpu *add_gpu(CarvedEntry *entry, CarvedIntent *intent) {
        CarvedEntryGpu *gpu = g_new0(CarvedEntryGpu, 1);

        gpu->intent = intent;
        gpu->mig_was = gpu->mixed_size_was = -1;
        gpu->makes = g_ptr_array_new_with_free_func((GDestroyNotify) carved_wanted_free);
        g_ptr_array_add(entry->gpus, gpu);
        return gpu;
}

CarvedEntryGpu *carved_entry_add_gpu(CarvedEntry *entry, const CarvedIntent *intent) {
        return add_gpu(entry, carved_intent_copy(intent));
}

static JsonObject *put_gpu(const CarvedEntryGpu *gpu) {
        JsonObject *object = json_object_new();
        JsonArray *makes;

        carved_store_put_intent(object, gpu->intent, CARVED_STORE_JOURNAL);
        if (gpu->makes_vfs)
                json_object_set_boolean_member(object, "makes-vfs", TRUE);
        if (gpu->unbinds)
                json_object_set_boolean_member(object, "unbinds", TRUE);
        if (gpu->quiets)
                json_object_set_boolean_member(object, "quiets", TRUE);
        carved_store_put_instances(object, "makes-instances", gpu->makes_instances);
        carved_store_put_choice(object, "mig-was", gpu->mig_was);
        carved_store_put_choice(object, "mixed-size-was", gpu->mixed_size_was);
        if (gpu->makes->len == 0)
                return object;

        makes = json_array_new();
        for (unsigned i = 0; i < gpu->makes->len; i++)
                json_array_add_object_element(
                        makes, carved_store_put_wanted(gpu->makes->pdata[i], CARVED_STORE_JOURNAL));
        json_object_set_array_member(object, "makes", makes);
        return object;
}

char *carved_entry_format(const CarvedEntry *entry) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), object);
        JsonArray *gpus = json_array_new();

        json_object_unref(object);
        json_object_set_int_member(object, "format", CARVED_STORE_FORMAT);
        json_object_set_string_member(object, "state", entry->committed ? "committed" : "prepared");
        for (unsigned i = 0; i < entry->gpus->len; i++)
                json_array_add_object_element(gpus, put_gpu(entry->gpus->pdata[i]));
        json_object_set_array_member(object, "gpus", gpus);
        return json_to_string(root, /* pretty= */ TRUE);
}

static bool get_state(CarvedReader *at, JsonObject *object, bool *ret_committed) {
        const char *text = NULL;

        if (!carved_reader_text(at, object, "state", &text))
                return false;
        if (g_strcmp0(text, "prepared") != 0 && g_strcmp0(text, "committed") != 0)
                return carved_reader_refuse_key(at, "state", "must be prepared or committed");

        *ret_committed = strcmp(text, "committed") == 0;
        return true;
}

static bool get_gpu(CarvedReader *at, JsonObject *element, void *userdata) {
        CarvedEntry *entry = userdata;
        CarvedIntent *intent = carved_store_get_intent(at, element, CARVED_STORE_JOURNAL);
        CarvedEntryGpu *gpu;

        if (!intent)
                return false;
        gpu = add_gpu(entry, intent);
        for (unsigned i = 0; i + 1 < entry->gpus->len; i++)
                if (strcmp(((CarvedEntryGpu *) entry->gpus->pdata[i])->intent->identity, intent->identity) ==
                    0)
                        return carved_reader_refuse_key(at, "identity", "%s is there twice",
                                                        intent->identity);

        return carved_store_get_list(at, element, "makes", CARVED_STORE_JOURNAL, gpu->makes) &&
               carved_reader_flag(at, element, "makes-vfs", &gpu->makes_vfs) &&
               carved_reader_flag(at, element, "unbinds", &gpu->unbinds) &&
               carved_reader_flag(at, element, "quiets", &gpu->quiets) &&
               carved_store_get_instances(at, element, "makes-instances", &gpu->makes_instances) &&
               carved_store_get_choice(at, element, "mig-was", &gpu->mig_was) &&
               carved_store_get_choice(at, element, "mixed-size-was", &gpu->mixed_size_was);
}

CarvedEntry *carved_entry_parse(const char *text, GError **error) {
        g_autoptr(CarvedEntry) entry = carved_entry_new();
        g_auto(CarvedReader) at = { .error = error };
        g_autoptr(JsonNode) root = NULL;
        JsonObject *object;

        root = carved_reader_open(&at, text);
        if (!root)
                return NULL;
        object = json_node_get_object(root);
        if (!get_state(&at, object, &entry->committed))
                return NULL;
        if (!json_object_has_member(object, "gpus")) {
                carved_reader_refuse_key(&at, "gpus", "missing");
                return NULL;
        }
        if (!carved_reader_list(&at, object, "gpus", get_gpu, entry))
                return NULL;
        return g_steal_pointer(&entry);
}
