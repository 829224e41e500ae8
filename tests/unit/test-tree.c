/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <signal.h>
#include <string.h>

#include "tree.h"
#include "unit.h"

/* An owner of files that tells when it goes. */
typedef struct Owner {
        Object object;
        unsigned *finalized;
} Owner;

static void owner_finalize(void *object) {
        Owner *owner = object;

        (*owner->finalized)++;
        g_free(owner);
}

static Owner *owner_new(unsigned *finalized) {
        Owner *owner = g_new0(Owner, 1);

        object_init(owner, owner_finalize);
        owner->finalized = finalized;
        return owner;
}

static const Attr attrs[] = { { "vendor", 0444 }, { "device", 0444 }, { "class", 0444 }, {} };

static Tree *tree;

static void setup(void) {
        tree = tree_new();
}

static void teardown(void) {
        tree = tree_free(tree);
}

static const struct {
        const char *dir, *target, *text;
} links[] = {
        { "/sys/bus/pci/devices", "/sys/devices/pci0000:00/0000:08:00.0",
          "../../../devices/pci0000:00/0000:08:00.0" },
        { "/sys/devices/pci0000:00/0000:08:00.0", "/sys/bus/pci", "../../../bus/pci" },
        { "/sys/devices/pci0000:00/0000:08:00.4", "/sys/devices/pci0000:00/0000:08:00.0", "../0000:08:00.0" },
        { "/sys/a/types/nvidia-1/devices", "/sys/a/uuid", "../../../uuid" },
        /* Names with a common beginning are different names. */
        { "/sys/nvidia-1", "/sys/nvidia-11/x", "../nvidia-11/x" },
        { "/sys/nvidia-11", "/sys/nvidia-1/x", "../nvidia-1/x" },
        { "/sys/a", "/sys/a/b/c", "b/c" },
        { "/sys/a", "/proc/b", "../../proc/b" },
        { "", "/sys/a", "sys/a" },
        { "/sys", "/proc", "../proc" },
};

START_TEST(a_link_reads_as_the_relative_path_to_its_target) {
        Node *target = node_make_path(tree->root, links[_i].target);
        Node *link = node_add_link(node_make_path(tree->root, links[_i].dir), "link", target);
        g_autofree char *text = node_link_text(link);

        ck_assert_str_eq(text, links[_i].text);
}
END_TEST

START_TEST(a_path_is_made_once) {
        Node *c = node_make_path(tree->root, "a/b/c");
        g_autofree char *path = node_path(c), *root = node_path(tree->root);

        ck_assert_str_eq(path, "/a/b/c");
        ck_assert_str_eq(root, "");
        ck_assert_ptr_eq(node_make_path(tree->root, "/a//b/c/"), c);
        ck_assert_ptr_eq(node_make_path(c, ""), c);
        ck_assert_ptr_eq(node_lookup(tree->root, "/a/b/c"), c);
        ck_assert_uint_eq(tree->root->children->len, 1);
}
END_TEST

START_TEST(children_are_found_and_in_order_however_they_came) {
        static const char *const names[] = { "m",       "a",       "z", "c", "virtfn10",
                                             "virtfn1", "virtfn2", "b", "y", "0" };
        Node *dir = node_make_path(tree->root, "dir");

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                node_add_dir(dir, names[i]);

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                ck_assert_str_eq(node_child(dir, names[i])->name, names[i]);
        for (unsigned i = 1; i < dir->children->len; i++)
                ck_assert_int_lt(strcmp(((Node *) dir->children->pdata[i - 1])->name,
                                        ((Node *) dir->children->pdata[i])->name),
                                 0);
        ck_assert_ptr_null(node_child(dir, "virtfn"));
        ck_assert_ptr_null(node_child(dir, ""));
        ck_assert_ptr_null(node_child(node_child(dir, "a"), "a"));
}
END_TEST

START_TEST(a_name_is_there_only_once) {
        node_add_dir(tree->root, "a");
        node_add_dir(tree->root, "a");
}
END_TEST

