/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* carved.conf: what an operator may set. What can't be read, or is no value, is a warning with its place, and
 * the default holds. */

#define CONFIG_PATH "/etc/carved/carved.conf"

typedef struct Config {
        char *sriov_manage;
        uint64_t step_timeout_usec;
} Config;

void config_load(Config *config, const char *path);
void config_clear(Config *config);
