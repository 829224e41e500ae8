/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "fail.h"
#include "placement.h"
#include "resolve.h"
#include "room.h"
#include "types.h"

typedef struct Candidate {
        const Thing *gpu;
        const char *type; /* its id there */
        int64_t room;
} Candidate;

static void placement_clear(void *p) {
        g_free(((Placement *) p)->uuid);
}

/* Most room first; of two with the same, the first by address. */
static int compare_room(const void *a, const void *b) {
        const Candidate *x = a, *y = b;

        return (y->room > x->room) - (y->room < x->room);
}

static GArray *find_candidates(const Host *host, const char *type) {
        g_autoptr(GPtrArray) gpus = host_list(host, KIND_GPU, NULL);
        GArray *candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));

        for (unsigned i = 0; i < gpus->len; i++) {
                Candidate c = { gpus->pdata[i], resolve_type(gpus->pdata[i], type), 0 };

                if (!c.type)
                        continue;
                c.room = room_for(c.gpu, c.type);
                g_array_append_val(candidates, c);
        }
        g_array_sort(candidates, compare_room); /* stable: GLib's merge sort */
        return candidates;
}

static Thing *find_uuid(const Host *host, const char *uuid) {
        for (unsigned i = 0; i < host->things->len; i++) {
                Thing *thing = host->things->pdata[i];

                if (thing->kind == KIND_VGPU && g_ascii_strcasecmp(thing_name(thing), uuid) == 0)
                        return thing;
        }
        return NULL;
}

/* As many as are wanted; those with the UUIDs given, and new ones. */
static GArray *new_placements(const Ctl *ctl, const Host *host) {
        unsigned n = ctl->number_given ? ctl->number : MAX(ctl->uuids->len, 1);
        GArray *list = g_array_sized_new(FALSE, TRUE, sizeof(Placement), n);

        g_array_set_clear_func(list, placement_clear);
        for (unsigned i = 0; i < n; i++) {
                Placement p = { .uuid = i < ctl->uuids->len ? g_strdup(ctl->uuids->pdata[i])
                                                            : g_uuid_string_random() };
                const Thing *vgpu = find_uuid(host, p.uuid);

                p.exists = vgpu;
                p.gpu = p.parent = vgpu ? host_gpu_of(host, vgpu) : NULL;
                g_array_append_val(list, p);
        }
        return list;
}

/* Nothing of it can be had anywhere: each card's own reason, and what helps first. */
static void explain_none(Ctl *ctl, GArray *candidates, const char *type, GError **error) {
        g_autoptr(GVariant) rows = types_load(ctl, NULL);
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *advice = NULL;

        for (unsigned i = 0; rows && i < candidates->len; i++) {
                const Candidate *c = &g_array_index(candidates, Candidate, i);
                g_autoptr(GVariant) row = types_find(rows, c->gpu, c->type);

                if (!row || !*dict_text(row, "Reason"))
                        continue;
                g_string_append_printf(text, "; %s: %s", thing_name(c->gpu), dict_text(row, "Reason"));
                if (!advice && g_str_equal(dict_text(row, "ReasonCode"), "vfs-off"))
                        advice = g_strdup_printf("Switch VFs on: carvectl enable %s", thing_name(c->gpu));
        }
        if (!advice)
                advice = g_strdup_printf("See what helps: carvectl explain %s %s",
                                         thing_name(g_array_index(candidates, Candidate, 0).gpu), type);
        g_set_error(error, CTL_ERROR, CTL_NO_ROOM, "%s can't be had on any GPU now%s\n%s", type, text->str,
                    advice);
}

