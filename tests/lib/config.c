/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tap.h"
#include "config.h"

/* Three roots in a directory of our own; in tables "@" is that directory. */

static char *top;
static char *roots[4];

static void run(const char *command) {
        g_autofree char *line = g_strdup_printf("cd '%s' && %s", top, command);
        const char *argv[] = { "sh", "-c", line, NULL };
        int status;

        ck_assert(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                               &status, NULL));
        ck_assert_int_eq(status, 0);
}

static void set_up(void) {
        top = g_dir_make_tmp("carved-config-XXXXXX", NULL);
        ck_assert_ptr_nonnull(top);
        roots[0] = g_build_filename(top, "etc", NULL);
        roots[1] = g_build_filename(top, "run", NULL);
        roots[2] = g_build_filename(top, "usr", NULL);
        run("mkdir -p etc/carved.conf.d run/carved.conf.d usr/carved.conf.d");
}

static void tear_down(void) {
        run("rm -rf etc run usr");
        g_rmdir(top);
        for (unsigned i = 0; i < 3; i++)
                g_clear_pointer(&roots[i], g_free);
        g_clear_pointer(&top, g_free);
}

/* ---- what is written, and what comes of it ---- */

typedef struct File {
        const char *path, *text; /* "→TARGET": a link */
} File;

static void write_file(const File *file) {
        g_autofree char *path = g_build_filename(top, file->path, NULL);

        if (g_str_has_prefix(file->text, "→"))
                ck_assert_int_eq(symlink(file->text + strlen("→"), path), 0);
        else
                ck_assert(g_file_set_contents(path, file->text, -1, NULL));
}

static void note(const char *sentence, void *userdata) {
        GString *notes = userdata;

        g_string_append_printf(notes, "%s\n", sentence);
}

/* "@" for the directory. */
static char *shorten(const char *text) {
        g_autoptr(GString) s = g_string_new(text);

        g_string_replace(s, top, "@", 0);
        return g_string_free(g_steal_pointer(&s), FALSE);
}

static char *describe(const Config *c) {
        return g_strdup_printf("%s %u %s %s %u", c->restore ? "yes" : "no",
                               (unsigned) (c->restore_timeout_usec / G_USEC_PER_SEC),
                               repair_to_string(c->repair), c->sriov_manage,
                               (unsigned) (c->step_timeout_usec / G_USEC_PER_SEC));
}

/* The sentences; @ret_ok if it is given, else it must go well. */
static char *load(Config *config, bool *ret_ok) {
        g_autoptr(GString) notes = g_string_new(NULL);
        bool ok = config_load((const char *const *) roots, note, notes, config);

        if (ret_ok)
                *ret_ok = ok;
        else
                ck_assert_msg(ok, "%s", notes->str);
        return shorten(notes->str);
}

#define SRIOV_MANAGE "/usr/lib/nvidia/sriov-manage"
#define DEFAULTS     "yes 90 reload " SRIOV_MANAGE " 120"
#define STEP(n)      "[Manager]\nStepTimeoutSec=" #n "\n"
#define STEPS(n)     "yes 90 reload " SRIOV_MANAGE " " #n

/* ---- which file counts ---- */

