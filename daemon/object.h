/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "manager.h"

/* What lies between the model and the bus: where an object is in the tree, and which interface shows what of
 * it. */

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus_message, sd_bus_message_unref)

#define CARVED_BUS_NAME "org.carved1"
#define CARVED_BUS_ROOT "/org/carved1"
#define CARVED_BUS_GPUS CARVED_BUS_ROOT "/gpu"

/* The longest: GPU with an eight-digit domain, VF of five digits, UUID. */
#define OBJECT_PATH_MAX 128

/* What a handler works on. Filled anew each time that sd-bus looks an object up: valid for that one call. */
typedef struct Target {
        Manager *manager;
        const CarvedGpu *gpu;
        const CarvedVf *vf;                /* NULL: the object is none, nor below one */
        const CarvedVgpu *vgpu;            /* NULL: the object is none */
        const CarvedGpuInstance *instance; /* the same */
} Target;

/* Which properties tell of which field. */
typedef struct ObjectProperty {
        unsigned field; /* CarvedField; 0 ends the table */
        const char *name;
} ObjectProperty;

typedef struct ObjectInterface {
        CarvedFacet facet;
        const char *name;
        const sd_bus_vtable *vtable;
        const ObjectProperty *properties;
} ObjectInterface;

extern const ObjectInterface gpu_interface, sriov_interface, vf_interface, vgpu_host_interface,
        vgpu_interface, mig_interface, gpu_instance_interface, mixed_size_interface;

/* All of them; NULL at the end. In the order in which they are announced. */
extern const ObjectInterface *const object_interfaces[];

const char *object_path_gpu(const CarvedPciAddress *gpu, char buf[static OBJECT_PATH_MAX]);
const char *object_path_vf(const CarvedPciAddress *gpu, uint32_t index, char buf[static OBJECT_PATH_MAX]);
const char *object_path(const CarvedObject *object, char buf[static OBJECT_PATH_MAX]);
const char *object_path_of_vgpu(const CarvedVgpu *vgpu, char buf[static OBJECT_PATH_MAX]);

/* Which object a path names, whether it is there or not. Only the spelling that object_path() writes. */
bool object_parse_path(const char *path, CarvedObject *ret);

/* The object in the model, and what it can be asked for; 0: not there. */
unsigned object_find(Manager *m, const CarvedObject *object, Target *ret);

/* Paths of all objects, parents before children, for sd_bus_add_node_enumerator(). */
char **object_list(Manager *m);

/* Appends "a(ss)": none or one. */
int object_append_reason(sd_bus_message *reply, const CarvedReason *reason);

/* Appends "a{ss}". */
int object_append_labels(sd_bus_message *reply, GStrv labels);

/* A getter in one line: what it appends, of `t`, the Target. */
#define GETTER(function, type, value)                                                                        \
        static int function(sd_bus *bus, const char *path, const char *interface, const char *property,      \
                            sd_bus_message *reply, void *userdata, sd_bus_error *error) {                    \
                const Target *t = userdata;                                                                  \
                                                                                                             \
                (void) t;                                                                                    \
                return sd_bus_message_append(reply, type, value);                                            \
        }
