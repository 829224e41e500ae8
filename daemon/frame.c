/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "frame.h"

typedef struct Header {
        uint32_t size; /* of what follows */
        uint32_t kind;
        uint64_t sequence;
} Header;

void frame_clear(Frame *frame) {
        g_clear_pointer(&frame->value, g_variant_unref);
}

static int write_all(int fd, const void *data, size_t size) {
        const char *p = data;

        while (size > 0) {
                ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;

                p += n;
                size -= (size_t) n;
        }
        return 0;
}

int frame_write(int fd, FrameKind kind, uint64_t sequence, GVariant *value) {
        g_autoptr(GVariant) boxed = g_variant_ref_sink(g_variant_new_variant(value));
        gsize size = g_variant_get_size(boxed);
        g_autoptr(GByteArray) bytes = NULL;
        Header header = { (uint32_t) size, kind, sequence };

        if (size > FRAME_SIZE_MAX)
                return -EMSGSIZE;

        bytes = g_byte_array_sized_new((guint) (sizeof header + size));
        g_byte_array_append(bytes, (const guint8 *) &header, sizeof header);
        g_byte_array_set_size(bytes, (guint) (sizeof header + size));
        g_variant_store(boxed, bytes->data + sizeof header);
        return write_all(fd, bytes->data, bytes->len);
}

int frame_take(GByteArray *buffer, Frame *ret) {
        g_autoptr(GVariant) boxed = NULL;
        g_autoptr(GBytes) bytes = NULL;
        Header header;

        if (buffer->len < sizeof header)
                return 0;

        memcpy(&header, buffer->data, sizeof header);
        if (header.size > FRAME_SIZE_MAX || header.kind == 0 || header.kind >= _FRAME_KIND_MAX)
                return -EBADMSG;
        if (buffer->len - sizeof header < header.size)
                return 0;

        /* A copy of its own: a GVariant wants to be aligned, and to stay. */
        bytes = g_bytes_new(buffer->data + sizeof header, header.size);
        boxed = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE_VARIANT, bytes, FALSE));
        if (!g_variant_is_normal_form(boxed))
                return -EBADMSG;

        g_byte_array_remove_range(buffer, 0, (guint) (sizeof header + header.size));
        *ret = (Frame){ (FrameKind) header.kind, header.sequence, g_variant_get_variant(boxed) };
        return 1;
}
