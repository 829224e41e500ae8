/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "policy.h"
#include "store-json.h"
#include "store.h"

#define VF_MAX 65535

/* `makes` and what follows is the journal's. */
static const char *const document_keys[] = {
        "format",  "identity",       "generation",      "intent",  "makes",          "makes-vfs", "quiets",
        "unbinds", "rest-transient", "makes-instances", "mig-was", "mixed-size-was", NULL
};
static const char *const intent_keys[] = { "vfs",        "vfs-transient", "mig",   "mig-layout",
                                           "mixed-size", "labels",        "vgpus", NULL };
static const char *const wanted_keys[] = { "uuid",   "type",   "type-name", "framework", "vf",
                                           "params", "labels", "override",  "transient", NULL };

/* ---- writing ---- */

static void put_text(JsonObject *object, const char *key, const char *text) {
        if (text)
                json_object_set_string_member(object, key, text);
}

static void put_labels(JsonObject *object, const GStrv labels) {
        JsonObject *map;

        if (!labels || !labels[0])
                return;

        map = json_object_new();
        for (unsigned i = 0; labels[i]; i += 2)
                json_object_set_string_member(map, labels[i], labels[i + 1]);
        json_object_set_object_member(object, "labels", map);
}

/* Copies: what is kept in an intent is shared with its copies. */
static void put_rest(JsonObject *object, JsonObject *rest, const char *without) {
        JsonObjectIter iter;
        const char *name;
        JsonNode *member;

        if (!rest)
                return;

        json_object_iter_init_ordered(&iter, rest);
        while (json_object_iter_next_ordered(&iter, &name, &member))
                if (g_strcmp0(name, without) != 0)
                        json_object_set_member(object, name, json_node_copy(member));
}

/* `vvvv:dddd:ssss:ssss@address`: four digits each. */
static void put_identity(JsonObject *object, const CarvedIntent *intent) {
        static const char *const keys[] = { "vendor", "device", "subsystem-vendor", "subsystem-device" };
        JsonObject *map = json_object_new();
        const char *identity = intent->identity;

        g_assert(strlen(identity) > 20 && identity[19] == '@');
        for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
                g_autofree char *id = g_strndup(identity + 5 * i, 4);

                json_object_set_string_member(map, keys[i], id);
        }
        json_object_set_string_member(map, "address", identity + 20);
        put_text(map, "serial", intent->serial);
        put_text(map, "gpu-uuid", intent->gpu_uuid);
        json_object_set_object_member(object, "identity", map);
}

JsonObject *carved_store_put_wanted(const CarvedWanted *wanted, CarvedStoreForm form) {
        JsonObject *object = json_object_new();

        json_object_set_string_member(object, "uuid", wanted->uuid);
        put_text(object, "type", wanted->type);
        put_text(object, "type-name", wanted->type_name);
        json_object_set_string_member(object, "framework", carved_framework_to_string(wanted->framework));
        if (wanted->vf_index >= 0)
                json_object_set_int_member(object, "vf", wanted->vf_index);
        put_text(object, "params", wanted->params);
        put_labels(object, wanted->labels);
        put_text(object, "override", wanted->old_override);
        if (form == CARVED_STORE_JOURNAL && wanted->transient)
                json_object_set_boolean_member(object, "transient", TRUE);
        put_rest(object, wanted->rest, NULL);
        return object;
}

/* What is left over is never wanted: the journal entry that it is left over from knows of it. */
static bool belongs(const CarvedWanted *wanted, CarvedStoreForm form) {
        if (wanted->leftover)
                return false;
        return form == CARVED_STORE_JOURNAL || wanted->transient == (form == CARVED_STORE_TRANSIENT);
}

static bool vfs_belong(const CarvedIntent *intent, CarvedStoreForm form) {
        if (intent->vfs < 0)
                return false;
        return form == CARVED_STORE_JOURNAL || intent->vfs_transient == (form == CARVED_STORE_TRANSIENT);
}

static JsonObject *rest_of(const CarvedIntent *intent, CarvedStoreForm form) {
        return form == CARVED_STORE_TRANSIENT ? intent->rest_transient : intent->rest;
}

bool carved_store_has(const CarvedIntent *intent, CarvedStoreForm form) {
        if (vfs_belong(intent, form) || rest_of(intent, form))
                return true;
        /* The generation is worth keeping by itself: what is older must go on having no say. */
        if (form != CARVED_STORE_TRANSIENT && (intent->identity || (intent->labels && intent->labels[0])))
                return true;
        for (unsigned i = 0; i < intent->vgpus->len; i++)
                if (belongs(intent->vgpus->pdata[i], form))
                        return true;
        return false;
}