/* Card after card, until all have a place. */
static bool spread(Ctl *ctl, GArray *candidates, const char *type, GArray *list, GError **error) {
        int64_t total = 0;
        unsigned wanted = 0, at = 0;

        for (unsigned i = 0; i < candidates->len; i++)
                total += MAX(g_array_index(candidates, Candidate, i).room, 0);
        for (unsigned i = 0; i < list->len; i++)
                wanted += !g_array_index(list, Placement, i).gpu;
        if (wanted > 0 && total == 0) {
                explain_none(ctl, candidates, type, error);
                return false;
        }
        if (wanted > total) {
                g_set_error(error, CTL_ERROR, CTL_NO_ROOM,
                            "Only %u more of %s can be had on this host, not %u", (unsigned) total, type,
                            wanted);
                return false;
        }

        for (unsigned i = 0; i < list->len; i++) {
                Placement *p = &g_array_index(list, Placement, i);

                if (p->gpu)
                        continue;
                while (g_array_index(candidates, Candidate, at).room <= 0)
                        at++;
                p->gpu = p->parent = g_array_index(candidates, Candidate, at).gpu;
                g_array_index(candidates, Candidate, at).room--;
        }
        return true;
}

static bool place_on(Ctl *ctl, const Host *host, const char *type, GArray *list, GError **error) {
        const Thing *parent = resolve(host, ctl->on, WANT_GPU | WANT_VF, error), *gpu;
        int64_t room;

        if (!parent)
                return false;
        gpu = host_gpu_of(host, parent);
        if (!gpu || (parent->kind == KIND_VF && list->len > 1)) {
                g_set_error(error, CTL_ERROR, CTL_USAGE, "A VF takes one vGPU, not %u\nGive its GPU: --on=%s",
                            list->len, gpu ? thing_name(gpu) : "GPU");
                return false;
        }
        /* That none can be had, and why, carved says better. */
        room = resolve_type(gpu, type) ? room_for(gpu, resolve_type(gpu, type)) : -1;
        if (room > 0 && room < (int64_t) list->len) {
                g_set_error(error, CTL_ERROR, CTL_NO_ROOM, "Only %u more of %s can be had on GPU %s, not %u",
                            (unsigned) room, type, thing_name(gpu), list->len);
                return false;
        }
        for (unsigned i = 0; i < list->len; i++) {
                g_array_index(list, Placement, i).gpu = gpu;
                g_array_index(list, Placement, i).parent = parent;
        }
        return true;
}

/* Each call takes the lowest free VF. Of a dry run nothing comes to be, so the VFs are named here. */
static void name_vfs(const Host *host, const char *type, GArray *list) {
        g_autoptr(GHashTable) taken = g_hash_table_new(NULL, NULL);

        for (unsigned i = 0; i < list->len; i++) {
                Placement *p = &g_array_index(list, Placement, i);
                g_autoptr(GPtrArray) vfs = host_list(host, KIND_VF, p->gpu);
                const char *id = resolve_type(p->gpu, type);

                for (unsigned k = 0; k < vfs->len && p->parent == p->gpu && id && !p->exists; k++)
                        if (*dict_text(thing_value(vfs->pdata[k], VGPU_HOST, "CreatableTypes"), id) &&
                            g_hash_table_add(taken, vfs->pdata[k]))
                                p->parent = vfs->pdata[k];
        }
}

GArray *placement_choose(Ctl *ctl, const Host *host, const char *type, GError **error) {
        g_autoptr(GArray) candidates = find_candidates(host, type), list = NULL;

        if (ctl->number_given && ctl->uuids->len > ctl->number) {
                g_set_error(error, CTL_ERROR, CTL_USAGE, "%u UUIDs are too many for %u vGPUs",
                            ctl->uuids->len, ctl->number);
                return NULL;
        }
        list = new_placements(ctl, host);
        if (ctl->on) {
                if (!place_on(ctl, host, type, list, error))
                        return NULL;
        } else if (candidates->len == 0) {
                g_set_error(error, CTL_ERROR, CTL_NOT_FOUND,
                            "No GPU here has a vGPU type '%s'\n'carvectl types' shows those there are.",
                            type);
                return NULL;
        } else if (!spread(ctl, candidates, type, list, error))
                return NULL;

        if (ctl->dry_run)
                name_vfs(host, type, list);
        return g_steal_pointer(&list);
}
