/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "verbs.h"

static const Verb looking[] = {
        { "tree", "", 0, 0, verb_tree,
          "the host: GPUs, their VFs, their vGPUs, and what more can be had; the default" },
        { "list", "[gpus|vfs|vgpus|types|jobs|stored]", 0, 1, verb_list,
          "all of a kind, a line each; vgpus, if none is given" },
        { "show", "OBJECT…", 1, MANY, verb_show, "everything about a GPU, VF, vGPU or job" },
        { "types", "[GPU…]", 0, MANY, verb_types,
          "vGPU types: which there are, how many more can be had, and why not" },
        { "explain", "GPU TYPE", 2, 2, verb_explain,
          "can this type be had there? How, or why not, and what to do" },
        { "users", "VGPU…", 1, MANY, verb_users, "who has it open" },
        { NULL },
};

static const Verb carving[] = {
        { "enable", "GPU…", 1, MANY, verb_enable, "switches SR-IOV VFs on" },
        { "disable", "GPU…", 1, MANY, verb_disable, "switches them off" },
        { "create", "TYPE", 1, 1, verb_create, "makes vGPUs, on the GPU with most room; prints their UUIDs" },
        { "destroy", "VGPU…", 1, MANY, verb_destroy, "destroys them: all or none" },
        { "mig", "[show|mode|apply|clear] …", 0, MANY, verb_mig,
          "cuts a GPU into GPU instances: mig mode GPU on|off, mig apply GPU PROFILE=N…" },
        { NULL },
};

static const Verb keeping[] = {
        { "adopt", "GPU|VGPU…", 1, MANY, verb_adopt,
          "what somebody else made is kept from now on, as it is" },
        { "resync", "[GPU…]", 0, MANY, verb_resync, "makes a GPU again as it is wanted" },
        { "forget", "GPU|IDENTITY…", 1, MANY, verb_forget, "drops what is wanted of a card that is gone" },
        { NULL },
};

static const Verb following[] = {
        { "monitor", "", 0, 0, verb_monitor, "prints every change, until it is ended" },
        { "wait", "[OBJECT]", 0, 1, verb_wait,
          "waits until a vGPU is active, a GPU ready, a job over; or all is restored" },
        { "cancel", "JOB…", 1, MANY, verb_cancel, "stops a job between two steps, and undoes what it did" },
        { "log", "[OBJECT]", 0, 1, verb_log, "what carved did, from the journal", .alone = true },
        { "report", "", 0, 0, verb_report, "all that a bug report needs, and nothing secret", .alone = true },
        { "help", "[VERB]", 0, 1, verb_help, "this, or about a verb", .alone = true },
        { NULL },
};

const VerbGroup verb_groups[] = {
        { "Looking", looking },     { "Carving", carving }, { "Keeping", keeping },
        { "Following", following }, { NULL, NULL },
};

const Verb *verb_find(const char *name) {
        for (const VerbGroup *group = verb_groups; group->title; group++)
                for (const Verb *verb = group->verbs; verb->name; verb++)
                        if (g_str_equal(verb->name, name))
                                return verb;

        return NULL;
}
