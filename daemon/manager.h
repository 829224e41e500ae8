/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "config.h"
#include "model.h"
#include "snapshot.h"

typedef struct Auth Auth;
typedef struct Bus Bus;
typedef struct Discovery Discovery;
typedef struct Jobs Jobs;
typedef struct Keeper Keeper;
typedef struct Log Log;
typedef struct Moved Moved;
typedef struct Patrol Patrol;
typedef struct Peers Peers;
typedef struct Reader Reader;
typedef struct Restore Restore;
typedef struct Usage Usage;

typedef enum ManagerState {
        MANAGER_STARTING,
        MANAGER_RESTORING,
        MANAGER_RUNNING,
        MANAGER_DEGRADED, /* something that is wanted is not there */
        MANAGER_STOPPING,
        _MANAGER_STATE_MAX
} ManagerState;

/* The one context of the daemon: what there is, who looks at it, and whom it is told to. */
typedef struct Manager {
        sd_event *event;
        Log *log;
        CarvedHost host;
        char *runtime_directory; /* where the locks are */
        ManagerState state;

        CarvedModel *model;
        GHashTable *readers; /* address as text → Reader */
        Discovery *discovery;
        Keeper *keeper;
        Restore *restore;
        Moved *moved;
        Patrol *patrol;
        Peers *peers;
        Jobs *jobs;
        Usage *usage;
        Auth *auth;
        Config config;
        Bus *bus;
        char *status; /* as last told to systemd */
        sd_event_source *start_timer, *stop_timer;
        sd_event_source *afterwards;
        GArray *changed; /* CarvedPciAddress: to be followed then; may be there twice; NULL: none */
} Manager;

const char *manager_state_to_string(ManagerState state);

/* 0 or -errno, with the reason in the log. */
int manager_new(sd_event *event, Log *log, Manager **ret);
Manager *manager_free(Manager *m);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manager, manager_free)

/* The only way into the model. Tells everyone. */
void manager_apply(Manager *m, CarvedUpdate *update);

/* A reader or the scan has had its first answer: perhaps the last one that the start waits for. */
void manager_check_started(Manager *m);

/* Has each card had its first look? */
bool manager_has_looked(Manager *m);

/* What is wanted has been read; and what others want: the cards can come. */
void manager_loaded(Manager *m);
void manager_knows_peers(Manager *m);

/* Reads the configuration again. What is under way goes on as it began. */
void manager_reload(Manager *m);

/* Ends when the work under way has, or has been undone; but not later than in ten seconds. */
void manager_stop(Manager *m);
/* Something is through that the end waits for. */
void manager_check_stopped(Manager *m);

/* Does the configuration let us change anything on this card? */
bool manager_manages(const Manager *m, const CarvedGpu *gpu);

/* sriov-manage has run: what could not be found out meanwhile can now. */
void manager_catch_up(Manager *m);

Reader *manager_find_reader(Manager *m, const CarvedPciAddress *address);
