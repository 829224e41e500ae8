/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "sysfs.h"

const ObjectInterface *const object_interfaces[] = {
        &gpu_interface,        &sriov_interface,        &mig_interface,
        &mixed_size_interface, &gpu_instance_interface, &vf_interface,
        &vgpu_host_interface,  &vgpu_interface,         NULL,
};

const char *object_path_gpu(const CarvedPciAddress *gpu, char buf[static OBJECT_PATH_MAX]) {
        char address[CARVED_PCI_ADDRESS_MAX];

        g_snprintf(buf, OBJECT_PATH_MAX, CARVED_BUS_GPUS "/%s", carved_pci_address_slug(gpu, address));
        return buf;
}

const char *object_path_vf(const CarvedPciAddress *gpu, uint32_t index, char buf[static OBJECT_PATH_MAX]) {
        size_t len;

        object_path_gpu(gpu, buf);
        len = strlen(buf);
        g_snprintf(buf + len, OBJECT_PATH_MAX - len, "/vf/%u", index);
        return buf;
}

const char *object_path(const CarvedObject *object, char buf[static OBJECT_PATH_MAX]) {
        size_t len;

        if (object->vf_index >= 0)
                object_path_vf(&object->gpu, (uint32_t) object->vf_index, buf);
        else
                object_path_gpu(&object->gpu, buf);
        len = strlen(buf);
        if (object->kind == CARVED_OBJECT_GPU_INSTANCE)
                g_snprintf(buf + len, OBJECT_PATH_MAX - len, "/mig/%u", object->instance);
        if (object->kind != CARVED_OBJECT_VGPU)
                return buf;

        g_snprintf(buf + len, OBJECT_PATH_MAX - len, "/vgpu/%s", object->uuid);
        g_strdelimit(buf + len, "-", '_');
        return buf;
}

const char *object_path_of_vgpu(const CarvedVgpu *vgpu, char buf[static OBJECT_PATH_MAX]) {
        CarvedObject object = { .kind = CARVED_OBJECT_VGPU,
                                .gpu = vgpu->gpu->address,
                                .vf_index = carved_vgpu_place(vgpu) };

        memcpy(object.uuid, vgpu->uuid, sizeof object.uuid);
        return object_path(&object, buf);
}

/* One component: copies it to @buf and moves @p behind it. False: none, or too long. */
static bool next_component(const char **p, char *buf, size_t size) {
        size_t len;

        if (**p != '/')
                return false;

        (*p)++;
        len = strcspn(*p, "/");
        if (len == 0 || len >= size)
                return false;

        memcpy(buf, *p, len);
        buf[len] = '\0';
        *p += len;
        return true;
}

static bool parse_below(const char *p, CarvedObject *object) {
        char word[CARVED_UUID_LEN + 1];
        int64_t index;

        if (!next_component(&p, word, sizeof word))
                return false;

        if (g_str_equal(word, "vf") && object->kind == CARVED_OBJECT_GPU) {
                if (!next_component(&p, word, sizeof word) ||
                    !carved_sysfs_parse_number(word, 0, INT32_MAX, &index))
                        return false;
                object->kind = CARVED_OBJECT_VF;
                object->vf_index = (int32_t) index;
                return *p == '\0' || parse_below(p, object);
        }

        if (g_str_equal(word, "mig") && object->kind == CARVED_OBJECT_GPU) {
                object->kind = CARVED_OBJECT_GPU_INSTANCE;
                if (!next_component(&p, word, sizeof word) || *p != '\0' ||
                    !carved_sysfs_parse_number(word, 0, UINT32_MAX, &index))
                        return false;
                object->instance = (uint32_t) index;
                return true;
        }

        if (!g_str_equal(word, "vgpu") || !next_component(&p, word, sizeof word) || *p != '\0')
                return false;

        g_strdelimit(word, "_", '-');
        object->kind = CARVED_OBJECT_VGPU;
        memcpy(object->uuid, word, sizeof word);
        return carved_uuid_is_valid(word);
}

