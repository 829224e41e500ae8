/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <glib/gstdio.h>

#include "../tap.h"
#include "cleanup.h"
#include "store.h"

static char *top;  /* a directory of the test's own */
static char *path; /* where the store is in it */
static int dir_fd;

static void setup(void) {
        top = g_dir_make_tmp("carved-store-XXXXXX", NULL);
        ck_assert_ptr_nonnull(top);
        path = g_build_filename(top, "a", "store", NULL);
        dir_fd = carved_store_open(path);
        ck_assert_int_ge(dir_fd, 0);
}

static void remove_tree(const char *dir) {
        g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
        const char *name;

        while (d && (name = g_dir_read_name(d))) {
                g_autofree char *file = g_build_filename(dir, name, NULL);

                if (!g_file_test(file, G_FILE_TEST_IS_SYMLINK) && g_file_test(file, G_FILE_TEST_IS_DIR))
                        remove_tree(file);
                else
                        g_unlink(file);
        }
        g_rmdir(dir);
}

static void teardown(void) {
        close(dir_fd);
        umount2(path, MNT_DETACH);
        remove_tree(top);
        g_free(path);
        g_free(top);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Everything that is in the store, as "name name": hidden ones too. */
static char *names(void) {
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GDir) d = g_dir_open(path, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(d)))
                g_ptr_array_add(list, g_strdup(name));
        g_ptr_array_sort(list, compare_names);
        g_ptr_array_add(list, NULL);
        return g_strjoinv(" ", (char **) list->pdata);
}

static void assert_names(const char *expected) {
        g_autofree char *found = names();

        ck_assert_str_eq(found, expected);
}

static char *in_store(const char *name) {
        return g_build_filename(path, name, NULL);
}

static void put(const char *name, const char *text, size_t len) {
        g_autofree char *file = in_store(name);

        ck_assert(g_file_set_contents(file, text, (gssize) len, NULL));
        ck_assert_int_eq(chmod(file, 0600), 0);
}

static GPtrArray *list(void) {
        g_autoptr(GError) error = NULL;
        GPtrArray *stored = carved_store_list(dir_fd, &error);

        ck_assert_ptr_nonnull(stored);
        ck_assert_ptr_null(error);
        return stored;
}

/* What the list says of the one file that is there. */
static void assert_stored(const char *name, const char *text, int error) {
        g_autoptr(GPtrArray) stored = list();
        const CarvedStored *s;

        ck_assert_uint_eq(stored->len, 1);
        s = stored->pdata[0];
        ck_assert_str_eq(s->name, name);
        ck_assert_pstr_eq(s->text, text);
        ck_assert_int_eq(s->error, error);
}

/* A file system of our own, of one page, over the store; false: we may not. */
static bool mount_tiny(void) {
        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", path, "tmpfs", 0, "size=4k,mode=0700") < 0)
                return false;

        close(dir_fd);
        dir_fd = carved_store_open(path);
        ck_assert_int_ge(dir_fd, 0);
        return true;
}

/* ---- the directory ---- */

START_TEST(directories_are_made_for_us_alone) {
        g_autofree char *parent = g_path_get_dirname(path);
        struct stat st;

        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode, S_IFDIR | 0700);
        ck_assert_int_eq(stat(parent, &st), 0);
        ck_assert_uint_eq(st.st_mode, S_IFDIR | 0700);
        ck_assert_int_eq(fcntl(dir_fd, F_GETFD), FD_CLOEXEC);
}
END_TEST

START_TEST(a_directory_that_is_there_is_taken) {
        g_autofree char *slash = g_strconcat(path, "//", NULL);
        _cleanup_close_ int again = carved_store_open(path), behind = carved_store_open(slash);

        ck_assert_int_ge(again, 0);
        ck_assert_int_ge(behind, 0);
        ck_assert_int_eq(carved_store_open(""), -ENOENT);
}
END_TEST

static const char *const slashes[] = { "", "/" };

