/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "look.h"
#include "sysfs.h"

/* "Three of type number 7": types are numbered as they are found, and sorted when all are. */
typedef struct Offer {
        uint32_t type;
        uint16_t count;
} Offer;

typedef struct Offers {
        uint16_t **target;
        GArray *list; /* Offer */
} Offers;

static void offers_free(void *p) {
        Offers *offers = p;

        g_array_unref(offers->list);
        g_free(offers);
}

void carved_look_init(CarvedLook *look, const CarvedHost *host, CarvedGpu *gpu) {
        *look = (CarvedLook){ .host = host, .gpu = gpu };
        look->type_numbers = g_hash_table_new(g_str_hash, g_str_equal);
        look->offers = g_ptr_array_new_with_free_func(offers_free);
}

void carved_look_clear(CarvedLook *look) {
        g_clear_pointer(&look->type_numbers, g_hash_table_unref);
        g_clear_pointer(&look->offers, g_ptr_array_unref);
}

void carved_look_note(char **target, GError *error) {
        if (error && !carved_sysfs_is_absent(error) && !*target)
                *target = g_strdup(error->message);
        g_clear_error(&error);
}

int32_t carved_look_group(int dir_fd, const char *below) {
        g_autofree char *name = carved_sysfs_read_link(dir_fd, below, CARVED_LINK_IOMMU_GROUP);
        int64_t group;

        return name && carved_sysfs_parse_number(name, 0, INT32_MAX, &group) ? (int32_t) group : -1;
}

uint32_t carved_look_type(CarvedLook *look, const char *id, CarvedType **ret_fresh) {
        void *known = g_hash_table_lookup(look->type_numbers, id);

        if (!known) {
                CarvedType *type = carved_type_new(id);

                g_ptr_array_add(look->gpu->types, type);
                known = GUINT_TO_POINTER(look->gpu->types->len);
                g_hash_table_insert(look->type_numbers, type->id, known);
                *ret_fresh = type;
        } else
                *ret_fresh = NULL;

        return GPOINTER_TO_UINT(known) - 1;
}

void carved_look_name_type(CarvedLook *look, CarvedType *type, const char *name) {
        if (!name || !*name || type->name)
                return;

        type->name = g_strdup(name);
        if (look->vendor->resource_domain)
                type->resource = carved_resource_name(look->vendor->resource_domain, name);
}

GArray *carved_look_offers(CarvedLook *look, uint16_t **target) {
        Offers *offers = g_new0(Offers, 1);

        offers->target = target;
        offers->list = g_array_new(FALSE, FALSE, sizeof(Offer));
        g_ptr_array_add(look->offers, offers);
        return offers->list;
}

void carved_look_offer(GArray *offers, uint32_t type, uint16_t count) {
        Offer offer = { type, count };

        g_array_append_val(offers, offer);
}

static int compare_types(const void *a, const void *b) {
        const CarvedType *x = *(CarvedType *const *) a, *y = *(CarvedType *const *) b;

        return carved_type_id_compare(x->id, y->id);
}

void carved_look_settle(CarvedLook *look) {
        g_autoptr(GPtrArray) found = g_ptr_array_copy(look->gpu->types, NULL, NULL);
        g_autofree unsigned *place = g_new0(unsigned, found->len + 1);

        g_ptr_array_set_free_func(found, NULL);
        g_ptr_array_sort(look->gpu->types, compare_types);
        for (unsigned i = 0; i < found->len; i++)
                place[i] = (unsigned) carved_gpu_find_type(look->gpu, ((CarvedType *) found->pdata[i])->id);

        for (unsigned i = 0; i < look->offers->len; i++) {
                Offers *offers = look->offers->pdata[i];

                *offers->target = g_new0(uint16_t, found->len + 1);
                for (unsigned j = 0; j < offers->list->len; j++) {
                        Offer *offer = &g_array_index(offers->list, Offer, j);

                        (*offers->target)[place[offer->type]] = offer->count;
                }
        }
}

/* An id that the driver gives where it has one: nothing, "Not Applicable", or a number. */
static int32_t read_id(int dir_fd, const char *below, CarvedAttribute attribute, char **ret_error) {
        g_autofree char *text = NULL;
        GError *error = NULL;
        int64_t value;

        text = carved_sysfs_read(dir_fd, below, attribute, &error);
        carved_look_note(ret_error, error);
        if (!text || !*text || g_str_equal(text, "Not Applicable"))
                return -1;
        if (carved_sysfs_parse_number(text, -1, INT32_MAX, &value))
                return (int32_t) value;

        if (!*ret_error)
                *ret_error = g_strdup_printf("'%s' is not a number", carved_attribute_name(attribute));
        return -1;
}

void carved_look_vgpu(CarvedVgpu *vgpu, int dir_fd, const char *below) {
        GError *error = NULL;

        vgpu->params = carved_sysfs_read(dir_fd, below, CARVED_ATTR_VGPU_PARAMS, &error);
        carved_look_note(&vgpu->error, error);
        vgpu->gpu_instance = read_id(dir_fd, below, CARVED_ATTR_GPU_INSTANCE_ID, &vgpu->error);
        vgpu->placement_id = read_id(dir_fd, below, CARVED_ATTR_PLACEMENT_ID, &vgpu->error);
}
