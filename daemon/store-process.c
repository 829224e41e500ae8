/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "frame.h"
#include "store-process.h"
#include "store.h"

#define CORRUPT   ".corrupt"
#define FORGOTTEN ".forgotten"

/* Is the text what it should be? */
static bool is_readable(const char *text, bool journal, GError **error) {
        g_autoptr(CarvedIntent) intent = NULL;
        g_autoptr(CarvedEntry) entry = NULL;

        if (journal) {
                entry = carved_entry_parse(text, error);
                return entry != NULL;
        }
        intent = carved_intent_new();
        return carved_store_parse_intent(text, /* transient= */ false, intent, error);
}

/* Kept for a person to look at, but out of the way. What is newer than we are stays where it is. */
static char *set_aside(int fd, const CarvedStored *file, const GError *error) {
        int r;

        if (g_error_matches(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED))
                return g_strdup(error->message);

        r = carved_store_quarantine(fd, file->name);
        return r < 0 ? g_strdup_printf("%s; and it could not be renamed: %s", error->message, g_strerror(-r))
                     : g_strdup_printf("%s; it is '%s.corrupt' now", error->message, file->name);
}

static void add_file(GVariantBuilder *files, int fd, const CarvedStored *file, bool journal) {
        g_autoptr(GError) error = NULL;
        g_autofree char *wrong = NULL;

        if (!file->text)
                wrong = g_strdup(g_strerror(file->error));
        else if (!is_readable(file->text, journal, &error))
                wrong = set_aside(fd, file, error);
        g_variant_builder_add(files, "(sss)", file->name, wrong ? "" : file->text, wrong ?: "");
}

/* What was set aside at an earlier start, and nothing has come in its place: it is no better by now. */
static void add_set_aside(GVariantBuilder *files, int fd, const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *good = g_str_has_suffix(name, ".json" CORRUPT)
                                                ? g_strndup(name, strlen(name) - strlen(CORRUPT))
                                                : NULL;
                g_autofree char *wrong = g_strdup_printf("It is set aside, as '%s/%s'", path, name);

                if (good && faccessat(fd, good, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                        g_variant_builder_add(files, "(sss)", good, "", wrong);
        }
}

static void add_directory(GVariantBuilder *loaded, const char *path, bool journal) {
        _cleanup_close_ int fd = carved_store_open(path);
        g_autoptr(GPtrArray) list = fd < 0 ? NULL : carved_store_list(fd, NULL);
        GVariantBuilder files;

        g_variant_builder_init(&files, G_VARIANT_TYPE("a(sss)"));
        if (fd >= 0 && !journal)
                add_set_aside(&files, fd, path);
        for (unsigned i = 0; list && i < list->len; i++)
                add_file(&files, fd, list->pdata[i], journal);
        if (fd < 0)
                g_warning("Failed to open '%s', ignoring: %s", path, g_strerror(-fd));
        g_variant_builder_add(loaded, "(sa(sss))", path, &files);
}

GVariant *store_process_load(GVariant *request) {
        g_autofree const char **directories = g_variant_get_strv(request, NULL);
        GVariantBuilder loaded;

        g_variant_builder_init(&loaded, G_VARIANT_TYPE("a(sa(sss))"));
        for (unsigned i = 0; directories[i]; i++)
                add_directory(&loaded, directories[i], g_str_has_suffix(directories[i], "/journal"));
        return g_variant_builder_end(&loaded);
}

static bool run(char what, const char *directory, const char *name, const char *text, char **unsure,
                GError **error) {
        _cleanup_close_ int fd = carved_store_open(directory);
        int r = fd;

        if (fd >= 0)
                r = what == STORE_WRITE    ? carved_store_write(fd, name, text)
                    : what == STORE_REMOVE ? carved_store_remove(fd, name)
                                           : carved_store_unlink(fd, name);
        /* Nobody misses it any more; but a person may still want to see it. */
        if (r >= 0 && g_str_has_suffix(directory, "/gpus")) {
                g_autofree char *aside = g_strconcat(name, CORRUPT, NULL),
                                *away = g_strconcat(name, FORGOTTEN, NULL);

                renameat(fd, aside, fd, away);
        }
        if (r == CARVED_STORE_UNSURE && !*unsure)
                *unsure = g_strdup_printf("'%s/%s' is written, but not confirmed: %s", directory, name,
                                          g_strerror(errno));
        if (r >= 0)
                return true;

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_FAILED, "'%s/%s' can't be %s: %s", directory, name,
                    what == STORE_WRITE ? "written" : "removed", g_strerror(-r));
        return false;
}

GVariant *store_process_write(GVariant *request, GError **error) {
        const char *directory, *name, *text;
        GVariantIter iter;
        g_autofree char *unsure = NULL;
        guint8 what;

        g_variant_iter_init(&iter, request);
        while (g_variant_iter_next(&iter, "(y&s&s&s)", &what, &directory, &name, &text))
                if (!run((char) what, directory, name, text, &unsure, error))
                        return NULL;

        return g_variant_new_string(unsure ?: "");
}