START_TEST(a_link_is_no_directory) {
        g_autofree char *link = g_build_filename(top, "link", NULL);
        g_autofree char *spelt = g_strconcat(link, slashes[_i], NULL);

        ck_assert_int_eq(symlink(path, link), 0);
        ck_assert_int_eq(carved_store_open(spelt), -ELOOP);
}
END_TEST

START_TEST(a_file_is_no_directory) {
        g_autofree char *file = g_build_filename(top, "file", NULL),
                        *below = g_build_filename(file, "x", NULL);

        ck_assert(g_file_set_contents(file, "", 0, NULL));
        ck_assert_int_eq(carved_store_open(file), -ENOTDIR);
        ck_assert_int_eq(carved_store_open(below), -ENOTDIR);
}
END_TEST

static const mode_t open_modes[] = { 0770, 0720, 0702, 0777 };

START_TEST(a_directory_that_others_can_write_is_refused) {
        ck_assert_int_eq(chmod(path, open_modes[_i]), 0);
        ck_assert_int_eq(carved_store_open(path), -EPERM);
}
END_TEST

START_TEST(what_is_another_s_is_refused) {
        g_autofree char *file = in_store("a.json");

        if (geteuid() != 0)
                return; /* nobody else can give it away */

        put("a.json", "x", 1);
        ck_assert_int_eq(chown(file, 65534, 0), 0);
        assert_stored("a.json", NULL, EPERM);
        ck_assert_int_eq(chown(path, 65534, 0), 0);
        ck_assert_int_eq(carved_store_open(path), -EPERM);
}
END_TEST

/* ---- writing ---- */

START_TEST(a_file_is_replaced) {
        g_autofree char *file = in_store("a.json");
        struct stat st;

        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), 0);
        assert_stored("a.json", "one", 0);
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "two"), 0);
        assert_stored("a.json", "two", 0);
        assert_names("a.json");
        ck_assert_int_eq(stat(file, &st), 0);
        ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
}
END_TEST

/* Of another's interrupted write; or a trap. */
START_TEST(a_stale_temporary_file_is_in_nobody_s_way) {
        g_autofree char *target = g_build_filename(top, "target", NULL), *stale = in_store(".a.json.tmp");

        ck_assert(g_file_set_contents(target, "keep", -1, NULL));
        ck_assert_int_eq(symlink(target, stale), 0);
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), 0);
        assert_stored("a.json", "one", 0);
        assert_names("a.json");
        {
                g_autofree char *text = NULL;

                ck_assert(g_file_get_contents(target, &text, NULL, NULL));
                ck_assert_str_eq(text, "keep");
        }
}
END_TEST

START_TEST(a_link_in_place_of_a_file_is_replaced_and_not_followed) {
        g_autofree char *target = g_build_filename(top, "target", NULL), *link = in_store("a.json"),
                        *text = NULL;

        ck_assert(g_file_set_contents(target, "keep", -1, NULL));
        ck_assert_int_eq(symlink(target, link), 0);
        assert_stored("a.json", NULL, ELOOP);
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), 0);
        assert_stored("a.json", "one", 0);
        ck_assert(g_file_get_contents(target, &text, NULL, NULL));
        ck_assert_str_eq(text, "keep");
}
END_TEST

static void assert_old_one_stays(int error) {
        g_autofree char *long_text = g_strnfill(100000, 'x');

        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", long_text), -error);
        assert_names("a.json");
        assert_stored("a.json", "one", 0);
}

START_TEST(a_full_disk_leaves_the_old_one) {
        if (!mount_tiny())
                return; /* the next test is the same for everybody */

        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", ""), 0);
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), 0);
        assert_old_one_stays(ENOSPC);
}
END_TEST

/* The first write is short, the second one fails. */
START_TEST(a_write_that_fails_half_way_leaves_the_old_one) {
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), 0);
        signal(SIGXFSZ, SIG_IGN);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 5000, RLIM_INFINITY }), 0);
        assert_old_one_stays(EFBIG);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }), 0);
}
END_TEST

