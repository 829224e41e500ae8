/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "uevent.h"

#define UDEV_DIR "/run/udev"

struct Uevents {
        int fd;
        uint64_t seqnum;
};

Uevents *uevents_new(void) {
        struct sockaddr_nl address = { .nl_family = AF_NETLINK };
        _cleanup_close_ int fd = -1;
        Uevents *uevents;

        fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
        if (fd < 0)
                return NULL;
        if (bind(fd, (struct sockaddr *) &address, sizeof address) < 0)
                return NULL;

        uevents = g_new0(Uevents, 1);
        uevents->fd = steal_fd(&fd);
        return uevents;
}

/* The hash libudev's socket filter compares: Austin Appleby's MurmurHash2, seed 0. */
static uint32_t murmur2(const void *data, size_t len) {
        const uint32_t m = 0x5bd1e995;
        const uint8_t *p = data;
        uint32_t h = (uint32_t) len;

        for (; len >= 4; p += 4, len -= 4) {
                uint32_t k;

                memcpy(&k, p, 4);
                k *= m;
                k ^= k >> 24;
                k *= m;
                h = h * m ^ k;
        }

        if (len >= 3)
                h ^= (uint32_t) p[2] << 16;
        if (len >= 2)
                h ^= (uint32_t) p[1] << 8;
        if (len >= 1)
                h = (h ^ p[0]) * m;

        h ^= h >> 13;
        h *= m;
        return h ^ h >> 15;
}

/* Header of libudev's messages, all integers but the sizes in network order. */
typedef struct UdevHeader {
        char prefix[8];
        uint32_t magic;
        uint32_t header_size;
        uint32_t properties_off;
        uint32_t properties_len;
        uint32_t subsystem_hash;
        uint32_t devtype_hash;
        uint32_t tag_bloom_high;
        uint32_t tag_bloom_low;
} UdevHeader;

static const char *value_of(GPtrArray *env, const char *key) {
        size_t len = strlen(key);

        for (unsigned i = 0; i < env->len; i++) {
                const char *entry = env->pdata[i];

                if (strncmp(entry, key, len) == 0 && entry[len] == '=')
                        return entry + len + 1;
        }

        return NULL;
}

static void append_string(GByteArray *bytes, const char *text) {
        g_byte_array_append(bytes, (const guint8 *) text, (guint) strlen(text) + 1);
}

GByteArray *uevent_encode(GPtrArray *env, uint64_t seqnum) {
        const char *subsystem = value_of(env, "SUBSYSTEM"), *devtype = value_of(env, "DEVTYPE");
        g_autofree char *number = g_strdup_printf("SEQNUM=%" G_GUINT64_FORMAT, seqnum);
        g_autofree char *usec = g_strdup_printf("USEC_INITIALIZED=%" G_GINT64_FORMAT, g_get_monotonic_time());
        GByteArray *message = g_byte_array_new();
        UdevHeader header = {
                .prefix = "libudev",
                .magic = htonl(0xfeedcafe),
                .header_size = sizeof header,
                .properties_off = sizeof header,
                .subsystem_hash = subsystem ? htonl(murmur2(subsystem, strlen(subsystem))) : 0,
                .devtype_hash = devtype ? htonl(murmur2(devtype, strlen(devtype))) : 0,
        };

        for (unsigned i = 0; i < env->len; i++)
                append_string(message, env->pdata[i]);
        append_string(message, number);
        append_string(message, usec);

        header.properties_len = message->len;
        return g_byte_array_prepend(message, (const guint8 *) &header, sizeof header);
}

/* To the kernel, which checks that we own the name space, adds SEQNUM and multicasts to group 1. */
static void send_kernel(Uevents *uevents, GPtrArray *env) {
        struct sockaddr_nl address = { .nl_family = AF_NETLINK };
        struct nlmsghdr header = { .nlmsg_type = NLMSG_MIN_TYPE, .nlmsg_flags = NLM_F_REQUEST };
        g_autoptr(GByteArray) message = g_byte_array_new();
        g_autofree char *title = g_strdup_printf("%s@%s", value_of(env, "ACTION"), value_of(env, "DEVPATH"));

        append_string(message, title);
        for (unsigned i = 0; i < env->len; i++)
                append_string(message, env->pdata[i]);
        header.nlmsg_len = (uint32_t) (sizeof header + message->len);
        g_byte_array_prepend(message, (const guint8 *) &header, sizeof header);

        if (sendto(uevents->fd, message->data, message->len, 0, (struct sockaddr *) &address,
                   sizeof address) < 0)
                g_warning("Failed to send uevent '%s': %s", title, g_strerror(errno));
}

static void send_udev(Uevents *uevents, GPtrArray *env) {
        struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 2 };
        g_autoptr(GByteArray) message = uevent_encode(env, uevents->seqnum);

        /* Nobody listens: ECONNREFUSED, as for real udev. */
        if (sendto(uevents->fd, message->data, message->len, 0, (struct sockaddr *) &address,
                   sizeof address) < 0 &&
            errno != ECONNREFUSED)
                g_warning("Failed to send '%s' of '%s' to udev's listeners: %s", value_of(env, "ACTION"),
                          value_of(env, "DEVPATH"), g_strerror(errno));
}

/* A real systemd-udevd has put its socket where we had left a plain file. */
static bool real_udevd_runs(void) {
        struct stat st;

        return lstat(UDEV_DIR "/control", &st) == 0 && S_ISSOCK(st.st_mode);
}

static char *data_base_file(Device *device, GPtrArray *env) {
        const char *major = env ? value_of(env, "MAJOR") : NULL;

        if (major)
                return g_strdup_printf(UDEV_DIR "/data/c%s:%s", major, value_of(env, "MINOR"));

        return g_strdup_printf(UDEV_DIR "/data/+%s:%s", device->subsystem, device->name);
}

static void record(Device *device, GPtrArray *env, const char *action) {
        g_autofree char *path = data_base_file(device, env), *text = NULL;

        if (g_strcmp0(action, "remove") == 0) {
                unlink(path);
                return;
        }

        if (device->initialized == 0)
                device->initialized = (uint64_t) g_get_monotonic_time();
        text = g_strdup_printf("I:%" G_GUINT64_FORMAT "\nV:1\n", device->initialized);
        if (!g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0644, NULL))
                g_debug("Failed to write '%s', ignoring", path);
}

void uevents_coldplug(Device *device) {
        record(device, NULL, NULL);
}

void uevents_send(Uevents *uevents, Device *device, GPtrArray *env) {
        uevents->seqnum++;
        send_kernel(uevents, env);

        if (!real_udevd_runs()) {
                if (device)
                        record(device, env, value_of(env, "ACTION"));
                send_udev(uevents, env);
        }
}
