/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "boot.h"
#include "cleanup.h"
#include "control-verbs.h"
#include "dump.h"
#include "hold.h"
#include "nvml.h"
#include "process.h"
#include "rules.h"
#include "sandbox.h"
#include "trace.h"

typedef struct Verb {
        const char *name;
        unsigned min, max; /* words behind it */
        bool living;       /* means nothing on a frozen host */
        int (*run)(Init *init, const char *const *args, GString *out);
} Verb;

static int failed(GString *out, const char *format, ...) G_GNUC_PRINTF(2, 3);

static int failed(GString *out, const char *format, ...) {
        va_list args;

        va_start(args, format);
        g_string_append_vprintf(out, format, args);
        va_end(args);
        g_string_append_c(out, '\n');
        return 1;
}

static int hold_failed(GString *out, const char *name, int r) {
        switch (r) {
        case -ENOENT:
                return failed(out, "There is no vGPU, VF or GPU '%s'", name);
        case -ENODEV:
                return failed(out, "'%s' can't be opened: it has no type, or no driver for that", name);
        case -EBUSY:
                return failed(out, "'%s' is held already, or its driver is locked", name);
        case -EINVAL:
                return failed(out, "'%s' can't be where its placement id says", name);
        default:
                return failed(out, "'%s' can't be held: %s", name, g_strerror(-r));
        }
}

/* Starts the process that plays the VM, and waits until it has the node open. Once it has a pid, the hold is
 * its own, and may be gone when this returns. */
static int start_holder(Init *init, Hold *hold, const char *node, int *ret_pid) {
        const char *argv[] = { init->options->simctl, "--play-vm", node ?: "", NULL };
        _cleanup_close_ int ready = -1;
        int pipe_fds[2];
        ssize_t n;
        char c;

        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return -errno;

        ready = pipe_fds[0];
        hold->pid =
                process_spawn(&(Process){ .argv = argv, .output = -1, .service = true, .pass = pipe_fds[1] });
        close(pipe_fds[1]);
        *ret_pid = hold->pid;
        if (*ret_pid < 0)
                return *ret_pid;

        kernel_unlock(init->kernel);
        n = read(ready, &c, 1);
        kernel_lock(init->kernel);
        return n == 1 ? 0 : -EIO;
}

static int verb_hold(Init *init, const char *const *args, GString *out) {
        g_autofree char *node = NULL;
        Hold *hold;
        int pid = -1, r;

        if (args[1] &&
            (!g_str_has_prefix(args[1], "vm=") || !carved_uuid_is_valid(args[1] + strlen("vm=")))) {
                g_string_append_printf(out, "'%s' is not vm=UUID\n", args[1]);
                return 2;
        }
        r = hold_begin(init->kernel, args[0], &hold, &node);
        if (r < 0)
                return hold_failed(out, args[0], r);

        if (args[1]) {
                g_free(hold->vm);
                hold->vm = g_strdup(args[1] + strlen("vm="));
        }
        r = start_holder(init, hold, node, &pid);
        if (r < 0) {
                if (pid <= 0)
                        hold_end(init->kernel, hold);
                return hold_failed(out, args[0], r);
        }

        g_string_append_printf(out, "%d\n", pid);
        return 0;
}

static void end_hold(Init *init, Hold *hold) {
        int pid = hold->pid;

        kill(pid, SIGKILL);
        while (hold_find_pid(init->kernel, pid))
                kernel_wait(init->kernel);
}

static int verb_release(Init *init, const char *const *args, GString *out) {
        Hold *hold = hold_find(init->kernel, args[0]);
        unsigned linger = 0;

        if (args[1] && (!g_str_has_prefix(args[1], "linger=") ||
                        !rule_parse_time(args[1] + strlen("linger="), &linger))) {
                g_string_append_printf(out, "'%s' is not linger=TIME\n", args[1]);
                return 2;
        }
        if (!hold)
                return failed(out, "Nobody holds '%s'", args[0]);

        hold->linger_ms = linger;
        end_hold(init, hold);
        return 0;
}

static int verb_unplug(Init *init, const char *const *args, GString *out) {
        PciDevice *pci = pci_find(init->kernel, args[0]);

        if (!pci || !pci->spec || pci->physfn)
                return failed(out, "There is no GPU at '%s'", args[0]);

        g_ptr_array_remove(init->host->gpus, pci->spec);
        pci_unplug(pci);
        return 0;
}