static const struct {
        File files[6];
        const char *result, *read;
} precedence[] = {
        { { { 0 } }, DEFAULTS, "" },
        { { { "etc/carved.conf", "" } }, DEFAULTS, "@/etc/carved.conf" },
        /* The first main file is the only one. */
        { { { "etc/carved.conf", STEP(1) }, { "run/carved.conf", STEP(2) }, { "usr/carved.conf", STEP(3) } },
          STEPS(1),
          "@/etc/carved.conf" },
        { { { "run/carved.conf", STEP(2) }, { "usr/carved.conf", STEP(3) } }, STEPS(2), "@/run/carved.conf" },
        { { { "usr/carved.conf", STEP(3) } }, STEPS(3), "@/usr/carved.conf" },
        { { { "etc/carved.conf", "→/dev/null" }, { "usr/carved.conf", STEP(3) } }, DEFAULTS, "" },
        { { { "etc/carved.conf", "→../usr/other" }, { "usr/other", STEP(4) } },
          STEPS(4),
          "@/etc/carved.conf" },
        /* Drop-ins come after it, by name, wherever they are. */
        { { { "etc/carved.conf", STEP(1) }, { "usr/carved.conf.d/a.conf", STEP(5) } },
          STEPS(5),
          "@/etc/carved.conf @/usr/carved.conf.d/a.conf" },
        { { { "etc/carved.conf.d/a.conf", STEP(5) },
            { "usr/carved.conf.d/b.conf", STEP(6) },
            { "run/carved.conf.d/Z.conf", STEP(7) } },
          STEPS(6),
          "@/run/carved.conf.d/Z.conf @/etc/carved.conf.d/a.conf @/usr/carved.conf.d/b.conf" },
        { { { "etc/carved.conf.d/10.conf", STEP(5) }, { "run/carved.conf.d/9.conf", STEP(6) } },
          STEPS(6),
          "@/etc/carved.conf.d/10.conf @/run/carved.conf.d/9.conf" },
        /* Of one name, the strongest root's. */
        { { { "etc/carved.conf.d/a.conf", STEP(1) },
            { "run/carved.conf.d/a.conf", STEP(2) },
            { "usr/carved.conf.d/a.conf", STEP(3) } },
          STEPS(1),
          "@/etc/carved.conf.d/a.conf" },
        { { { "run/carved.conf.d/a.conf", STEP(2) }, { "usr/carved.conf.d/a.conf", STEP(3) } },
          STEPS(2),
          "@/run/carved.conf.d/a.conf" },
        { { { "etc/carved.conf.d/a.conf", "→/dev/null" },
            { "usr/carved.conf.d/a.conf", STEP(3) },
            { "usr/carved.conf.d/b.conf", "[Manager]\nRestore=no\n" } },
          "no 90 reload " SRIOV_MANAGE " 120",
          "@/usr/carved.conf.d/b.conf" },
        /* A weaker mask hides nothing. */
        { { { "run/carved.conf.d/a.conf", STEP(2) }, { "usr/carved.conf.d/a.conf", "→/dev/null" } },
          STEPS(2),
          "@/run/carved.conf.d/a.conf" },
        /* What is not for us. */
        { { { "etc/carved.conf.d/.a.conf", STEP(1) },
            { "etc/carved.conf.d/a.conf~", STEP(1) },
            { "etc/carved.conf.d/README", "words" },
            { "etc/carved.conf.d/.conf", STEP(1) } },
          DEFAULTS,
          "" },
        /* Each key on its own. */
        { { { "etc/carved.conf", "[Manager]\nRestore=no\nRestoreTimeoutSec=5\nRepair=all\n" },
            { "etc/carved.conf.d/a.conf", "[Manager]\nRestore=yes\nSriovManage=/opt/x y\n" } },
          "yes 5 all /opt/x y 120",
          "@/etc/carved.conf @/etc/carved.conf.d/a.conf" },
};

START_TEST(files_count_in_systemds_order) {
        g_autofree char *notes = NULL, *result = NULL, *files = NULL, *read = NULL;
        Config config;

        for (const File *f = precedence[_i].files; f->path; f++)
                write_file(f);
        notes = load(&config, NULL);
        ck_assert_str_eq(notes, "");
        result = describe(&config);
        ck_assert_str_eq(result, precedence[_i].result);
        g_ptr_array_add(config.files, NULL);
        files = g_strjoinv(" ", (char **) config.files->pdata);
        read = shorten(files);
        ck_assert_str_eq(read, precedence[_i].read);
        config_clear(&config);
}
END_TEST

START_TEST(without_any_directory_the_defaults_hold) {
        g_autofree char *notes = NULL, *result = NULL;
        Config config;

        run("rm -r etc run usr/carved.conf.d");
        notes = load(&config, NULL);
        ck_assert_str_eq(notes, "");
        result = describe(&config);
        ck_assert_str_eq(result, DEFAULTS);
        config_clear(&config);
}
END_TEST

/* ---- values ---- */

#define PLACE "@/etc/carved.conf:"

