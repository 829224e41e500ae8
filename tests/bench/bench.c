/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>
#include <systemd/sd-bus.h>

#include "subject.h"

/* One line of ./bench: carved beside mdevctl on the frozen host that this runs on. Starts the daemon itself,
 * to see how long it takes until the tree is complete. Prints: objects in the tree; milliseconds of
 * `mdevctl types`, from start to READY=1, and of GetManagedObjects (the middle of eleven); kilobytes resident
 * after the first of them, workers counted, and when the workers are gone. */

#define ROUNDS 11

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return x < y ? -1 : x > y;
}

/* The best of three: what it can do when nothing is in its way. */
static double time_mdevctl(void) {
        static const char *const argv[] = { "mdevctl", "types", "--dumpjson", NULL };
        double best = 1e9;

        for (unsigned i = 0; i < 3; i++) {
                double took = time_of(argv);

                best = MIN(best, took);
        }
        return best;
}

/* "VmRSS", "Pss" and the like of a process, in kilobytes. */
static unsigned long memory(pid_t pid, const char *file, const char *key) {
        g_autofree char *path = g_strdup_printf("/proc/%d/%s", pid, file), *text = NULL;
        const char *line;

        if (!g_file_get_contents(path, &text, NULL, NULL) || !(line = strstr(text, key)))
                return 0;
        return strtoul(line + strlen(key), NULL, 10);
}

/* The daemon's, and of each worker what is its own share. */
static unsigned long resident(pid_t daemon) {
        unsigned long sum = memory(daemon, "status", "\nVmRSS:");
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", daemon, daemon), *text = NULL;
        char *p;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                return sum;
        for (p = text; *p;) {
                pid_t child = (pid_t) strtol(p, &p, 10);

                if (child > 0)
                        sum += memory(child, "smaps_rollup", "\nPss:");
                while (*p == ' ')
                        p++;
        }
        return sum;
}

/* One call and its reply, whole. Returns how many objects are in it. */
static double call(sd_bus *bus, double *ret_ms) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        double start = now_ms();
        size_t objects = 0;
        int r;

        r = sd_bus_call_method(bus, "org.carved1", "/org/carved1", "org.freedesktop.DBus.ObjectManager",
                               "GetManagedObjects", &error, &reply, "");
        if (r < 0)
                die(error.message ?: "GetManagedObjects", -r);
        *ret_ms = now_ms() - start;

        /* Count them, so that nobody measures an empty one. */
        sd_bus_message_enter_container(reply, 'a', "{oa{sa{sv}}}");
        while (sd_bus_message_skip(reply, "{oa{sa{sv}}}") > 0)
                objects++;
        sd_bus_message_unref(reply);
        return (double) objects;
}

static bool has_workers(pid_t daemon) {
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", daemon, daemon), *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) && *text;
}

static unsigned long resident_alone(pid_t daemon) {
        double end = now_ms() + 20000;

        while (has_workers(daemon) && now_ms() < end)
                g_usleep(100 * 1000);
        return resident(daemon);
}

int main(int argc, char **argv) {
        double times[ROUNDS], started, objects = 0, mdevctl = 0;
        unsigned long with_workers = 0;
        sd_bus *bus = NULL;
        pid_t daemon;

        if (argc < 2)
                die("Usage: bench CARVED [no-mdevctl]", EINVAL);
        if (argc < 3)
                mdevctl = time_mdevctl();

        daemon = start_carved(argv[1], &started);
        if (sd_bus_open_system(&bus) < 0)
                die("the system bus", ENOTCONN);
        for (unsigned i = 0; i < ROUNDS; i++) {
                objects = call(bus, &times[i]);
                if (i == 0)
                        with_workers = resident(daemon);
        }
        qsort(times, ROUNDS, sizeof times[0], compare);

        printf("%.0f %.1f %.1f %.1f %lu %lu\n", objects, mdevctl, started, times[ROUNDS / 2], with_workers,
               resident_alone(daemon));
        stop_carved(daemon);
        sd_bus_flush_close_unref(bus);
        return EXIT_SUCCESS;
}