static void put_vgpus(JsonObject *object, const GPtrArray *vgpus, CarvedStoreForm form) {
        g_autoptr(JsonArray) list = json_array_new();

        for (unsigned i = 0; i < vgpus->len; i++)
                if (belongs(vgpus->pdata[i], form))
                        json_array_add_object_element(list, carved_store_put_wanted(vgpus->pdata[i], form));
        if (json_array_get_length(list) > 0)
                json_object_set_array_member(object, "vgpus", g_steal_pointer(&list));
}

void carved_store_put_intent(JsonObject *object, const CarvedIntent *intent, CarvedStoreForm form) {
        JsonObject *inner = json_object_new(), *rest = rest_of(intent, form);

        g_assert(intent->identity); /* without it nobody could tell whose it is */
        put_identity(object, intent);
        json_object_set_int_member(object, "generation", (int64_t) MIN(intent->generation, INT64_MAX));

        if (vfs_belong(intent, form))
                json_object_set_int_member(inner, "vfs", intent->vfs);
        if (vfs_belong(intent, form) && form == CARVED_STORE_JOURNAL && intent->vfs_transient)
                json_object_set_boolean_member(inner, "vfs-transient", TRUE);
        if (form != CARVED_STORE_TRANSIENT) {
                carved_store_put_choice(inner, "mig", intent->mig);
                carved_store_put_instances(inner, "mig-layout", intent->layout);
                carved_store_put_choice(inner, "mixed-size", intent->mixed_size);
                put_labels(inner, intent->labels);
        }
        put_vgpus(inner, intent->vgpus, form);
        if (rest && json_object_has_member(rest, "intent"))
                put_rest(inner, json_object_get_object_member(rest, "intent"), NULL);
        json_object_set_object_member(object, "intent", inner);

        put_rest(object, rest, "intent");
        if (form == CARVED_STORE_JOURNAL && intent->rest_transient)
                json_object_set_object_member(object, "rest-transient",
                                              json_object_ref(intent->rest_transient));
}

/* ---- reading ---- */

static bool get_hex(CarvedReader *at, JsonObject *object, const char *key, const char **ret) {
        if (!carved_reader_text(at, object, key, ret))
                return false;
        if (!*ret || strlen(*ret) != 4 || strspn(*ret, "0123456789abcdef") != 4)
                return carved_reader_refuse_key(at, key, "must be four lower-case hexadecimal digits");
        return true;
}

static char *get_identity(CarvedReader *at, JsonObject *document, CarvedIntent *intent) {
        const char *vendor = NULL, *device = NULL, *sub_vendor = NULL, *sub_device = NULL, *text = NULL;
        size_t before;
        char buf[CARVED_PCI_ADDRESS_MAX];
        CarvedPciAddress address;
        JsonObject *object = NULL;

        if (!carved_reader_object(at, document, "identity", &object))
                return NULL;
        if (!object) {
                carved_reader_refuse_key(at, "identity", "missing");
                return NULL;
        }

        before = carved_reader_enter(at, "identity");
        if (!get_hex(at, object, "vendor", &vendor) || !get_hex(at, object, "device", &device) ||
            !get_hex(at, object, "subsystem-vendor", &sub_vendor) ||
            !get_hex(at, object, "subsystem-device", &sub_device) ||
            !carved_reader_text(at, object, "address", &text) ||
            !carved_reader_line(at, object, "serial", &intent->serial) ||
            !carved_reader_line(at, object, "gpu-uuid", &intent->gpu_uuid))
                return NULL;
        if (!text || !carved_pci_address_parse(text, &address)) {
                carved_reader_refuse_key(at, "address", "must be a PCI address, such as 0000:08:00.0");
                return NULL;
        }
        carved_reader_leave(at, before);
        return g_strdup_printf("%s:%s:%s:%s@%s", vendor, device, sub_vendor, sub_device,
                               carved_pci_address_format(&address, buf));
}