static const struct {
        const char *line, *result, *warning;
} values[] = {
        { "Restore=no", "no 90 reload " SRIOV_MANAGE " 120", "" },
        { "Restore=False", "no 90 reload " SRIOV_MANAGE " 120", "" },
        { "Restore=0", "no 90 reload " SRIOV_MANAGE " 120", "" },
        { "Restore=on", DEFAULTS, "" },
        { "Restore=maybe", DEFAULTS, "'Restore=maybe' is neither yes nor no, ignoring" },
        { "Restore=", DEFAULTS, "'Restore=' is neither yes nor no, ignoring" },
        { "Restore=yes no", DEFAULTS, "'Restore=yes no' is neither yes nor no, ignoring" },
        { "RestoreTimeoutSec=1", "yes 1 reload " SRIOV_MANAGE " 120", "" },
        { "RestoreTimeoutSec=86400", "yes 86400 reload " SRIOV_MANAGE " 120", "" },
        { "RestoreTimeoutSec=0", DEFAULTS,
          "'RestoreTimeoutSec=0' is not a number of seconds from 1 to 86400, ignoring" },
        { "RestoreTimeoutSec=86401", DEFAULTS,
          "'RestoreTimeoutSec=86401' is not a number of seconds from 1 to 86400, ignoring" },
        { "RestoreTimeoutSec=5min", DEFAULTS,
          "'RestoreTimeoutSec=5min' is not a number of seconds from 1 to 86400, ignoring" },
        { "Repair=no", "yes 90 no " SRIOV_MANAGE " 120", "" },
        { "Repair=reload", DEFAULTS, "" },
        { "Repair=all", "yes 90 all " SRIOV_MANAGE " 120", "" },
        { "Repair=yes", DEFAULTS, "'Repair=yes' is none of no, reload, all, ignoring" },
        { "SriovManage=/opt/s", "yes 90 reload /opt/s 120", "" },
        { "SriovManage=opt/s", DEFAULTS, "'SriovManage=opt/s' is not an absolute path, ignoring" },
        { "SriovManage=", DEFAULTS, "'SriovManage=' is not an absolute path, ignoring" },
        { "StepTimeoutSec=86400", STEPS(86400), "" },
        { "StepTimeoutSec=0", DEFAULTS,
          "'StepTimeoutSec=0' is not a number of seconds from 1 to 86400, ignoring" },
        { "StepTimeoutSec=-1", DEFAULTS,
          "'StepTimeoutSec=-1' is not a number of seconds from 1 to 86400, ignoring" },
        { "StepTimeoutSec=18446744073709551617", DEFAULTS,
          "'StepTimeoutSec=18446744073709551617' is not a number of seconds from 1 to 86400, ignoring" },
        { "restore=no", DEFAULTS, "'restore' is no key of [Manager], ignoring" },
        { "Manage=no", DEFAULTS, "'Manage' is no key of [Manager], ignoring" },
        { "Stray=", DEFAULTS, "'Stray' is no key of [Manager], ignoring" },
        { "[manager]\nRestore=no\nAnything=1", DEFAULTS,
          "'[manager]' is no section that carved knows, ignoring it" },
        { "[Gpu]\nManage=no", DEFAULTS, "'[Gpu]' is no section that carved knows, ignoring it" },
        { "[Gpu 41:00]\nManage=no", DEFAULTS,
          "'[Gpu 41:00]' names neither a PCI address nor VENDOR:DEVICE, ignoring it" },
        { "[Gpu 10de:20b]\nManage=no", DEFAULTS,
          "'[Gpu 10de:20b]' names neither a PCI address nor VENDOR:DEVICE, ignoring it" },
        { "[Gpu 10de:20b00]", DEFAULTS,
          "'[Gpu 10de:20b00]' names neither a PCI address nor VENDOR:DEVICE, ignoring it" },
        { "[Gpu xxxx:xxxx]", DEFAULTS,
          "'[Gpu xxxx:xxxx]' names neither a PCI address nor VENDOR:DEVICE, ignoring it" },
};

/* Its file has one more key before, in line 2, so that what is wrong is in line 4. */
START_TEST(a_value_holds_or_is_a_warning_with_its_line) {
        g_autofree char *text =
                g_strdup_printf("[Manager]\n\n# a line that may be wrong:\n%s\n", values[_i].line);
        g_autofree char *notes = NULL, *result = NULL, *expected = NULL;
        Config config;

        write_file(&(File){ "etc/carved.conf", text });
        notes = load(&config, NULL);
        expected = *values[_i].warning ? g_strdup_printf(PLACE "4: %s\n", values[_i].warning) : g_strdup("");
        ck_assert_str_eq(notes, expected);
        result = describe(&config);
        ck_assert_str_eq(result, values[_i].result);
        config_clear(&config);
}
END_TEST

START_TEST(a_bad_value_leaves_what_an_earlier_file_said) {
        g_autofree char *notes = NULL, *result = NULL;
        Config config;

        write_file(&(File){ "etc/carved.conf", STEP(7) });
        write_file(&(File){ "run/carved.conf.d/a.conf", "[Manager]\nStepTimeoutSec=soon\nRestore=no\n" });
        notes = load(&config, NULL);
        ck_assert_str_eq(notes, "@/run/carved.conf.d/a.conf:2: 'StepTimeoutSec=soon' is not a number of "
                                "seconds from 1 to 86400, ignoring\n");
        result = describe(&config);
        ck_assert_str_eq(result, "no 90 reload " SRIOV_MANAGE " 7");
        config_clear(&config);
}
END_TEST

