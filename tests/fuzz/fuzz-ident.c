/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "fuzz.h"
#include "ident.h"
#include "vgpu-type.h"

/* Names that clients, files and the kernel give to things: addresses, their slugs, UUIDs, ids of types. What
 * is taken for one is written in one spelling, which is taken for the same. */

static void check_address(const char *text) {
        CarvedPciAddress address, again;
        char plain[CARVED_PCI_ADDRESS_MAX], slug[CARVED_PCI_ADDRESS_MAX];

        if (!carved_pci_address_parse(text, &address))
                return;

        carved_pci_address_format(&address, plain);
        g_assert(carved_pci_address_parse(plain, &again) &&
                 carved_pci_address_compare(&address, &again) == 0);
        carved_pci_address_slug(&address, slug);
        g_assert(carved_pci_address_parse_slug(slug, &again) &&
                 carved_pci_address_compare(&address, &again) == 0);
        /* It becomes part of a path. */
        g_assert(strspn(plain, "0123456789abcdef:.") == strlen(plain) && !strstr(plain, ".."));
        g_assert(strspn(slug, "0123456789abcdef_") == strlen(slug));
}

static void check_slug(const char *text) {
        CarvedPciAddress address;
        char plain[CARVED_PCI_ADDRESS_MAX];

        if (carved_pci_address_parse_slug(text, &address))
                check_address(carved_pci_address_format(&address, plain));
}

static void check_uuid(const char *text) {
        static const uint8_t space[16] = { 1 };
        char named[CARVED_UUID_LEN + 1];

        if (carved_uuid_is_valid(text))
                g_assert(strlen(text) == CARVED_UUID_LEN &&
                         strspn(text, "0123456789abcdefABCDEF-") == CARVED_UUID_LEN);
        g_assert(carved_uuid_is_valid(carved_uuid_v5(space, text, named)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup(size > 0 ? (const char *) data : "", size);
        uint32_t number;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
        check_address(text);
        check_slug(text);
        check_uuid(text);
        carved_type_id_number(text, &number);
        return 0;
}
