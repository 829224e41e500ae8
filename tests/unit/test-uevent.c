/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "uevent.h"
#include "unit.h"

/* What goes to udev's listeners, byte by byte: libudev drops whatever looks different, without a word. */

#define HEADER_SIZE 40U

static GPtrArray *env_of(const char *const *entries) {
        GPtrArray *env = g_ptr_array_new();

        for (; *entries; entries++)
                g_ptr_array_add(env, (void *) *entries);
        return env;
}

static GByteArray *encode(const char *const *entries, uint64_t seqnum) {
        g_autoptr(GPtrArray) env = env_of(entries);

        return uevent_encode(env, seqnum);
}

static uint32_t big_endian_at(const GByteArray *message, size_t offset) {
        const uint8_t *p = message->data + offset;

        return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static uint32_t native_at(const GByteArray *message, size_t offset) {
        uint32_t value;

        memcpy(&value, message->data + offset, sizeof value);
        return value;
}

static const char *const add_pci[] = { "ACTION=add", "DEVPATH=/devices/pci0000:00/0000:08:00.4",
                                       "SUBSYSTEM=pci", NULL };

START_TEST(a_message_begins_as_libudev_wants_it) {
        g_autoptr(GByteArray) message = encode(add_pci, 7);

        ck_assert_uint_gt(message->len, HEADER_SIZE);
        ck_assert_mem_eq(message->data, "libudev\0", 8);
        ck_assert_uint_eq(big_endian_at(message, 8), 0xfeedcafe);
        /* Sizes are in the machine's own order, all else in the network's. */
        ck_assert_uint_eq(native_at(message, 12), HEADER_SIZE);
        ck_assert_uint_eq(native_at(message, 16), HEADER_SIZE);
        ck_assert_uint_eq(native_at(message, 20), message->len - HEADER_SIZE);
        /* No type of device, no tags. */
        ck_assert_uint_eq(big_endian_at(message, 28), 0);
        ck_assert_uint_eq(big_endian_at(message, 32), 0);
        ck_assert_uint_eq(big_endian_at(message, 36), 0);
}
END_TEST

START_TEST(properties_follow_each_with_its_nul) {
        g_autoptr(GByteArray) message = encode(add_pci, 18446744073709551615U);
        const char *p = (const char *) message->data + HEADER_SIZE,
                   *end = (const char *) message->data + message->len;
        int64_t now = g_get_monotonic_time();

        for (const char *const *entry = add_pci; *entry; entry++) {
                ck_assert_str_eq(p, *entry);
                p += strlen(p) + 1;
        }
        ck_assert_str_eq(p, "SEQNUM=18446744073709551615");
        p += strlen(p) + 1;
        ck_assert(g_str_has_prefix(p, "USEC_INITIALIZED="));
        ck_assert_int_le(g_ascii_strtoll(p + strlen("USEC_INITIALIZED="), NULL, 10), now);
        p += strlen(p) + 1;
        ck_assert_ptr_eq(p, end);
}
END_TEST

/* The first four read out of the socket filter (SO_GET_FILTER) that libudev 252 sets for a monitor of that
 * subsystem; the others from another implementation of MurmurHash2. */
static const struct {
        const char *word;
        uint32_t hash;
} hashes[] = {
        { "pci", 0x59163b92 },      { "mdev", 0xbb5211c7 },      { "vfio", 0x9cba94c3 },
        { "vfio-dev", 0x573b34c1 }, { "partition", 0xcb234489 }, { "vfio_ap", 0x7f1bfa5b },
};

START_TEST(the_subsystem_is_hashed_as_libudevs_filter_does) {
        g_autofree char *subsystem = g_strdup_printf("SUBSYSTEM=%s", hashes[_i].word);
        g_autoptr(GByteArray) message = encode((const char *const[]){ "ACTION=add", subsystem, NULL }, 1);

        ck_assert_uint_eq(big_endian_at(message, 24), hashes[_i].hash);
        ck_assert_uint_eq(big_endian_at(message, 28), 0);
}
END_TEST

START_TEST(the_type_of_a_device_is_hashed_the_same_way) {
        g_autofree char *devtype = g_strdup_printf("DEVTYPE=%s", hashes[_i].word);
        g_autoptr(GByteArray) message = encode((const char *const[]){ "SUBSYSTEM=pci", devtype, NULL }, 1);

        ck_assert_uint_eq(big_endian_at(message, 24), hashes[0].hash);
        ck_assert_uint_eq(big_endian_at(message, 28), hashes[_i].hash);
}
END_TEST

START_TEST(a_key_is_told_from_one_that_begins_alike) {
        g_autoptr(GByteArray) message = encode((const char *const[]){ "SUBSYSTEM_OLD=mdev", "XSUBSYSTEM=mdev",
                                                                      "SUBSYSTEM", "SUBSYSTEM=pci", NULL },
                                               1);

        ck_assert_uint_eq(big_endian_at(message, 24), hashes[0].hash);
}
END_TEST

START_TEST(without_a_subsystem_there_is_no_hash) {
        g_autoptr(GByteArray) message = encode((const char *const[]){ "ACTION=add", NULL }, 1);

        ck_assert_uint_eq(native_at(message, 24), 0);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("uevent");

        tcase_add_test(tests, a_message_begins_as_libudev_wants_it);
        tcase_add_test(tests, properties_follow_each_with_its_nul);
        add_table_test(tests, the_subsystem_is_hashed_as_libudevs_filter_does, hashes);
        add_table_test(tests, the_type_of_a_device_is_hashed_the_same_way, hashes);
        tcase_add_test(tests, a_key_is_told_from_one_that_begins_alike);
        tcase_add_test(tests, without_a_subsystem_there_is_no_hash);
        return unit_run(tests, "uevent");
}