/* The host's card of this address, which is out of it. */
static GpuSpec *card_of(Init *init, const CarvedPciAddress *address) {
        GPtrArray *cards = init->options->host->gpus;

        for (unsigned i = 0; i < cards->len; i++) {
                GpuSpec *gpu = cards->pdata[i];

                if (carved_pci_address_compare(&gpu->address, address) == 0)
                        return gpu_spec_ref(gpu);
        }

        return NULL;
}

/* Another card of this board: never one that was there before, unless it says so itself. */
static GpuSpec *new_card(Init *init, const char *board, const char *serial, GError **error) {
        GpuSpec *spec = board_load(init->options->data_dir, board, error);
        g_autofree char *which = g_strdup_printf("%s#%u", board, init->plugged);

        if (!spec)
                return NULL;

        if (serial) {
                g_free(spec->serial);
                spec->serial = g_strdup(serial);
        } else {
                init->plugged++;
        }
        gpu_spec_identify(spec, which);
        return spec;
}

/* What is behind the address: nothing, from=ADDRESS, or a board and perhaps its serial number. */
static GpuSpec *card_to_plug(Init *init, const char *const *args, GString *out, int *ret_code) {
        g_autoptr(GError) error = NULL;
        CarvedPciAddress address;
        const char *of = args[1] && g_str_has_prefix(args[1], "from=") ? args[1] + strlen("from=") : NULL;
        GpuSpec *spec;

        *ret_code = 2;
        if (args[1] && args[2] && (of || !g_str_has_prefix(args[2], "serial="))) {
                g_string_append_printf(out, "'%s' is not serial=TEXT behind a board\n", args[2]);
                return NULL;
        }
        if ((!args[1] || of) && !carved_pci_address_parse(of ?: args[0], &address)) {
                g_string_append_printf(out, "'%s' is not a PCI address\n", of ?: args[0]);
                return NULL;
        }

        *ret_code = 1;
        if (!args[1] || of)
                spec = card_of(init, &address);
        else
                spec = new_card(init, args[1], args[2] ? args[2] + strlen("serial=") : NULL, &error);
        if (!spec)
                g_string_append_printf(out, "%s\n",
                                       error ? error->message : "The host has no card there; name a board");
        return spec;
}

/* The card of the host file, there or moved, or any board, at an address that is free. */
static int verb_plug(Init *init, const char *const *args, GString *out) {
        g_autoptr(GpuSpec) spec = NULL;
        g_autoptr(GError) error = NULL;
        CarvedPciAddress address, before;
        int code;

        if (!carved_pci_address_parse(args[0], &address)) {
                g_string_append_printf(out, "'%s' is not a PCI address\n", args[0]);
                return 2;
        }
        spec = card_to_plug(init, args, out, &code);
        if (!spec)
                return code;
        if (g_ptr_array_find(init->host->gpus, spec, NULL))
                return failed(out, "That card is in the host already");

        before = spec->address;
        spec->address = address;
        if (!host_spec_may_add(init->host, spec, &error)) {
                spec->address = before;
                return failed(out, "It can't be put there: %s", error->message);
        }
        if (!boot_plug(init->kernel, spec)) {
                spec->address = before;
                return failed(out, "There is a card at '%s' already", args[0]);
        }

        host_spec_add(init->host, spec);
        return 0;
}

static int verb_reset(Init *init, const char *const *args, GString *out) {
        PciDevice *pci = pci_find(init->kernel, args[0]);
        int r = -ENODEV;

        object_ref(pci);
        if (pci && pci->spec && !pci->physfn)
                r = nvidia_reset(pci);
        object_unref(pci);
        if (r == -EBUSY)
                return failed(out, "'%s' can't be reset: it is in use", args[0]);
        return r < 0 ? failed(out, "There is no GPU with NVIDIA's driver at '%s'", args[0]) : 0;
}

/* It falls off the bus: the driver still has it, and can't reach it. */
static int verb_lose(Init *init, const char *const *args, GString *out) {
        PciDevice *pci = pci_find(init->kernel, args[0]);

        if (!pci || !pci->spec || pci->physfn)
                return failed(out, "There is no GPU at '%s'", args[0]);

        pci->spec->gpu_lost = true;
        return 0;
}

