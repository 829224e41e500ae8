/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "store-json.h"

#define SLICE_MAX 64

static JsonObject *put_instance(const CarvedWantedInstance *wanted) {
        JsonObject *object = json_object_new();

        json_object_set_int_member(object, "profile", wanted->profile);
        if (*wanted->name)
                json_object_set_string_member(object, "name", wanted->name);
        json_object_set_int_member(object, "start", wanted->placement.start);
        json_object_set_int_member(object, "size", wanted->placement.size);
        if (!wanted->compute)
                json_object_set_boolean_member(object, "compute", FALSE);
        return object;
}

void carved_store_put_instances(JsonObject *object, const char *key, const GArray *instances) {
        JsonArray *list;

        if (!instances || instances->len == 0)
                return;

        list = json_array_new();
        for (unsigned i = 0; i < instances->len; i++)
                json_array_add_object_element(
                        list, put_instance(&g_array_index(instances, CarvedWantedInstance, i)));
        json_object_set_array_member(object, key, list);
}

static bool get_instance(CarvedReader *at, JsonObject *element, void *userdata) {
        int64_t profile = -1, start = -1, size = -1;
        CarvedWantedInstance wanted = { .compute = true };
        const char *name = NULL;

        if (!carved_reader_number(at, element, "profile", UINT32_MAX, &profile) ||
            !carved_reader_number(at, element, "start", SLICE_MAX, &start) ||
            !carved_reader_number(at, element, "size", SLICE_MAX, &size) ||
            !carved_reader_text(at, element, "name", &name) ||
            !carved_reader_flag(at, element, "compute", &wanted.compute))
                return false;
        if (profile < 0 || start < 0 || size < 1)
                return carved_reader_refuse_key(at,
                                                profile < 0 ? "profile"
                                                : start < 0 ? "start"
                                                            : "size",
                                                "missing: an instance has a profile and a place");
        if (name && strlen(name) >= sizeof wanted.name)
                return carved_reader_refuse_key(at, "name", "is longer than any profile's");

        wanted.profile = (uint32_t) profile;
        wanted.placement = (CarvedPlacement){ (uint32_t) start, (uint32_t) size };
        if (name)
                memcpy(wanted.name, name, strlen(name) + 1);
        g_array_append_val((GArray *) userdata, wanted);
        return true;
}

bool carved_store_get_instances(CarvedReader *at, JsonObject *object, const char *key, GArray **ret) {
        g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(CarvedWantedInstance));

        if (!carved_reader_list(at, object, key, get_instance, list))
                return false;
        *ret = list->len > 0 ? g_steal_pointer(&list) : NULL;
        return true;
}

void carved_store_put_choice(JsonObject *object, const char *key, int32_t choice) {
        if (choice >= 0)
                json_object_set_boolean_member(object, key, choice > 0);
}

bool carved_store_get_choice(CarvedReader *at, JsonObject *object, const char *key, int32_t *ret) {
        bool on = false;

        *ret = -1;
        if (!json_object_has_member(object, key))
                return true;
        if (!carved_reader_flag(at, object, key, &on))
                return false;
        *ret = on;
        return true;
}
