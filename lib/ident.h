/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The names by which things are known: PCI addresses and UUIDs. Pure text work, no I/O. */

typedef struct CarvedPciAddress {
        uint32_t domain; /* more than 16 bits exist: VMD and some firmware number domains from 0x10000 */
        uint8_t bus;
        uint8_t device;
        uint8_t function;
} CarvedPciAddress;

/* Longest sysfs spelling, "ffffffff:ff:1f.7", and its NUL. */
#define CARVED_PCI_ADDRESS_MAX 17

#define CARVED_UUID_LEN 36

/* Any spelling people use: `0000:08:00.0`, `08:00.0`, `00000000:08:00.0`, upper case. */
bool carved_pci_address_parse(const char *text, CarvedPciAddress *ret);

/* The spelling sysfs uses. Returns @buf. */
const char *carved_pci_address_format(const CarvedPciAddress *address,
                                      char buf[static CARVED_PCI_ADDRESS_MAX]);

/* The same as a name for paths and files: 0000_08_00_0. Returns @buf; and back. */
const char *carved_pci_address_slug(const CarvedPciAddress *address, char buf[static CARVED_PCI_ADDRESS_MAX]);
bool carved_pci_address_parse_slug(const char *slug, CarvedPciAddress *ret);

/* Order of domain, bus, device, function; as strcmp(). */
int carved_pci_address_compare(const CarvedPciAddress *a, const CarvedPciAddress *b);

/* Device and function as one byte: what offset and stride of VFs count in. */
uint8_t carved_pci_address_devfn(const CarvedPciAddress *address);

/* Exactly the 8-4-4-4-12 form, any case; nothing before or after. */
bool carved_uuid_is_valid(const char *text);

/* A name-based UUID (version 5) of @name in the name space @space. Returns @buf. */
const char *carved_uuid_v5(const uint8_t space[static 16], const char *name,
                           char buf[static CARVED_UUID_LEN + 1]);
