/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>
#include <systemd/sd-bus.h>

/* Work for carved that may be cut off at any instant, and what must be there afterwards.
 *
 *   load run GPU SEED RECORD     enables, creates, destroys and disables for ever. Before each call it writes
 * what it begins, after it what came of it, to RECORD: a port whose other end survives us load check GPU
 * RECORD        every call that was answered is there, the one under way wholly or not at all, and nothing
 * else
 */

#define TYPE         "nvidia-742" /* sixteen of them have room */
#define MDEVS        "/sys/bus/mdev/devices"
#define CALL_USEC    (150 * G_USEC_PER_SEC)
#define PATIENCE_SEC 90

typedef struct World {
        bool vfs;
        GHashTable *vgpus; /* UUIDs */
} World;

typedef struct Operation {
        char verb[16], uuid[40]; /* "": none */
} Operation;

static sd_bus *bus;
static const char *gpu;

/* ---- what is so ---- */

static void apply(World *world, const Operation *op) {
        if (g_str_equal(op->verb, "enable"))
                world->vfs = true;
        else if (g_str_equal(op->verb, "disable")) {
                world->vfs = false;
                g_hash_table_remove_all(world->vgpus);
        } else if (g_str_equal(op->verb, "create"))
                g_hash_table_add(world->vgpus, g_strdup(op->uuid));
        else if (g_str_equal(op->verb, "destroy"))
                g_hash_table_remove(world->vgpus, op->uuid);
}

static World world_new(void) {
        return (World){ .vgpus = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) };
}

/* ---- run ---- */

static sd_bus_message *new_call(const char *path, const char *interface, const char *method) {
        sd_bus_message *m = NULL;

        g_assert(sd_bus_message_new_method_call(bus, &m, "org.carved1", path, interface, method) >= 0);
        return m;
}

static char *find_vgpu(const char *uuid) {
        sd_bus_message *reply = NULL;
        const char *path = "";
        char *found;

        if (sd_bus_call_method(bus, "org.carved1", "/org/carved1", "org.carved1.Manager", "GetVgpu", NULL,
                               &reply, "s", uuid) >= 0)
                sd_bus_message_read(reply, "o", &path);
        found = g_strdup(path);
        sd_bus_message_unref(reply);
        return found;
}

static sd_bus_message *call_for(const Operation *op) {
        g_autofree char *vgpu = g_str_equal(op->verb, "destroy") ? find_vgpu(op->uuid) : NULL;
        sd_bus_message *m;

        if (g_str_equal(op->verb, "enable")) {
                m = new_call(gpu, "org.carved1.Sriov", "EnableVfs");
                sd_bus_message_append(m, "ua{sv}", 16, 0);
        } else if (g_str_equal(op->verb, "disable")) {
                m = new_call(gpu, "org.carved1.Sriov", "DisableVfs");
                sd_bus_message_append(m, "a{sv}", 1, "destroy-vgpus", "b", 1);
        } else if (g_str_equal(op->verb, "create")) {
                m = new_call(gpu, "org.carved1.VgpuHost", "CreateVgpu");
                sd_bus_message_append(m, "sa{sv}", TYPE, 1, "uuid", "s", op->uuid);
        } else {
                m = new_call(*vgpu ? vgpu : gpu, "org.carved1.Vgpu", "Destroy");
                sd_bus_message_append(m, "a{sv}", 0);
        }
        return m;
}

static void note(int record, const char *word, const Operation *op, const char *more) {
        g_autofree char *line = g_strdup_printf("%s %s %s%s\n", word, op->verb, op->uuid, more);

        /* The port's driver returns when the other end has it. */
        if (write(record, line, strlen(line)) < 0)
                exit(EXIT_FAILURE);
}

static bool do_one(int record, const Operation *op) {
        __attribute__((cleanup(sd_bus_error_free))) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *m = call_for(op);
        g_autofree char *more = NULL;
        int r;

        note(record, "begin", op, "");
        r = sd_bus_call(bus, m, CALL_USEC, &error, NULL);
        sd_bus_message_unref(m);
        if (r < 0)
                more = g_strdup_printf(" %s %s", error.name ?: "", error.message ?: g_strerror(-r));
        note(record, r >= 0 ? "done" : "fail", op, more ?: "");
        return r >= 0;
}

static const char *pick(GHashTable *vgpus, GRand *random) {
        guint n = 0;
        g_autofree void **all = g_hash_table_get_keys_as_array(vgpus, &n);

        return all[g_rand_int_range(random, 0, (int) n)];
}

static Operation choose(const World *world, GRand *random) {
        unsigned n = g_hash_table_size(world->vgpus), dice = (unsigned) g_rand_int_range(random, 0, 20);
        g_autofree char *uuid = g_uuid_string_random();
        Operation op = { .verb = "create" };

        if (!world->vfs)
                g_strlcpy(op.verb, "enable", sizeof op.verb);
        else if (dice == 0)
                g_strlcpy(op.verb, "disable", sizeof op.verb);
        else if (n == 16 || (n > 0 && dice < 8)) {
                g_strlcpy(op.verb, "destroy", sizeof op.verb);
                g_strlcpy(op.uuid, pick(world->vgpus, random), sizeof op.uuid);
        } else
                g_strlcpy(op.uuid, uuid, sizeof op.uuid);
        return op;
}