START_TEST(no_two_files_have_the_same_number) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
        Node *dir = node_make_path(tree->root, "a/b");

        node_add_attrs(dir, attrs, NULL);
        node_remove_attrs(dir, attrs);
        node_add_attrs(dir, attrs, NULL);

        ck_assert(g_hash_table_add(seen, &tree->root->ino));
        ck_assert(g_hash_table_add(seen, &dir->parent->ino));
        ck_assert(g_hash_table_add(seen, &dir->ino));
        for (unsigned i = 0; i < dir->children->len; i++)
                ck_assert(g_hash_table_add(seen, &((Node *) dir->children->pdata[i])->ino));
        ck_assert(!g_hash_table_contains(seen, &(uint64_t){ 0 }));
}
END_TEST

START_TEST(lookup_goes_through_links_and_not_through_dead_ones) {
        Node *device = node_make_path(tree->root, "sys/devices/gpu"),
             *file = node_add_attr(device, &attrs[0], NULL);
        Node *bus = node_make_path(tree->root, "sys/bus");

        node_add_link(bus, "gpu", device);
        ck_assert_ptr_eq(node_lookup(tree->root, "sys/bus/gpu/vendor"), file);
        ck_assert_ptr_eq(node_lookup(bus, "gpu"), device);
        ck_assert_ptr_null(node_lookup(tree->root, "sys/bus/gpu/vendor/more"));
        ck_assert_ptr_null(node_lookup(tree->root, "sys/bus/other"));

        node_remove(device);
        ck_assert_ptr_nonnull(node_child(bus, "gpu"));
        ck_assert_ptr_null(node_lookup(bus, "gpu"));
        ck_assert_ptr_null(node_lookup(bus, "gpu/vendor"));
}
END_TEST

START_TEST(what_is_removed_goes_with_all_below) {
        Node *dir = node_make_path(tree->root, "a/b/c"), *a = node_lookup(tree->root, "a");
        unsigned finalized = 0;
        Owner *owner = owner_new(&finalized);

        node_add_attrs(dir, attrs, owner);
        object_unref(owner);
        ck_assert_uint_eq(owner->object.refs, 3); /* one for each file */

        node_remove(a);
        ck_assert_uint_eq(finalized, 1);
        ck_assert_ptr_null(node_lookup(tree->root, "a"));
        ck_assert_ptr_nonnull(node_make_path(tree->root, "a/b")); /* its name is free again */
}
END_TEST

START_TEST(an_open_file_outlives_its_name_and_keeps_its_owner) {
        Node *dir = node_make_path(tree->root, "a/b"), *file;
        unsigned finalized = 0;
        Owner *owner = owner_new(&finalized);

        file = node_ref(node_add_attr(dir, &attrs[0], owner));
        object_unref(owner);
        ck_assert_uint_eq(file->refs, 2);

        node_remove(node_lookup(tree->root, "a"));
        ck_assert(file->removed);
        ck_assert_ptr_null(file->parent);
        ck_assert_uint_eq(file->refs, 1);
        ck_assert_uint_eq(finalized, 0);

        node_unref(file);
        ck_assert_uint_eq(finalized, 1);
}
END_TEST

START_TEST(an_open_directory_outlives_its_name_empty) {
        Node *dir = node_ref(node_make_path(tree->root, "a/b"));

        node_add_attrs(dir, attrs, NULL);
        node_remove(node_lookup(tree->root, "a"));

        ck_assert(dir->removed);
        ck_assert_uint_eq(dir->children->len, 0);
        ck_assert_ptr_null(node_child(dir, "vendor"));
        node_unref(dir);
}
END_TEST

START_TEST(a_link_keeps_its_target_and_lets_it_go) {
        Node *target = node_ref(node_make_path(tree->root, "target")), *link;

        link = node_add_link(tree->root, "link", target);
        ck_assert_uint_eq(target->refs, 3);
        node_remove(target);
        ck_assert_uint_eq(target->refs, 2);
        node_remove(link);
        ck_assert_uint_eq(target->refs, 1);
        node_unref(target);
}
END_TEST