START_TEST(where_nothing_can_be_written_the_old_one_stays) {
        bool tiny = mount_tiny();

        if (!tiny && geteuid() == 0)
                return; /* modes do not stop us */

        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), 0);
        if (tiny)
                ck_assert_int_eq(mount("none", path, "", MS_REMOUNT | MS_RDONLY, "size=4k,mode=0700"), 0);
        else
                ck_assert_int_eq(chmod(path, 0500), 0);
        assert_old_one_stays(tiny ? EROFS : EACCES);
        ck_assert_int_eq(carved_store_remove(dir_fd, "a.json"), tiny ? -EROFS : -EACCES);
        ck_assert_int_eq(carved_store_quarantine(dir_fd, "a.json"), tiny ? -EROFS : -EACCES);
        assert_stored("a.json", "one", 0);
}
END_TEST

START_TEST(a_directory_in_place_of_a_file_stays) {
        g_autofree char *dir = in_store("a.json");

        ck_assert_int_eq(mkdir(dir, 0700), 0);
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), -EISDIR);
        assert_names("a.json");
        assert_stored("a.json", NULL, EISDIR);
}
END_TEST

START_TEST(what_could_not_be_read_again_is_not_written) {
        g_autofree char *most = g_strnfill(CARVED_STORE_FILE_MAX, 'x'), *more = g_strconcat(most, "x", NULL);

        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", most), 0);
        assert_stored("a.json", most, 0);
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", more), -EFBIG);
        assert_stored("a.json", most, 0);
}
END_TEST

static const char *const no_names[] = { "", ".", "..", "../x.json", "a/b.json", ".hidden.json" };

START_TEST(only_names_are_names) {
        ck_assert_int_eq(carved_store_write(dir_fd, no_names[_i], "x"), -EINVAL);
        ck_assert_int_eq(carved_store_remove(dir_fd, no_names[_i]), -EINVAL);
        ck_assert_int_eq(carved_store_quarantine(dir_fd, no_names[_i]), -EINVAL);
        assert_names("");
}
END_TEST

START_TEST(what_is_removed_is_gone_and_may_be_gone) {
        ck_assert_int_eq(carved_store_write(dir_fd, "a.json", "one"), 0);
        ck_assert_int_eq(carved_store_remove(dir_fd, "a.json"), 0);
        assert_names("");
        ck_assert_int_eq(carved_store_remove(dir_fd, "a.json"), 0);
}
END_TEST

START_TEST(each_unreadable_file_is_kept_for_a_person) {
        for (unsigned i = 0; i < 3; i++) {
                put("a.json", &"xyz"[i], 1);
                ck_assert_int_eq(carved_store_quarantine(dir_fd, "a.json"), 0);
        }
        assert_names("a.json.corrupt a.json.corrupt.2 a.json.corrupt.3");
        {
                g_autofree char *last = in_store("a.json.corrupt.3"), *text = NULL;
                g_autoptr(GPtrArray) none = list();

                ck_assert(g_file_get_contents(last, &text, NULL, NULL));
                ck_assert_str_eq(text, "z");
                ck_assert_uint_eq(none->len, 0);
        }
        ck_assert_int_eq(carved_store_quarantine(dir_fd, "a.json"), -ENOENT);
}
END_TEST

/* ---- reading ---- */

START_TEST(the_list_is_by_name_and_clean) {
        static const char order[] = "gcahbfde";
        g_autoptr(GPtrArray) stored = NULL;

        for (unsigned i = 0; order[i]; i++) {
                const char name[] = { order[i], '.', 'j', 's', 'o', 'n', '\0' };

                put(name, &order[i], 1);
        }
        put("a.json.corrupt", "x", 1);
        put("README", "x", 1);
        put(".d.json.tmp", "half", 4);
        put(".e.json", "x", 1);

        stored = list();
        ck_assert_uint_eq(stored->len, strlen(order));
        for (unsigned i = 0; i < stored->len; i++) {
                const CarvedStored *s = stored->pdata[i];
                const char text[] = { (char) ('a' + i), '\0' };

                ck_assert_str_eq(s->text, text);
                ck_assert_int_eq(s->error, 0);
        }
        assert_names(".e.json README a.json a.json.corrupt b.json c.json d.json e.json f.json g.json h.json");
}
END_TEST

