/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "ident.h"

/* carved.conf: what an operator may set. What is no value, or has no such key, is a warning with its place,
 * and what held before it holds on. */

/* What is done by itself when something that is wanted is not there. */
typedef enum Repair {
        REPAIR_NO,
        REPAIR_RELOAD, /* a driver was loaded again, or a card plugged in */
        REPAIR_ALL,    /* and what others removed */
        _REPAIR_MAX
} Repair;

const char *repair_to_string(Repair repair);
bool repair_from_string(const char *text, Repair *ret);

typedef struct Config {
        bool restore;
        uint64_t restore_timeout_usec;
        Repair repair;
        char *sriov_manage;
        uint64_t step_timeout_usec;
        GArray *gpus;     /* ConfigGpu */
        GPtrArray *files; /* the paths that it is from, in the order that they were read */
} Config;

/* One sentence, "FILE:LINE: what is wrong". */
typedef void (*ConfigWarn)(const char *sentence, void *userdata);

/* Where the files are, the strongest first. */
extern const char *const config_roots[];

/* What holds where nothing is set. */
void config_init(Config *config);
void config_clear(Config *config);

/* Reads `carved.conf` of the first of @roots that has one, then `carved.conf.d` / `*.conf` of all, in the
 * order of their names; of several with one name, that of the strongest. A link to /dev/null hides those
 * below it. False, and @ret is not touched: one of them can't be read, or is no such file at all. */
bool config_load(const char *const *roots, ConfigWarn warn, void *userdata, Config *ret);

/* May carved change something on this card? It is shown in any case. */
bool config_manages(const Config *config, const CarvedPciAddress *address, uint16_t vendor, uint16_t device);