START_TEST(every_line_that_is_wrong_is_told) {
        g_autofree char *notes = NULL, *result = NULL;
        Config config;

        write_file(&(File){ "etc/carved.conf", "Restore=no\n[Manager]\nA=1\nRestore=2\nStepTimeoutSec=3\n"
                                               "[Gpu 10de:20b0]\nAllowedTypes=x\nMaxInstances=x\nLabels=x\n"
                                               "ResourceClass=x\nTraits=x\nRestore=no\nManage=2\n" });
        notes = load(&config, NULL);
        ck_assert_str_eq(notes, PLACE "1: 'Restore=no' is outside of any section, ignoring\n" PLACE
                                      "3: 'A' is no key of [Manager], ignoring\n" PLACE
                                      "4: 'Restore=2' is neither yes nor no, ignoring\n" PLACE
                                      "7: 'AllowedTypes' is not supported yet, ignoring\n" PLACE
                                      "8: 'MaxInstances' is not supported yet, ignoring\n" PLACE
                                      "9: 'Labels' is not supported yet, ignoring\n" PLACE
                                      "10: 'ResourceClass' is not supported yet, ignoring\n" PLACE
                                      "11: 'Traits' is not supported yet, ignoring\n" PLACE
                                      "12: 'Restore' is no key of [Gpu 10de:20b0], ignoring\n" PLACE
                                      "13: 'Manage=2' is neither yes nor no, ignoring\n");
        result = describe(&config);
        ck_assert_str_eq(result, STEPS(3));
        config_clear(&config);
}
END_TEST

/* ---- cards ---- */

/* Of 0000:41:00.0, a 10de:20b0; and then of 0000:42:00.0, which is the same. */
static const struct {
        const char *text, *drop_in;
        bool first, second;
} cards[] = {
        { "", "", true, true },
        { "[Gpu 0000:41:00.0]\nManage=no\n", "", false, true },
        { "[Gpu 41:0.0]\nManage=no\n", "", false, true },
        { "[Gpu  00000000:41:00.0 ]\nManage=no\n", "", false, true },
        { "[Gpu 10de:20b0]\nManage=no\n", "", false, false },
        { "[Gpu 10DE:20B0]\nManage=no\n", "", false, false },
        { "[Gpu 20b0:10de]\nManage=no\n", "", true, true },
        { "[Gpu 10de:20b1]\nManage=no\n[Gpu 1002:20b0]\nManage=no\n", "", true, true },
        { "[Gpu 10001:41:00.0]\nManage=no\n", "", true, true },
        /* The address wins, whatever comes first. */
        { "[Gpu 10de:20b0]\nManage=no\n[Gpu 41:00.0]\nManage=yes\n", "", true, false },
        { "[Gpu 41:00.0]\nManage=yes\n[Gpu 10de:20b0]\nManage=no\n", "", true, false },
        { "[Gpu 41:00.0]\nManage=no\n", "[Gpu 10de:20b0]\nManage=yes\n", false, true },
        /* It says nothing: the device does. */
        { "[Gpu 41:00.0]\n[Gpu 10de:20b0]\nManage=no\n", "", false, false },
        /* Later wins, in whatever spelling. */
        { "[Gpu 41:00.0]\nManage=no\n[Gpu 0000:41:00.0]\nManage=yes\n", "", true, true },
        { "[Gpu 41:00.0]\nManage=no\n", "[Gpu 0000:41:00.0]\nManage=yes\n", true, true },
        { "[Gpu 41:00.0]\nManage=yes\n", "[Gpu 0000:41:00.0]\nManage=no\n", false, true },
        { "[Gpu 10de:20b0]\nManage=no\n", "[Gpu 10DE:20B0]\nManage=yes\n", true, true },
        { "[Gpu 41:00.0]\nManage=no\n", "[Gpu 42:00.0]\nManage=no\n", false, false },
};

START_TEST(a_card_is_managed_unless_its_section_says_no) {
        const CarvedPciAddress first = { 0, 0x41, 0, 0 }, second = { 0, 0x42, 0, 0 };
        g_autofree char *notes = NULL;
        Config config;

        write_file(&(File){ "etc/carved.conf", cards[_i].text });
        write_file(&(File){ "usr/carved.conf.d/a.conf", cards[_i].drop_in });
        notes = load(&config, NULL);
        ck_assert_str_eq(notes, "");
        ck_assert_int_eq(config_manages(&config, &first, 0x10de, 0x20b0), cards[_i].first);
        ck_assert_int_eq(config_manages(&config, &second, 0x10de, 0x20b0), cards[_i].second);
        config_clear(&config);
}
END_TEST

/* ---- files that are none ---- */

