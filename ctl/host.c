/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "host.h"
#include "ident.h"
#include "link.h"
#include "variant.h"

static const struct {
        Kind kind;
        const char *interface, *name;
} kinds[] = {
        { KIND_GPU, GPU, "gpu" },    { KIND_VF, VF, "vf" },
        { KIND_VGPU, VGPU, "vgpu" }, { KIND_INSTANCE, GPU_INSTANCE, "mig" },
        { KIND_JOB, JOB, "job" },
};

const char *kind_to_string(Kind kind) {
        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (kinds[i].kind == kind)
                        return kinds[i].name;

        return "object";
}

static void fact_clear(void *p) {
        g_variant_unref(((Fact *) p)->value);
}

void thing_free(void *p) {
        Thing *thing = p;

        g_free(thing->path);
        g_array_unref(thing->facts);
        g_free(thing);
}

static Thing *thing_empty(const char *path) {
        Thing *thing = g_new0(Thing, 1);

        thing->path = g_strdup(path);
        thing->facts = g_array_new(FALSE, FALSE, sizeof(Fact));
        g_array_set_clear_func(thing->facts, fact_clear);
        return thing;
}

/* Takes @value, floating or not. */
static void thing_add(Thing *thing, const char *interface, const char *name, GVariant *value) {
        Fact fact = { interface, g_intern_string(name), g_variant_ref_sink(value) };

        g_array_append_val(thing->facts, fact);
}

static void thing_set_kind(Thing *thing) {
        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (thing_has(thing, kinds[i].interface))
                        thing->kind = kinds[i].kind;
}

Thing *thing_new(const char *path, GVariant *interfaces) {
        Thing *thing = thing_empty(path);
        const char *interface, *name;
        GVariantIter iter, inner;
        GVariant *properties, *value;

        g_variant_iter_init(&iter, interfaces);
        while (g_variant_iter_next(&iter, "{&s@a{sv}}", &interface, &properties)) {
                g_variant_iter_init(&inner, properties);
                while (g_variant_iter_next(&inner, "{&sv}", &name, &value)) {
                        thing_add(thing, g_intern_string(interface), name, value);
                        g_variant_unref(value);
                }
                g_variant_unref(properties);
        }
        thing_set_kind(thing);
        return thing;
}

/* ---- reading, straight from the message: there may be thousands ---- */

static bool leave(sd_bus_message *m, unsigned containers) {
        while (containers-- > 0)
                if (sd_bus_message_exit_container(m) < 0)
                        return false;

        return true;
}

static bool read_properties(sd_bus_message *m, Thing *thing, const char *interface) {
        const char *name, *contents;
        GVariant *value;

        if (sd_bus_message_enter_container(m, 'a', "{sv}") < 0)
                return false;
        while (sd_bus_message_enter_container(m, 'e', "sv") > 0) {
                if (sd_bus_message_read_basic(m, 's', &name) < 0 ||
                    sd_bus_message_peek_type(m, NULL, &contents) < 0 ||
                    sd_bus_message_enter_container(m, 'v', contents) < 0)
                        return false;
                value = variant_read(m);
                if (!value)
                        return false;
                thing_add(thing, interface, name, value);
                if (!leave(m, 2)) /* the variant, the entry */
                        return false;
        }
        return sd_bus_message_exit_container(m) >= 0;
}

/* @wanted: NULL, all; those with nothing in them never. */
static bool read_interface(sd_bus_message *m, Thing *thing, const char *const *wanted) {
        const char *interface;

        if (sd_bus_message_read_basic(m, 's', &interface) < 0)
                return false;
        if (wanted ? g_strv_contains(wanted, interface) : g_str_has_prefix(interface, CARVED_BUS_NAME "."))
                return read_properties(m, thing, g_intern_string(interface));

        return sd_bus_message_skip(m, "a{sv}") >= 0;
}

