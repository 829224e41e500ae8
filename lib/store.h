/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "intent.h"

/* What is kept on disk: a file per GPU, and a journal of what is under way. Texts are values; files are for
 * the store's own worker process, since a disk may take its time. */

#define CARVED_STORE_FORMAT 1

/* ---- one GPU: {"format":1, "identity":{…}, "generation":7, "intent":{…}} ---- */

/* What of @intent is kept over a reboot, or, with @transient, what is not. NULL: nothing is; where all was
 * taken back, the generation still is. @intent has an identity, or nothing in it. */
char *carved_store_format_intent(const CarvedIntent *intent, bool transient);

/* Adds what @text says to @intent; of what is in both files, the one of the larger generation counts. False:
 * StateUnreadable, and @intent is as before; a newer format has the error NotSupported instead: it is
 * somebody's, only not ours to read. */
bool carved_store_parse_intent(const char *text, bool transient, CarvedIntent *intent, GError **error);

/* ---- the journal: an entry per job ---- */

/* What one job may make on one GPU, and what its intent is when all is done. */
typedef struct CarvedEntryGpu {
        CarvedIntent *intent; /* the new one, whole; its identity says which GPU */
        GPtrArray *makes;     /* CarvedWanted: may be there by now, and are ours */
        bool makes_vfs;       /* they were off before */
        bool unbinds; /* NVIDIA's program takes the card from its driver meanwhile, and gives it back */
        GArray *makes_instances; /* CarvedWantedInstance: may be there by now, and are ours; or NULL */
        int32_t mig_was, mixed_size_was; /* before; -1: not touched */
        bool quiets; /* drivers were given new VFs before, and are kept from them meanwhile */
} CarvedEntryGpu;

typedef struct CarvedEntry {
        bool committed;  /* else prepared: to be undone */
        bool transient;  /* all that becomes different is not kept over a reboot, and nor need this be; not
                            written */
        GPtrArray *gpus; /* CarvedEntryGpu */
} CarvedEntry;

CarvedEntry *carved_entry_new(void);
void carved_entry_free(CarvedEntry *entry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CarvedEntry, carved_entry_free)
CarvedEntryGpu *carved_entry_add_gpu(CarvedEntry *entry, const CarvedIntent *intent); /* copied */

char *carved_entry_format(const CarvedEntry *entry);
CarvedEntry *carved_entry_parse(const char *text, GError **error);

/* ---- files ---- */

#define CARVED_STORE_FILE_MAX (4U * 1024 * 1024)

/* Makes @path, 0700, and what is above it, where it is not there. A descriptor, or -errno: a symbolic link,
 * or somebody else's directory, is refused (-ELOOP, -EPERM). */
int carved_store_open(const char *path);

/* Replaces @name by @text, 0600, so that a power cut leaves the old or the new: temporary file, fsync,
 * exchange, fsync of the directory. 0, or -errno, and then the old one is there. CARVED_STORE_UNSURE: the new
 * one is there, the disk does not confirm it (errno says why), and the old one could not be put back. */
#define CARVED_STORE_UNSURE 1
int carved_store_write(int dir_fd, const char *name, const char *text);

/* 0 also where it is gone already. Unlinked only: not for good until one in the same directory is removed. */
int carved_store_remove(int dir_fd, const char *name);
int carved_store_unlink(int dir_fd, const char *name);

/* Renames it to `NAME.corrupt`, or `NAME.corrupt.2` …: kept for a person to look at. */
int carved_store_quarantine(int dir_fd, const char *name);

/* Every `*.json`, by name; left-over temporary files are removed. @ret: GPtrArray of CarvedStored. */
typedef struct CarvedStored {
        char *name;
        char *text; /* NULL: it can't be read */
        int error;  /* why: a link (ELOOP), another's (EPERM), too large (EFBIG), a NUL (EILSEQ), no file
                       (EISDIR, EINVAL), an I/O error; 0: it can */
} CarvedStored;

GPtrArray *carved_store_list(int dir_fd, GError **error);
