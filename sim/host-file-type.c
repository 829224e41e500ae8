/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "host-file.h"

/* The vGPU types of a card, as its file has them. */

static bool read_resolution(Place *at, JsonNode *node, void *target, size_t offset) {
        const char *text = host_file_text_of(at, node);
        TypeSpec *type = target;
        int end = 0;

        if (!text)
                return false;
        /* sscanf() would take signs and blanks. */
        if (strspn(text, "0123456789x") != strlen(text) ||
            sscanf(text, "%5ux%5u%n", &type->width, &type->height, &end) != 2 || text[end] != '\0')
                return host_file_refuse(at, "'%s' is not a resolution, such as 5120x2880", text);
        return true;
}

static bool read_gi_profile(Place *at, JsonNode *node, void *target, size_t offset) {
        TypeSpec *type = target;

        type->mig_backed = true;
        return host_file_count(at, node, target, G_STRUCT_OFFSET(TypeSpec, gi_profile));
}

static bool read_type(Place *at, JsonNode *node, void *target) {
        static const Key keys[] = {
                { "id", host_file_count, G_STRUCT_OFFSET(TypeSpec, id) },
                { "name", host_file_word, G_STRUCT_OFFSET(TypeSpec, name) },
                { "class", host_file_word, G_STRUCT_OFFSET(TypeSpec, class) },
                { "heads", host_file_count, G_STRUCT_OFFSET(TypeSpec, heads) },
                { "frl", host_file_count, G_STRUCT_OFFSET(TypeSpec, frame_rate_limit) },
                { "fb-mib", host_file_count, G_STRUCT_OFFSET(TypeSpec, framebuffer_mib) },
                { "resolution", read_resolution, 0 },
                { "max", host_file_count, G_STRUCT_OFFSET(TypeSpec, max) },
                { "gi-profile", read_gi_profile },
                { "max-per-gi", host_file_count, G_STRUCT_OFFSET(TypeSpec, max_per_gi) },
                {},
        };
        GpuSpec *gpu = target;
        g_autoptr(TypeSpec) type = g_new0(TypeSpec, 1);

        if (!host_file_object(at, node, keys, type))
                return false;
        if (type->id == 0 || !type->name || type->framebuffer_mib == 0 || type->max == 0)
                return host_file_refuse(at, "a type needs id, name, fb-mib and max");
        if (type->mig_backed && type->max_per_gi == 0)
                type->max_per_gi = 1;
        for (unsigned i = 0; i < gpu->types->len; i++)
                if (((TypeSpec *) gpu->types->pdata[i])->id == type->id)
                        return host_file_refuse(at, "id %u is there twice", type->id);

        g_ptr_array_add(gpu->types, g_steal_pointer(&type));
        return true;
}

bool host_file_types(Place *at, JsonNode *node, void *target, size_t offset) {
        g_ptr_array_set_size(((GpuSpec *) target)->types, 0);
        return host_file_list(at, node, read_type, target);
}
