/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel.h"

/* Faults and delays on demand: "the second write to this file fails with EIO", "that read takes a minute".
 *
 *   fail  PATTERN ERRNO|ignore   [op=read|write] [nth=N] [times=N | always]
 *   delay PATTERN TIME           [op=read|write] [nth=N] [times=N | always]
 *   text  PATTERN "TEXT"         [nth=N] [times=N | always]
 *   fail  nvml/PATTERN CODE|ignore|crash|crash-after  [nth=N] [times=N | always]
 *   delay nvml/PATTERN TIME                           [nth=N] [times=N | always]
 *
 * PATTERN is a shell glob over the whole path. What a driver does by itself has a path too:
 * /driver/NAME/probe/ADDRESS, /driver/nvidia/types/ADDRESS and /driver/mdev/link/UUID. Rules outlive a reboot
 * of the host.
 *
 * Calls of NVML are nvml/FUNCTION, nvml/FUNCTION/ADDRESS and, with a versioned struct,
 * nvml/FUNCTION/ADDRESS/vN: a rule strikes if any of them matches. */

typedef enum RuleOp {
        RULE_READ,
        RULE_WRITE,
} RuleOp;

typedef enum RuleKind {
        RULE_FAIL,
        RULE_DELAY,
        RULE_TEXT,
} RuleKind;

typedef struct Rule {
        unsigned id;
        RuleKind kind;
        RuleOp op;
        char *pattern;
        bool nvml;   /* about calls of NVML, not files */
        int error;   /* fail: errno or NVML's code, 0 = ignore: success without effect; or RULE_NVML_CRASH* */
        unsigned ms; /* delay */
        char *text;  /* text: what a read gives instead */
        size_t text_len;
        unsigned nth;     /* from which match on, 1 = the first */
        unsigned times;   /* how often; UINT_MAX = always */
        unsigned matched; /* so far */
} Rule;

typedef struct Rules Rules;

/* rules_apply() found that the operation shall look done and do nothing. */
#define RULE_IGNORE 1

/* … and rules_apply_nvml(), beside the codes of NVML. */
enum { RULE_NVML_NONE = 0, RULE_NVML_IGNORE = -1, RULE_NVML_CRASH = -2, RULE_NVML_CRASH_AFTER = -3 };

Rules *rules_new(void);

/* One rule from its words. NULL and a sentence in @ret_why. */
Rule *rule_parse(const char *const *words, char **ret_why);
void rule_free(Rule *rule);
char *rule_format(const Rule *rule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rule, rule_free)

unsigned rules_add(Rules *rules, Rule *rule); /* takes it; returns its number */
bool rules_remove(Rules *rules, unsigned id);
void rules_clear(Rules *rules);
void rules_print(Rules *rules, GString *out);

/* Whether any rule is about this file, now or later. */
bool rules_concern(Rules *rules, const char *path);

/* What the rules want of this operation: 0 nothing, -errno, or RULE_IGNORE. Sleeps, lock given up, where they
 * say so. A `text` rule leaves its text in @out, if given, and RULE_IGNORE. */
int rules_apply(Kernel *kernel, RuleOp op, const char *path, GString *out);

/* The same for a call of NVML. @address and @version are NULL where there is none. */
int rules_apply_nvml(Kernel *kernel, const char *function, const char *address, const char *version);

/* "2s", "150ms", "1min", "3" (seconds). */
bool rule_parse_time(const char *text, unsigned *ret_ms);
int errno_from_name(const char *name); /* 0: no such */
