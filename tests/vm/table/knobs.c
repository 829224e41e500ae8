/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "knobs.h"

#define PARAMETERS "/sys/module/nvidia/parameters/"
#define ERRNO_MAX  133

/* Which file of a rule's pattern has a knob, and of what device the rule speaks. */
static const struct {
        const char *verb, *file, *knob;
} knobs[] = {
        { "fail", "*/sriov_numvfs", "sriov_errno" },
        { "fail", "*/current_vgpu_type", "type_errno" },
        { "fail", "/driver/*/probe/*", "probe_errno" },
        { "fail", "*/drivers/nvidia/bind", "probe_errno" },
        { "delay", "*/sriov_numvfs", "sriov_delay_ms" },
        { "delay", "/driver/nvidia/types/*", "types_delay_ms" },
};

bool knob_set(const char *name, const char *value) {
        g_autofree char *path = g_strconcat(PARAMETERS, name, NULL);
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd >= 0 && write(fd, value, strlen(value)) == (ssize_t) strlen(value);
}

unsigned knob_get(const char *name, unsigned otherwise) {
        g_autofree char *path = g_strconcat(PARAMETERS, name, NULL), *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? (unsigned) strtoul(text, NULL, 10) : otherwise;
}

bool knob_parse_time(const char *text, unsigned *ret_ms) {
        char *end;
        unsigned long n = strtoul(text, &end, 10);

        if (end == text || (!g_str_equal(end, "s") && !g_str_equal(end, "ms")))
                return false;

        *ret_ms = (unsigned) (g_str_equal(end, "s") ? n * 1000 : n);
        return true;
}

static int errno_of(const char *name) {
        for (int i = 1; i <= ERRNO_MAX; i++)
                if (g_strcmp0(strerrorname_np(i), name) == 0)
                        return i;

        return 0;
}

/* The part of a pattern that is a PCI address: the rule is for this device. */
static char *device_of(const char *pattern) {
        g_auto(GStrv) parts = g_strsplit(pattern, "/", -1);
        char *device = g_strdup("\n"); /* none: all of them */

        for (char **part = parts; *part; part++)
                if (g_pattern_match_simple("????:??:??.?", *part)) {
                        g_free(device);
                        device = g_strdup(*part);
                }

        return device;
}

static bool set_fault(const char *knob, const char *name, const char *option) {
        const char *times = option && g_str_has_prefix(option, "times=") ? option + strlen("times=") : "1";
        g_autofree char *number = g_strdup_printf("%d", errno_of(name));

        return errno_of(name) > 0 && knob_set("times", times) && knob_set(knob, number);
}

static bool set_delay(const char *knob, const char *time) {
        g_autofree char *number = NULL;
        unsigned ms;

        if (!knob_parse_time(time, &ms))
                return false;
        number = g_strdup_printf("%u", ms);
        return knob_set(knob, number);
}

int knob_rule(const char *const *words) {
        g_autofree char *device = NULL;

        if (!words[1] || !words[2])
                return 2;

        device = device_of(words[1]);
        for (size_t i = 0; i < G_N_ELEMENTS(knobs); i++) {
                if (!g_str_equal(knobs[i].verb, words[0]) || !g_pattern_match_simple(knobs[i].file, words[1]))
                        continue;
                if (!knob_set("only", device))
                        return 1;
                return (g_str_equal(words[0], "fail") ? set_fault(knobs[i].knob, words[2], words[3])
                                                      : set_delay(knobs[i].knob, words[2]))
                               ? 0
                               : 1;
        }

        return 2;
}
