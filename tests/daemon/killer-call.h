/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

#include <glib.h>
#include <linux/filter.h>

/* A system call that changes something outside its process, seen from a tracer. x86-64 only. */

/* What it changes. */
typedef enum CallClass {
        CLASS_SYSFS,   /* the kernel's files */
        CLASS_STORE,   /* what lasts: below /var/lib */
        CLASS_FILE,    /* any other file: locks, in the main */
        CLASS_BUS,     /* what others are told */
        CLASS_NETLINK, /* what the kernel is asked */
        CLASS_NOTIFY,  /* what the service manager is told */
        CLASS_PAIR,    /* between the daemon and its workers */
        CLASS_INNER,   /* pipes, event descriptors */
        _CLASS_MAX,
} CallClass;

typedef struct Call {
        const char *name;
        CallClass class;
        bool writes; /* a number of bytes, which may be fewer than asked for */
        char *path;  /* or another word for what it is about */
} Call;

const char *call_class_name(CallClass class);

/* The call that @pid is stopped at. False: none that counts, such as a line in the log. */
bool call_read(pid_t pid, const struct user_regs_struct *regs, Call *ret);
void call_clear(Call *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Call, call_clear)

/* Stops whoever has it at the calls in question, and only there: all others cost nothing. An array of struct
 * sock_filter. */
GArray *call_filter_new(void);
