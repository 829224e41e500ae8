/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "host-file.h"
#include "json-text.h"

/* Host and board files. A person writes them, so every refusal names file, place and reason. */

#define FORMAT    1
#define FILE_MAX  (4U << 20)
#define DEPTH_MAX 16U

bool host_file_refuse(Place *at, const char *format, ...) {
        g_autofree char *reason = NULL;
        va_list args;

        va_start(args, format);
        reason = g_strdup_vprintf(format, args);
        va_end(args);

        g_set_error(at->error, SIM_ERROR, 0, "%s: %s%s%s", at->file, at->path->str,
                    at->path->len > 0 ? ": " : "", reason);
        return false;
}

static size_t enter(Place *at, const char *key) {
        size_t before = at->path->len;

        if (before > 0)
                g_string_append_c(at->path, '.');
        g_string_append(at->path, key);
        return before;
}

static size_t enter_index(Place *at, unsigned index) {
        size_t before = at->path->len;

        g_string_append_printf(at->path, "[%u]", index);
        return before;
}

bool host_file_object(Place *at, JsonNode *node, const Key *keys, void *target) {
        JsonObjectIter iter;
        const char *name;
        JsonNode *member;

        if (!JSON_NODE_HOLDS_OBJECT(node))
                return host_file_refuse(at, "must be an object");

        json_object_iter_init_ordered(&iter, json_node_get_object(node));
        while (json_object_iter_next_ordered(&iter, &name, &member)) {
                size_t before = enter(at, name);
                const Key *key = keys;

                while (key->name && !g_str_equal(key->name, name))
                        key++;
                if (!key->name)
                        return host_file_refuse(at, "no such key");
                if (key->read && !key->read(at, member, target, key->offset))
                        return false;
                g_string_truncate(at->path, before);
        }

        return true;
}

bool host_file_list(Place *at, JsonNode *node, bool (*each)(Place *at, JsonNode *element, void *target),
                    void *target) {
        JsonArray *list;

        if (!JSON_NODE_HOLDS_ARRAY(node))
                return host_file_refuse(at, "must be a list");

        list = json_node_get_array(node);
        for (unsigned i = 0; i < json_array_get_length(list); i++) {
                size_t before = enter_index(at, i);

                if (!each(at, json_array_get_element(list, i), target))
                        return false;
                g_string_truncate(at->path, before);
        }

        return true;
}

const char *host_file_text_of(Place *at, JsonNode *node) {
        if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING) {
                host_file_refuse(at, "must be a text in quotes");
                return NULL;
        }

        return json_node_get_string(node);
}

static bool read_line(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);
        char **field = G_STRUCT_MEMBER_P(target, offset);

        if (!text)
                return false;
        if (strchr(text, '\n') || *text == '\0')
                return host_file_refuse(at, "must be one line");

        g_free(*field);
        *field = g_strdup(text);
        return true;
}

/* A word that may become the name of a file. */
bool host_file_word(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);

        if (!text)
                return false;
        if (strpbrk(text, "\n/") || *text == '\0' || *text == '.')
                return host_file_refuse(at, "must be one line without a slash");
        return read_line(at, node, target, offset);
}

bool host_file_number(Place *at, JsonNode *node, int64_t min, int64_t max, int64_t *ret) {
        if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64 ||
            json_node_get_int(node) < min || json_node_get_int(node) > max)
                return host_file_refuse(at, "must be a number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                                        min, max);

        *ret = json_node_get_int(node);
        return true;
}

bool host_file_count(Place *at, JsonNode *node, void *target, size_t offset) {
        int64_t n = 0;

        if (!host_file_number(at, node, 0, 0xffffff, &n))
                return false;

        *(unsigned *) G_STRUCT_MEMBER_P(target, offset) = (unsigned) n;
        return true;
}

static bool read_numa(Place *at, JsonNode *node, void *target, size_t offset) {
        int64_t n = 0;

        if (!host_file_number(at, node, -1, 1023, &n))
                return false;

        *(int *) G_STRUCT_MEMBER_P(target, offset) = (int) n;
        return true;
}