/* The pairs of @map, as carved_labels_new() takes them. */
static GPtrArray *pairs_of(CarvedReader *at, JsonObject *map) {
        g_autoptr(GPtrArray) pairs = g_ptr_array_new();
        JsonObjectIter iter;
        const char *name;
        JsonNode *member;

        json_object_iter_init_ordered(&iter, map);
        while (json_object_iter_next_ordered(&iter, &name, &member)) {
                if (!JSON_NODE_HOLDS_VALUE(member) || json_node_get_value_type(member) != G_TYPE_STRING) {
                        g_autofree char *quoted = carved_quote(name);

                        carved_reader_refuse_key(at, "labels", "the value of %s must be a text in quotes",
                                                 quoted);
                        return NULL;
                }
                g_ptr_array_add(pairs, (char *) name);
                g_ptr_array_add(pairs, (char *) json_node_get_string(member));
        }
        g_ptr_array_add(pairs, NULL);
        return g_steal_pointer(&pairs);
}

static bool get_labels(CarvedReader *at, JsonObject *object, GStrv *ret) {
        g_autoptr(GPtrArray) pairs = NULL;
        g_autoptr(GError) e = NULL;
        g_auto(GStrv) labels = NULL;
        JsonObject *map = NULL;

        if (!carved_reader_object(at, object, "labels", &map))
                return false;
        if (!map)
                return true;
        pairs = pairs_of(at, map);
        if (!pairs)
                return false;
        labels = carved_labels_new((const char *const *) pairs->pdata, &e);
        if (!labels)
                return carved_reader_refuse_key(at, "labels", "%s", e->message);

        if (labels[0])
                *ret = g_steal_pointer(&labels);
        return true;
}

static bool get_framework(CarvedReader *at, JsonObject *object, CarvedFramework *ret) {
        const char *text = NULL;

        if (!carved_reader_text(at, object, "framework", &text))
                return false;
        if (!text || !carved_framework_from_string(text, ret) || *ret < CARVED_FRAMEWORK_MDEV)
                return carved_reader_refuse_key(at, "framework",
                                                "must be mdev, vendor-vfio or vf-passthrough");
        return true;
}

/* It becomes part of a path in sysfs. */
static bool get_type(CarvedReader *at, JsonObject *object, char **ret) {
        if (!carved_reader_line(at, object, "type", ret))
                return false;
        if (!*ret || !**ret || **ret == '.' || strchr(*ret, '/'))
                return carved_reader_refuse_key(at, "type", "must be the id of a type, such as nvidia-746");
        return true;
}

static bool get_uuid(CarvedReader *at, JsonObject *object, CarvedWanted *wanted) {
        const char *text = NULL;

        if (!carved_reader_text(at, object, "uuid", &text))
                return false;
        if (!text || !carved_uuid_is_valid(text))
                return carved_reader_refuse_key(at, "uuid", "must be a UUID");

        for (unsigned i = 0; text[i]; i++)
                wanted->uuid[i] = g_ascii_tolower(text[i]);
        return true;
}

static bool get_params(CarvedReader *at, JsonObject *object, char **ret) {
        g_autoptr(GError) e = NULL;
        const char *text = NULL;

        if (!carved_reader_text(at, object, "params", &text))
                return false;
        if (text && !carved_policy_check_params(text, &e))
                return carved_reader_refuse_key(at, "params", "%s", e->message);

        *ret = g_strdup(text);
        return true;
}

static bool get_vf(CarvedReader *at, JsonObject *object, CarvedWanted *wanted) {
        int64_t vf = -1;

        if (!carved_reader_number(at, object, "vf", VF_MAX, &vf))
                return false;
        if (vf < 0 && wanted->framework != CARVED_FRAMEWORK_MDEV)
                return carved_reader_refuse_key(at, "vf", "missing: a vGPU of %s is on a VF",
                                                carved_framework_to_string(wanted->framework));

        wanted->vf_index = (int32_t) vf;
        return true;
}

static bool get_wanted(CarvedReader *at, JsonObject *object, CarvedStoreForm form, CarvedWanted *wanted) {
        wanted->transient = form == CARVED_STORE_TRANSIENT;
        return get_uuid(at, object, wanted) && get_type(at, object, &wanted->type) &&
               carved_reader_line(at, object, "type-name", &wanted->type_name) &&
               get_framework(at, object, &wanted->framework) && get_vf(at, object, wanted) &&
               get_params(at, object, &wanted->params) && get_labels(at, object, &wanted->labels) &&
               carved_reader_line(at, object, "override", &wanted->old_override) &&
               (form != CARVED_STORE_JOURNAL ||
                carved_reader_flag(at, object, "transient", &wanted->transient)) &&
               carved_reader_rest(at, object, wanted_keys, &wanted->rest);
}

