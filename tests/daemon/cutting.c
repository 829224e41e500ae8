/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <string.h>

#include "cutting.h"
#include "nvml-mig.h"

static const Cut cuts[] = {
        { { "a100", A100, "0000:04:00.0", 20, "A100-1-5C", NULL, NULL, true },
          "1g.5gb",
          "2g.10gb",
          "3g.20gb",
          "A100-1-5C",
          "A100-3-20C",
          "A100-10C" },
        { { "h100", H100, "0000:19:00.0", 20, "H100-1-10C", NULL, NULL, true },
          "1g.10gb",
          "2g.20gb",
          "3g.40gb",
          "H100-1-10C",
          "H100-3-40C",
          "H100-20C" },
};

const Cut *cut_find(const char *host) {
        for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++)
                if (g_str_equal(cuts[i].card.host, host))
                        return &cuts[i];

        ck_abort_msg("no card for host '%s'", host);
}

/* ---- calls ---- */

const char *cut_mode(Client *client, const char *gpu, bool on, char **ret_text) {
        return carve_call(client, gpu, MIG, "SetMode", ret_text, "ba{sv}", on, 0);
}

const char *cut_mixed(Client *client, const char *gpu, bool on, char **ret_text) {
        return carve_call(client, gpu, MIXED, "SetEnabled", ret_text, "ba{sv}", on, 0);
}

const char *cut_clear(Client *client, const char *gpu, char **ret_text) {
        return carve_call(client, gpu, MIG, "Clear", ret_text, "a{sv}", 0);
}

const char *cut_destroy(Client *client, const char *gpu, unsigned instance, char **ret_text) {
        g_autofree char *path = g_strdup_printf("%s/mig/%u", gpu, instance);

        return carve_call(client, path, INSTANCE, "Destroy", ret_text, "a{sv}", 0);
}

const char *cut_apply(Client *client, const char *gpu, const char *layout, const char *options,
                      char **ret_text) {
        g_auto(GStrv) words = g_strsplit(layout, " ", -1);
        sd_bus_message *m = NULL;

        ck_assert_int_ge(
                sd_bus_message_new_method_call(client->bus, &m, "org.carved1", gpu, MIG, "ApplyLayout"), 0);
        sd_bus_message_open_container(m, 'a', "{su}");
        for (char **word = words; *layout && *word; word += 2)
                sd_bus_message_append(m, "{su}", word[0], (uint32_t) atoi(word[1]));
        sd_bus_message_close_container(m);
        sd_bus_message_append(m, "a{sv}", 3, "replace", "b", strstr(options, "replace") != NULL, "dry-run",
                              "b", strstr(options, "dry-run") != NULL, "compute-instances", "b",
                              strstr(options, "bare") == NULL);
        return carve_send(client, m, ret_text);
}

/* ---- what is shown ---- */

bool cut_flag(Client *client, const char *gpu, const char *interface, const char *property) {
        g_autoptr(GVariant) value = client_get(client, gpu, interface, property);

        ck_assert_msg(value, "no %s.%s", interface, property);
        return g_variant_get_boolean(value);
}

static int compare(const void *a, const void *b) {
        return strcmp(strchr(*(char *const *) a, '@'), strchr(*(char *const *) b, '@'));
}

/* "3g.20gb@4:4 2": the instance, and its number. */
static GPtrArray *list_shown(Client *client, const char *gpu) {
        GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *below = g_strconcat(gpu, "/mig/", NULL);
        g_autoptr(GVariant) objects = client_objects(client);
        const char *path;
        GVariantIter iter;
        GVariant *rest;

        g_variant_iter_init(&iter, objects);
        while (g_variant_iter_loop(&iter, "{&o@a{sa{sv}}}", &path, &rest)) {
                g_autoptr(GVariant) facts = g_variant_lookup_value(rest, INSTANCE, NULL);
                const char *name;
                uint32_t id, start, size;

                if (!facts || !g_str_has_prefix(path, below))
                        continue;
                ck_assert(g_variant_lookup(facts, "ProfileName", "&s", &name));
                ck_assert(g_variant_lookup(facts, "Placement", "(uu)", &start, &size));
                ck_assert(g_variant_lookup(facts, "Id", "u", &id));
                g_ptr_array_add(list, g_strdup_printf("%s@%u:%u %u", name, start, size, id));
        }
        g_ptr_array_sort(list, compare);
        return list;
}

char *cut_shown(Client *client, const char *gpu) {
        g_autoptr(GPtrArray) list = list_shown(client, gpu);
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < list->len; i++) {
                *strchr(list->pdata[i], ' ') = '\0';
                g_string_append_printf(text, "%s%s", i > 0 ? " " : "", (char *) list->pdata[i]);
        }
        return g_string_free(text, FALSE);
}

