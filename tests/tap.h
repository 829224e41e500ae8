/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdlib.h>

#include <check.h>

/* The end of every test program: runs @suite, says how it went as TAP, and is the exit code. */
static inline int tap_run(Suite *suite) {
        SRunner *runner = srunner_create(suite);
        int failed;

        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