bool host_file_bool(Place *at, JsonNode *node, void *target, size_t offset) {
        if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_BOOLEAN)
                return host_file_refuse(at, "must be true or false");

        *(bool *) G_STRUCT_MEMBER_P(target, offset) = json_node_get_boolean(node);
        return true;
}

/* "25b6": exactly @digits hexadecimal digits, as lspci prints them. */
static bool hex_of(Place *at, const char *text, size_t digits, uint32_t *ret) {
        if (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits)
                return host_file_refuse(at, "'%s' is not %zu lower-case hexadecimal digits", text, digits);

        *ret = (uint32_t) g_ascii_strtoull(text, NULL, 16);
        return true;
}

static bool read_id(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);
        uint32_t id = 0;

        if (!text || !hex_of(at, text, 4, &id))
                return false;

        *(uint16_t *) G_STRUCT_MEMBER_P(target, offset) = (uint16_t) id;
        return true;
}

static bool read_class(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);

        return text && hex_of(at, text, 6, G_STRUCT_MEMBER_P(target, offset));
}

static bool read_revision(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);
        uint32_t revision = 0;

        if (!text || !hex_of(at, text, 2, &revision))
                return false;

        *(uint8_t *) G_STRUCT_MEMBER_P(target, offset) = (uint8_t) revision;
        return true;
}

static bool read_address(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);

        if (!text)
                return false;
        if (!carved_pci_address_parse(text, G_STRUCT_MEMBER_P(target, offset)))
                return host_file_refuse(at, "'%s' is not a PCI address, such as 0000:08:00.0", text);
        return true;
}

static bool read_framework(Place *at, JsonNode *node, void *target, size_t offset) {
        static const char *const names[] = {
                [FRAMEWORK_NONE] = "none", [FRAMEWORK_MDEV] = "mdev", [FRAMEWORK_VENDOR_VFIO] = "vendor-vfio"
        };
        const char *text = host_file_text_of(at, node);

        for (size_t i = 0; text && i < G_N_ELEMENTS(names); i++)
                if (g_str_equal(text, names[i])) {
                        ((GpuSpec *) target)->framework = (Framework) i;
                        return true;
                }

        return text && host_file_refuse(at, "'%s' is not one of none, mdev, vendor-vfio", text);
}

static bool read_placements(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);

        if (!text)
                return false;
        if (!g_str_equal(text, "halving") && !g_str_equal(text, "even"))
                return host_file_refuse(at, "'%s' is not one of halving, even", text);

        ((GpuSpec *) target)->even_placements = g_str_equal(text, "even");
        return true;
}

static bool read_one_denied(Place *at, JsonNode *node, void *target) {
        int64_t n = 0;
        unsigned id;

        if (!host_file_number(at, node, 0, 0xffff, &n))
                return false;

        id = (unsigned) n;
        g_array_append_val(((GpuSpec *) target)->denied, id);
        return true;
}

static bool read_denied(Place *at, JsonNode *node, void *target, size_t offset) {
        g_array_set_size(((GpuSpec *) target)->denied, 0);
        return host_file_list(at, node, read_one_denied, target);
}

static bool read_sriov(Place *at, JsonNode *node, void *target, size_t offset) {
        static const Key keys[] = {
                { "total-vfs", host_file_count, G_STRUCT_OFFSET(GpuSpec, total_vfs) },
                { "offset", host_file_count, G_STRUCT_OFFSET(GpuSpec, vf_offset) },
                { "stride", host_file_count, G_STRUCT_OFFSET(GpuSpec, vf_stride) },
                { "vf-device", read_id, G_STRUCT_OFFSET(GpuSpec, vf_device) },
                {},
        };
        GpuSpec *gpu = target;

        if (!host_file_object(at, node, keys, gpu))
                return false;
        if (gpu->total_vfs == 0 || gpu->total_vfs > 255)
                return host_file_refuse(at, "total-vfs must be a number from 1 to 255");
        if (gpu->vf_offset == 0 || gpu->vf_offset > 255 || gpu->vf_stride == 0 || gpu->vf_stride > 255)
                return host_file_refuse(at, "offset and stride must be numbers from 1 to 255");
        return true;
}

