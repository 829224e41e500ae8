/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <string.h>

#include "config-files.h"
#include "config.h"
#include "error.h"
#include "file.h"
#include "ini.h"
#include "sriov.h"

#define RESTORE_TIMEOUT_SEC 90U
#define STEP_TIMEOUT_SEC    120U
#define TIMEOUT_MAX         86400

/* [Gpu …]: one for each card or kind of cards, however often it is written. */
typedef struct ConfigGpu {
        bool by_address; /* else by vendor and device */
        CarvedPciAddress address;
        uint16_t vendor, device;
        int manage; /* -1: not said here */
} ConfigGpu;

const char *const config_roots[] = { "/etc/carved", "/run/carved", "/usr/lib/carved", NULL };

static const char *const repair_names[_REPAIR_MAX] = {
        [REPAIR_NO] = "no",
        [REPAIR_RELOAD] = "reload",
        [REPAIR_ALL] = "all",
};

const char *repair_to_string(Repair repair) {
        return repair_names[repair];
}

bool repair_from_string(const char *text, Repair *ret) {
        for (Repair i = 0; i < _REPAIR_MAX; i++)
                if (g_str_equal(repair_names[i], text)) {
                        *ret = i;
                        return true;
                }

        return false;
}

void config_init(Config *config) {
        *config = (Config){ .restore = true,
                            .restore_timeout_usec = RESTORE_TIMEOUT_SEC * G_USEC_PER_SEC,
                            .repair = REPAIR_RELOAD,
                            .sriov_manage = g_strdup(CARVED_SRIOV_MANAGE_PATH),
                            .step_timeout_usec = STEP_TIMEOUT_SEC * G_USEC_PER_SEC,
                            .gpus = g_array_new(FALSE, TRUE, sizeof(ConfigGpu)),
                            .files = g_ptr_array_new_with_free_func(g_free) };
}

void config_clear(Config *config) {
        g_clear_pointer(&config->sriov_manage, g_free);
        g_clear_pointer(&config->gpus, g_array_unref);
        g_clear_pointer(&config->files, g_ptr_array_unref);
}

/* ---- values ---- */

static bool parse_bool(const char *text, bool *ret) {
        static const char *const yes[] = { "yes", "true", "on", "1" }, *const no[] = { "no", "false", "off",
                                                                                       "0" };

        for (size_t i = 0; i < G_N_ELEMENTS(yes); i++) {
                bool is_yes = g_ascii_strcasecmp(text, yes[i]) == 0;

                if (is_yes || g_ascii_strcasecmp(text, no[i]) == 0) {
                        *ret = is_yes;
                        return true;
                }
        }
        return false;
}

static bool parse_seconds(const char *text, uint64_t *ret_usec) {
        guint64 seconds;

        if (!g_ascii_string_to_unsigned(text, 10, 1, TIMEOUT_MAX, &seconds, NULL))
                return false;
        *ret_usec = seconds * G_USEC_PER_SEC;
        return true;
}

static bool set_restore(Config *config, ConfigGpu *gpu, const char *value) {
        return parse_bool(value, &config->restore);
}

static bool set_restore_timeout(Config *config, ConfigGpu *gpu, const char *value) {
        return parse_seconds(value, &config->restore_timeout_usec);
}

static bool set_repair(Config *config, ConfigGpu *gpu, const char *value) {
        return repair_from_string(value, &config->repair);
}

static bool set_sriov_manage(Config *config, ConfigGpu *gpu, const char *value) {
        if (!g_path_is_absolute(value))
                return false;
        g_free(config->sriov_manage);
        config->sriov_manage = g_strdup(value);
        return true;
}

static bool set_step_timeout(Config *config, ConfigGpu *gpu, const char *value) {
        return parse_seconds(value, &config->step_timeout_usec);
}

static bool set_manage(Config *config, ConfigGpu *gpu, const char *value) {
        bool manage;

        if (!parse_bool(value, &manage))
                return false;
        gpu->manage = manage;
        return true;
}

typedef struct Key {
        const char *name;
        bool (*set)(Config *config, ConfigGpu *gpu,
                    const char *value); /* NULL: has its name, and no meaning yet */
        const char *otherwise;          /* what is wrong when it can't be set */
} Key;

#define SECONDS "is not a number of seconds from 1 to " G_STRINGIFY(TIMEOUT_MAX)
#define YES_NO  "is neither yes nor no"

static const Key manager_keys[] = {
        { "Restore", set_restore, YES_NO },
        { "RestoreTimeoutSec", set_restore_timeout, SECONDS },
        { "Repair", set_repair, "is none of no, reload, all" },
        { "SriovManage", set_sriov_manage, "is not an absolute path" },
        { "StepTimeoutSec", set_step_timeout, SECONDS },
        { NULL },
};

static const Key gpu_keys[] = {
        { "Manage", set_manage, YES_NO },
        { "AllowedTypes" },
        { "MaxInstances" },
        { "Labels" },
        { "ResourceClass" },
        { "Traits" },
        { NULL },
};

/* ---- sections ---- */

/* Under way in one file. */
typedef struct Reading {
        Config *config;
        const char *path;
        ConfigWarn warn;
        void *userdata;
        const Key *keys; /* of the section that it is in; NULL: nobody knows it */
        ConfigGpu *gpu;  /* if that is one's */
} Reading;

static void complain(const Reading *r, unsigned line, const char *format, ...) G_GNUC_PRINTF(3, 4);