START_TEST(a_list_can_be_had_again) {
        put("a.json", "1", 1);
        assert_stored("a.json", "1", 0);
        assert_stored("a.json", "1", 0);
}
END_TEST

START_TEST(what_is_no_text_of_ours_says_why) {
        g_autofree char *file = in_store("a.json");

        put("a.json", "a\0b", 3);
        assert_stored("a.json", NULL, EILSEQ);
        put("a.json", "x", 1);
        ck_assert_int_eq(chmod(file, 0620), 0);
        assert_stored("a.json", NULL, EPERM);
        ck_assert_int_eq(chmod(file, 0602), 0);
        assert_stored("a.json", NULL, EPERM);
        ck_assert_int_eq(chmod(file, 0600), 0);
        ck_assert_int_eq(truncate(file, CARVED_STORE_FILE_MAX + 1), 0);
        assert_stored("a.json", NULL, EFBIG);
}
END_TEST

/* Nobody writes into it: a reader that waits would wait for ever. */
START_TEST(a_pipe_is_no_file) {
        g_autofree char *file = in_store("a.json");

        ck_assert_int_eq(mkfifo(file, 0600), 0);
        assert_stored("a.json", NULL, EINVAL);
}
END_TEST

START_TEST(what_is_no_directory_has_no_list) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(carved_store_list(-1, &error));
        ck_assert_str_eq(error->message, "Failed to list what is stored: Bad file descriptor");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("store-files");
        TCase *dir = tcase_create("the directory"), *out = tcase_create("writing"),
              *in = tcase_create("reading");

        tcase_add_checked_fixture(dir, setup, teardown);
        tcase_add_test(dir, directories_are_made_for_us_alone);
        tcase_add_test(dir, a_directory_that_is_there_is_taken);
        tcase_add_loop_test(dir, a_link_is_no_directory, 0, G_N_ELEMENTS(slashes));
        tcase_add_test(dir, a_file_is_no_directory);
        tcase_add_loop_test(dir, a_directory_that_others_can_write_is_refused, 0, G_N_ELEMENTS(open_modes));
        tcase_add_test(dir, what_is_another_s_is_refused);
        suite_add_tcase(suite, dir);

        tcase_add_checked_fixture(out, setup, teardown);
        tcase_add_test(out, a_file_is_replaced);
        tcase_add_test(out, a_stale_temporary_file_is_in_nobody_s_way);
        tcase_add_test(out, a_link_in_place_of_a_file_is_replaced_and_not_followed);
        tcase_add_test(out, a_full_disk_leaves_the_old_one);
        tcase_add_test(out, a_write_that_fails_half_way_leaves_the_old_one);
        tcase_add_test(out, where_nothing_can_be_written_the_old_one_stays);
        tcase_add_test(out, a_directory_in_place_of_a_file_stays);
        tcase_add_test(out, what_could_not_be_read_again_is_not_written);
        tcase_add_loop_test(out, only_names_are_names, 0, G_N_ELEMENTS(no_names));
        tcase_add_test(out, what_is_removed_is_gone_and_may_be_gone);
        tcase_add_test(out, each_unreadable_file_is_kept_for_a_person);
        suite_add_tcase(suite, out);

        tcase_add_checked_fixture(in, setup, teardown);
        tcase_add_test(in, the_list_is_by_name_and_clean);
        tcase_add_test(in, a_list_can_be_had_again);
        tcase_add_test(in, what_is_no_text_of_ours_says_why);
        tcase_add_test(in, a_pipe_is_no_file);
        tcase_add_test(in, what_is_no_directory_has_no_list);
        suite_add_tcase(suite, in);
        return tap_run(suite);
}