static int run(uint32_t seed, const char *path) {
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        World world = world_new();
        int record = open(path, O_WRONLY | O_CLOEXEC | O_APPEND);

        if (record < 0) {
                perror(path);
                return EXIT_FAILURE;
        }
        for (;;) {
                Operation op = choose(&world, random);

                if (do_one(record, &op))
                        apply(&world, &op);
                else
                        return EXIT_FAILURE; /* nothing here should fail */
        }
}

/* ---- check ---- */

/* What is certain, and what was under way: @flying has an empty verb where nothing was. */
static bool read_record(const char *path, World *certain, Operation *flying, unsigned *answered) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                return false;

        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                char word[16] = "";
                Operation op = { 0 };

                /* One that stops short was cut off while it was written: it did not even begin. */
                if (!line[1] || sscanf(*line, "%15s %15s %39s", word, op.verb, op.uuid) < 2)
                        continue;
                if (g_str_equal(word, "fail")) {
                        printf("a call failed: %s\n", *line);
                        return false;
                }
                *flying = g_str_equal(word, "begin") ? op : (Operation){ 0 };
                if (g_str_equal(word, "done")) {
                        apply(certain, &op);
                        (*answered)++;
                }
        }
        return true;
}

static bool is_shown(const char *uuid) {
        g_autofree char *path = find_vgpu(uuid), *state = NULL, *origin = NULL;
        char *text = NULL;
        bool shown;

        if (!*path)
                return false;
        if (sd_bus_get_property_string(bus, "org.carved1", path, "org.carved1.Vgpu", "State", NULL, &text) >=
            0)
                state = text;
        if (sd_bus_get_property_string(bus, "org.carved1", path, "org.carved1.Vgpu", "Origin", NULL, &text) >=
            0)
                origin = text;
        shown = g_strcmp0(state, "active") == 0 && g_strcmp0(origin, "carved") == 0;
        return shown;
}

/* So it is: "" or what is not as in @world. */
static char *compare(const World *world) {
        g_autoptr(GDir) dir = g_dir_open(MDEVS, 0, NULL);
        uint32_t vfs = 0;
        unsigned there = 0;
        const char *name;

        if (sd_bus_get_property_trivial(bus, "org.carved1", gpu, "org.carved1.Sriov", "NumVfs", NULL, 'u',
                                        &vfs) < 0)
                return g_strdup("the card is not shown");
        if ((vfs > 0) != world->vfs)
                return g_strdup_printf("%u VFs are on", vfs);
        while (dir && (name = g_dir_read_name(dir))) {
                there++;
                if (!g_hash_table_contains(world->vgpus, name))
                        return g_strdup_printf("vGPU %s is there, and nobody knows why", name);
                if (!is_shown(name))
                        return g_strdup_printf("vGPU %s is there, and not shown as carved's", name);
        }
        if (there != g_hash_table_size(world->vgpus))
                return g_strdup_printf("%u vGPUs are there, not %u", there, g_hash_table_size(world->vgpus));
        return g_strdup("");
}

static bool is_settled(void) {
        g_autoptr(GDir) dir = g_dir_open("/var/lib/carved/journal", 0, NULL);

        return !dir || !g_dir_read_name(dir);
}

static int check(const char *path) {
        World without = world_new(), with = world_new();
        Operation flying = { 0 };
        unsigned answered = 0, again = 0;
        int64_t end = g_get_monotonic_time() + PATIENCE_SEC * G_USEC_PER_SEC;

        if (!read_record(path, &without, &flying, &answered) || !read_record(path, &with, &flying, &again))
                return EXIT_FAILURE;
        apply(&with, &flying);

        for (;;) {
                g_autofree char *one = compare(&without), *other = compare(&with);

                if ((!*one || !*other) && is_settled()) {
                        printf("%u calls answered, %u vGPUs; %s %s under way: %s\n", answered,
                               g_hash_table_size(without.vgpus), *flying.verb ? flying.verb : "nothing",
                               flying.uuid, *one ? "it is done" : "it is not done");
                        return EXIT_SUCCESS;
                }
                if (g_get_monotonic_time() > end) {
                        printf("%u calls answered, %s %s under way: %s; or, with it: %s; the journal is %s\n",
                               answered, flying.verb, flying.uuid, one, other,
                               is_settled() ? "empty" : "not empty");
                        return EXIT_FAILURE;
                }
                g_usleep(300 * 1000); /* between two questions, not instead of one */
        }
}

int main(int argc, char **argv) {
        bool runs = argc == 5 && g_str_equal(argv[1], "run"),
             checks = argc == 4 && g_str_equal(argv[1], "check");

        if ((!runs && !checks) || sd_bus_open_system(&bus) < 0)
                return EXIT_FAILURE;

        gpu = argv[2];
        return runs ? run((uint32_t) strtoul(argv[3], NULL, 10), argv[4]) : check(argv[3]);
}
