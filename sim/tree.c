/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "tree.h"

static Node *node_new(Tree *tree, NodeKind kind, const char *name) {
        Node *node = g_new0(Node, 1);

        node->tree = tree;
        node->kind = kind;
        node->name = g_strdup(name);
        node->refs = 1;
        node->ino = ++tree->last_ino;
        return node;
}

Node *node_ref(Node *node) {
        if (node)
                node->refs++;
        return node;
}

void node_unref(Node *node) {
        if (!node || --node->refs > 0)
                return;

        g_assert(!node->children || node->children->len == 0);
        g_clear_pointer(&node->children, g_ptr_array_unref);
        node_unref(node->target);
        object_unref(node->owner);
        g_free(node->name);
        g_free(node);
}

void stale_name_free(StaleName *stale) {
        node_unref(stale->parent);
        g_free(stale->name);
        g_free(stale);
}

Tree *tree_new(void) {
        Tree *tree = g_new0(Tree, 1);

        tree->born = g_get_real_time() / G_USEC_PER_SEC;
        tree->root = node_new(tree, NODE_DIR, "");
        tree->stale = g_ptr_array_new_with_free_func((GDestroyNotify) stale_name_free);
        return tree;
}

Tree *tree_free(Tree *tree) {
        if (!tree)
                return NULL;

        node_clear(tree->root);
        g_ptr_array_unref(tree->stale);
        node_unref(tree->root);
        g_free(tree);
        return NULL;
}

/* Where @name is among the children, or where it would be put. */
static bool find_child(Node *parent, const char *name, unsigned *ret_index) {
        unsigned low = 0, high = parent->children ? parent->children->len : 0;

        while (low < high) {
                unsigned middle = low + (high - low) / 2;
                int order = strcmp(name, ((Node *) parent->children->pdata[middle])->name);

                if (order == 0) {
                        *ret_index = middle;
                        return true;
                }
                if (order < 0)
                        high = middle;
                else
                        low = middle + 1;
        }

        *ret_index = low;
        return false;
}

static Node *add_child(Node *parent, Node *child) {
        unsigned index;

        g_assert(parent->kind == NODE_DIR && !parent->removed);
        if (find_child(parent, child->name, &index))
                g_error("'%s' is in '%s' twice", child->name, parent->name);

        if (!parent->children)
                parent->children = g_ptr_array_new();
        g_ptr_array_insert(parent->children, (int) index, child);
        child->parent = parent;
        return child;
}

Node *node_add_dir(Node *parent, const char *name) {
        return add_child(parent, node_new(parent->tree, NODE_DIR, name));
}

Node *node_add_link(Node *parent, const char *name, Node *target) {
        Node *node = node_new(parent->tree, NODE_LINK, name);

        node->target = node_ref(target);
        return add_child(parent, node);
}

Node *node_add_attr(Node *parent, const Attr *attr, void *owner) {
        Node *node = node_new(parent->tree, NODE_FILE, attr->name);

        node->attr = attr;
        node->owner = object_ref(owner);
        return add_child(parent, node);
}

void node_add_attrs(Node *parent, const Attr *attrs, void *owner) {
        for (; attrs->name; attrs++)
                node_add_attr(parent, attrs, owner);
}

Node *node_child(Node *parent, const char *name) {
        unsigned index;

        if (parent->kind != NODE_DIR || !find_child(parent, name, &index))
                return NULL;

        return parent->children->pdata[index];
}

Node *node_make_path(Node *from, const char *path) {
        g_auto(GStrv) names = g_strsplit(path, "/", -1);

        for (char **name = names; *name; name++) {
                Node *next;

                if (**name == '\0')
                        continue;
                next = node_child(from, *name);
                from = next ?: node_add_dir(from, *name);
        }

        return from;
}

Node *node_lookup(Node *from, const char *path) {
        g_auto(GStrv) names = g_strsplit(path, "/", -1);

        for (char **name = names; *name && from; name++) {
                if (**name == '\0')
                        continue;
                from = node_child(from, *name);
                if (from && from->kind == NODE_LINK)
                        from = from->target->removed ? NULL : from->target;
        }

        return from;
}

/* All below dies too, but need not be told to the kernel: the name above is. */
static void detach(Node *node) {
        for (unsigned i = node->children ? node->children->len : 0; i > 0; i--)
                detach(node->children->pdata[i - 1]);
        if (node->children)
                g_ptr_array_set_size(node->children, 0);

        node->removed = true;
        node->parent = NULL;
        node_unref(node);
}

void node_remove(Node *node) {
        Node *parent = node->parent;
        unsigned index;
        bool found;

        g_assert(parent);
        found = find_child(parent, node->name, &index);
        g_assert(found);
        g_ptr_array_remove_index(parent->children, index);

        if (node->lookups > 0) {
                StaleName *stale = g_new(StaleName, 1);

                *stale = (StaleName){ node_ref(parent), g_strdup(node->name) };
                g_ptr_array_add(node->tree->stale, stale);
        }

        detach(node);
}

void node_remove_child(Node *parent, const char *name) {
        Node *child = node_child(parent, name);

        if (child)
                node_remove(child);
}

void node_remove_attrs(Node *parent, const Attr *attrs) {
        for (; attrs->name; attrs++)
                node_remove_child(parent, attrs->name);
}

void node_clear(Node *dir) {
        while (dir->children && dir->children->len > 0)
                node_remove(dir->children->pdata[dir->children->len - 1]);
}

char *node_path(Node *node) {
        g_autofree char *above = NULL;

        if (!node->parent)
                return g_strdup("");

        above = node_path(node->parent);
        return g_strdup_printf("%s/%s", above, node->name);
}

char *node_link_text(Node *link) {
        g_autofree char *from = node_path(link->parent), *to = node_path(link->target);
        const char *f = from, *t = to;
        GString *text = g_string_new(NULL);

        /* Skip the common components, but not the target itself: a link always ends in its name. */
        while (*f && *t) {
                size_t nf = strcspn(f + 1, "/") + 1, nt = strcspn(t + 1, "/") + 1;

                if (nf != nt || strncmp(f, t, nf) != 0 || t[nt] == '\0')
                        break;
                f += nf;
                t += nt;
        }

        for (; *f; f += strcspn(f + 1, "/") + 1)
                g_string_append(text, "../");
        g_string_append(text, t + 1);
        return g_string_free(text, FALSE);
}