static int verb_nvml(Init *init, const char *const *args, GString *out) {
        GString *met = init->kernel->nvml_met;

        if (!args[0])
                nvml_print(init->kernel, out);
        else if (g_str_equal(args[0], "met"))
                g_string_append(out, met->str);
        else if (g_str_equal(args[0], "clear"))
                g_string_truncate(met, 0);
        else {
                g_string_append_printf(out, "'%s' is none of met, clear\n", args[0]);
                return 2;
        }

        return 0;
}

static int verb_reload_driver(Init *init, const char *const *args, GString *out) {
        unsigned away = 0;
        int r;

        if (args[0] &&
            (!g_str_has_prefix(args[0], "away=") || !rule_parse_time(args[0] + strlen("away="), &away))) {
                g_string_append_printf(out, "'%s' is not away=TIME\n", args[0]);
                return 2;
        }

        r = nvidia_reload(init->kernel, away);
        if (r == -EBUSY)
                return failed(out, "The driver can't be unloaded: a card is in use");
        return r < 0 ? failed(out, "The driver is not loaded") : 0;
}

static int verb_vgpud(Init *init, const char *const *args, GString *out) {
        nvidia_vgpud(init->kernel);
        return 0;
}

static int verb_rule(Init *init, const char *const *words, GString *out) {
        g_autofree char *why = NULL;
        Rule *rule = rule_parse(words, &why);
        unsigned id;

        if (!rule) {
                g_string_append_printf(out, "%s\n", why);
                return 2;
        }

        id = rules_add(init->kernel->rules, rule);
        if (id == 0) {
                g_string_append(out, "There are too many rules\n");
                return 1;
        }
        g_string_append_printf(out, "%u\n", id);
        return 0;
}

/* Its own name is the rule's first word. */
static int verb_own_rule(Init *init, const char *const *args, GString *out) {
        return verb_rule(init, args - 1, out);
}

static int verb_rules(Init *init, const char *const *args, GString *out) {
        rules_print(init->kernel->rules, out);
        return 0;
}

static int verb_forget(Init *init, const char *const *args, GString *out) {
        guint64 id;

        if (!args[0]) {
                rules_clear(init->kernel->rules);
                return 0;
        }
        if (!g_ascii_string_to_unsigned(args[0], 10, 1, UINT_MAX, &id, NULL) ||
            !rules_remove(init->kernel->rules, (unsigned) id)) {
                g_string_append_printf(out, "There is no rule '%s'\n", args[0]);
                return 1;
        }
        return 0;
}

static int verb_log(Init *init, const char *const *args, GString *out) {
        if (!args[0]) {
                trace_print(init->kernel->trace, out);
                return 0;
        }
        if (g_str_equal(args[0], "clear")) {
                trace_clear(init->kernel->trace);
                return 0;
        }
        if (g_str_equal(args[0], "counts")) {
                TraceCounts *c = trace_counts(init->kernel->trace);

                g_string_append_printf(out,
                                       "opens=%" G_GUINT64_FORMAT " reads=%" G_GUINT64_FORMAT
                                       " writes=%" G_GUINT64_FORMAT " lookups=%" G_GUINT64_FORMAT "\n",
                                       c->opens, c->reads, c->writes, c->lookups);
                return 0;
        }

        if (g_str_equal(args[0], "reads") || g_str_equal(args[0], "no-reads")) {
                trace_log_reads(init->kernel->trace, g_str_equal(args[0], "reads"));
                return 0;
        }

        g_string_append_printf(out, "'%s' is none of clear, counts, reads, no-reads\n", args[0]);
        return 2;
}

static int verb_dump(Init *init, const char *const *args, GString *out) {
        Node *node = node_lookup(init->kernel->tree->root, args[0] ?: "/sys");

        if (!node)
                return failed(out, "There is no '%s'", args[0]);

        dump_tree(node, out);
        return 0;
}

/* Waits until nothing goes on in the background: for tests that look at what is there in the end. */
static int verb_settle(Init *init, const char *const *args, GString *out) {
        while (init->kernel->inside > 0)
                kernel_wait(init->kernel);
        return 0;
}

