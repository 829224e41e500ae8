/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <check.h>
#include <glib.h>
#include <systemd/sd-bus.h>

/* A client of carved as others write them: it calls, it listens, it knows nothing of the inside. Values come
 * as GVariant, which is easier to take apart. */

#define GPU_A2   "/org/carved1/gpu/0000_08_00_0"
#define GPU_A100 "/org/carved1/gpu/0000_04_00_0"
#define MANAGER  "org.carved1.Manager"

typedef struct Client {
        sd_bus *bus;
        GPtrArray *heard; /* Signal, in order */
} Client;

typedef struct Signal {
        char *path, *member;
        GVariant *args;
} Signal;

Client *client_new(void);
Client *client_free(Client *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Client, client_free)

/* The reply's arguments as a tuple. NULL: the error's name is in @ret_error, if given; else the test fails.
 */
GVariant *client_call(Client *client, const char *path, const char *interface, const char *member,
                      const char **ret_error, const char *types, ...);

/* A property; NULL where there is no such object, interface or property. */
GVariant *client_get(Client *client, const char *path, const char *interface, const char *property);
char *client_get_string(Client *client, const char *path, const char *interface, const char *property);

/* Everything: a{oa{sa{sv}}}. */
GVariant *client_objects(Client *client);

/* How many objects have this interface. */
unsigned client_count(Client *client, const char *interface);

/* Takes in what arrives until @is_so, at most @ms; false: it never was. */
bool client_wait(Client *client, unsigned ms, bool (*is_so)(Client *client, const void *data),
                 const void *data);

/* Takes in what arrives until it has been silent for @ms. */
void client_settle(Client *client, unsigned ms);
void client_forget(Client *client);

/* How many signals, of those heard: with this member, and path, if given. For PropertiesChanged: and
 * interface, if given. */
unsigned client_heard(Client *client, const char *member, const char *path, const char *interface);

/* Conditions for client_wait(). */
bool object_is_there(Client *client, const void *path);
bool object_is_gone(Client *client, const void *path);

bool object_was_added(Client *client, const void *path); /* a signal said so: costs the daemon nothing */
bool object_was_removed(Client *client, const void *path);

/* "PATH INTERFACE PROPERTY VALUE" of a string property. */
typedef struct Expect {
        const char *path, *interface, *property, *value;
} Expect;
bool property_is(Client *client, const void *expect);

/* One GPU instance of this profile on GPU_A100. */
void client_cut(Client *client, const char *profile);

/* Runs a command line of a shell; its output. The test fails when it does. */
char *shell(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Adds the last test of every program: the daemon ends when told, and neither it nor a worker has left a word
 * of the sanitizers, or of GLib, in the log. */
void client_add_last_test(TCase *tcase);
