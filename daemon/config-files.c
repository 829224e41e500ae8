/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "config-files.h"
#include "error.h"

#define MAIN_FILE "carved.conf"
#define DIRECTORY "carved.conf.d"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DIR, closedir)

static bool is_mask(const char *path) {
        struct stat st;

        return stat(path, &st) >= 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* A link to nowhere is there too, and a mistake. */
static bool is_there(const char *path) {
        struct stat st;

        return lstat(path, &st) >= 0 || errno != ENOENT;
}

static void find_main(const char *const *roots, GPtrArray *paths) {
        for (; *roots; roots++) {
                g_autofree char *path = g_build_filename(*roots, MAIN_FILE, NULL);

                if (!is_there(path))
                        continue;
                if (!is_mask(path))
                        g_ptr_array_add(paths, g_steal_pointer(&path));
                return;
        }
}

/* Name → path; what a stronger root has stays. */
static bool find_drop_ins(const char *root, GHashTable *found, GError **error) {
        g_autofree char *path = g_build_filename(root, DIRECTORY, NULL);
        g_autoptr(DIR) dir = opendir(path);
        struct dirent *entry;

        if (!dir)
                return errno == ENOENT || carved_error_set_errno(error, errno, "%s: Failed to read", path);

        while ((errno = 0, entry = readdir(dir)))
                if (entry->d_name[0] != '.' && g_str_has_suffix(entry->d_name, ".conf") &&
                    !g_hash_table_contains(found, entry->d_name))
                        g_hash_table_insert(found, g_strdup(entry->d_name),
                                            g_build_filename(path, entry->d_name, NULL));
        return errno == 0 || carved_error_set_errno(error, errno, "%s: Failed to read", path);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

bool config_files_find(const char *const *roots, GPtrArray *paths, GError **error) {
        g_autoptr(GHashTable) found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_autofree const char **names = NULL;
        bool ok = true;
        unsigned n;

        find_main(roots, paths);
        for (; *roots; roots++)
                ok = find_drop_ins(*roots, found, ok ? error : NULL) && ok;

        names = (const char **) g_hash_table_get_keys_as_array(found, &n);
        qsort(names, n, sizeof *names, compare_names);
        for (unsigned i = 0; i < n; i++) {
                const char *path = g_hash_table_lookup(found, names[i]);

                if (!is_mask(path))
                        g_ptr_array_add(paths, g_strdup(path));
        }
        return ok;
}