static int verb_busy(Init *init, const char *const *args, GString *out) {
        g_string_append_printf(out, "%u\n", init->kernel->inside);
        return 0;
}

static int daemon_verb(Init *init, const char *what, GString *out) {
        if (g_str_equal(what, "status")) {
                g_string_append_printf(out, "%s%s%s\n",
                                       init->daemon <= 0    ? "stopped"
                                       : init->daemon_ready ? "ready"
                                                            : "starting",
                                       init->daemon_says ? ": " : "", init->daemon_says ?: "");
                return init->daemon > 0 ? 0 : 1;
        }
        if (g_str_equal(what, "pid")) {
                g_string_append_printf(out, "%d\n", (int) init->daemon);
                return init->daemon > 0 ? 0 : 1;
        }
        if (g_str_equal(what, "watchdogs")) {
                g_string_append_printf(out, "%u\n", init->watchdogs);
                return 0;
        }
        if (g_str_equal(what, "stop"))
                daemon_kill(init, SIGTERM);
        else if (g_str_equal(what, "kill"))
                daemon_kill(init, SIGKILL);
        else if (g_str_equal(what, "start"))
                return daemon_start(init, out) && daemon_wait_ready(init, out) ? 0 : 1;
        else {
                g_string_append_printf(out, "'%s' is none of start, stop, kill, status, pid, watchdogs\n",
                                       what);
                return 2;
        }

        return 0;
}

static int verb_daemon(Init *init, const char *const *args, GString *out) {
        return daemon_verb(init, args[0], out);
}

static int wipe_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
        return where->level > 0 ? remove(path) : 0;
}

/* What is volatile in /run: udev's data base, and the daemon's own. */
static void wipe_run(void) {
        nftw("/run/carved", wipe_one, 16, FTW_DEPTH | FTW_PHYS);
        nftw("/run/udev/data", wipe_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int verb_reboot(Init *init, const char *const *args, GString *out) {
        bool daemon = init->daemon > 0;

        daemon_kill(init, SIGTERM);
        while (init->kernel->holds->len > 0)
                end_hold(init, init->kernel->holds->pdata[0]);

        wipe_run();
        reboot(init->kernel, init->host);
        if (!daemon)
                return 0;
        return daemon_start(init, out) && (init->options->no_wait || daemon_wait_ready(init, out)) ? 0 : 1;
}

static const Verb verbs[] = {
        { "hold", 1, 2, true, verb_hold },
        { "release", 1, 2, true, verb_release },
        { "unplug", 1, 1, true, verb_unplug },
        { "plug", 1, 3, true, verb_plug },
        { "reset", 1, 1, true, verb_reset },
        { "lose", 1, 1, true, verb_lose },
        { "reload-driver", 0, 1, true, verb_reload_driver },
        { "vgpud", 0, 0, true, verb_vgpud },
        { "reboot", 0, 0, true, verb_reboot },
        { "fail", 2, 16, true, verb_own_rule },
        { "delay", 2, 16, true, verb_own_rule },
        { "text", 2, 16, true, verb_own_rule },
        { "rules", 0, 0, true, verb_rules },
        { "forget", 0, 1, true, verb_forget },
        { "nvml", 0, 1, true, verb_nvml },
        { "log", 0, 1, true, verb_log },
        { "dump", 0, 1, true, verb_dump },
        { "settle", 0, 0, true, verb_settle },
        { "busy", 0, 0, true, verb_busy },
        { "daemon", 1, 1, false, verb_daemon },
};

int control_verb(Init *init, const char *const *words, GString *out) {
        unsigned n = g_strv_length((char **) words) - 1;

        for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
                const Verb *verb = &verbs[i];

                if (!g_str_equal(verb->name, words[0]))
                        continue;
                if (n < verb->min || n > verb->max) {
                        g_string_append_printf(out,
                                               "'%s' with %u words behind it? See carved-simctl --help\n",
                                               verb->name, n);
                        return 2;
                }
                if (verb->living && init->options->frozen) {
                        g_string_append(out, "The host is frozen: nothing reacts\n");
                        return 1;
                }
                return verb->run(init, words + 1, out);
        }

        g_string_append_printf(out, "There is no '%s'; see carved-simctl --help\n", words[0]);
        return 2;
}