static void complain(const Reading *r, unsigned line, const char *format, ...) {
        g_autofree char *what = NULL, *sentence = NULL;
        va_list args;

        va_start(args, format);
        what = g_strdup_vprintf(format, args);
        va_end(args);
        sentence = line > 0 ? g_strdup_printf("%s:%u: %s", r->path, line, what)
                            : g_strdup_printf("%s: %s", r->path, what);
        r->warn(sentence, r->userdata);
}

/* "10de:20b0". Exactly four digits each: an address without its function must not pass for one. */
static bool parse_device(const char *text, uint16_t *ret_vendor, uint16_t *ret_device) {
        static const char form[] = "xxxx:xxxx";
        unsigned value[2] = { 0 };
        size_t i;

        for (i = 0; form[i]; i++) {
                if (form[i] == 'x' && g_ascii_isxdigit(text[i]))
                        value[i / 5] = value[i / 5] << 4 | (unsigned) g_ascii_xdigit_value(text[i]);
                else if (form[i] != text[i] || form[i] == 'x')
                        return false;
        }
        if (text[i] != '\0')
                return false;

        *ret_vendor = (uint16_t) value[0];
        *ret_device = (uint16_t) value[1];
        return true;
}

static bool is_same(const ConfigGpu *a, const ConfigGpu *b) {
        if (a->by_address != b->by_address)
                return false;

        return a->by_address ? carved_pci_address_compare(&a->address, &b->address) == 0
                             : a->vendor == b->vendor && a->device == b->device;
}

/* NULL: @text names no card. Good until the next one is added. */
static ConfigGpu *add_gpu(Config *config, const char *text) {
        ConfigGpu gpu = { .manage = -1 };

        gpu.by_address = carved_pci_address_parse(text, &gpu.address);
        if (!gpu.by_address && !parse_device(text, &gpu.vendor, &gpu.device))
                return NULL;

        for (unsigned i = 0; i < config->gpus->len; i++) {
                ConfigGpu *other = &g_array_index(config->gpus, ConfigGpu, i);

                if (is_same(other, &gpu))
                        return other;
        }
        g_array_append_val(config->gpus, gpu);
        return &g_array_index(config->gpus, ConfigGpu, config->gpus->len - 1);
}

static void begin_section(Reading *r, const CarvedIniItem *item) {
        g_autofree char *text = g_strdup_printf("[%s]", item->section), *quoted = carved_quote(text);

        r->keys = NULL;
        r->gpu = NULL;
        if (g_str_equal(item->section, "Manager"))
                r->keys = manager_keys;
        else if (g_str_has_prefix(item->section, "Gpu ")) {
                g_autofree char *card = g_strstrip(g_strdup(item->section + strlen("Gpu ")));

                r->gpu = add_gpu(r->config, card);
                r->keys = r->gpu ? gpu_keys : NULL;
                if (!r->gpu)
                        complain(r, item->line,
                                 "%s names neither a PCI address nor VENDOR:DEVICE, ignoring it", quoted);
        } else
                complain(r, item->line, "%s is no section that carved knows, ignoring it", quoted);
}

static void set_key(Reading *r, const CarvedIniItem *item) {
        g_autofree char *text = g_strdup_printf("%s=%s", item->key, item->value),
                        *quoted = carved_quote(text);
        g_autofree char *name = carved_quote(item->key);
        const Key *key = r->keys;

        while (key->name && !g_str_equal(key->name, item->key))
                key++;
        if (!key->name)
                complain(r, item->line, "%s is no key of [%s], ignoring", name, item->section);
        else if (!key->set)
                complain(r, item->line, "%s is not supported yet, ignoring", name);
        else if (!key->set(r->config, r->gpu, item->value))
                complain(r, item->line, "%s %s, ignoring", quoted, key->otherwise);
}

static void take_item(const CarvedIniItem *item, void *userdata) {
        Reading *r = userdata;

        if (!item->section) {
                g_autofree char *quoted = carved_quote(item->value);

                complain(r, item->line, "%s is outside of any section, ignoring", quoted);
        } else if (!item->key)
                begin_section(r, item);
        else if (r->keys)
                set_key(r, item);
}

/* ---- files ---- */

static bool load_file(Reading *r) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;
        unsigned line;
        size_t len;

        if (!carved_file_read(AT_FDCWD, r->path, CARVED_INI_MAX, &text, &len, &error)) {
                complain(r, 0, "Failed to read: %s", error->message);
                return false;
        }
        if (!carved_ini_parse(text, len, take_item, r, &line, &error)) {
                complain(r, line, "%s", error->message);
                return false;
        }
        return true;
}

bool config_load(const char *const *roots, ConfigWarn warn, void *userdata, Config *ret) {
        g_autoptr(GError) error = NULL;
        Config config;
        bool ok = true;

        config_init(&config);
        if (!config_files_find(roots, config.files, &error)) {
                warn(error->message, userdata);
                ok = false;
        }
        for (unsigned i = 0; i < config.files->len; i++) {
                Reading r = { &config, config.files->pdata[i], warn, userdata };

                ok = load_file(&r) && ok;
        }

        if (!ok) {
                config_clear(&config);
                return false;
        }
        *ret = config;
        return true;
}

/* ---- what it says ---- */

bool config_manages(const Config *config, const CarvedPciAddress *address, uint16_t vendor, uint16_t device) {
        const ConfigGpu by_address = { .by_address = true, .address = *address },
                        by_device = { .vendor = vendor, .device = device };
        bool manages = true;

        for (unsigned i = 0; i < config->gpus->len; i++) {
                const ConfigGpu *gpu = &g_array_index(config->gpus, ConfigGpu, i);

                if (gpu->manage < 0)
                        continue;
                if (is_same(gpu, &by_address))
                        return gpu->manage;
                if (is_same(gpu, &by_device))
                        manages = gpu->manage;
        }
        return manages;
}