/* Boards and GPUs of a host have the same keys; the GPU's stand over the board's. */
static bool read_board_name(Place *at, JsonNode *node, void *target, size_t offset);

static const Key gpu_keys[] = {
        { "format" }, /* of a board file; checked by its reader */
        { "note" },
        { "board", read_board_name },
        { "address", read_address, G_STRUCT_OFFSET(GpuSpec, address) },
        { "vendor", read_id, G_STRUCT_OFFSET(GpuSpec, vendor) },
        { "device", read_id, G_STRUCT_OFFSET(GpuSpec, device) },
        { "subsystem-vendor", read_id, G_STRUCT_OFFSET(GpuSpec, subsystem_vendor) },
        { "subsystem-device", read_id, G_STRUCT_OFFSET(GpuSpec, subsystem_device) },
        { "class", read_class, G_STRUCT_OFFSET(GpuSpec, class) },
        { "revision", read_revision, G_STRUCT_OFFSET(GpuSpec, revision) },
        { "driver", host_file_word, G_STRUCT_OFFSET(GpuSpec, home_driver) },
        { "bound-to", host_file_word, G_STRUCT_OFFSET(GpuSpec, driver) },
        { "numa-node", read_numa, G_STRUCT_OFFSET(GpuSpec, numa_node) },
        { "sriov", read_sriov },
        { "vfs-on", host_file_bool, G_STRUCT_OFFSET(GpuSpec, vfs_on) },
        { "driver-max-vfs", host_file_count, G_STRUCT_OFFSET(GpuSpec, driver_max_vfs) },
        { "enables-at-most", host_file_count, G_STRUCT_OFFSET(GpuSpec, enables_at_most) },
        { "framework", read_framework },
        { "types", host_file_types },
        { "product", host_file_word, G_STRUCT_OFFSET(GpuSpec, product) },
        { "serial", host_file_word, G_STRUCT_OFFSET(GpuSpec, serial) },
        { "uuid", host_file_word, G_STRUCT_OFFSET(GpuSpec, uuid) },
        { "memory-mib", host_file_count, G_STRUCT_OFFSET(GpuSpec, memory_mib) },
        { "mig", host_file_mig },
        { "mixed-size", host_file_bool, G_STRUCT_OFFSET(GpuSpec, mixed_size) },
        { "equal-placements", host_file_bool, G_STRUCT_OFFSET(GpuSpec, equal_placements) },
        { "placements", read_placements },
        { "placements-denied", read_denied },
        { "gpu-lost", host_file_bool, G_STRUCT_OFFSET(GpuSpec, gpu_lost) },
        { "strict-errnos", host_file_bool, G_STRUCT_OFFSET(GpuSpec, strict_errnos) },
        { "mdev-remove-refuses", host_file_bool, G_STRUCT_OFFSET(GpuSpec, remove_refuses) },
        { "no-vgpud", host_file_bool, G_STRUCT_OFFSET(GpuSpec, no_vgpud) },
        { "no-vgpu-driver", host_file_bool, G_STRUCT_OFFSET(GpuSpec, no_vgpu_driver) },
        {},
};

static JsonNode *parse_json(const char *file, const char *text, size_t len, GError **error) {
        g_autoptr(GError) e = NULL;
        JsonNode *root = carved_json_parse(text, len, DEPTH_MAX, &e);

        if (!root)
                g_set_error(error, SIM_ERROR, 0, "%s: %s", file, e->message);
        return root;
}

static bool check_format(Place *at, JsonNode *root) {
        JsonNode *format = json_object_get_member(json_node_get_object(root), "format");
        size_t before = enter(at, "format");
        int64_t n = 0;

        if (!format)
                return host_file_refuse(at, "missing; it is %d", FORMAT);
        if (!host_file_number(at, format, FORMAT, FORMAT, &n))
                return false;

        g_string_truncate(at->path, before);
        return true;
}