static Thing *read_thing(sd_bus_message *m, const char *const *wanted) {
        const char *path;
        Thing *thing;
        bool ok;

        if (sd_bus_message_read_basic(m, 'o', &path) < 0 ||
            sd_bus_message_enter_container(m, 'a', "{sa{sv}}") < 0)
                return NULL;

        thing = thing_empty(path);
        ok = true;
        while (ok && sd_bus_message_enter_container(m, 'e', "sa{sv}") > 0)
                ok = read_interface(m, thing, wanted) && sd_bus_message_exit_container(m) >= 0;
        if (!ok || sd_bus_message_exit_container(m) < 0) {
                thing_free(thing);
                return NULL;
        }
        thing_set_kind(thing);
        return thing;
}

static bool read_host(sd_bus_message *m, Host *host, const char *const *wanted) {
        Thing *thing;

        if (sd_bus_message_enter_container(m, 'a', "{oa{sa{sv}}}") < 0)
                return false;
        while (sd_bus_message_enter_container(m, 'e', "oa{sa{sv}}") > 0) {
                thing = read_thing(m, wanted);
                if (!thing)
                        return false;
                g_ptr_array_add(host->things, thing);
                g_hash_table_insert(host->by_path, thing->path, thing);
                if (sd_bus_message_exit_container(m) < 0)
                        return false;
        }
        return true;
}

/* ---- order ---- */

/* Numbers by value, addresses as such, all else as text. */
static int compare_part(const char *a, size_t a_len, const char *b, size_t b_len) {
        CarvedPciAddress x, y;
        char one[64], two[64];

        if (a_len == b_len && memcmp(a, b, a_len) == 0)
                return 0;
        g_strlcpy(one, a, MIN(a_len + 1, sizeof one));
        g_strlcpy(two, b, MIN(b_len + 1, sizeof two));
        if (carved_pci_address_parse_slug(one, &x) && carved_pci_address_parse_slug(two, &y))
                return carved_pci_address_compare(&x, &y);
        if (strspn(one, "0123456789") == a_len && strspn(two, "0123456789") == b_len)
                return strtoull(one, NULL, 10) < strtoull(two, NULL, 10) ? -1 : 1;

        return strcmp(one, two);
}

static int compare_paths(const void *a, const void *b) {
        const char *x = (*(const Thing *const *) a)->path, *y = (*(const Thing *const *) b)->path;

        while (*x == '/' && *y == '/') {
                size_t x_len = strcspn(++x, "/"), y_len = strcspn(++y, "/");
                int r = compare_part(x, x_len, y, y_len);

                if (r != 0)
                        return r;
                x += x_len;
                y += y_len;
        }
        return (*x != '\0') - (*y != '\0'); /* what is above comes first */
}

/* ---- the host ---- */

Host *host_free(Host *host) {
        if (!host)
                return NULL;

        g_hash_table_unref(host->by_path);
        g_ptr_array_unref(host->things);
        g_free(host);
        return NULL;
}

Host *host_load(Ctl *ctl, GError **error) {
        return host_load_some(ctl, NULL, error);
}

Host *host_load_some(Ctl *ctl, const char *const *interfaces, GError **error) {
        _cleanup_(sd_bus_error_free) sd_bus_error e = SD_BUS_ERROR_NULL;
        g_autoptr(sd_bus_message) m = NULL, reply = NULL;
        g_autoptr(Host) host = NULL;
        int r;

        if (!link_prepare(ctl, &m, CARVED_BUS_ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects",
                          error, ""))
                return NULL;
        r = sd_bus_call(ctl->bus, m, 0, &e, &reply);
        if (r < 0) {
                fail_from_bus(error, &e, r);
                return NULL;
        }

        host = g_new0(Host, 1);
        host->things = g_ptr_array_new_with_free_func(thing_free);
        host->by_path = g_hash_table_new(g_str_hash, g_str_equal);
        if (!read_host(reply, host, interfaces)) {
                fail_from_bus(error, NULL, -EBADMSG);
                return NULL;
        }
        g_ptr_array_sort(host->things, compare_paths);
        return g_steal_pointer(&host);
}

Thing *host_find(const Host *host, const char *path) {
        return g_hash_table_lookup(host->by_path, path);
}

