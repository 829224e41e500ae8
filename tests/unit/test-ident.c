/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "ident.h"
#include "unit.h"

static const struct {
        const char *text;
        CarvedPciAddress address;
        const char *sysfs;
} spellings[] = {
        { "0000:08:00.0", { 0, 0x08, 0, 0 }, "0000:08:00.0" },
        { "08:00.0", { 0, 0x08, 0, 0 }, "0000:08:00.0" },
        { "8:0.0", { 0, 0x08, 0, 0 }, "0000:08:00.0" },
        { "00000000:08:00.0", { 0, 0x08, 0, 0 }, "0000:08:00.0" },
        { "0:08:00.0", { 0, 0x08, 0, 0 }, "0000:08:00.0" },
        { "0000:3B:1F.7", { 0, 0x3b, 0x1f, 7 }, "0000:3b:1f.7" },
        { "0000:3b:1F.7", { 0, 0x3b, 0x1f, 7 }, "0000:3b:1f.7" },
        { "00000001:C8:02.3", { 1, 0xc8, 2, 3 }, "0001:c8:02.3" },
        { "ffff:ff:1f.7", { 0xffff, 0xff, 0x1f, 7 }, "ffff:ff:1f.7" },
        /* VMD and some firmware number domains from 0x10000. */
        { "10000:e1:00.0", { 0x10000, 0xe1, 0, 0 }, "10000:e1:00.0" },
        { "00010000:e1:00.0", { 0x10000, 0xe1, 0, 0 }, "10000:e1:00.0" },
        { "abcdef:00:00.1", { 0xabcdef, 0, 0, 1 }, "abcdef:00:00.1" },
        { "FFFFFFFF:FF:1F.7", { 0xffffffff, 0xff, 0x1f, 7 }, "ffffffff:ff:1f.7" },
};

START_TEST(an_address_is_read_in_any_spelling) {
        CarvedPciAddress address;

        ck_assert(carved_pci_address_parse(spellings[_i].text, &address));
        ck_assert_uint_eq(address.domain, spellings[_i].address.domain);
        ck_assert_uint_eq(address.bus, spellings[_i].address.bus);
        ck_assert_uint_eq(address.device, spellings[_i].address.device);
        ck_assert_uint_eq(address.function, spellings[_i].address.function);
}
END_TEST

START_TEST(an_address_is_written_as_sysfs_does) {
        g_autofree char *buf = g_malloc(CARVED_PCI_ADDRESS_MAX); /* exactly: a byte more is an error */

        ck_assert_ptr_eq(carved_pci_address_format(&spellings[_i].address, buf), buf);
        ck_assert_str_eq(buf, spellings[_i].sysfs);
}
END_TEST

static const char *const bad_addresses[] = {
        "",
        ".",
        ":",
        "::",
        ":.",
        "::.",
        "08",
        "08:00",
        "08:00.",
        "08.0",
        "08:.0",
        ":00.0",
        ":08:00.0",
        "0000::00.0",
        "0000:08:.0",
        "0000:08:00",
        "0000:08:00.",
        "0000:08:00.8",
        "0000:08:00.a",
        "0000:08:00.00",
        "0000:08:00.0 ",
        " 0000:08:00.0",
        "0000:08:00.0\n",
        "0000:08:00:0",
        "0000:08.00.0",
        "0000-08-00.0",
        "0000:08:20.0",
        "0000:08:ff.0",
        "0000:08:000.0",
        "0000:008:00.0",
        "0000:100:00.0",
        "000000000:08:00.0",
        "100000000:08:00.0",
        "0:0000:08:00.0",
        "0000:08:00.0.0",
        "0x0000:08:00.0",
        "+000:08:00.0",
        "-1:08:00.0",
        "g000:08:00.0",
        "0000:0g:00.0",
        "0000:08:0g.0",
        "pci_0000_08_00_0",
        "0000:08:00.0:",
        "0000:08:00.0/driver",
};

START_TEST(what_is_not_an_address_is_refused_and_writes_nothing) {
        /* Without room behind it: a sanitizer then sees a read too far. */
        g_autofree char *text = g_strdup(bad_addresses[_i]);
        CarvedPciAddress address = { 0xdead, 0xbe, 0x1e, 6 };

        ck_assert(!carved_pci_address_parse(text, &address));
        ck_assert_uint_eq(address.domain, 0xdead);
        ck_assert_uint_eq(address.bus, 0xbe);
        ck_assert_uint_eq(address.device, 0x1e);
        ck_assert_uint_eq(address.function, 6);
}
END_TEST

static const uint32_t domains[] = { 0, 1, 0xfff, 0xffff, 0x10000, 0xfffff, 0xabcdef, 0xfffffff, 0xffffffff };