/* Reads @file whole. Regular files of a sensible size only: a host file may come from anywhere. */
static bool read_file(const char *file, char **ret_text, size_t *ret_len, GError **error) {
        g_autoptr(GError) e = NULL;
        g_autofree char *text = NULL;
        size_t len;

        if (!g_file_test(file, G_FILE_TEST_IS_REGULAR)) {
                g_set_error(error, SIM_ERROR, 0, "%s: no such file", file);
                return false;
        }
        if (!g_file_get_contents(file, &text, &len, &e)) {
                g_set_error(error, SIM_ERROR, 0, "%s: %s", file, e->message);
                return false;
        }
        if (len > FILE_MAX) {
                g_set_error(error, SIM_ERROR, 0, "%s: larger than %u bytes", file, FILE_MAX);
                return false;
        }

        *ret_text = g_steal_pointer(&text);
        *ret_len = len;
        return true;
}

static bool read_board_into(GpuSpec *gpu, const char *data_dir, const char *name, GError **error) {
        g_autofree char *file = g_strdup_printf("%s/boards/%s.json", data_dir, name), *text = NULL;
        g_autoptr(GString) path = g_string_new(NULL);
        g_autoptr(JsonNode) root = NULL;
        Place at = { file, NULL, path, error };
        size_t len;

        if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != strlen(name)) {
                g_set_error(error, SIM_ERROR, 0, "'%s' is not the name of a board", name);
                return false;
        }
        if (!g_file_test(file, G_FILE_TEST_EXISTS)) {
                g_set_error(error, SIM_ERROR, 0, "there is no board '%s'", name);
                return false;
        }
        if (!read_file(file, &text, &len, error))
                return false;
        root = parse_json(file, text, len, error);
        if (!root || !check_format(&at, root) || !host_file_object(&at, root, gpu_keys, gpu))
                return false;

        g_free(gpu->board);
        gpu->board = g_strdup(name);
        return true;
}

static bool read_board_name(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *name = host_file_text_of(at, node);
        g_autoptr(GError) e = NULL;

        if (((GpuSpec *) target)->board)
                return true; /* read before all other keys */
        if (!name)
                return false;
        if (!at->data_dir)
                return host_file_refuse(at, "a board can't be made of another one");
        if (!read_board_into(target, at->data_dir, name, &e)) {
                g_assert(e);
                return host_file_refuse(at, "%s", e->message);
        }
        return true;
}

/* What can only be told when all keys are there. */
static bool check_gpu(Place *at, GpuSpec *gpu) {
        if (gpu->vendor == 0 || gpu->device == 0)
                return host_file_refuse(at, "needs a board, or vendor and device");
        if (gpu->vfs_on && gpu->total_vfs == 0)
                return host_file_refuse(at, "vfs-on needs sriov");
        if (gpu->framework == FRAMEWORK_VENDOR_VFIO && gpu->total_vfs == 0)
                return host_file_refuse(at, "vendor-vfio needs sriov: only VFs have it");
        if (gpu->framework != FRAMEWORK_NONE && gpu->types->len == 0)
                return host_file_refuse(at, "a framework needs types");

        if (gpu->driver && !gpu->home_driver)
                return host_file_refuse(at, "bound-to needs driver: the one that knows the card");

        if (!gpu->vf_device)
                gpu->vf_device = gpu->device;
        if (!gpu->driver)
                gpu->driver = g_strdup(gpu->home_driver);
        if (g_strcmp0(gpu->driver, "none") == 0)
                g_clear_pointer(&gpu->driver, g_free);
        return true;
}

static bool read_gpu(Place *at, JsonNode *node, void *target) {
        g_autoptr(GpuSpec) gpu = gpu_spec_new();
        g_autoptr(GError) e = NULL;
        HostSpec *host = target;
        JsonNode *board;

        if (!JSON_NODE_HOLDS_OBJECT(node))
                return host_file_refuse(at, "must be an object");
        if (!json_object_has_member(json_node_get_object(node), "address"))
                return host_file_refuse(at, "needs an address");

        /* The board first, wherever it stands, so that all other keys override it. */
        board = json_object_get_member(json_node_get_object(node), "board");
        if (board) {
                size_t before = enter(at, "board");

                if (!read_board_name(at, board, gpu, 0))
                        return false;
                g_string_truncate(at->path, before);
        }

        if (!host_file_object(at, node, gpu_keys, gpu) || !check_gpu(at, gpu))
                return false;
        if (!host_spec_may_add(host, gpu, &e))
                return host_file_refuse(at, "%s", e->message);

        host_spec_add(host, gpu);
        return true;
}

