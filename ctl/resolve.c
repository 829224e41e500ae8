/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "fail.h"
#include "ident.h"
#include "resolve.h"

static Wanted wanted_of(const Thing *thing) {
        switch (thing->kind) {
        case KIND_GPU:
                return WANT_GPU;
        case KIND_VF:
                return WANT_VF;
        case KIND_VGPU:
                return WANT_VGPU;
        case KIND_JOB:
                return WANT_JOB;
        case KIND_INSTANCE:
                return WANT_INSTANCE;
        default:
                return 0;
        }
}

static const char *describe(Wanted wanted) {
        if (wanted == WANT_GPU)
                return "GPU";
        if (wanted == WANT_VGPU)
                return "vGPU";
        if (wanted == WANT_JOB)
                return "job";
        if (wanted == (WANT_GPU | WANT_VF))
                return "GPU or VF";
        if (wanted == (WANT_GPU | WANT_VGPU))
                return "GPU or vGPU";

        return "object";
}

/* The vGPU on a VF, for verbs that are about vGPUs. */
static Thing *vgpu_on(const Host *host, const Thing *vf) {
        return host_find(host, thing_text(vf, VF, "Vgpu"));
}

static bool find_address(const Host *host, const char *text, Wanted wanted, GPtrArray *found) {
        CarvedPciAddress address;
        char name[CARVED_PCI_ADDRESS_MAX];

        if (!carved_pci_address_parse(text, &address) &&
            (!strchr(text, '_') || !carved_pci_address_parse_slug(text, &address)))
                return false;

        carved_pci_address_format(&address, name);
        for (unsigned i = 0; i < host->things->len; i++) {
                Thing *thing = host->things->pdata[i];

                if ((thing->kind != KIND_GPU && thing->kind != KIND_VF) ||
                    !g_str_equal(thing_name(thing), name))
                        continue;
                if (wanted_of(thing) & wanted)
                        g_ptr_array_add(found, thing);
                else if (thing->kind == KIND_VF && wanted & WANT_VGPU && vgpu_on(host, thing))
                        g_ptr_array_add(found, vgpu_on(host, thing));
        }
        return true;
}

static bool is_uuid_prefix(const char *text) {
        size_t n = strspn(text, "0123456789abcdefABCDEF-");

        return n >= 2 && n <= CARVED_UUID_LEN && text[n] == '\0';
}

/* A card's model has the names that people know in brackets: "GA107GL [A2 / A16]". A part is a whole word. */
static bool is_word_of(const char *model, const char *text) {
        g_auto(GStrv) words = g_strsplit_set(model, " []/()", -1);

        for (char **word = words; *word; word++)
                if (g_ascii_strcasecmp(*word, text) == 0)
                        return true;

        return false;
}

static bool is_called(const Thing *thing, const char *text) {
        GVariant *labels;

        if (g_str_equal(thing->path, text) || g_str_equal(thing_name(thing), text))
                return true;
        if (thing->kind == KIND_JOB)
                return g_str_equal(thing->path + strlen(CARVED_BUS_ROOT "/job/"), text);
        if (thing->kind == KIND_GPU)
                return is_word_of(thing_text(thing, GPU, "Model"), text) ||
                       g_strcmp0(dict_text(thing_value(thing, GPU, "Labels"), "name"), text) == 0;
        if (thing->kind != KIND_VGPU)
                return false;

        labels = thing_value(thing, VGPU, "Labels");
        return g_str_equal(thing_text(thing, VGPU, "LibvirtName"), text) ||
               g_str_equal(dict_text(labels, "name"), text) ||
               (is_uuid_prefix(text) &&
                g_ascii_strncasecmp(thing_text(thing, VGPU, "Uuid"), text, strlen(text)) == 0);
}

static void find_called(const Host *host, const char *text, Wanted wanted, GPtrArray *found) {
        /* A number alone is a job where only jobs are meant; elsewhere it may be the beginning of a UUID. */
        for (unsigned i = 0; i < host->things->len; i++) {
                Thing *thing = host->things->pdata[i];

                if (thing->kind == KIND_JOB && wanted != WANT_JOB && !strchr(text, '/'))
                        continue;
                if (wanted_of(thing) & wanted && is_called(thing, text))
                        g_ptr_array_add(found, thing);
        }
}

static void refuse_several(GError **error, const char *text, Wanted wanted, GPtrArray *found) {
        g_autoptr(GString) names = g_string_new(NULL);

        for (unsigned i = 0; i < found->len && i < 5; i++)
                g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", thing_name(found->pdata[i]));
        if (found->len > 5)
                g_string_append_printf(names, " and %u more", found->len - 5);
        g_set_error(error, CTL_ERROR, CTL_USAGE, "'%s' may be any of %u: %s\nGive more of it.", text,
                    found->len, names->str);
}

Thing *resolve(const Host *host, const char *text, Wanted wanted, GError **error) {
        g_autoptr(GPtrArray) found = g_ptr_array_new();
        bool is_address = find_address(host, text, wanted, found);

        if (!is_address)
                find_called(host, text, wanted, found);
        if (found->len == 1)
                return found->pdata[0];

        if (found->len > 1)
                refuse_several(error, text, wanted, found);
        else if (is_address && wanted == WANT_VGPU)
                g_set_error(error, CTL_ERROR, CTL_NOT_FOUND,
                            "There is no vGPU at '%s'\n'carvectl list vgpus' shows those there are.", text);
        else
                g_set_error(error, CTL_ERROR, CTL_NOT_FOUND, "There is no %s '%s'", describe(wanted), text);
        return NULL;
}

bool type_matches(const char *id, const char *name, const char *text) {
        const char *space = strchr(name, ' '), *dash = strrchr(id, '-');

        return g_ascii_strcasecmp(id, text) == 0 || g_ascii_strcasecmp(name, text) == 0 ||
               (space && g_ascii_strcasecmp(space + 1, text) == 0) ||
               (dash && *text && strspn(text, "0123456789") == strlen(text) && g_str_equal(dash + 1, text));
}

const char *resolve_type(const Thing *gpu, const char *text) {
        GVariant *types = thing_value(gpu, GPU, "Types");
        GVariant *facts;
        const char *id;
        GVariantIter iter;

        if (!types)
                return NULL;
        g_variant_iter_init(&iter, types);
        while (g_variant_iter_next(&iter, "{&s@a{sv}}", &id, &facts)) {
                bool is_it = type_matches(id, dict_text(facts, "Name"), text);

                g_variant_unref(facts);
                if (is_it)
                        return id;
        }
        return NULL;
}