bool object_parse_path(const char *path, CarvedObject *ret) {
        CarvedObject object = { .kind = CARVED_OBJECT_GPU, .vf_index = -1 };
        char slug[32], again[OBJECT_PATH_MAX];
        const char *p = path;

        if (!g_str_has_prefix(p, CARVED_BUS_GPUS "/"))
                return false;

        p += strlen(CARVED_BUS_GPUS);
        if (!next_component(&p, slug, sizeof slug) || !carved_pci_address_parse_slug(slug, &object.gpu))
                return false;
        if (*p != '\0' && !parse_below(p, &object))
                return false;
        if (strcmp(object_path(&object, again), path) != 0)
                return false;

        *ret = object;
        return true;
}

unsigned object_find(Manager *m, const CarvedObject *object, Target *ret) {
        Target t = { .manager = m };

        t.gpu = carved_model_find_gpu(m->model, &object->gpu);
        if (!t.gpu)
                return 0;

        if (object->vf_index >= 0) {
                t.vf = carved_gpu_find_vf(t.gpu, (uint32_t) object->vf_index);
                if (!t.vf)
                        return 0;
        }
        if (object->kind == CARVED_OBJECT_VGPU) {
                t.vgpu = carved_gpu_find_vgpu(t.gpu, object->uuid);
                if (!t.vgpu || carved_vgpu_place(t.vgpu) != object->vf_index)
                        return 0;
        }

        if (object->kind == CARVED_OBJECT_GPU_INSTANCE) {
                t.instance = t.gpu->mig ? carved_mig_find_instance(t.gpu->mig, object->instance) : NULL;
                if (!t.instance)
                        return 0;
        }

        *ret = t;
        if (t.instance)
                return CARVED_FACET_GPU_INSTANCE;
        return t.vgpu ? CARVED_FACET_VGPU : t.vf ? carved_vf_facets(t.vf) : carved_gpu_facets(t.gpu);
}

static void list_gpu(GPtrArray *list, const CarvedGpu *gpu) {
        char path[OBJECT_PATH_MAX];

        g_ptr_array_add(list, strdup(object_path_gpu(&gpu->address, path)));
        for (unsigned i = 0; gpu->mig && i < gpu->mig->instances->len; i++) {
                const CarvedGpuInstance *instance = gpu->mig->instances->pdata[i];
                CarvedObject object = { .kind = CARVED_OBJECT_GPU_INSTANCE,
                                        .gpu = gpu->address,
                                        .vf_index = -1,
                                        .instance = instance->id };

                g_ptr_array_add(list, strdup(object_path(&object, path)));
        }
        for (unsigned i = 0; i < gpu->vfs->len; i++) {
                const CarvedVf *vf = gpu->vfs->pdata[i];

                g_ptr_array_add(list, strdup(object_path_vf(&gpu->address, vf->index, path)));
        }
        for (unsigned i = 0; i < gpu->vgpus->len; i++)
                g_ptr_array_add(list, strdup(object_path_of_vgpu(gpu->vgpus->pdata[i], path)));
        for (unsigned i = 0; i < gpu->absent->len; i++)
                g_ptr_array_add(list, strdup(object_path_of_vgpu(gpu->absent->pdata[i], path)));
}

char **object_list(Manager *m) {
        GPtrArray *list = g_ptr_array_new();

        for (unsigned i = 0; i < carved_model_n_gpus(m->model); i++)
                list_gpu(list, carved_model_nth_gpu(m->model, i));
        g_ptr_array_add(list, NULL);

        /* sd-bus frees it by free(), and so do we, since GLib's allocator is malloc(). */
        return (char **) g_ptr_array_free(list, FALSE);
}

int object_append_reason(sd_bus_message *reply, const CarvedReason *reason) {
        if (!reason->code)
                return sd_bus_message_append(reply, "a(ss)", 0);

        return sd_bus_message_append(reply, "a(ss)", 1, reason->code, reason->text);
}

int object_append_labels(sd_bus_message *reply, GStrv labels) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{ss}");
        for (char **pair = labels; r >= 0 && pair && pair[0]; pair += 2)
                r = sd_bus_message_append(reply, "{ss}", pair[0], pair[1]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}