START_TEST(only_named_files_are_removed) {
        Node *dir = node_make_path(tree->root, "dir");
        static const Attr some[] = { { "vendor", 0444 }, { "not-there", 0444 }, { "class", 0444 }, {} };

        node_add_attrs(dir, attrs, NULL);
        node_remove_attrs(dir, some);
        node_remove_child(dir, "not-there");
        ck_assert_uint_eq(dir->children->len, 1);
        ck_assert_ptr_nonnull(node_child(dir, "device"));

        node_clear(dir);
        ck_assert_uint_eq(dir->children->len, 0);
        ck_assert(!dir->removed);
        node_clear(dir);
        node_add_dir(dir, "again");
}
END_TEST

START_TEST(the_kernel_is_told_of_names_it_looked_up_and_of_no_others) {
        Node *dir = node_make_path(tree->root, "dir"), *seen = node_add_dir(dir, "seen");
        const StaleName *stale;

        node_add_dir(dir, "unseen");
        seen->lookups = 3;
        node_add_attr(seen, &attrs[0], NULL)->lookups = 1; /* dies with the name above */

        node_remove_child(dir, "unseen");
        ck_assert_uint_eq(tree->stale->len, 0);
        node_remove_child(dir, "seen");
        ck_assert_uint_eq(tree->stale->len, 1);
        stale = tree->stale->pdata[0];
        ck_assert_str_eq(stale->name, "seen");
        ck_assert_ptr_eq(stale->parent, dir);
        ck_assert_uint_eq(dir->refs, 2);

        g_ptr_array_set_size(tree->stale, 0);
        ck_assert_uint_eq(dir->refs, 1);
}
END_TEST

START_TEST(a_stale_name_keeps_its_directory_until_told) {
        Node *dir = node_make_path(tree->root, "dir");

        node_add_dir(dir, "seen")->lookups = 1;
        node_remove_child(dir, "seen");
        node_remove(dir);

        ck_assert_uint_eq(tree->stale->len, 1);
        ck_assert(((StaleName *) tree->stale->pdata[0])->parent->removed);
}
END_TEST

START_TEST(a_tree_of_any_shape_is_freed_whole) {
        unsigned finalized = 0;
        Owner *owner = owner_new(&finalized);
        Tree *other = tree_new();
        Node *a = node_make_path(other->root, "a/b/c"), *x = node_make_path(other->root, "x/y");

        node_add_attrs(a, attrs, owner);
        node_add_link(x, "back", a);
        node_add_link(a, "forth", x);
        node_add_link(a, "self", a);
        a->lookups = 1;
        object_unref(owner);

        ck_assert_ptr_null(tree_free(other));
        ck_assert_uint_eq(finalized, 1);
        ck_assert_ptr_null(tree_free(NULL));
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("tree");

        tcase_add_checked_fixture(tests, setup, teardown);
        add_table_test(tests, a_link_reads_as_the_relative_path_to_its_target, links);
        tcase_add_test(tests, a_path_is_made_once);
        tcase_add_test(tests, children_are_found_and_in_order_however_they_came);
        tcase_add_test_raise_signal(tests, a_name_is_there_only_once, SIGTRAP);
        tcase_add_test(tests, no_two_files_have_the_same_number);
        tcase_add_test(tests, lookup_goes_through_links_and_not_through_dead_ones);
        tcase_add_test(tests, what_is_removed_goes_with_all_below);
        tcase_add_test(tests, an_open_file_outlives_its_name_and_keeps_its_owner);
        tcase_add_test(tests, an_open_directory_outlives_its_name_empty);
        tcase_add_test(tests, a_link_keeps_its_target_and_lets_it_go);
        tcase_add_test(tests, only_named_files_are_removed);
        tcase_add_test(tests, the_kernel_is_told_of_names_it_looked_up_and_of_no_others);
        tcase_add_test(tests, a_stale_name_keeps_its_directory_until_told);
        tcase_add_test(tests, a_tree_of_any_shape_is_freed_whole);
        return unit_run(tests, "tree");
}