START_TEST(every_address_survives_being_written_and_read) {
        for (unsigned bus = 0; bus <= 0xff; bus += 0x11)
                for (unsigned devfn = 0; devfn <= 0xff; devfn++) {
                        CarvedPciAddress address = { domains[_i], (uint8_t) bus, (uint8_t) (devfn >> 3),
                                                     devfn & 7 },
                                         again;
                        char buf[CARVED_PCI_ADDRESS_MAX];

                        ck_assert(carved_pci_address_parse(carved_pci_address_format(&address, buf), &again));
                        ck_assert_int_eq(carved_pci_address_compare(&address, &again), 0);
                        ck_assert_uint_eq(carved_pci_address_devfn(&again), devfn);
                }
}
END_TEST

/* Each greater than the one before. */
static const CarvedPciAddress ordered[] = {
        { 0, 0x00, 0x00, 0 },    { 0, 0x00, 0x00, 1 },      { 0, 0x00, 0x00, 7 },
        { 0, 0x00, 0x01, 0 },    { 0, 0x00, 0x1f, 7 },      { 0, 0x01, 0x00, 0 },
        { 0, 0x7f, 0x00, 0 },    { 0, 0x80, 0x00, 0 },      { 0, 0xff, 0x1f, 7 },
        { 1, 0x00, 0x00, 0 },    { 0xffff, 0x08, 0x00, 0 }, { 0x10000, 0x00, 0x00, 0 },
        { 0x7fffffff, 0, 0, 0 }, { 0x80000000, 0, 0, 0 },   { 0xffffffff, 0xff, 0x1f, 7 },
};

START_TEST(addresses_are_ordered_by_domain_bus_device_function) {
        for (int j = 0; j < (int) G_N_ELEMENTS(ordered); j++) {
                int order = carved_pci_address_compare(&ordered[_i], &ordered[j]);

                ck_assert_int_eq((order > 0) - (order < 0), (_i > j) - (_i < j));
        }
}
END_TEST

static const char *const good_uuids[] = {
        "12345678-9abc-def0-1234-56789abcdef0", "12345678-9ABC-DEF0-1234-56789ABCDEF0",
        "aAbBcCdD-eEfF-0000-ffff-AAAAAAAAAAAA", "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
};

START_TEST(a_uuid_is_valid_in_any_case) {
        ck_assert(carved_uuid_is_valid(good_uuids[_i]));
}
END_TEST

static const char *const bad_uuids[] = {
        "",
        "-",
        "1",
        "12345678",
        "12345678-9abc-def0-1234-56789abcdef",
        "12345678-9abc-def0-1234-56789abcdef00",
        "12345678-9abc-def0-1234-56789abcdef0\n",
        " 12345678-9abc-def0-1234-56789abcdef0",
        "12345678-9abc-def0-1234-56789abcdef0 ",
        "{12345678-9abc-def0-1234-56789abcdef0}",
        "123456789abcdef0123456789abcdef0",
        "12345678_9abc_def0_1234_56789abcdef0",
        "1234567-89abc-def0-1234-56789abcdef0",
        "12345678-9abcd-ef0-1234-56789abcdef0",
        "12345678-9abc-def0-1234056789abcdef0",
        "g2345678-9abc-def0-1234-56789abcdef0",
        "12345678-9abc-def0-1234-56789abcdefg",
        "12345678-9abc-def0--234-56789abcdef0",
        "------------------------------------",
        "urn:uuid:12345678-9abc-def0-1234-56789abcdef0",
        "ä345678-9abc-def0-1234-56789abcdef0",
};

START_TEST(what_is_not_exactly_a_uuid_is_refused) {
        g_autofree char *text = g_strdup(bad_uuids[_i]);

        ck_assert(!carved_uuid_is_valid(text));
}
END_TEST

START_TEST(no_beginning_of_a_uuid_is_one) {
        for (size_t len = 0; len < CARVED_UUID_LEN; len++) {
                g_autofree char *text = g_strndup(good_uuids[_i], len);

                ck_assert(!carved_uuid_is_valid(text));
        }
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("ident");

        add_table_test(tests, an_address_is_read_in_any_spelling, spellings);
        add_table_test(tests, an_address_is_written_as_sysfs_does, spellings);
        add_table_test(tests, what_is_not_an_address_is_refused_and_writes_nothing, bad_addresses);
        add_table_test(tests, every_address_survives_being_written_and_read, domains);
        add_table_test(tests, addresses_are_ordered_by_domain_bus_device_function, ordered);
        add_table_test(tests, a_uuid_is_valid_in_any_case, good_uuids);
        add_table_test(tests, what_is_not_exactly_a_uuid_is_refused, bad_uuids);
        add_table_test(tests, no_beginning_of_a_uuid_is_one, good_uuids);
        return unit_run(tests, "ident");
}
