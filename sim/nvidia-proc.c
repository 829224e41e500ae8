/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nvml.h"

/* /proc/driver/nvidia/gpus/ADDRESS/unbindLock: what sriov-manage must get before it may touch the card. */

static int lock_show(void *owner, const Attr *attr, GString *out) {
        g_string_append_printf(out, "%d\n", ((Nvidia *) owner)->unbind_lock);
        return 0;
}

/* A write never fails: it is acted on at close. */
static int lock_store(void *owner, const Attr *attr, const char *text, size_t len) {
        Nvidia *nvidia = owner;

        g_free(nvidia->lock_text);
        nvidia->lock_text = g_strdup(text);
        return 0;
}

static int lock_flush(void *owner, const Attr *attr) {
        Nvidia *nvidia = owner;
        g_autofree char *text = g_steal_pointer(&nvidia->lock_text);
        Kernel *kernel = nvidia->pf->device.kernel;
        char *end;
        long value;

        if (!text)
                return 0;

        value = strtol(text, &end, 0);
        if (end == text || (*end != '\0' && !g_str_equal(end, "\n")))
                return 0; /* the driver's EINVAL is lost: close(2) does not ask what release() has to say */

        if (value == 0 && nvidia->unbind_lock) {
                nvidia->unbind_lock = false;
                kernel_log(kernel, "NVRM: UnbindLock released");
        } else if (value != 0 && !nvidia->unbind_lock) {
                nvml_note(nvidia, "unbindLock");
                nvidia->unbind_lock = nvidia_usage(nvidia) == 0;
                kernel_log(kernel, "NVRM: %s",
                           nvidia->unbind_lock ? "UnbindLock acquired" : "Could not acquire UnbindLock");
        }

        return 0;
}

static const Attr gpu_attrs[] = {
        { "unbindLock", 0644, lock_show, lock_store, lock_flush },
        {},
};

void nvidia_proc_add(Nvidia *nvidia) {
        Node *gpus = node_make_path(nvidia->pf->device.kernel->proc_driver, "nvidia/gpus");

        nvidia->proc_dir = node_ref(node_add_dir(gpus, nvidia->pf->device.name));
        node_add_attrs(nvidia->proc_dir, gpu_attrs, nvidia);
}

void nvidia_proc_remove(Nvidia *nvidia) {
        node_remove(nvidia->proc_dir);
}
