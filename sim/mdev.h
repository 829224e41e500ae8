/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "vfio.h"

/* The mdev core: parents with types, and the mediated devices made of them. */

typedef struct MdevParent MdevParent;
typedef struct MdevType MdevType;
typedef struct Mdev Mdev;

typedef struct MdevOps {
        const char *driver; /* of the mediated devices, on the mdev bus */
        const char *device_api;
        const char *group; /* a directory in each, with these files, while the driver has it; or NULL */
        const Attr *group_attrs;
        unsigned (*available)(MdevType *type);
        int (*probe)(Mdev *mdev); /* 0 or -errno, which `create` returns; may sleep */
        void (*remove)(Mdev *mdev);
        int (*may_remove)(Mdev *mdev); /* kernels whose remove can fail; or NULL */
} MdevOps;

struct MdevType {
        Object object;
        MdevParent *parent; /* lives as long as its type directories; NULL after that */
        Kernel *kernel;
        char *name;
        char *description; /* or NULL: no such file */
        const MdevOps *ops;
        Node *dir;
        const void *data; /* the vendor's */
};

struct MdevParent {
        Object object;
        Kernel *kernel;
        Device *device; /* referenced */
        const MdevOps *ops;
        Node *types_dir;
        GPtrArray *types; /* of MdevType */
        GPtrArray *mdevs; /* of Mdev, referenced */
        bool unregistering, unregistered;
        void *data; /* the vendor's */
};

struct Mdev {
        Device device;      /* first */
        MdevParent *parent; /* referenced */
        MdevType *type;     /* referenced */
        IommuGroup *iommu_group;
        VfioDevice *vfio;
        unsigned users;
        bool active;
        void *data; /* the vendor's */
};

void mdev_init(Kernel *kernel);

/* @prefix is what the type directories begin with: the driver the parent has right now, or its bus. */
MdevParent *mdev_register_parent(Device *device, const MdevOps *ops, void *data);
void mdev_parent_add_type(MdevParent *parent, const char *suffix, const char *name, const char *description,
                          const void *data);
void mdev_parent_announce(MdevParent *parent);
/* All its devices go first; waits for those in use. Who comes second waits for the first. */
void mdev_unregister_parent(MdevParent *parent);

Mdev *mdev_find(Kernel *kernel, const char *uuid);
