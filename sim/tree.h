/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <glib.h>

#include "object.h"

/* The files of the simulated /sys and /proc/driver: directories, links, and attributes that call back.
 *
 * A plain tree in memory that knows neither FUSE nor GPUs. Everything here runs under the kernel's lock. */

typedef struct Node Node;
typedef struct Tree Tree;
typedef struct Attr Attr;

/* A file, as the kernel's device_attribute: one static table entry serves all devices of a kind. */
struct Attr {
        const char *name;
        mode_t mode;

        /* Appends the text; 0 or -errno. */
        int (*show)(void *owner, const Attr *attr, GString *out);
        /* Gets all that one write(2) brought, NUL-terminated behind @len; 0 or -errno. May sleep. */
        int (*store)(void *owner, const Attr *attr, const char *text, size_t len);
        /* Called at each close of a writer, result returned by close(2); 0 or -errno. */
        int (*flush)(void *owner, const Attr *attr);

        const void *data;        /* for tables whose rows share a show or store */
        bool cached;             /* never changes while the file exists: the page cache may keep it */
        size_t unprivileged_max; /* others than root read only so many bytes (PCI config); 0: all */
};

typedef enum NodeKind {
        NODE_DIR,
        NODE_LINK,
        NODE_FILE,
} NodeKind;

struct Node {
        Tree *tree;
        Node *parent; /* NULL: the root, or no longer in the tree */
        char *name;
        NodeKind kind;
        bool removed;

        unsigned refs;    /* one for the tree, one per open handle, one while lookups > 0 */
        uint64_t lookups; /* how often the kernel has been told of it */
        uint64_t ino;

        GPtrArray *children; /* NODE_DIR, sorted by name; NULL while empty */
        Node *target;        /* NODE_LINK: a node, written as a relative path when read (referenced) */
        const Attr *attr;    /* NODE_FILE */
        void *owner;         /* NODE_FILE */
};

struct Tree {
        Node *root;
        uint64_t last_ino;
        int64_t born; /* seconds since 1970: when all its files were made */

        /* Names the kernel may have cached and that are gone: told to it before anyone is answered. */
        GPtrArray *stale; /* of StaleName */
};

typedef struct StaleName {
        Node *parent; /* referenced */
        char *name;
} StaleName;

Tree *tree_new(void);
Tree *tree_free(Tree *tree);

Node *node_ref(Node *node);
void node_unref(Node *node);

Node *node_add_dir(Node *parent, const char *name);
Node *node_add_link(Node *parent, const char *name, Node *target);
Node *node_add_attr(Node *parent, const Attr *attr, void *owner);
void node_add_attrs(Node *parent, const Attr *attrs, void *owner); /* until a row without name */

/* Walks @path below @from, making the directories that are missing. */
Node *node_make_path(Node *from, const char *path);

Node *node_child(Node *parent, const char *name);
Node *node_lookup(Node *from, const char *path); /* follows links */

/* Out of the tree, with all below. Whoever has it open keeps a dead file. */
void node_remove(Node *node);
void node_remove_child(Node *parent, const char *name);
void node_remove_attrs(Node *parent, const Attr *attrs);
void node_clear(Node *dir);

/* Absolute within the tree, "/sys/bus". */
char *node_path(Node *node);
/* What readlink(2) says: "../../../devices/…". */
char *node_link_text(Node *link);

void stale_name_free(StaleName *stale);
