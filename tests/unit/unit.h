/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdlib.h>

#include <check.h>
#include <glib.h>

/* Longer than any test takes under sanitizers on a busy machine; a deadlock ends here. */
#define UNIT_TIMEOUT_SEC 20.0

static inline int unit_run(TCase *tests, const char *name) {
        Suite *suite = suite_create(name);
        SRunner *runner;
        int failed;

        tcase_set_timeout(tests, UNIT_TIMEOUT_SEC);
        suite_add_tcase(suite, tests);
        runner = srunner_create(suite);
        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* One run for each row of a table, its index in _i: each says for itself whether it holds. */
#define add_table_test(tests, test, table) tcase_add_loop_test(tests, test, 0, (int) G_N_ELEMENTS(table))
