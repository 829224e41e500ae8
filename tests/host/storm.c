/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Everything at once, at random, for a while. The host must live, and after a reboot look as on the first
 * day.
 *
 * Usage: host-storm SECONDS [SEED] */

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "simctl.h"

#include <glib.h>

#define WORKERS 8

static const char *const cards[] = { "0000:08:00.0", "0001:c8:00.0", "0000:26:00.0", "0000:3b:00.0",
                                     "0000:05:00.0" };

static int64_t end;
static int operations;

static void put(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        /* Whatever it answers: that it answers is the point. */
        if (fd >= 0 && write(fd, text, strlen(text)) < 0)
                g_atomic_int_inc(&operations);
}

static const char *any_card(GRand *random) {
        return cards[g_rand_int_range(random, 0, G_N_ELEMENTS(cards))];
}

static void random_uuid(GRand *random, char buf[static 37]) {
        g_snprintf(buf, 37, "cccccccc-0000-4000-8000-0000000000%02d", g_rand_int_range(random, 0, 40));
}

static void sriov_manage(GRand *random) {
        const char *card = any_card(random);
        const char *argv[] = { "/usr/lib/nvidia/sriov-manage", g_rand_boolean(random) ? "-e" : "-d", card,
                               NULL };

        g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                     NULL, NULL, NULL, NULL, NULL, NULL);
}

static void set_numvfs(GRand *random) {
        g_autofree char *path = g_strdup_printf("/sys/bus/pci/devices/%s/sriov_numvfs", any_card(random));
        g_autofree char *n = g_strdup_printf("%d", g_rand_int_range(random, 0, 9));

        put(path, n);
}

static void create(GRand *random) {
        g_autofree char *dir =
                g_strdup_printf("/sys/class/mdev_bus/0000:08:00.%d/mdev_supported_types/nvidia-%d/create",
                                g_rand_int_range(random, 4, 8), g_rand_int_range(random, 742, 757));
        char uuid[37];

        random_uuid(random, uuid);
        put(dir, uuid);
}

static void remove_one(GRand *random) {
        char uuid[37];
        g_autofree char *path = NULL;

        random_uuid(random, uuid);
        path = g_strdup_printf("/sys/bus/mdev/devices/%s/remove", uuid);
        put(path, "1");
}

static void set_type(GRand *random) {
        g_autofree char *path = g_strdup_printf("/sys/bus/pci/devices/0000:26:00.%d/nvidia/current_vgpu_type",
                                                g_rand_int_range(random, 4, 8));
        g_autofree char *id =
                g_strdup_printf("%d", g_rand_boolean(random) ? 0 : g_rand_int_range(random, 1145, 1167));

        put(path, id);
}

static void hold_a_moment(GRand *random) {
        char uuid[37];

        random_uuid(random, uuid);
        if (simctl_do("hold", uuid) == 0) {
                g_usleep(1000);
                simctl_do("release", uuid);
        }
}

static void pull_and_put(GRand *random) {
        const char *card = any_card(random);

        simctl_do("unplug", card);
        simctl_do("plug", card);
}

static void bind_unbind(GRand *random) {
        const char *card = any_card(random);
        g_autofree char *unbind = g_strdup_printf("/sys/bus/pci/devices/%s/driver/unbind", card);

        put(unbind, card);
        put("/sys/bus/pci/drivers_probe", card);
}

static void look_around(GRand *random) {
        g_autofree char *dir = g_strdup_printf("/sys/bus/pci/devices/%s", any_card(random));
        DIR *d = opendir(dir);
        struct dirent *entry;
        char text[4096];

        while (d && (entry = readdir(d))) {
                _cleanup_close_ int fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_CLOEXEC);

                if (fd >= 0 && read(fd, text, sizeof text) < 0)
                        g_atomic_int_inc(&operations);
        }
        if (d)
                closedir(d);
}

static void reload(GRand *random) {
        simctl_do("reload-driver");
}

static void *worker(void *data) {
        static const struct {
                void (*run)(GRand *random);
                int weight;
        } kinds[] = {
                { sriov_manage, 4 }, { set_numvfs, 10 },   { create, 30 },      { remove_one, 20 },
                { set_type, 20 },    { hold_a_moment, 5 }, { pull_and_put, 1 }, { bind_unbind, 2 },
                { look_around, 10 }, { reload, 1 },
        };
        GRand *random = data;

        while (g_get_monotonic_time() < end) {
                int ticket = g_rand_int_range(random, 0, 103);
                size_t kind = 0;

                while (ticket >= kinds[kind].weight)
                        ticket -= kinds[kind++].weight;
                kinds[kind].run(random);
                g_atomic_int_inc(&operations);
        }
        g_rand_free(random);
        return NULL;
}

static char *dump(void) {
        char *text = NULL;

        return simctl((const char *const[]){ "dump", NULL }, &text) == 0 ? text : NULL;
}

/* Cards that were pulled when the time was over go back, in whatever state the host is. */
static void put_cards_back(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(cards); i++)
                simctl_do("plug", cards[i]);
}

/* Lines of one that the other has not. */
static void show_missing(const char *title, const char *text, const char *other) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line; line++) {
                g_autofree char *whole = g_strdup_printf("%s\n", *line);

                if (!strstr(other, whole))
                        fprintf(stderr, "%s %s", title, whole);
        }
}

static void show_difference(const char *before, const char *after) {
        if (!before || !after) {
                fprintf(stderr, "The host does not answer any more\n");
                return;
        }
        show_missing("only before:", before, after);
        show_missing("only after:", after, before);
}

int main(int argc, char *argv[]) {
        guint32 seed = argc > 2 ? (guint32) strtoul(argv[2], NULL, 0) : g_random_int();
        GThread *threads[WORKERS];
        char *before, *after;
        bool same;

        printf("1..1\n# seed 0x%08x\n", seed);
        fflush(stdout);
        simctl_do("reboot");
        before = dump();
        end = g_get_monotonic_time() + atoi(argv[1]) * G_USEC_PER_SEC;

        for (unsigned i = 0; i < WORKERS; i++)
                threads[i] = g_thread_new("storm", worker, g_rand_new_with_seed(seed + i));
        for (unsigned i = 0; i < WORKERS; i++)
                g_thread_join(threads[i]);

        put_cards_back();
        simctl_do("settle");
        simctl_do("reboot");
        after = dump();

        same = before && after && g_str_equal(before, after);
        if (!same)
                show_difference(before, after);
        printf("# %d operations\n%s 1 - after a storm and a reboot the host is as on the first day\n",
               operations, same ? "ok" : "not ok");
        free(before);
        free(after);
        return same ? 0 : 1;
}