Thing *host_gpu_of(const Host *host, const Thing *thing) {
        static const char *const interfaces[] = { VF, VGPU, GPU_INSTANCE, JOB };

        if (thing->kind == KIND_GPU)
                return (Thing *) thing;
        for (unsigned i = 0; i < G_N_ELEMENTS(interfaces); i++)
                if (thing_has(thing, interfaces[i]))
                        return host_find(host, thing_text(thing, interfaces[i], "Gpu"));

        return NULL;
}

GPtrArray *host_list(const Host *host, Kind kind, const Thing *gpu) {
        GPtrArray *list = g_ptr_array_new();

        for (unsigned i = 0; i < host->things->len; i++) {
                Thing *thing = host->things->pdata[i];

                if (thing->kind == kind && (!gpu || host_gpu_of(host, thing) == gpu))
                        g_ptr_array_add(list, thing);
        }
        return list;
}

/* ---- facts ---- */

bool thing_is(const Thing *thing, const char *interface) {
        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (kinds[i].kind == thing->kind && g_str_equal(kinds[i].interface, interface))
                        return true;

        return false;
}

bool thing_has(const Thing *thing, const char *interface) {
        for (unsigned i = 0; i < thing->facts->len; i++)
                if (g_str_equal(g_array_index(thing->facts, Fact, i).interface, interface))
                        return true;

        return false;
}

GVariant *thing_value(const Thing *thing, const char *interface, const char *name) {
        for (unsigned i = 0; i < thing->facts->len; i++) {
                const Fact *fact = &g_array_index(thing->facts, Fact, i);

                if (g_str_equal(fact->name, name) && g_str_equal(fact->interface, interface))
                        return fact->value;
        }
        return NULL;
}

static const char *to_text(GVariant *value) {
        if (value && (g_variant_is_of_type(value, G_VARIANT_TYPE_STRING) ||
                      g_variant_is_of_type(value, G_VARIANT_TYPE_OBJECT_PATH)))
                return g_variant_get_string(value, NULL);

        return "";
}

static int64_t to_number(GVariant *value) {
        if (!value)
                return -1;
        switch (g_variant_classify(value)) {
        case G_VARIANT_CLASS_UINT16:
                return g_variant_get_uint16(value);
        case G_VARIANT_CLASS_UINT32:
                return g_variant_get_uint32(value);
        case G_VARIANT_CLASS_INT32:
                return g_variant_get_int32(value);
        case G_VARIANT_CLASS_UINT64:
                return (int64_t) g_variant_get_uint64(value);
        default:
                return -1;
        }
}

const char *thing_text(const Thing *thing, const char *interface, const char *name) {
        return to_text(thing_value(thing, interface, name));
}

int64_t thing_number(const Thing *thing, const char *interface, const char *name) {
        return to_number(thing_value(thing, interface, name));
}

bool thing_flag(const Thing *thing, const char *interface, const char *name) {
        GVariant *value = thing_value(thing, interface, name);

        return value && g_variant_is_of_type(value, G_VARIANT_TYPE_BOOLEAN) && g_variant_get_boolean(value);
}

const char *dict_text(GVariant *dict, const char *key) {
        g_autoptr(GVariant) value = dict ? g_variant_lookup_value(dict, key, NULL) : NULL;

        return to_text(value); /* the dictionary keeps it */
}

int64_t dict_number(GVariant *dict, const char *key) {
        g_autoptr(GVariant) value = dict ? g_variant_lookup_value(dict, key, NULL) : NULL;

        return to_number(value);
}

const char *thing_name(const Thing *thing) {
        switch (thing->kind) {
        case KIND_GPU:
                return thing_text(thing, GPU, "Address");
        case KIND_VF:
                return thing_text(thing, VF, "Address");
        case KIND_VGPU:
                return thing_text(thing, VGPU, "Uuid");
        default:
                return g_str_has_prefix(thing->path, CARVED_BUS_ROOT "/")
                               ? thing->path + strlen(CARVED_BUS_ROOT "/")
                               : thing->path;
        }
}
