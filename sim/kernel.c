/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "kernel.h"
#include "trace.h"

/* Fast is for tests: long enough that every window exists, short enough to run thousands. */
const Pace pace_fast = { .vfs_on = 2, .vfs_off = 2, .vf_probe = 0, .pf_probe = 5, .types = 20, .vgpu = 1 };

/* What the field reports: 100 ms and 1 s are the PCI core's own sleeps; a GPU takes seconds to come up, its
 * types follow some seconds later, a vGPU takes a good tenth of a second. */
const Pace pace_real = {
        .vfs_on = 100, .vfs_off = 1000, .vf_probe = 20, .pf_probe = 3000, .types = 5000, .vgpu = 200
};

Kernel *kernel_new(const Pace *pace) {
        Kernel *kernel = g_new0(Kernel, 1);

        g_mutex_init(&kernel->lock);
        g_cond_init(&kernel->changed);
        kernel->pace = *pace;
        kernel->nvml_met = g_string_new(NULL);
        kernel->tree = tree_new();
        kernel->sys = node_add_dir(kernel->tree->root, "sys");
        kernel->proc_driver = node_make_path(kernel->tree->root, "proc/driver");
        return kernel;
}

void kernel_lock(Kernel *kernel) {
        g_mutex_lock(&kernel->lock);
}

void kernel_unlock(Kernel *kernel) {
        g_mutex_unlock(&kernel->lock);
}

void kernel_sleep(Kernel *kernel, unsigned ms) {
        int64_t end = g_get_monotonic_time() + ms * 1000LL;

        if (kernel->booting || ms == 0)
                return;

        kernel_flush_names(kernel);
        while (!kernel->rebooting && g_cond_wait_until(&kernel->changed, &kernel->lock, end))
                ;
}

void kernel_wait(Kernel *kernel) {
        /* What is waited for may come true while the names are told: then nobody would wake us again. */
        if (!kernel_flush_names(kernel))
                g_cond_wait(&kernel->changed, &kernel->lock);
}

bool kernel_wait_until(Kernel *kernel, int64_t end_usec) {
        return kernel_flush_names(kernel) || g_cond_wait_until(&kernel->changed, &kernel->lock, end_usec);
}

void kernel_wake(Kernel *kernel) {
        g_cond_broadcast(&kernel->changed);
}

bool kernel_flush_names(Kernel *kernel) {
        if (kernel->tree->stale->len == 0 || !kernel->flush_names)
                return false;

        kernel->flush_names(kernel);
        return true;
}

typedef struct Work {
        Kernel *kernel;
        void (*work)(Kernel *kernel, void *data);
        void *data;
} Work;

static void *work_thread(void *data) {
        g_autofree Work *w = data;

        kernel_lock(w->kernel);
        w->work(w->kernel, w->data);
        w->kernel->inside--;
        kernel_flush_names(w->kernel);
        kernel_wake(w->kernel);
        kernel_unlock(w->kernel);
        return NULL;
}

void kernel_run(Kernel *kernel, void (*work)(Kernel *kernel, void *data), void *data) {
        Work *w;

        if (kernel->booting) {
                work(kernel, data);
                return;
        }

        w = g_new(Work, 1);
        *w = (Work){ kernel, work, data };
        kernel->inside++;
        g_thread_unref(g_thread_new("sim-kthread", work_thread, w));
}

void kernel_log(Kernel *kernel, const char *format, ...) {
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);

        trace_kernel(kernel->trace, text);
}