static const struct {
        const char *prepare, *warning;
} broken[] = {
        { "printf '[Manager]\\nRestore=no\\nwords\\n' >etc/carved.conf",
          PLACE "3: 'words' is neither a section nor KEY=VALUE" },
        { "printf '[Manager' >etc/carved.conf",
          PLACE "1: '[Manager' is a section without its closing bracket" },
        { "printf '[Manager]\\n\\377' >etc/carved.conf", PLACE "2: This is not UTF-8 text" },
        { "printf '[Manager]\\n\\000' >etc/carved.conf", PLACE "2: This is not UTF-8 text" },
        { "mkdir etc/carved.conf", "@/etc/carved.conf: Failed to read: Not a regular file" },
        { "mkfifo etc/carved.conf", "@/etc/carved.conf: Failed to read: Not a regular file" },
        { "ln -s nowhere etc/carved.conf", "@/etc/carved.conf: Failed to read: No such file or directory" },
        { "ln -s carved.conf etc/carved.conf",
          "@/etc/carved.conf: Failed to read: Too many levels of symbolic links" },
        { "truncate -s 1048577 etc/carved.conf",
          "@/etc/carved.conf: Failed to read: Longer than 1048576 bytes" },
        { "mkdir usr/carved.conf.d/x.conf",
          "@/usr/carved.conf.d/x.conf: Failed to read: Not a regular file" },
        { "ln -s /nowhere run/carved.conf.d/x.conf",
          "@/run/carved.conf.d/x.conf: Failed to read: No such file or directory" },
        { "printf '[Manager]\\nx\\n' >run/carved.conf.d/x.conf",
          "@/run/carved.conf.d/x.conf:2: 'x' is neither a section nor KEY=VALUE" },
        { "rmdir run/carved.conf.d && touch run/carved.conf.d",
          "@/run/carved.conf.d: Failed to read: Not a directory" },
};

/* The other files are looked at all the same: who mends one wants to know of the next. */
START_TEST(a_broken_file_keeps_the_old_values_whole) {
        g_autofree char *first = NULL, *notes = NULL, *result = NULL, *expected = NULL;
        bool ok = true;
        Config config;

        write_file(&(File){ "usr/carved.conf", STEP(5) });
        first = load(&config, NULL);
        write_file(&(File){ "usr/carved.conf.d/z.conf", "[Manager]\nStepTimeoutSec=9\nTypo=1\n" });
        run(broken[_i].prepare);
        notes = load(&config, &ok);
        ck_assert(!ok);
        expected =
                g_strdup_printf("%s\n@/usr/carved.conf.d/z.conf:3: 'Typo' is no key of [Manager], ignoring\n",
                                broken[_i].warning);
        ck_assert_str_eq(notes, expected);
        result = describe(&config);
        ck_assert_str_eq(result, STEPS(5));
        config_clear(&config);
}
END_TEST

START_TEST(a_file_that_may_not_be_read_is_broken_too) {
        g_autofree char *notes = NULL;
        Config config;
        bool ok;

        if (geteuid() == 0)
                return; /* nothing is kept from root */
        write_file(&(File){ "etc/carved.conf", STEP(5) });
        run("chmod 0 etc/carved.conf");
        notes = load(&config, &ok);
        ck_assert(!ok);
        ck_assert_str_eq(notes, "@/etc/carved.conf: Failed to read: Permission denied\n");
}
END_TEST

START_TEST(repair_is_told_by_the_words_that_set_it) {
        Repair repair;

        for (Repair i = 0; i < _REPAIR_MAX; i++) {
                ck_assert(repair_from_string(repair_to_string(i), &repair));
                ck_assert_int_eq(repair, i);
        }
        ck_assert(!repair_from_string("", &repair));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("config");
        TCase *tcase = tcase_create("config");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_loop_test(tcase, files_count_in_systemds_order, 0, G_N_ELEMENTS(precedence));
        tcase_add_test(tcase, without_any_directory_the_defaults_hold);
        tcase_add_loop_test(tcase, a_value_holds_or_is_a_warning_with_its_line, 0, G_N_ELEMENTS(values));
        tcase_add_test(tcase, a_bad_value_leaves_what_an_earlier_file_said);
        tcase_add_test(tcase, every_line_that_is_wrong_is_told);
        tcase_add_loop_test(tcase, a_card_is_managed_unless_its_section_says_no, 0, G_N_ELEMENTS(cards));
        tcase_add_loop_test(tcase, a_broken_file_keeps_the_old_values_whole, 0, G_N_ELEMENTS(broken));
        tcase_add_test(tcase, a_file_that_may_not_be_read_is_broken_too);
        tcase_add_test(tcase, repair_is_told_by_the_words_that_set_it);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
