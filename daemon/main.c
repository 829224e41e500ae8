/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "log.h"
#include "manager.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_event, sd_event_unref)

static void help(void) {
        puts("carved [OPTION]\n\n"
             "Show the GPUs, VFs and vGPUs of this host on the system bus, as org.carved1.\n\n"
             "  -h --help          show this\n"
             "     --version       show the version\n"
             "     --check-config  read the configuration, say what is wrong with it, and end\n\n"
             "It is started by systemd or by the bus. Look at what it shows by `busctl tree org.carved1`.\n"
             "See org.carved1.xml for the interfaces.");
}

static void print_warning(const char *sentence, void *userdata) {
        unsigned *n = userdata;

        fprintf(stderr, "%s\n", sentence);
        (*n)++;
}

static int check_config(void) {
        unsigned warnings = 0;
        Config config;

        if (!config_load(config_roots, print_warning, &warnings, &config))
                return EXIT_FAILURE;

        for (unsigned i = 0; warnings == 0 && i < config.files->len; i++)
                printf("%s: ok\n", (const char *) config.files->pdata[i]);
        config_clear(&config);
        return warnings == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* True: go on. */
static bool parse_options(int argc, char **argv, int *ret_status) {
        static const struct option options[] = {
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, 'v' },
                { "check-config", no_argument, NULL, 'c' },
                { NULL, 0, NULL, 0 },
        };
        int c;

        *ret_status = EXIT_SUCCESS;
        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        help();
                        return false;
                case 'v':
                        puts("carved " CARVED_VERSION);
                        return false;
                case 'c':
                        *ret_status = check_config();
                        return false;
                default:
                        *ret_status = EXIT_FAILURE;
                        return false;
                }

        if (optind < argc) {
                fprintf(stderr, "carved: too many arguments; see --help\n");
                *ret_status = EXIT_FAILURE;
                return false;
        }
        return true;
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *info, void *userdata) {
        Manager *m = userdata;

        manager_stop(m);
        return 0;
}

static int on_hangup(sd_event_source *s, const struct signalfd_siginfo *info, void *userdata) {
        manager_reload(userdata);
        return 0;
}

/* Blocked: they come through the loop. SIGCHLD likewise, for the workers. */
static int set_up_signals(sd_event *event, Manager *m) {
        static const int ends[] = { SIGTERM, SIGINT };
        int r;

        for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
                r = sd_event_add_signal(event, NULL, ends[i], on_signal, m);
                if (r < 0)
                        return r;
        }
        return sd_event_add_signal(event, NULL, SIGHUP, on_hangup, m);
}

static void block_signals(void) {
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGHUP);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGCHLD);
        sigprocmask(SIG_BLOCK, &set, NULL);
        signal(SIGPIPE, SIG_IGN);
}

static int run(Log *log) {
        g_autoptr(sd_event) event = NULL;
        g_autoptr(Manager) m = NULL;
        int r;

        r = sd_event_default(&event);
        if (r < 0) {
                g_critical("Failed to make an event loop: %s", g_strerror(-r));
                return EXIT_FAILURE;
        }

        /* Does nothing where systemd keeps no watch. */
        r = sd_event_set_watchdog(event, true);
        if (r < 0)
                g_warning("Failed to serve the watchdog, ignoring: %s", g_strerror(-r));
        r = manager_new(event, log, &m);
        if (r < 0)
                return EXIT_FAILURE;
        r = set_up_signals(event, m);
        if (r < 0) {
                g_critical("Failed to set up signals: %s", g_strerror(-r));
                return EXIT_FAILURE;
        }

        r = sd_event_loop(event);
        if (r < 0)
                g_critical("The event loop failed: %s", g_strerror(-r));
        return r < 0 ? EXIT_FAILURE : r;
}

int main(int argc, char **argv) {
        Log log;
        int status;

        if (!parse_options(argc, argv, &status))
                return status;

        block_signals();
        log_open(&log);
        return run(&log);
}
