/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "ident.h"

/* One hexadecimal field of @min to @max digits; advances @p behind it. */
static bool parse_hex(const char **p, unsigned min, unsigned max, uint32_t *ret) {
        uint32_t value = 0;
        unsigned n = 0;

        while (n < max && g_ascii_isxdigit((*p)[n])) {
                value = value << 4 | (uint32_t) g_ascii_xdigit_value((*p)[n]);
                n++;
        }
        if (n < min)
                return false;

        *p += n;
        *ret = value;
        return true;
}

bool carved_pci_address_parse(const char *text, CarvedPciAddress *ret) {
        uint32_t domain = 0, bus, device, function;
        const char *p = text;

        /* Two colons: the text starts with a domain. */
        if (strchr(text, ':') != strrchr(text, ':')) {
                if (!parse_hex(&p, 1, 8, &domain) || *p++ != ':')
                        return false;
        }

        if (!parse_hex(&p, 1, 2, &bus) || *p++ != ':')
                return false;
        if (!parse_hex(&p, 1, 2, &device) || device > 0x1f || *p++ != '.')
                return false;
        if (!parse_hex(&p, 1, 1, &function) || function > 7 || *p != '\0')
                return false;

        *ret = (CarvedPciAddress){ domain, (uint8_t) bus, (uint8_t) device, (uint8_t) function };
        return true;
}

const char *carved_pci_address_format(const CarvedPciAddress *a, char buf[static CARVED_PCI_ADDRESS_MAX]) {
        snprintf(buf, CARVED_PCI_ADDRESS_MAX, "%04x:%02x:%02x.%u", a->domain, a->bus, a->device & 0x1fU,
                 a->function & 7U);
        return buf;
}

const char *carved_pci_address_slug(const CarvedPciAddress *address,
                                    char buf[static CARVED_PCI_ADDRESS_MAX]) {
        carved_pci_address_format(address, buf);
        for (char *p = buf; *p; p++)
                if (*p == ':' || *p == '.')
                        *p = '_';
        return buf;
}

bool carved_pci_address_parse_slug(const char *slug, CarvedPciAddress *ret) {
        char text[2 * CARVED_PCI_ADDRESS_MAX], *dot;

        if (g_strlcpy(text, slug, sizeof text) >= sizeof text)
                return false;

        dot = strrchr(text, '_');
        if (!dot)
                return false;

        *dot = '.';
        for (char *p = text; *p; p++)
                if (*p == '_')
                        *p = ':';
        return carved_pci_address_parse(text, ret);
}

int carved_pci_address_compare(const CarvedPciAddress *a, const CarvedPciAddress *b) {
        if (a->domain != b->domain)
                return a->domain < b->domain ? -1 : 1;
        if (a->bus != b->bus)
                return a->bus < b->bus ? -1 : 1;

        return (int) carved_pci_address_devfn(a) - (int) carved_pci_address_devfn(b);
}

uint8_t carved_pci_address_devfn(const CarvedPciAddress *address) {
        return (uint8_t) (address->device << 3 | address->function);
}

bool carved_uuid_is_valid(const char *text) {
        static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

        G_STATIC_ASSERT(sizeof form == CARVED_UUID_LEN + 1);

        for (size_t i = 0; i < CARVED_UUID_LEN; i++) {
                if (form[i] == '-' ? text[i] != '-' : !g_ascii_isxdigit(text[i]))
                        return false;
        }

        return text[CARVED_UUID_LEN] == '\0';
}

const char *carved_uuid_v5(const uint8_t space[static 16], const char *name,
                           char buf[static CARVED_UUID_LEN + 1]) {
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
        uint8_t d[20];
        gsize len = sizeof d;

        g_checksum_update(sum, space, 16);
        g_checksum_update(sum, (const guchar *) name, -1);
        g_checksum_get_digest(sum, d, &len);

        d[6] = (uint8_t) ((d[6] & 0x0f) | 0x50);
        d[8] = (uint8_t) ((d[8] & 0x3f) | 0x80);
        snprintf(buf, CARVED_UUID_LEN + 1,
                 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", d[0], d[1], d[2],
                 d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10], d[11], d[12], d[13], d[14], d[15]);
        return buf;
}
