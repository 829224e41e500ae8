/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "bench.h"
#include "hold.h"
#include "unit.h"

/* Many who write anything to anything at once, as programs under test do. Refusals are fine; the simulated
 * kernel must stand, and afterwards everything must go: bench_free() counts, the sanitizers look. */

#define THREADS 3U
#define WRITES  150U

static const struct {
        const char *host, *vfs; /* VFs on from the beginning: of this card */
} hosts[] = {
        { "a2", "0000:08:00.0" }, { "a2", NULL },    { "l40s", "0000:26:00.0" }, { "t4", NULL },
        { "plain", NULL },        { "mixed", NULL }, { "mtty", NULL },
};

static Bench *bench;

/* Somebody has looked at everything: when it goes, the file system must be told. */
static void collect(Node *node, GPtrArray *files) {
        node->lookups = 1;
        if (node->kind == NODE_FILE && node->attr->store)
                g_ptr_array_add(files, node);
        for (unsigned i = 0; node->children && i < node->children->len; i++)
                collect(node->children->pdata[i], files);
}

static Node *any_file(GRand *dice) {
        g_autoptr(GPtrArray) files = g_ptr_array_new();

        collect(bench->kernel->tree->root, files);
        return node_ref(files->pdata[g_rand_int_range(dice, 0, (int) files->len)]);
}

static char *any_device(GRand *dice) {
        Kernel *kernel = bench->kernel;
        Bus *bus = kernel->mdev && kernel->mdev->devices->len > 0 && g_rand_boolean(dice) ? kernel->mdev
                                                                                          : kernel->pci;
        unsigned n = bus->devices->len;

        return g_strdup(n > 0 ? ((Device *) bus->devices->pdata[g_rand_int_range(dice, 0, (int) n)])->name
                              : "none");
}

/* Something that the file may well take. */
static char *any_text(GRand *dice, const char *file) {
        static const char *const drivers[] = { "\n", "nvidia", "pci-pf-stub", "vfio-pci", "plaingpu" };
        static const char *const types[] = { "0", "1148", "1155", "1146" };

        if (g_str_equal(file, "create"))
                return g_strdup_printf("00000000-0000-0000-0000-%012d", g_rand_int_range(dice, 0, 12));
        if (g_str_equal(file, "bind") || g_str_equal(file, "unbind") || g_str_equal(file, "drivers_probe"))
                return any_device(dice);
        if (g_str_equal(file, "sriov_numvfs"))
                return g_strdup_printf("%d", g_rand_int_range(dice, 0, 9));
        if (g_str_equal(file, "driver_override"))
                return g_strdup(drivers[g_rand_int_range(dice, 0, G_N_ELEMENTS(drivers))]);
        if (g_str_equal(file, "current_vgpu_type"))
                return g_strdup(types[g_rand_int_range(dice, 0, G_N_ELEMENTS(types))]);
        if (g_str_equal(file, "remove"))
                return g_strdup(g_rand_int_range(dice, 0, 3) == 0 ? "1" : "0");
        return g_strdup("1");
}

static void write_any(GRand *dice) {
        Node *node = any_file(dice);
        g_autofree char *text = any_text(dice, node->name);
        void *owner = object_ref(node->owner);

        node->attr->store(owner, node->attr, text, strlen(text));
        if (node->attr->flush)
                node->attr->flush(owner, node->attr);
        object_unref(owner);
        node_unref(node);
}

/* A VM of a millisecond. */
static void hold_any(GRand *dice) {
        g_autofree char *name = any_device(dice), *node = NULL;
        Hold *hold;

        if (hold_begin(bench->kernel, name, &hold, &node) < 0)
                return;

        kernel_sleep(bench->kernel, 1);
        hold_end(bench->kernel, hold);
}

static void *writer(void *data) {
        GRand *dice = g_rand_new_with_seed(GPOINTER_TO_UINT(data));
        Kernel *kernel = bench->kernel;

        for (unsigned i = 0; i < WRITES; i++) {
                int what = g_rand_int_range(dice, 0, 40);

                kernel_lock(kernel);
                if (what == 0)
                        nvidia_reload(kernel, 0);
                else if (what == 1)
                        nvidia_vgpud(kernel);
                else if (what < 10)
                        hold_any(dice);
                else
                        write_any(dice);
                kernel_unlock(kernel);
        }

        g_rand_free(dice);
        return NULL;
}

/* What the file system does, which gives the lock up for that. */
static void tell_names(Kernel *kernel) {
        g_ptr_array_set_size(kernel->tree->stale, 0);
        kernel_unlock(kernel);
        g_thread_yield();
        kernel_lock(kernel);
}

static void write_at_once(unsigned host, void (*flush_names)(Kernel *kernel)) {
        GThread *threads[THREADS];

        bench = bench_new(hosts[host].host);
        if (hosts[host].vfs)
                bench_enable_vfs(bench, hosts[host].vfs, 8);
        bench->kernel->flush_names = flush_names;
        bench->kernel->pace = (Pace){ .vfs_on = 1, .pf_probe = 1, .types = 1, .vgpu = 1 };

        kernel_unlock(bench->kernel);
        for (unsigned i = 0; i < THREADS; i++)
                threads[i] = g_thread_new("writer", writer, GUINT_TO_POINTER(100 * host + i));
        for (unsigned i = 0; i < THREADS; i++)
                g_thread_join(threads[i]);
        kernel_lock(bench->kernel);
        bench_settle(bench);
        bench_free(bench);
}

START_TEST(nothing_that_anybody_writes_brings_the_kernel_down) {
        write_at_once((unsigned) _i, /* flush_names= */ NULL);
}
END_TEST

/* Every event is a moment in which all may change. */
START_TEST(nor_while_names_that_are_gone_are_told) {
        write_at_once((unsigned) _i, tell_names);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("writers");

        add_table_test(tests, nothing_that_anybody_writes_brings_the_kernel_down, hosts);
        add_table_test(tests, nor_while_names_that_are_gone_are_told, hosts);
        return unit_run(tests, "writers");
}