static bool read_gpus(Place *at, JsonNode *node, void *target, size_t offset) {
        return host_file_list(at, node, read_gpu, target);
}

static bool read_nvml(Place *at, JsonNode *node, void *target, size_t offset) {
        static const char *const names[] = { [NVML_PRESENT] = "present",
                                             [NVML_NOT_LOADED] = "not-loaded",
                                             [NVML_MISMATCH] = "mismatch",
                                             [NVML_ABSENT] = "absent" };
        const char *text = host_file_text_of(at, node);

        for (size_t i = 0; text && i < G_N_ELEMENTS(names); i++)
                if (g_str_equal(text, names[i])) {
                        ((HostSpec *) target)->nvml = (NvmlState) i;
                        return true;
                }

        return text && host_file_refuse(at, "'%s' is not one of present, not-loaded, mismatch, absent", text);
}

static bool read_lack(Place *at, JsonNode *node, void *target) {
        const char *name = host_file_text_of(at, node);

        if (!name)
                return false;
        if (!g_str_has_prefix(name, "nvml"))
                return host_file_refuse(at, "'%s' is no function of NVML", name);

        g_ptr_array_add(((HostSpec *) target)->nvml_lacks, g_strdup(name));
        return true;
}

static bool read_nvml_lacks(Place *at, JsonNode *node, void *target, size_t offset) {
        return host_file_list(at, node, read_lack, target);
}

HostSpec *host_spec_parse(const char *data_dir, const char *file, const char *text, size_t len,
                          GError **error) {
        static const Key keys[] = {
                { "format" },
                { "description", read_line, G_STRUCT_OFFSET(HostSpec, description) },
                { "iommu", host_file_bool, G_STRUCT_OFFSET(HostSpec, iommu) },
                { "vfio-cdev", host_file_bool, G_STRUCT_OFFSET(HostSpec, vfio_cdev) },
                { "mtty", host_file_bool, G_STRUCT_OFFSET(HostSpec, mtty) },
                { "driver-version", host_file_word, G_STRUCT_OFFSET(HostSpec, driver_version) },
                { "nvml", read_nvml },
                { "nvml-lacks", read_nvml_lacks },
                { "gpus", read_gpus, 0 },
                {},
        };
        g_autoptr(GString) path = g_string_new(NULL);
        g_autoptr(HostSpec) host = host_spec_new(file);
        g_autoptr(JsonNode) root = NULL;
        Place at = { file, data_dir, path, error };

        root = parse_json(file, text, len, error);
        if (!root || !check_format(&at, root) || !host_file_object(&at, root, keys, host))
                return NULL;

        return g_steal_pointer(&host);
}

HostSpec *host_spec_load(const char *data_dir, const char *name, GError **error) {
        g_autofree char *file = NULL, *text = NULL;
        size_t len;

        if (g_str_has_prefix(name, "scale:"))
                return host_spec_scale(name, error);

        if (strchr(name, '/') || g_str_has_suffix(name, ".json"))
                file = g_strdup(name);
        else
                file = g_strdup_printf("%s/hosts/%s.json", data_dir, name);

        if (!strchr(name, '/') && !g_file_test(file, G_FILE_TEST_EXISTS)) {
                g_set_error(error, SIM_ERROR, 0, "There is no host '%s'; --list-hosts names those shipped",
                            name);
                return NULL;
        }
        if (!read_file(file, &text, &len, error))
                return NULL;
        return host_spec_parse(data_dir, file, text, len, error);
}

GpuSpec *board_load(const char *data_dir, const char *name, GError **error) {
        g_autoptr(GpuSpec) gpu = gpu_spec_new();
        g_autoptr(GString) path = g_string_new(name);
        Place at = { "board", data_dir, path, error };

        if (!read_board_into(gpu, data_dir, name, error) || !check_gpu(&at, gpu))
                return NULL;

        return g_steal_pointer(&gpu);
}
