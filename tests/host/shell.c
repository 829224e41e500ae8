/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include <check.h>

#include "shell.h"

#define DEADLINE_USEC (30 * G_USEC_PER_SEC)

char *shell(int *ret_code, const char *format, ...) {
        g_autofree char *command = NULL, *out = NULL, *err = NULL;
        const char *argv[] = { "bash", "-c", NULL, NULL };
        va_list args;
        int status;

        va_start(args, format);
        command = g_strdup_vprintf(format, args);
        va_end(args);

        argv[2] = command;
        ck_assert(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err,
                               &status, NULL));
        if (ret_code)
                *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        else
                ck_assert_msg(status == 0, "'%s' ended with status %d: %s%s", command, status, out, err);

        return g_strconcat(out, err, NULL);
}

unsigned lines_with(const char *text, const char *part) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        unsigned n = 0;

        for (char **line = lines; *line; line++)
                n += strstr(*line, part) != NULL;
        return n;
}

bool comes_true(bool (*is_so)(void *data), void *data) {
        int64_t end = g_get_monotonic_time() + DEADLINE_USEC;

        while (!is_so(data)) {
                if (g_get_monotonic_time() > end)
                        return false;
                g_usleep(10000);
        }

        return true;
}