typedef struct List {
        CarvedStoreForm form;
        GPtrArray *vgpus;
        GHashTable *seen;
} List;

static bool get_element(CarvedReader *at, JsonObject *element, void *userdata) {
        CarvedWanted *wanted = carved_wanted_new("", -1, CARVED_FRAMEWORK_NONE, NULL);
        List *list = userdata;

        g_ptr_array_add(list->vgpus, wanted);
        if (!get_wanted(at, element, list->form, wanted))
                return false;
        if (!g_hash_table_add(list->seen, wanted->uuid))
                return carved_reader_refuse_key(at, "uuid", "%s is there twice", wanted->uuid);
        return true;
}

bool carved_store_get_list(CarvedReader *at, JsonObject *object, const char *key, CarvedStoreForm form,
                           GPtrArray *vgpus) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

        return carved_reader_list(at, object, key, get_element, &(List){ form, vgpus, seen });
}

/* Keys that we do not know, of the document and, inside, of its intent. */
static bool get_rest(CarvedReader *at, JsonObject *document, JsonObject **ret) {
        g_autoptr(JsonObject) rest = NULL, inner_rest = NULL;
        JsonObject *inner = NULL;
        size_t before;

        if (!carved_reader_rest(at, document, document_keys, &rest) ||
            !carved_reader_object(at, document, "intent", &inner))
                return false;
        before = carved_reader_enter(at, "intent");
        if (inner && !carved_reader_rest(at, inner, intent_keys, &inner_rest))
                return false;
        carved_reader_leave(at, before);

        if (inner_rest && !rest)
                rest = json_object_new();
        if (inner_rest)
                json_object_set_object_member(rest, "intent", g_steal_pointer(&inner_rest));
        *ret = g_steal_pointer(&rest);
        return true;
}

static bool get_rests(CarvedReader *at, JsonObject *document, CarvedStoreForm form, CarvedIntent *intent) {
        JsonObject *transient = NULL;
        size_t before;

        if (!get_rest(at, document, form == CARVED_STORE_TRANSIENT ? &intent->rest_transient : &intent->rest))
                return false;
        if (form != CARVED_STORE_JOURNAL)
                return true;
        if (!carved_reader_object(at, document, "rest-transient", &transient))
                return false;

        before = carved_reader_enter(at, "rest-transient");
        if (transient && !get_rest(at, transient, &intent->rest_transient))
                return false;
        carved_reader_leave(at, before);
        return true;
}

static bool get_inner(CarvedReader *at, JsonObject *document, CarvedStoreForm form, CarvedIntent *intent) {
        JsonObject *object = NULL;
        int64_t vfs = -1;
        size_t before;

        if (!carved_reader_object(at, document, "intent", &object))
                return false;
        if (!object)
                return carved_reader_refuse_key(at, "intent", "missing");

        before = carved_reader_enter(at, "intent");
        intent->vfs_transient = form == CARVED_STORE_TRANSIENT;
        if (!carved_reader_number(at, object, "vfs", VF_MAX, &vfs) ||
            (form == CARVED_STORE_JOURNAL &&
             !carved_reader_flag(at, object, "vfs-transient", &intent->vfs_transient)) ||
            !carved_store_get_choice(at, object, "mig", &intent->mig) ||
            !carved_store_get_instances(at, object, "mig-layout", &intent->layout) ||
            !carved_store_get_choice(at, object, "mixed-size", &intent->mixed_size) ||
            !get_labels(at, object, &intent->labels) ||
            !carved_store_get_list(at, object, "vgpus", form, intent->vgpus))
                return false;
        carved_reader_leave(at, before);

        intent->vfs = (int32_t) vfs;
        intent->vfs_transient = intent->vfs_transient && vfs >= 0;
        return true;
}

CarvedIntent *carved_store_get_intent(CarvedReader *at, JsonObject *document, CarvedStoreForm form) {
        g_autoptr(CarvedIntent) intent = carved_intent_new();
        int64_t generation = -1;

        intent->identity = get_identity(at, document, intent);
        if (!intent->identity || !carved_reader_number(at, document, "generation", INT64_MAX, &generation))
                return NULL;
        if (generation < 0) {
                carved_reader_refuse_key(at, "generation", "missing");
                return NULL;
        }
        intent->generation = (uint64_t) generation;
        if (!get_inner(at, document, form, intent) || !get_rests(at, document, form, intent))
                return NULL;
        return g_steal_pointer(&intent);
}
