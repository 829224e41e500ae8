/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot.h"

/* A simulated host without its file system: the tests read and write its attributes directly. The lock is
 * held all the time; what sleeps inside gives it up as ever. */

typedef struct Bench {
        Kernel *kernel;
        HostSpec *host;
} Bench;

/* @name: as host_spec_load() takes it. */
Bench *bench_new(const char *name);
/* From the text of a host file, with ' for ". */
Bench *bench_new_from_text(const char *text);
/* Tears the host down. */
void bench_free(Bench *bench);

/* What a read gives; NULL where there is no such file or it fails, with the error in errno. @path:
 * "bus/pci/…", below /sys, or from the root if it begins with a slash. */
char *bench_show(Bench *bench, const char *path);
/* One write(2) and close(2): 0 or -errno. */
int bench_store(Bench *bench, const char *path, const char *text);
bool bench_exists(Bench *bench, const char *path);
/* Of a directory; 0 if it is not there. */
unsigned bench_count(Bench *bench, const char *path);

/* Until nothing goes on in the background. */
void bench_settle(Bench *bench);

/* VFs on, as sriov-manage does it. */
void bench_enable_vfs(Bench *bench, const char *address, unsigned n);

#define assert_shows(bench, path, text)                                                                      \
        do {                                                                                                 \
                g_autofree char *shown_ = bench_show(bench, path);                                           \
                ck_assert_pstr_eq(shown_, text);                                                             \
        } while (0)

#define assert_stores(bench, path, text) ck_assert_int_eq(bench_store(bench, path, text), 0)