int cut_instance_at(Client *client, const char *gpu, unsigned start) {
        g_autoptr(GPtrArray) list = list_shown(client, gpu);

        for (unsigned i = 0; i < list->len; i++)
                if ((unsigned) atoi(strchr(list->pdata[i], '@') + 1) == start)
                        return atoi(strchr(list->pdata[i], ' ') + 1);
        return -1;
}

/* ---- behind its back ---- */

typedef struct Driver {
        CarvedNvml nvml;
        NvmlDevice *device;
} Driver;

static Driver *driver_open(const char *address) {
        Driver *driver = g_new0(Driver, 1);
        g_autofree char *text = NULL;
        CarvedPciAddress at;

        ck_assert(carved_pci_address_parse(address, &at));
        ck_assert_int_eq(carved_nvml_open(&driver->nvml, CARVED_NVML_LIBRARY, &text), NVML_SUCCESS);
        ck_assert_int_eq(carved_nvml_find(&driver->nvml, &at, &driver->device), NVML_SUCCESS);
        return driver;
}

static void driver_close(Driver *driver) {
        carved_nvml_close(&driver->nvml);
        g_free(driver);
}

static CarvedMig *driver_read(Driver *driver) {
        NvmlReturn r;
        CarvedMig *mig = carved_nvml_read_mig(&driver->nvml, driver->device, &r);

        ck_assert_int_eq(r, NVML_SUCCESS);
        return mig;
}

static void describe(const char *address, GString *text) {
        Driver *driver = driver_open(address);
        g_autoptr(CarvedMig) mig = driver_read(driver);
        NvmlHeterogeneousMode mode = { .version = NVML_HETEROGENEOUS_MODE };

        g_string_append_printf(text, "%s %d %d", address, mig->enabled, mig->pending);
        if (driver->nvml.get_mixed(driver->device, &mode) == NVML_SUCCESS)
                g_string_append_printf(text, " mixed=%u", mode.mode);
        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];

                g_string_append_printf(text, " %s@%u%s", carved_mig_profile_name(mig, instance->profile),
                                       instance->placement.start, instance->has_compute ? "" : "-");
        }
        g_string_append_c(text, '\n');
        driver_close(driver);
}

char *host_cuts(void) {
        static const char *const all[] = { "0000:04:00.0", "0000:19:00.0", "0000:1b:00.0", "0000:07:00.0",
                                           "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0", "0000:87:00.0",
                                           "0000:90:00.0", "0000:b7:00.0", "0000:bd:00.0" };
        GString *text = g_string_new(NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
                g_autofree char *path = g_strconcat("/sys/bus/pci/devices/", all[i], "/driver", NULL);

                if (g_file_test(path, G_FILE_TEST_EXISTS))
                        describe(all[i], text);
        }
        return g_string_free(text, FALSE);
}

static NvmlReturn drop_compute(const CarvedNvml *nvml, NvmlComputeInstance *compute, void *userdata) {
        return nvml->destroy_compute(compute);
}

void host_drop(const char *address, unsigned start) {
        Driver *driver = driver_open(address);
        g_autoptr(CarvedMig) mig = driver_read(driver);
        bool found = false;

        for (unsigned i = 0; i < mig->instances->len; i++) {
                const CarvedGpuInstance *instance = mig->instances->pdata[i];
                NvmlGpuInstance *handle;

                if (instance->placement.start != start)
                        continue;
                found = true;
                ck_assert_int_eq(carved_nvml_find_instance(&driver->nvml, driver->device, instance->profile,
                                                           instance->placement, &handle),
                                 NVML_SUCCESS);
                ck_assert_int_eq(carved_nvml_each_compute(&driver->nvml, handle, drop_compute, NULL),
                                 NVML_SUCCESS);
                ck_assert_int_eq(driver->nvml.destroy_instance(handle), NVML_SUCCESS);
        }
        ck_assert(found);
        driver_close(driver);
}

void host_make(const char *address, const char *profile, unsigned start) {
        Driver *driver = driver_open(address);
        g_autoptr(CarvedMig) mig = driver_read(driver);
        const CarvedMigProfile *p = carved_mig_find_profile_by_text(mig, profile);
        NvmlPlacement at = { start, g_array_index(p->placements, CarvedPlacement, 0).size };
        NvmlGpuInstance *made;

        ck_assert_int_eq(driver->nvml.create_instance(driver->device, p->id, &at, &made), NVML_SUCCESS);
        driver_close(driver);
}

void host_uncut(const char *address) {
        Driver *driver = driver_open(address);
        NvmlReturn activation;

        ck_assert_int_eq(driver->nvml.set_mig_mode(driver->device, 0, &activation), NVML_SUCCESS);
        ck_assert_int_eq(activation, NVML_SUCCESS);
        driver_close(driver);
}
