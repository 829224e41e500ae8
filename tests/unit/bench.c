/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "bench.h"
#include "unit.h"

/* Kept: the sanitizer shall tell what a kernel has lost, not what it has. */
static GSList *kernels;

static Bench *bench_from(HostSpec *host, const GError *error) {
        Bench *bench = g_new0(Bench, 1);

        ck_assert_msg(host, "%s", error ? error->message : "");
        bench->host = host;
        bench->kernel = kernel_new(&pace_fast);
        kernels = g_slist_prepend(kernels, bench->kernel);
        kernel_lock(bench->kernel);
        boot(bench->kernel, host);
        return bench;
}

Bench *bench_new(const char *name) {
        g_autoptr(GError) error = NULL;
        HostSpec *host = host_spec_load(SIM_SOURCE_DIR, name, &error);

        return bench_from(host, error);
}

Bench *bench_new_from_text(const char *text) {
        g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
        g_autoptr(GError) error = NULL;
        HostSpec *host = host_spec_parse(SIM_SOURCE_DIR, "text", json, strlen(json), &error);

        return bench_from(host, error);
}

void bench_free(Bench *bench) {
        g_autoptr(HostSpec) nothing = host_spec_new("nothing");

        /* Each function of a card has a reference to its description: when all have gone, the host's is the
         * last. */
        reboot(bench->kernel, nothing);
        for (unsigned i = 0; i < bench->host->gpus->len; i++)
                ck_assert_uint_eq(((GpuSpec *) bench->host->gpus->pdata[i])->refs, 1);

        kernel_unlock(bench->kernel);
        host_spec_free(bench->host);
        g_free(bench);
}

static Node *find(Bench *bench, const char *path) {
        Kernel *kernel = bench->kernel;

        return node_lookup(path[0] == '/' ? kernel->tree->root : kernel->sys, path);
}

char *bench_show(Bench *bench, const char *path) {
        g_autoptr(GString) out = g_string_new(NULL);
        Node *node = find(bench, path);
        int r;

        if (!node || node->kind != NODE_FILE || !node->attr->show) {
                errno = ENOENT;
                return NULL;
        }

        node_ref(node);
        r = node->attr->show(node->owner, node->attr, out);
        node_unref(node);
        errno = -r;
        return r < 0 ? NULL : g_strdup(out->str);
}

int bench_store(Bench *bench, const char *path, const char *text) {
        Node *node = find(bench, path);
        int r;

        if (!node || node->kind != NODE_FILE || !node->attr->store)
                return -ENOENT;

        node_ref(node);
        r = node->attr->store(node->owner, node->attr, text, strlen(text));
        if (r == 0 && node->attr->flush)
                r = node->attr->flush(node->owner, node->attr);
        node_unref(node);
        return r;
}

bool bench_exists(Bench *bench, const char *path) {
        return find(bench, path);
}

unsigned bench_count(Bench *bench, const char *path) {
        Node *node = find(bench, path);

        return node && node->children ? node->children->len : 0;
}

void bench_settle(Bench *bench) {
        while (bench->kernel->inside > 0)
                kernel_wait(bench->kernel);
}

static void move(Bench *bench, const char *address, const char *from, const char *to) {
        g_autofree char *unbind = g_strdup_printf("bus/pci/drivers/%s/unbind", from);
        g_autofree char *override = g_strdup_printf("bus/pci/devices/%s/driver_override", address);
        g_autofree char *bind = g_strdup_printf("bus/pci/drivers/%s/bind", to);

        assert_stores(bench, unbind, address);
        assert_stores(bench, override, to);
        assert_stores(bench, bind, address);
        assert_stores(bench, override, "\n");
}

void bench_enable_vfs(Bench *bench, const char *address, unsigned n) {
        g_autofree char *numvfs = g_strdup_printf("bus/pci/devices/%s/sriov_numvfs", address);
        g_autofree char *count = g_strdup_printf("%u\n", n);

        move(bench, address, "nvidia", "pci-pf-stub");
        assert_stores(bench, numvfs, count);
        move(bench, address, "pci-pf-stub", "nvidia");
        bench_settle(bench);
}
