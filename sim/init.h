/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "host.h"
#include "kernel.h"

/* The first process of the simulated host: it is the kernel, and it starts and reaps everything else. */

/* What carved-sim exits with when there is no host to run the command on. */
#define EXIT_NO_HOST 125

typedef struct Options {
        HostSpec *host; /* as its file has it */
        char *data_dir; /* hosts/, boards/, sriov-manage */
        char *policy;   /* the bus policy that is shipped */
        char *daemon;   /* program */
        char *simctl;   /* program that plays a VM */
        char *nvml;     /* the simulated libnvidia-ml.so.1 */
        char *state_dir;
        bool no_daemon;
        bool no_wait;
        bool frozen;
        bool real_pace;
        char **command;
} Options;

typedef struct Init {
        Options *options;
        Kernel *kernel;
        HostSpec *host; /* as it is now: cards come and go */

        /* All under the kernel's lock. */
        pid_t command, daemon, bus;
        int command_status, daemon_status;
        bool daemon_ready;
        unsigned watchdogs; /* how often it has said that it lives */
        char *daemon_says;  /* its last STATUS= */
        bool stopping;      /* asked from outside to end */

        int signal_fd, notify_fd, control_fd, nvml_fd;
        unsigned plugged; /* how many cards were put in that the host file does not have */
} Init;

/* Returns what the whole shall exit with. */
int init_run(Options *options);

/* daemon.c: carved itself, as systemd would run it. Under the lock, which they give up while they wait. */
bool daemon_start(Init *init, GString *why);
/* True once READY=1 has come; false when it died first. */
bool daemon_wait_ready(Init *init, GString *why);
void daemon_kill(Init *init,
                 int signal); /* and waits until it is gone; SIGTERM turns into SIGKILL in the end */
void daemon_read_notify(Init *init);
bool daemon_open_notify(Init *init, GError **error);

/* bus.c is taken by the kernel's buses. */
bool dbus_start(Init *init, GError **error);

/* nvml-server.c: each process that has NVML open is served in a thread of its own. */
bool nvml_install(Init *init, GError **error);
bool nvml_open(Init *init, GError **error);
void nvml_accept(Init *init);

/* control.c: requests of carved-simctl, each in a thread of its own. */
bool control_open(Init *init, GError **error);
void control_accept(Init *init);
