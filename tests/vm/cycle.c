/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>
#include <systemd/sd-bus.h>

/* One vGPU made and removed: by the bare writes, by carved, by mdevctl, side by side in one run. And by the
 * writes with an empty call over the bus before each, which is the least that any service on it can take. The
 * arguments: the GPU's object, its first VF's directory, the type, how often. */

#define UUID "cccccccc-0000-4000-8000-000000000001"

static sd_bus *bus;
static const char *gpu, *vf, *type;

static void must(bool ok, const char *what) {
        if (ok)
                return;
        fprintf(stderr, "%s failed\n", what);
        exit(EXIT_FAILURE);
}

static void put(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text), path);
        close(fd);
}

static void ping(void) {
        must(sd_bus_call_method(bus, "org.carved1", "/org/carved1", "org.freedesktop.DBus.Peer", "Ping", NULL,
                                NULL, "") >= 0,
             "Ping");
}

static void by_writes(bool called) {
        g_autofree char *create = g_strdup_printf("%s/mdev_supported_types/%s/create", vf, type);

        if (called)
                ping();
        put(create, UUID);
        if (called)
                ping();
        put("/sys/bus/mdev/devices/" UUID "/remove", "1");
}

static void by_hand(void) {
        by_writes(/* called= */ false);
}

static void by_calls(void) {
        by_writes(/* called= */ true);
}

static void by_carved(bool persist) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *path = NULL;

        must(sd_bus_call_method(bus, "org.carved1", gpu, "org.carved1.VgpuHost", "CreateVgpu", &error, &reply,
                                "sa{sv}", type, 2, "uuid", "s", UUID, "persist", "b", (int) persist) >= 0 &&
                     sd_bus_message_read(reply, "o", &path) >= 0,
             error.message ?: "CreateVgpu");
        must(sd_bus_call_method(bus, "org.carved1", path, "org.carved1.Vgpu", "Destroy", &error, NULL,
                                "a{sv}", 0) >= 0,
             error.message ?: "Destroy");
        sd_bus_message_unref(reply);
}

static void by_carved_for_now(void) {
        by_carved(/* persist= */ false);
}

static void by_carved_for_good(void) {
        by_carved(/* persist= */ true);
}

static void by_mdevctl(void) {
        g_autofree char *real = realpath(vf, NULL);
        g_autofree char *parent = g_path_get_basename(real ?: "");
        const char *start[] = { "mdevctl", "start", "-u", UUID, "-p", parent, "--type", type, NULL };
        const char *stop[] = { "mdevctl", "stop", "-u", UUID, NULL };
        int status = 0;

        for (unsigned i = 0; i < 2; i++)
                must(g_spawn_sync(NULL, (char **) (i == 0 ? start : stop), NULL, G_SPAWN_SEARCH_PATH, NULL,
                                  NULL, NULL, NULL, &status, NULL) &&
                             status == 0,
                     "mdevctl");
}

static const struct {
        const char *name;
        void (*run)(void);
} ways[] = {
        { "two bare writes", by_hand },           { "two empty calls, too", by_calls },
        { "carved, for now", by_carved_for_now }, { "carved, kept", by_carved_for_good },
        { "mdevctl start, stop", by_mdevctl },
};

/* Whoever hears of it last, events included, is not part of the next one's time. */
static void settle(void) {
        must(system("udevadm settle") == 0, "udevadm settle");
        g_usleep(500 * 1000);
}

static int compare(const void *a, const void *b) {
        return *(const int64_t *) a < *(const int64_t *) b ? -1 : 1;
}

static bool verdict(bool ok, const char *what, double ratio) {
        printf("%s %s: %.2f times as long\n", ok ? "yes" : "NO ", what, ratio);
        return ok;
}

int main(int argc, char **argv) {
        unsigned rounds = argc == 5 ? (unsigned) atoi(argv[4]) : 0;
        int64_t times[G_N_ELEMENTS(ways)][64];
        double ms[G_N_ELEMENTS(ways)];
        bool ok = true;

        must(rounds > 0 && rounds <= 64 && sd_bus_open_system(&bus) >= 0, "the start");
        gpu = argv[1];
        vf = argv[2];
        type = argv[3];
        for (unsigned i = 0; i < rounds; i++)
                for (unsigned way = 0; way < G_N_ELEMENTS(ways); way++) {
                        int64_t start;

                        settle();
                        start = g_get_monotonic_time();
                        ways[way].run();
                        times[way][i] = g_get_monotonic_time() - start;
                }

        for (unsigned way = 0; way < G_N_ELEMENTS(ways); way++) {
                qsort(times[way], rounds, sizeof times[way][0], compare);
                /* The best of them: whatever else the machine does only adds to it. */
                ms[way] = (double) times[way][0] / 1000;
                printf("%-21s %8.1f ms (best of %u; median %.1f)\n", ways[way].name, ms[way], rounds,
                       (double) times[way][rounds / 2] / 1000);
        }
        /* Emulated, a call over the bus takes longer than both writes, and whatever follows the first one
         * shares two processors with udev: so these two are told, and not judged. */
        printf("carved, for now, beside the bare writes: %.2f times as long\n", ms[2] / ms[0]);
        printf("carved, for now, beside the writes with calls: %.2f times as long\n", ms[2] / ms[1]);
        /* FIXME: without the unit's sandbox it was 0.5 and 0.86 times mdevctl; with it, 0.8 and 1.1. To be
         * faster than mdevctl is the aim, both ways; these are what must never come back. */
        ok &= verdict(ms[2] < 1.3 * ms[4], "carved, for now, at most 1.3 times mdevctl", ms[2] / ms[4]);
        ok &= verdict(ms[3] < 1.7 * ms[4], "kept, at most 1.7 times mdevctl", ms[3] / ms[4]);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
