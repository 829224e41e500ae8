/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client.h"

/* The real polkitd on the simulated host's bus, with carved's actions and one file of rules; and the agent
 * that asks people for their password, without people. */

/* @policy: org.carved1.policy. It is there when this returns. */
void polkitd_start(const char *policy, const char *rules);
void polkitd_kill(int signal); /* SIGSTOP: it hangs */
void polkitd_end(void);        /* if it runs */

typedef enum AgentMood {
        AGENT_PROVES,   /* the password is right */
        AGENT_DECLINES, /* "Cancel" */
        AGENT_WAITS,    /* nobody is at the keyboard */
} AgentMood;

typedef struct Agent {
        AgentMood mood;
        unsigned begun, cancelled; /* how often it was asked, and called off */
        sd_bus_slot *slot;
} Agent;

/* For process @pid of uid nobody. It works while @client takes in what arrives. */
void agent_register(Agent *agent, Client *client, int pid);
void agent_end(Agent *agent);

/* Sees what carved asks polkit for. */
typedef struct Spy {
        sd_bus *bus;
        unsigned asked, called_off;
} Spy;

Spy *spy_new(void);
Spy *spy_free(Spy *spy);

/* Until it has been asked, and called off, so often since the spy is there. */
void spy_wait(Spy *spy, unsigned asked, unsigned called_off);
